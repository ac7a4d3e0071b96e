"""Authenticated encryption (AES-256-GCM) of private rows outside memory: spilled rows, and what tasks hand over.

A key is random, made for one purpose, and never written to disk in the clear.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sfumato.errors import DataError

if TYPE_CHECKING:
    from cryptography.utils import Buffer

NONCE_BYTES = 12
TAG_BYTES = 16
OVERHEAD_BYTES = NONCE_BYTES + TAG_BYTES
"""By which an encrypted record is longer than its content."""


def _fresh_key() -> bytes:
    return AESGCM.generate_key(256)


@dataclass(frozen=True, eq=False, repr=False)
class Encryption:
    """Encrypts records that several processes exchange, under one key and a random nonce for each record.

    Repeated attempts of a task may encrypt other content under the same name: nonces are never derived from names.

    Examples
    --------
    >>> encryption = Encryption()
    >>> record = encryption.encrypt(b"rows", "pile 3")
    >>> encryption.decrypt(record, "pile 3")
    b'rows'
    """

    key: bytes = field(default_factory=_fresh_key)

    def __repr__(self) -> str:
        return "Encryption()"

    def encrypt(self, content: Buffer, name: str) -> bytes:
        """A record that only the same name opens."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + AESGCM(self.key).encrypt(nonce, content, name.encode())

    def decrypt(self, record: Buffer, name: str) -> bytes:
        """The content; ``DataError`` for a record that was changed or has another name."""
        view = memoryview(record)
        return _decrypted(AESGCM(self.key), view[:NONCE_BYTES], view[NONCE_BYTES:], name.encode())


class EncryptedFile:
    """A temporary file of records under a key of its own; the nonce of a record is its number.

    Parameters
    ----------
    path
        Made when the first record is added, for this user alone.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._key = AESGCM(_fresh_key())
        self._sizes: list[int] = []

    def append(self, contents: Iterable[Buffer]) -> None:
        """Add a record for each content."""
        if not self._sizes:
            self._path.touch(mode=0o600, exist_ok=False)
        with self._path.open("ab") as file:
            for content in contents:
                record = self._key.encrypt(_nonce(len(self._sizes)), content, None)
                self._sizes.append(len(record))
                file.write(record)

    def read(self) -> Iterator[bytes]:
        """The records in their order, whole and unchanged."""
        if not self._sizes:
            return
        with self._path.open("rb") as file:
            for number, size in enumerate(self._sizes):
                yield _decrypted(self._key, _nonce(number), file.read(size), None)


def _decrypted(key: AESGCM, nonce: Buffer, content: Buffer, name: bytes | None) -> bytes:
    try:
        return key.decrypt(nonce, content, name)
    except InvalidTag:
        raise DataError(
            "an encrypted temporary file was changed while it was in use. Nothing of it was used; check the disk of "
            "--temp-dir and run the command again."
        ) from None


def _nonce(number: int) -> bytes:
    return number.to_bytes(NONCE_BYTES, "big")
