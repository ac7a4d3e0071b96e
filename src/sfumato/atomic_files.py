"""Atomic file writing: a file is complete or absent, whatever ends the process."""

from __future__ import annotations

import os
import re
import shutil
import signal
import struct
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from sfumato.errors import ParameterError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows, where nothing abandoned is looked for
    fcntl = None  # type: ignore[assignment]

PARTIAL = "sfumato-partial-"
"""In the name of every folder that holds what is half written; behind it are letters that are its own."""

SPILL = "sfumato-spill-"
"""Begins the name of every folder for what exceeds memory, or waits to be read."""

ATTEMPTS = 3
"""Folders that are made before a file system is taken for one without locks."""

ENDING_SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU", "SIGXFSZ", "SIGUSR1", "SIGUSR2", "SIGALRM")
    if hasattr(signal, name)
)
"""Signals that end a process on the spot unless somebody listens."""


def _leave(number: int, _frame: object) -> NoReturn:
    """End by way of an exception, so that half-written files are removed; the exit code is the shells' own."""
    # A second one must not end the removal.
    for each in ENDING_SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(128 + number)


@contextmanager
def ended_by_exceptions() -> Iterator[None]:
    """Signals that would end the process on the spot raise :class:`SystemExit` inside the block.

    Only in the main thread, which alone can listen, and only those that nobody else listens to or ignores.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    alone = [each for each in ENDING_SIGNALS if signal.getsignal(each) is signal.SIG_DFL]
    for each in alone:
        signal.signal(each, _leave)
    try:
        yield
    finally:
        for each in alone:
            signal.signal(each, signal.SIG_DFL)


class HeldFolder:
    """A folder of this process's own, gone with the process; the next one removes it when this one is killed.

    The process holds a lock on it for as long as it lives; a folder of its kind that nobody holds is abandoned.

    Parameters
    ----------
    parent
        Where it is made.
    prefix
        Of its name.
    kind
        Part of the name of all folders of its kind, which are looked at before it is made.

    Attributes
    ----------
    close
        Removes what is in it, and the folder; once is enough.
    """

    close: weakref.finalize[..., HeldFolder]

    def __init__(self, parent: Path, *, prefix: str, kind: str) -> None:
        remove_abandoned(parent, kind)
        for _ in range(ATTEMPTS):
            is_held = self._make(parent, prefix)
            # Another process may have taken it for abandoned before it was locked.
            if is_held and self.path.exists():
                return
            self.close()
        # A file system without locks: nothing is ever taken for abandoned there.
        self._make(parent, prefix)

    def _make(self, parent: Path, prefix: str) -> bool:
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        lock = _locked(self.path)
        # Also when its owner is interrupted before it has seen to the end; a forked process leaves it alone.
        self.close = weakref.finalize(self, _give_back, self.path, lock, os.getpid())
        return lock is not None

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *exception: object) -> None:
        self.close()


def spill_folder(parent: Path | None = None) -> HeldFolder:
    """A folder for what exceeds memory, in the system's place for such things unless another is named."""
    return HeldFolder(parent or Path(tempfile.gettempdir()), prefix=SPILL, kind=SPILL)


def remove_abandoned_spill(parent: Path | None = None) -> None:
    """Remove what processes that are gone have spilled."""
    remove_abandoned(parent or Path(tempfile.gettempdir()), SPILL)


def _give_back(folder: Path, lock: int | None, process: int) -> None:
    if process != os.getpid():
        return
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def make_files_private(folder: Path) -> None:
    """Let every file that is made in a folder from now on be its owner's alone (mode 600), whoever makes it.

    A library opens its files by the mask of the process, which all threads share: to change it for a moment would change it
    for files that others make meanwhile. A folder's default list of rights stands in place of the mask, for that folder.
    Where the system has none (macOS, Windows, some network disks), the mode of the folder alone keeps others out.
    """
    if hasattr(os, "setxattr"):
        with suppress(OSError):
            os.setxattr(folder, "system.posix_acl_default", _OWNER_ALONE)


# As Linux stores it: version 2, then kind, rights and no number, for the owner, the group and everybody else.
_OWNER_ALONE = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", kind, rights, 0xFFFFFFFF) for kind, rights in ((0x01, 7), (0x04, 0), (0x20, 0))
)


def remove_abandoned(parent: Path, kind: str) -> None:
    """Remove this user's folders of a kind whose process is gone, whatever ended it."""
    if fcntl is None:  # pragma: no cover - Windows
        return
    # As they are made: nothing that somebody else named.
    name = re.compile(rf"(\..*\.)?{re.escape(kind)}[a-z0-9_]{{8}}", re.DOTALL)
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name) is None:
                continue
            with suppress(OSError):
                if (
                    not entry.is_dir(follow_symlinks=False)
                    or entry.stat(follow_symlinks=False).st_uid != os.geteuid()
                ):
                    continue
                lock = _locked(Path(entry.path))
                if lock is not None:
                    shutil.rmtree(entry.path, ignore_errors=True)
                    os.close(lock)


def _locked(folder: Path) -> int | None:
    """A descriptor that holds the folder; None where another process holds it, or it is gone."""
    if fcntl is None:  # pragma: no cover - Windows
        return os.open(os.devnull, os.O_RDONLY)
    descriptor = None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if descriptor is not None:
            os.close(descriptor)
        return None
    return descriptor


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
def write_whole(*paths: Path, parameter: str, is_private: bool = False) -> Iterator[tuple[Path, ...]]:
    """Temporary paths to write to, which take the final names only when the block succeeds.

    The temporary files stand in a hidden folder beside the final ones, since a rename is atomic only within
    one file system. Whatever ends the block early, an interrupt or a signal included, removes them.

    Parameters
    ----------
    *paths
        The final paths; none of them may exist, and their folders must.
    parameter
        The argument that named the output, for messages.
    is_private
        What was computed from private rows: the files are for their owner alone (mode 600), whatever the umask.

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
    placed: list[Path] = []
    try:
        with _beside(*paths) as temporary:
            for each in temporary if is_private else ():
                each.touch(mode=0o600)
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


@contextmanager
def _beside(*paths: Path) -> Iterator[tuple[Path, ...]]:
    """Paths of the same names in folders beside, which are gone afterwards."""
    folders: dict[Path, HeldFolder] = {}
    with ended_by_exceptions():
        try:
            for path in paths:
                if path.parent not in folders:
                    prefix = f".{path.name}.{PARTIAL}"
                    folders[path.parent] = HeldFolder(path.parent, prefix=prefix, kind=PARTIAL)
            yield tuple(folders[path.parent].path / path.name for path in paths)
        finally:
            for each in folders.values():
                each.close()


def owner_only(path: str, flags: int) -> int:
    """Opens a file for ``open(..., opener=owner_only)`` so that nobody else could ever read it."""
    return os.open(path, flags, 0o600)


def _remove(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
