"""What all reproductions share."""

from __future__ import annotations

import lzma
from pathlib import Path

DATA = Path(__file__).parent / "data"


def bundled(name: str, folder: Path) -> Path:
    """A bundled data set as ``NAME.csv`` in a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.csv"
    if not path.exists():
        path.write_bytes(lzma.decompress((DATA / f"{name}.csv.xz").read_bytes()))
    return path
