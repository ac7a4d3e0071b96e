"""Files written whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.errors import ParameterError


def name_schema_file(data: Path) -> Path:
    """Path of the schema that stands beside a data file.

    Examples
    --------
    >>> name_schema_file(Path("folder/people.parquet")).name
    'people.schema.toml'
    """
    return data.with_name(f"{data.stem}.schema.toml")


def refuse_existing(*paths: Path, parameter: str) -> None:
    """Refuse to go on when one of the outputs is already there.

    Raises
    ------
    ParameterError
        Naming the file; nothing is ever overwritten.
    """
    for path in paths:
        # A dangling link would be replaced just as a file would.
        if path.exists() or path.is_symlink():
            raise ParameterError(
                f"{parameter}: {str(path)!r} already exists, and nothing is overwritten. "
                "Choose another name, or remove the file first.",
                parameter=parameter,
            )


@contextmanager
def write_whole(*paths: Path, parameter: str) -> Iterator[tuple[Path, ...]]:
    """Temporary paths to write to, which take the final names only when the block succeeds.

    The temporary files stand in the folder of the final ones, since a rename is atomic only within
    one file system. Whatever ends the block early, an interrupt included, removes them.

    Parameters
    ----------
    *paths
        The final paths; none of them may exist, and their folders must.
    parameter
        The argument that named the output, for messages.

    Raises
    ------
    ParameterError
        When an output exists, its folder does not, or the disk refuses or fills up.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     final = Path(folder) / "a.txt"
    ...     with write_whole(final, parameter="out") as (temporary,):
    ...         _ = temporary.write_text("done")
    ...     final.read_text()
    'done'
    """
    refuse_existing(*paths, parameter=parameter)
    for path in paths:
        if not path.parent.is_dir():
            raise ParameterError(
                f"{parameter}: the folder {str(path.parent)!r} does not exist. "
                "The output needs an existing folder; create it first.",
                parameter=parameter,
            )
    token = uuid.uuid4().hex[:8]
    temporary = tuple(path.with_name(f".{path.name}.{token}.partial") for path in paths)
    placed: list[Path] = []
    try:
        yield temporary
        # Once more: another process may have written the same name in the meantime.
        refuse_existing(*paths, parameter=parameter)
        for source, path in zip(temporary, paths, strict=True):
            source.replace(path)
            placed.append(path)
    except OSError as error:
        _remove(*placed)
        raise ParameterError(
            f"{parameter}: {str(paths[0])!r} could not be written "
            f"({os.strerror(error.errno) if error.errno else type(error).__name__}). "
            "The folder must be writable and have room; free some space or choose another folder.",
            parameter=parameter,
        ) from None
    finally:
        _remove(*temporary)


def _remove(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
