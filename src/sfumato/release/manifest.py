"""The manifest of a release and its signature."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from sfumato.errors import ParameterError, ReleaseDamagedError, ReleaseUnsupportedError, nearest
from sfumato.guarantees import GUARANTEES, Guarantee
from sfumato.immutable import Frozen, explain
from sfumato.schema import Schema
from sfumato.schema.recoding import MergedLabels, attributes_left_out

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

# --------------------------------------------------------------------------------------------------
# The manifest: what a release says about itself.
#
# ``datapackage.json`` is a Frictionless Data Package descriptor; everything of ours is under the key
# ``sfumato``. Rules of the format: a field is never removed and never changes its meaning within a
# format version; a reader refuses what it does not know.
#
# Never in it: seed or key, original counts, groups or sampling fractions that leak, paths, host or user
# names, dates.


FORMAT_VERSION = 2
MANIFEST_NAME = "datapackage.json"
FORMATS = ("parquet", "csv")
Format = Literal["parquet", "csv"]
SINGLED_OUT, KEY_COLUMN = "singled-out", "key-column"
CHECKS = {
    SINGLED_OUT: "more than 5 % of the persons are unique on the quasi-identifiers that are not changed",
    KEY_COLUMN: "a column that is not changed looks like a key of persons",
}
"""Checks before publication that a custodian may accept to fail, and what they refuse."""
AS_IT_IS = "As it is."
"""What is noted of a column whose published values are the true ones of the row."""


class Part(Frozen):
    """One file of a table that is published in several."""

    path: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    number_of_rows: Annotated[int, Field(ge=0, le=10**18)]


class TableEntry(Frozen):
    """One published table: its file and what is in it.

    A table in several files has a folder as its path, lists them as parts, and its checksum is that of theirs.
    """

    name: str
    path: str
    format: Format
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    number_of_rows: Annotated[int, Field(ge=0, le=10**18)]
    attributes: dict[str, Any]
    integers: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        if self.parts and (
            self.path != self.name
            or self.format != "parquet"
            or self.sha256 != digest_of_parts(self.parts)
            or self.number_of_rows != sum(each.number_of_rows for each in self.parts)
            or [each.path for each in self.parts] != [part_path(self.name, n) for n in range(len(self.parts))]
        ):
            raise ValueError(
                "parts must be the files of the table in their order, with its rows and its checksum."
            )
        return self

    @cached_property
    def schema_of_attributes(self) -> Schema:
        """The categorical columns."""
        return Schema.from_dict({"attributes": self.attributes})


def part_path(table: str, number: int) -> str:
    """Where a part of a table stands in its release."""
    return f"{table}/part-{number:05}.parquet"


def digest_of_parts(parts: Sequence[Part]) -> str:
    """Checksum of a table in parts: of their checksums, one after the other."""
    return hashlib.sha256("".join(each.sha256 for each in parts).encode()).hexdigest()


def about_drawn_rows(most: int | None) -> tuple[str, ...]:
    """What a reader must know where so many rows of each person were drawn; how many there were is private.

    Examples
    --------
    >>> about_drawn_rows(2)[0][:71]
    'The release describes at most 2 rows of each person, drawn at random (c'
    """
    if most is None:
        return ()
    kept, times = ("one row", "once") if most == 1 else (f"at most {most} rows", f"at most {most} times")
    return (
        (
            f"The release describes {kept} of each person, drawn at random (contribution bounding). Estimates about the table "
            f"are about the drawn rows, in which every person counts {times}; rows that were not drawn are not described."
        ),
    )


class Manifest(Frozen):
    """The ``sfumato`` block of a release's descriptor."""

    format_version: Literal[1, 2] = 2
    software: str
    method: dict[str, Any]
    guarantees: tuple[dict[str, Any], ...]
    law: dict[str, Any]
    tables: Annotated[tuple[TableEntry, ...], Field(min_length=1)]
    assumptions: tuple[str, ...] = ()
    not_protected: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()
    chosen_from_private_data: dict[str, str] = Field(default_factory=dict)
    rows_drawn_per_unit: int | None = None
    reproducible: bool = False
    privacy: str = ""
    column_notes: dict[str, str] = Field(default_factory=dict)
    accepted: dict[str, str] = Field(default_factory=dict)
    """Checks that the release fails and that the custodian accepted, with what was found (since version 2)."""
    dropped_design: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Columns of the survey design that are not published, by role (since version 2)."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not isinstance(self.method.get("method"), str):
            raise ValueError("method must name the method that made the release.")
        return self

    def table(self, name: str) -> TableEntry:
        """A published table by its name.

        Raises
        ------
        ReleaseDamagedError
            When there is none of that name.
        """
        found = next((each for each in self.tables if each.name == name), None)
        if found is None:
            known = nearest(name, [each.name for each in self.tables])
            raise ReleaseDamagedError(f"the release has no table {name!r}; {known}")
        return found

    @property
    def published_as_they_are(self) -> tuple[str, ...]:
        """Columns of which it is noted."""
        return tuple(name for name, note in self.column_notes.items() if note == AS_IT_IS)

    @cached_property
    def stated_guarantees(self) -> tuple[Guarantee, ...]:
        """What is promised."""
        return tuple(
            GUARANTEES.read({key: value for key, value in each.items() if key != "description"})
            for each in self.guarantees
        )

    @property
    def note_of_dropped(self) -> str:
        """What every answer must say where the survey design is not published."""
        if not self.dropped_design:
            return ""
        dropped = "; ".join(f"{role}: {', '.join(names)}" for role, names in self.dropped_design.items())
        return f"the survey design was dropped ({dropped}), so numbers describe the rows of the sample, not its population"

    @property
    def weakness(self) -> str:
        """That the release is weak, and how, in one sentence; empty where neither a check nor an epsilon says so."""
        points = [
            *self.accepted.values(),
            *(each.weakness for each in self.stated_guarantees if each.weakness),
        ]
        return f"This release is weak: {'; '.join(points)}." if points else ""

    def attributes_left_out(self, published: Schema) -> tuple[str, ...]:
        """Attributes that are not published because all of their values were merged into one."""
        return attributes_left_out(published, self.method.get("merged_values"))

    @cached_property
    def merged_labels(self) -> MergedLabels:
        """Labels that were merged before publishing, where the method's public parameters name them."""
        return MergedLabels.of(self.tables[0].schema_of_attributes, self.method.get("merged_values"))

    def to_descriptor(self) -> dict[str, Any]:
        """The whole content of ``datapackage.json``, its checksum included."""
        # Left out where there are none, as a format that does not know them would.
        optional = ("column_notes", "accepted", "dropped_design", "rows_drawn_per_unit")
        block = self.model_dump(mode="json", exclude={name for name in optional if not getattr(self, name)})
        for table in block["tables"]:
            if not table["parts"]:
                del table["parts"]
        descriptor: dict[str, Any] = {
            "name": "sfumato-release",
            "title": f"Release by {self.method.get('method')}",
            "resources": [_resource(entry, self.column_notes) for entry in self.tables],
            "sfumato": block,
        }
        block["checksum"] = checksum(descriptor)
        return descriptor

    @classmethod
    def from_text(cls, text: str) -> Manifest:
        """Read and verify ``datapackage.json``.

        Raises
        ------
        ReleaseDamagedError
            When it is not JSON, not a sfumato release, or was edited.
        ReleaseUnsupportedError
            When its format version is not known here.
        """
        try:
            descriptor = json.loads(text)
        except (ValueError, RecursionError):
            raise ReleaseDamagedError(
                f"{MANIFEST_NAME} is not valid JSON. Get the release again from where it came."
            ) from None
        block = descriptor.get("sfumato") if isinstance(descriptor, dict) else None
        if not isinstance(block, dict):
            raise ReleaseDamagedError(
                f"{MANIFEST_NAME} has no sfumato block: this is a data package, but not a release of sfumato."
            )
        version = block.get("format_version")
        if not isinstance(version, int) or not 1 <= version <= FORMAT_VERSION:
            raise ReleaseUnsupportedError(
                f"the release has format version {version!r}, this version of sfumato reads 1 to {FORMAT_VERSION}. "
                "Install a version that knows it."
            )
        stated = block.pop("checksum", None)
        if stated != checksum(descriptor):
            raise ReleaseDamagedError(
                f"{MANIFEST_NAME} was changed after publication: its checksum does not fit. "
                "Get the release again from where it came."
            )
        try:
            return cls.model_validate(block)
        except ValidationError as error:
            raise ReleaseUnsupportedError(
                f"{MANIFEST_NAME} cannot be read: {' '.join(explain(error))}"
            ) from None


