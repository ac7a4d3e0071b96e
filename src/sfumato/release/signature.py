"""Signatures: who vouches for a release.

A signature is over the manifest's bytes, and the manifest holds the digest of every file, so that it covers the
whole folder. Ed25519 keys as ``openssl genpkey -algorithm ed25519`` or ``ssh-keygen -t ed25519`` make them.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError, ReleaseDamagedError
from sfumato.release.manifest import MANIFEST_NAME

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SIGNATURE_NAME = "datapackage.signature.json"
ALGORITHM = "Ed25519"
LARGEST_FILE = 65_536
"""Bytes beyond which a file is no key and no signature."""


@dataclass(frozen=True)
class Signature:
    """A signature of a manifest, and the public key it can be checked with.

    That it fits its own key says that nothing was changed since; whose key it is, the reader must know.
    """

    public_key: bytes
    signed: bytes

    @property
    def fingerprint(self) -> str:
        """Short name of the key, to compare with one that was told by other means."""
        return hashlib.sha256(self.public_key).hexdigest()[:32]

    def fits(self, manifest: bytes) -> bool:
        """Whether the holder of the key signed exactly this manifest."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.public_key).verify(self.signed, manifest)
        except (InvalidSignature, ValueError):
            return False
        return True

    def to_text(self) -> str:
        """Content of the signature's file."""
        content = {
            "algorithm": ALGORITHM,
            "public_key": base64.b64encode(self.public_key).decode(),
            "signature": base64.b64encode(self.signed).decode(),
        }
        return json.dumps(content, indent=2) + "\n"

    @classmethod
    def from_text(cls, text: str) -> Signature:
        """Read the signature's file.

        Raises
        ------
        ReleaseDamagedError
            When it is not one.
        """
        try:
            content = json.loads(text)
            parts = [base64.b64decode(content[each], validate=True) for each in ("public_key", "signature")]
            is_known = content["algorithm"] == ALGORITHM
        except (ValueError, TypeError, KeyError, RecursionError):
            is_known = False
        if not is_known:
            raise ReleaseDamagedError(
                f"{SIGNATURE_NAME} is not a signature. Get the release again from where it came."
            )
        return cls(*parts)


class Signer:
    """Signs manifests with a private key, which it never shows.

    Parameters
    ----------
    path
        A private Ed25519 key in PEM or OpenSSH form.
    password
        Asked for its password, only if it has one.
    """

    def __init__(self, path: Path, *, password: Callable[[], str] | None = None) -> None:
        self._key = _private_key(path, password)

    def __repr__(self) -> str:
        return f"Signer({_raw(self._key.public_key()).hex()[:8]}…)"

    def sign(self, manifest: bytes) -> Signature:
        """A signature of a manifest's bytes."""
        return Signature(_raw(self._key.public_key()), self._key.sign(manifest))


def read_signature(folder: Path) -> Signature | None:
    """The signature in a release's folder, or None where there is none."""
    path = folder / SIGNATURE_NAME
    if not path.is_file() or path.is_symlink():
        return None
    return Signature.from_text(_short_text(path, "signature"))


def fitting_signature(folder: Path) -> Signature | None:
    """The signature in a release's folder, or None where there is none.

    Raises
    ------
    ReleaseDamagedError
        When it is not of the manifest beside it.
    """
    found = read_signature(folder)
    if found is not None and not found.fits((folder / MANIFEST_NAME).read_bytes()):
        raise ReleaseDamagedError(
            "the release's signature is not of its manifest: one of them was changed after signing. "
            "Get the release again from where it came."
        )
    return found


def read_public_key(path: Path) -> bytes:
    """The 32 bytes of a public Ed25519 key in PEM or OpenSSH form.

    Raises
    ------
    ParameterError
        When the file is not such a key.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key, load_ssh_public_key

    content = _short_text(path, "key").encode()
    for load in (load_pem_public_key, load_ssh_public_key):
        key = _loaded(load, content)
        if isinstance(key, Ed25519PublicKey):
            return _raw(key)
    raise _not_a_key(path, "public")


def _private_key(path: Path, password: Callable[[], str] | None) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    content = _short_text(path, "key").encode()
    for load in (load_pem_private_key, load_ssh_private_key):
        key = _loaded(partial(load, password=None), content)
        if key is _LOCKED and password is not None:
            key = _loaded(partial(load, password=password().encode()), content)
        if isinstance(key, Ed25519PrivateKey):
            return key
    raise _not_a_key(path, "private")


_LOCKED = object()


def _loaded(load: Callable[[bytes], Any], content: bytes) -> Any:
    """What a loader makes of a key's file; its own errors may quote the file, so they are not passed on."""
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return load(content)
    except TypeError:
        # How the library says that a password is needed.
        return _LOCKED
    except (ValueError, UnsupportedAlgorithm):
        return None


def _not_a_key(path: Path, kind: str) -> ParameterError:
    return ParameterError(
        f"{path.name!r} is not a {kind} Ed25519 key in PEM or OpenSSH form, or its password is another. "
        "`openssl genpkey -algorithm ed25519 -out key.pem` makes one, `openssl pkey -in key.pem -pubout` gives its public half.",
        parameter="key",
    )


def _short_text(path: Path, kind: str) -> str:
    """Text of a small file that really is one."""
    if not path.is_file():
        raise ParameterError(
            f"there is no {kind} file {str(path)!r}. Name an existing file.", parameter="key"
        )
    with path.open("rb") as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ParameterError(f"{path.name!r} is too long for a {kind}. Name the right file.", parameter="key")
    return content.decode("ascii", errors="replace")


def _raw(key: Ed25519PublicKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)
