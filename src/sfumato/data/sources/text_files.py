"""Text files as they come: compressed or not, in whatever encoding."""

from __future__ import annotations

import codecs
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from sfumato.errors import SourceError, nearest
from sfumato.writing import owner_only

START_BYTES = 1_048_576
"""How much of a text file is looked at to find its encoding, its header and what divides its cells."""

READ_IN_PLACE = {"utf-8": "utf-8", "utf-8-sig": "utf-8", "iso8859-1": "latin-1"}
"""Encodings, in Python's names, that the engine reads by itself, and what it calls them.

Its UTF-16 knows no character of two units, so that is not among them.
"""

_FOREIGN = {
    "cp932": "Japanese",
    "euc_jp": "Japanese",
    "gb18030": "Chinese",
    "big5": "Chinese",
    "euc_kr": "Korean",
    "cp1251": "Cyrillic",
    "cp1253": "Greek",
}
"""Encodings of scripts that are not Latin, and whose they are."""

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_COMMON = (
    "utf-8",
    "cp1252",
    "latin-1",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "cp1250",
    "iso8859-15",
    "mac-roman",
)


def compression_of(path: Path) -> str | None:
    """How a file is compressed, by its first bytes; the engine's word for it."""
    with path.open("rb") as file:
        start = file.read(4)
    return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)


def _opened(path: Path) -> IO[bytes]:
    """The file's bytes as they are before compression."""
    compression = compression_of(path)
    if compression is None:
        return path.open("rb")
    import pyarrow as pa

    stream: Any = pa.input_stream(str(path), compression=compression)
    return stream  # type: ignore[no-any-return]  # pyarrow's streams are files to Python


def start_of(path: Path) -> bytes:
    """The first bytes, decompressed.

    Raises
    ------
    SourceError
        When what is compressed is cut off or damaged.
    """
    try:
        with _opened(path) as file:
            return file.read(START_BYTES)
    except OSError:
        raise SourceError(
            f"{path.name} cannot be read: it is compressed, and damaged or cut off. Get it again from where it came."
        ) from None


def settle_encoding(path: Path, start: bytes, said: str | None) -> str:
    """Python's name of a file's encoding: as said, or by the file's mark, or UTF-8; otherwise a question.

    Raises
    ------
    SourceError
        When no such encoding exists, or the file is not UTF-8 and nothing was said.
    """
    if said is not None:
        try:
            # Only encodings of text encode: Python also calls base64 a codec.
            "".encode(said)
            name = codecs.lookup(said).name
        except LookupError:
            raise SourceError(f"there is no encoding {said!r}; {nearest(said, _COMMON)}") from None
        _refuse_another(path, start, name)
        return _with_its_mark(start) or "utf-16-le" if name == "utf-16" else name
    marked = _with_its_mark(start)
    if marked is not None:
        return marked
    if b"\x00" in start:
        # In UTF-16 every second byte of western text is zero.
        ending = "le" if start[1::2].count(0) >= start[::2].count(0) else "be"
        raise _asks(path, f"it is UTF-16 without its mark, or no text at all. Say --encoding utf-16-{ending}")
    if is_utf_8(start):
        return "utf-8"
    foreign = _foreign(start)
    if foreign:
        likely = " or ".join(f"{name} ({_FOREIGN[name]})" for name in foreign)
    elif _is_central(start):
        foreign, likely = ["cp1250"], "cp1250 (central Europe)"
    else:
        likely = "cp1252 (Windows)" if _only_cp1252(start) else "cp1252 (Windows) or latin-1"
    first = foreign[0] if foreign else "cp1252"
    raise _asks(path, f"its bytes could be {likely}. Say --encoding {first}, or whatever it was saved in")