def _resource(entry: TableEntry, notes: Mapping[str, str]) -> dict[str, Any]:
    """A Frictionless resource. No ``bytes`` key: the validator rejects Parquet tables that have one."""
    fields: list[dict[str, Any]] = [
        {
            "name": each.name,
            "type": "string",
            **_described(each.meaning, notes.get(each.name, "")),
            "constraints": {"required": True, "enum": list(each.labels)},
        }
        for each in entry.schema_of_attributes.attributes
    ]
    fields += [
        {"name": name, "type": "integer", "constraints": {"required": True}} for name in entry.integers
    ]
    mediatype = {"parquet": "application/vnd.apache.parquet", "csv": "text/csv"}[entry.format]
    return {
        "name": entry.name,
        "path": [each.path for each in entry.parts] if entry.parts else entry.path,
        "format": entry.format,
        "mediatype": mediatype,
        "hash": f"sha256:{entry.sha256}",
        # An empty list: no text in the file stands for a missing cell, missing is a category.
        "schema": {"fields": fields, "missingValues": []},
    }


def _described(*sentences: str) -> dict[str, str]:
    """What a column means and how it was changed, where either is stated."""
    said = " ".join(each for each in sentences if each)
    return {"description": said} if said else {}


def checksum(descriptor: dict[str, Any]) -> str:
    """Digest of a descriptor that states none yet."""
    canonical = json.dumps(descriptor, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    # A manifest from elsewhere may hold half characters, which plain UTF-8 cannot say.
    return hashlib.sha256(canonical.encode(errors="surrogatepass")).hexdigest()


# --------------------------------------------------------------------------------------------------
# Signatures: who vouches for a release.
#
# A signature is over a date, a serial number and the checksums of the manifest and of README.md; the manifest holds
# the checksum of every other file, so that the whole folder is covered. Ed25519 keys as ``openssl genpkey -algorithm
# ed25519`` or ``ssh-keygen -t ed25519`` make them. Version 1 was over the manifest's bytes alone.


SIGNATURE_NAME = "datapackage.signature.json"
SIGNATURE_VERSION = 2
ALGORITHM = "Ed25519"
LARGEST_SERIAL = 10**18
LARGEST_FILE = 65_536
"""Bytes beyond which a file is no key and no signature."""


class Statement(Frozen):
    """What a signature vouches for.

    Parameters
    ----------
    date
        Of signing, in UTC.
    serial
        Number that grows with every release of the signer, so that an old release cannot pass for the newest.
    files
        Checksums of the files that no other file has the checksum of.
    """

    date: date
    serial: Annotated[int, Field(ge=1, le=LARGEST_SERIAL, strict=True)]
    files: dict[str, Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]]

    def to_bytes(self) -> bytes:
        """What is signed; its first line is that of no manifest."""
        content = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return f"sfumato signature {SIGNATURE_VERSION}\n{content}".encode()


