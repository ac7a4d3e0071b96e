"""What tasks are given: files in a folder of the job's own, enciphered, with the key in the task alone.

What a task carries itself is small, because Spark writes large ones to disk as they are; and what is in a parcel,
such as the key of the noise, or counts, is of no use to whoever finds the file.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sfumato.errors import ParameterError

NONCE_BYTES = 12

CANNOT_BE_SENT = (
    "these rows come through something that only this process has, such as its standard input, and tasks elsewhere cannot "
    "read it. Write them to a file first, best to Parquet, or use --engine duckdb."
)


@dataclass(frozen=True, eq=False, repr=False)
class Parcels:
    """Values under names, which only tasks of the job can open.

    Parameters
    ----------
    folder
        That every task can reach.
    key
        Of this job alone.
    home
        Where this process is: from there whoever named files meant them.
    """

    folder: Path
    key: bytes
    home: Path

    def __repr__(self) -> str:
        return "Parcels()"

    @classmethod
    def of(cls, folder: Path) -> Self:
        """With a fresh key."""
        return cls(folder.absolute(), AESGCM.generate_key(256), Path.cwd())

    def put(self, name: str, value: Any) -> None:
        """Leave a value for a task, once under a name: what makes the cipher differ between parcels is their names.

        Raises
        ------
        ParameterError
            For what cannot be sent, such as a stream of this process.
        """
        try:
            plain = pickle.dumps(value, protocol=5)
        except (pickle.PicklingError, TypeError, AttributeError):
            raise ParameterError(CANNOT_BE_SENT, parameter="engine") from None
        content = AESGCM(self.key).encrypt(_nonce(name), plain, name.encode())
        path = self.folder / name
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(content)

    def take(self, name: str) -> Any:
        """What was left under a name; a parcel that was touched is refused before it is opened."""
        content = (self.folder / name).read_bytes()
        plain = AESGCM(self.key).decrypt(_nonce(name), content, name.encode())
        return pickle.loads(plain)  # noqa: S301 - authenticated: nobody else has the key

    @contextmanager
    def at_home(self) -> Iterator[None]:
        """Names of files mean within the block what they meant where the job was begun.

        A worker is used again by others, for whom its folder stays what it was.
        """
        try:
            moved = chdir(self.home)
            moved.__enter__()
        except OSError:
            # Another machine, without that folder: names from the root are the same there.
            yield
            return
        try:
            yield
        finally:
            moved.__exit__(None, None, None)


def _nonce(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()[:NONCE_BYTES]
