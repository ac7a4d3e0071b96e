"""Engines of tests are lent a DuckDB that another test has done with: opening one takes longer than most tests do with it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from sfumato.data import duckdb_connection as connection

_Opened = connection._Opened
_Key = tuple[int, str, tuple[tuple[str, str], ...]]
_idle: dict[_Key, list[_Opened]] = {}


class Lent:
    """Stands where :class:`sfumato.data.duckdb_connection._Opened` does; closing gives the database back for the next.

    One that is to spill to a folder of its own is opened anew and closed for good, as is one in which somebody left a table.
    """

    def __init__(self, settings: Mapping[str, str], temporary_folder: Path | None) -> None:
        self.process = os.getpid()
        self._key = (self.process, tempfile.gettempdir(), tuple(sorted(settings.items())))
        self._is_own = temporary_folder is not None
        idle = [] if self._is_own else _idle.get(self._key, [])
        self._kept = idle.pop() if idle else _Opened(settings, temporary_folder)
        self.connection, self.spill = self._kept.connection, self._kept.spill
        # Types are named by what they hold, so that those of another test are as good.
        self.declared = self._kept.declared
        self._is_given_back = False

    def close(self) -> None:
        """Give it back, once; the parent process gives back its own."""
        if self._is_given_back or self.process != os.getpid():
            return
        self._is_given_back = True
        if self._is_own or self._has_tables():
            self._kept.close()
        else:
            _idle.setdefault(self._key, []).append(self._kept)

    def _has_tables(self) -> bool:
        return bool(self.connection.execute("select 1 from duckdb_tables() limit 1").fetchall())


def close_idle() -> None:
    """Close what nobody has, before the interpreter goes."""
    for key in [each for each in _idle if each[0] == os.getpid()]:
        for each in _idle.pop(key):
            each.close()