@dataclass(frozen=True)
class Signature:
    """A signature of a release, and the public key it can be checked with.

    That it fits its own key says that nothing was changed since; whose key it is, the reader must know.

    Parameters
    ----------
    public_key
        Its 32 bytes.
    signed
        The signature itself.
    statement
        What it vouches for; None in version 1, which vouches for the manifest alone.
    """

    public_key: bytes
    signed: bytes
    statement: Statement | None = None

    @property
    def fingerprint(self) -> str:
        """Short name of the key, to compare with one that was told by other means."""
        return hashlib.sha256(self.public_key).hexdigest()[:32]

    def fits(self, manifest: bytes) -> bool:
        """Whether the holder of the key signed a release with exactly this manifest."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        message = manifest if self.statement is None else self.statement.to_bytes()
        try:
            Ed25519PublicKey.from_public_bytes(self.public_key).verify(self.signed, message)
        except (InvalidSignature, ValueError):
            return False
        return self.statement is None or self.covers(MANIFEST_NAME, manifest)

    def covers(self, name: str, content: bytes) -> bool:
        """Whether it vouches for a file of this content."""
        stated = None if self.statement is None else self.statement.files.get(name)
        return stated == hashlib.sha256(content).hexdigest()

    def to_text(self) -> str:
        """Content of the signature's file."""
        content = {
            **({} if self.statement is None else {"version": SIGNATURE_VERSION}),
            "algorithm": ALGORITHM,
            "public_key": base64.b64encode(self.public_key).decode(),
            **({} if self.statement is None else self.statement.model_dump(mode="json")),
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
        ReleaseUnsupportedError
            When its version is not known here.
        """
        statement = None
        try:
            content = json.loads(text)
            parts = [base64.b64decode(content[each], validate=True) for each in ("public_key", "signature")]
            version = content.get("version", 1)
            is_known = content["algorithm"] == ALGORITHM
            if version == SIGNATURE_VERSION:
                statement = Statement(**{name: content[name] for name in Statement.model_fields})
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            is_known = False
        if not is_known:
            raise ReleaseDamagedError(
                f"{SIGNATURE_NAME} is not a signature. Get the release again from where it came."
            )
        if version not in (1, SIGNATURE_VERSION):
            raise ReleaseUnsupportedError(
                f"{SIGNATURE_NAME} has a version that this version of sfumato does not know. Install one that knows it."
            )
        return cls(parts[0], parts[1], statement)


class Signer:
    """Signs releases with a private key, which it never shows.

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

    def sign(self, files: Mapping[str, bytes], *, serial: int) -> Signature:
        """A signature of today over the manifest and README.md, by their names."""
        checksums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        statement = Statement(date=datetime.now(UTC).date(), serial=serial, files=checksums)
        return Signature(_raw(self._key.public_key()), self._key.sign(statement.to_bytes()), statement)


def read_signature(folder: Path) -> Signature | None:
    """The signature in a release's folder, or None where there is none."""
    path = folder / SIGNATURE_NAME
    if not path.is_file() or path.is_symlink():
        return None
    return Signature.from_text(_short_text(path, "signature"))


def fitting_signature(folder: Path, manifest: Manifest) -> Signature | None:
    """The signature in a release's folder, or None where there is none.

    Raises
    ------
    ReleaseDamagedError
        When it is not of the manifest beside it, or that is another one than was read.
    """
    found = read_signature(folder)
    if found is None:
        return None
    content = (folder / MANIFEST_NAME).read_bytes()
    if Manifest.from_text(content.decode(errors="replace")) != manifest:
        raise ReleaseDamagedError(
            f"{MANIFEST_NAME} changed while the release was read. Open the release again when it is at rest."
        )
    if not found.fits(content):
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