def _refuse_another(path: Path, start: bytes, said: str) -> None:
    """Refuse an encoding that reads the file, but as what nobody wrote: wrong letters would become public categories."""
    if said.startswith("utf") or start.isascii():
        return
    if is_utf_8(start):
        raise SourceError(
            f"{path.name} is UTF-8 by its bytes, and {said} would read its letters as others. Leave --encoding out."
        )
    if said == "iso8859-1" and _only_cp1252(start):
        raise SourceError(
            f"{path.name} holds bytes that are no letters in latin-1, and are in cp1252 (Windows). Say --encoding cp1252."
        )


def _foreign(start: bytes) -> list[str]:
    """Encodings of other scripts that the bytes may be in; none where they look like letters with accents.

    Accents stand among plain letters, at most two together. Of other scripts every letter is beyond ASCII, or has its first byte
    where Windows has signs.
    """
    runs = re.findall(rb"[\x80-\xff]+", start)
    beyond = sum(map(len, runs))
    long_runs = sum(len(run) for run in runs if len(run) > 2)
    signs = sum(0x80 <= byte < 0xA0 for run in runs for byte in run)
    if 2 * max(long_runs, signs) <= beyond:
        return []
    # In encodings of one byte a letter, words are runs.
    likely = (
        _FOREIGN if 2 * long_runs > beyond else [name for name in _FOREIGN if not name.startswith("cp125")]
    )
    return [name for name in likely if _are_letters(start, name)]


def _is_central(start: bytes) -> bool:
    """Whether bytes that are signs and powers to western Windows, ³ or ¿, are letters to that of central Europe."""
    return _are_letters(start, "cp1250") and not _are_letters(start, "cp1252")


def _are_letters(start: bytes, encoding: str) -> bool:
    """Whether the bytes, read so, are letters wherever they are beyond ASCII, but for a few signs."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start, final=len(start) < START_BYTES)
    except UnicodeDecodeError:
        return False
    beyond = [letter for letter in text if not letter.isascii()]
    return sum(map(str.isalpha, beyond)) > 0.9 * len(beyond)


def _with_its_mark(start: bytes) -> str | None:
    if start.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    return "utf-16-be" if start.startswith(codecs.BOM_UTF16_BE) else None


def is_utf_8(start: bytes) -> bool:
    """Whether the start of a file is UTF-8; it may end in the middle of a character."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start, final=len(start) < START_BYTES)
    except UnicodeDecodeError:
        return False
    return True


def _only_cp1252(start: bytes) -> bool:
    """Whether it holds bytes that are letters in cp1252 and control characters in latin-1."""
    return any(0x80 <= byte < 0xA0 for byte in start)


def _asks(path: Path, question: str) -> SourceError:
    return SourceError(f"{path.name} is not UTF-8 text: {question}; or save it as UTF-8.")


def decode_start(path: Path, start: bytes, encoding: str) -> str:
    """The first bytes as text, without a byte-order mark; the last character may be cut."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start, final=len(start) < START_BYTES)
    except UnicodeDecodeError:
        raise _wrong(path, encoding) from None
    return text.removeprefix("\ufeff")


def _wrong(path: Path, encoding: str) -> SourceError:
    return SourceError(
        f"{path.name} holds bytes that are not {encoding}. Say --encoding with the one it was saved in, "
        "such as cp1252, or save it as UTF-8."
    )


@contextmanager
def in_utf_8(path: Path, encoding: str, place: str) -> Iterator[Path]:
    """A copy of the file in UTF-8 that nobody else may read, for as long as it is needed.

    In a folder of its own where the engine puts what exceeds memory, or where the system does when that
    is no folder.
    """
    with tempfile.TemporaryDirectory(
        prefix="sfumato-", dir=place if Path(place).is_dir() else None
    ) as folder:
        copy = Path(folder) / "utf-8"
        try:
            with (
                _opened(path) as raw,
                codecs.getreader(encoding)(raw) as read,
                # Its owner's alone from the beginning.
                open(copy, "w", encoding="utf-8", newline="", opener=owner_only) as written,
            ):
                shutil.copyfileobj(read, written, START_BYTES)
        except UnicodeDecodeError:
            raise _wrong(path, encoding) from None
        yield copy
