"""Rows that another program writes into this one."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from pathlib import Path
from typing import IO

from sfumato.data.connection import SPILL
from sfumato.data.sources.base import Asked, Source
from sfumato.data.sources.delimited import CsvFile
from sfumato.data.sources.parquet import ParquetFile
from sfumato.writing import HeldFolder, owner_only


class StandardInput(Source):
    """What comes by stdin: CSV or Parquet, kept in a file of this user's until it is no longer needed.

    Rows are read more than once, and a pipe gives them once. The file has no name where the system allows it, so that
    nothing of it is left when the process is killed.
    """

    kind = "stdin"
    reads = "- for CSV or Parquet from stdin"

    @classmethod
    def recognise(cls, asked: Asked) -> Source | None:
        """By the hyphen that stands for stdin elsewhere."""
        if asked.text != "-":
            return None
        folder = HeldFolder(asked.temporary_folder or Path(tempfile.gettempdir()), prefix=SPILL, kind=SPILL)
        path = folder.path / "stdin"
        copy = open(path, "w+b", opener=owner_only)  # noqa: SIM115 - it is held for as long as the source is
        try:
            _take_name_away(path, copy)
            shutil.copyfileobj(sys.stdin.buffer, copy)
            copy.flush()
            copy.seek(0)
            is_parquet = copy.read(4) == b"PAR1"
        except BaseException:
            _give_back(folder, copy)
            raise
        source = (
            ParquetFile(path) if is_parquet else CsvFile(path, asked.encoding, asked.delimiter, asked.names)
        )
        weakref.finalize(source, _give_back, folder, copy)
        return source


def _take_name_away(path: Path, copy: IO[bytes]) -> None:
    """Let the system remove the rows with the process, whatever ends it, where it shows open files as files.

    A link to the open file takes the place of the name. Elsewhere the rows stay under it until the next run.
    """
    held = Path(f"/proc/{os.getpid()}/fd/{copy.fileno()}")
    if held.exists():
        path.unlink()
        path.symlink_to(held)


def _give_back(folder: HeldFolder, copy: IO[bytes]) -> None:
    copy.close()
    folder.close()
