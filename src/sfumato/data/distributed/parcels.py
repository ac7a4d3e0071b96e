"""What tasks are given: files in a folder of the job's own, enciphered, with the key in the task alone.

What a task carries itself is small, because Spark writes large ones to disk as they are; and what is in a parcel,
such as the key of the noise, or counts, is of no use to whoever finds the file.
"""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 12


@dataclass(frozen=True, eq=False, repr=False)
class Parcels:
    """Values under names, which only tasks of the job can open.

    Parameters
    ----------
    folder
        That every task can reach.
    key
        Of this job alone.
    """

    folder: Path
    key: bytes

    def __repr__(self) -> str:
        return "Parcels()"

    @classmethod
    def of(cls, folder: Path) -> Self:
        """With a fresh key."""
        return cls(folder, AESGCM.generate_key(256))

    def put(self, name: str, value: Any) -> None:
        """Leave a value for a task, once under a name: what makes the cipher differ between parcels is their names."""
        content = AESGCM(self.key).encrypt(_nonce(name), pickle.dumps(value, protocol=5), name.encode())
        path = self.folder / name
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(content)

    def take(self, name: str) -> Any:
        """What was left under a name; a parcel that was touched is refused before it is opened."""
        content = (self.folder / name).read_bytes()
        plain = AESGCM(self.key).decrypt(_nonce(name), content, name.encode())
        return pickle.loads(plain)  # noqa: S301 - authenticated: nobody else has the key


def _nonce(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()[:NONCE_BYTES]
