"""Rows that another program writes into this one."""

from __future__ import annotations

import shutil
import sys
import tempfile
import weakref
from pathlib import Path

from sfumato.data.connection import SPILL
from sfumato.data.sources.base import Asked, Source
from sfumato.data.sources.delimited import CsvFile
from sfumato.data.sources.parquet import ParquetFile
from sfumato.writing import HeldFolder, owner_only


class StandardInput(Source):
    """What comes by stdin: CSV or Parquet, kept in a file of this user's until it is no longer needed.

    Rows are read more than once, and a pipe gives them once.
    """

    kind = "stdin"
    reads = "- for CSV or Parquet from stdin"

    @classmethod
    def recognise(cls, asked: Asked) -> Source | None:
        """By the hyphen that stands for stdin elsewhere."""
        if asked.text != "-":
            return None
        folder = HeldFolder(Path(tempfile.gettempdir()), prefix=SPILL, kind=SPILL)
        path = folder.path / "stdin"
        with open(path, "wb", opener=owner_only) as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        with path.open("rb") as copy:
            is_parquet = copy.read(4) == b"PAR1"
        source = (
            ParquetFile(path) if is_parquet else CsvFile(path, asked.encoding, asked.delimiter, asked.names)
        )
        weakref.finalize(source, folder.close)
        return source
