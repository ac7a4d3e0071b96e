"""Verifying a release: everything that can be checked without the private rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

from sfumato.data.engine import Engine
from sfumato.errors import DataError, ParameterError, PromiseRefutedError, ReleaseDamagedError, shortened
from sfumato.guarantees import Guarantee
from sfumato.guarantees.base import Judgement
from sfumato.laws import WITHHELD_PROMISE
from sfumato.release.loading import load_release
from sfumato.release.manifest import (
    MANIFEST_NAME,
    SIGNATURE_NAME,
    Manifest,
    Signature,
    read_public_key,
)
from sfumato.release.readme import README_NAME, readme_text
from sfumato.release.release import Release
from sfumato.release.storage import source_of
from sfumato.text import capital, counted

# --------------------------------------------------------------------------------------------------
# Verifying a release: everything that can be checked without the private rows.


LARGEST_README = 256 * 2**20
"""Bytes; a longer one was not written by us."""

Verdict = Literal["holds", "broken", "cannot be told", "red flag"]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Parameters
    ----------
    about
        What.
    verdict
        What came of it; a promise that no table can show is neither kept nor broken here, and a red flag is what methods of
        its kind are known for.
    sentence
        The numbers behind that.
    """

    about: str
    verdict: Verdict
    sentence: str


@dataclass(frozen=True)
class Verification:
    """What was found when a release was verified.

    Parameters
    ----------
    release
        Name of its folder.
    checks
        In the order in which they were made.
    signed_by
        Fingerprint of the key that signed it, or None where nobody did.
    signed_on, serial
        Date and serial number of the signature, where it has them.
    """

    release: str
    checks: tuple[Check, ...]
    signed_by: str | None
    signed_on: date | None = None
    serial: int | None = None

    @property
    def is_kept(self) -> bool:
        """Nothing that could be checked is broken."""
        return all(each.verdict != "broken" for each in self.checks)

    def __repr__(self) -> str:
        verdict = "nothing broken" if self.is_kept else "broken"
        return f"Verification({self.release}: {verdict}, {counted(len(self.checks), 'check')})"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A line for each check."""
        lines = [f"  {each.about}: {each.verdict}. {each.sentence}" for each in self.checks]
        end = "Nothing that can be checked is broken." if self.is_kept else "A promise is broken."
        return "\n".join([self.release, *lines, end])

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "release": self.release,
            "holds": self.is_kept,
            "signed_by": self.signed_by,
            "signed_on": None if self.signed_on is None else self.signed_on.isoformat(),
            "serial": self.serial,
            "checks": [asdict(each) for each in self.checks],
        }


def verify_release(
    folder: str | Path,
    *,
    key: str | Path | None = None,
    at_least: int | None = None,
    engine: Engine | None = None,
) -> Verification:
    """Check a release by itself: files, numbers of rows, promises, signature.

    Parameters
    ----------
    folder
        Of the release.
    key
        File of the public Ed25519 key that must have signed it.
    at_least
        Smallest serial number that its signature may have, with a key.
    engine
        Reads the tables.

    Raises
    ------
    ReleaseError
        When it cannot be opened, such as after files were changed.
    ReleaseDamagedError
        When it was signed by another key, by nobody although a key is given, with a smaller serial number, or holds a file
        that was changed or added since it was signed.
    """
    path = Path(folder)
    if at_least is not None and key is None:
        raise ParameterError(
            "at-least: without a key anybody can sign any serial number. Give the signer's public key by --key.",
            parameter="at_least",
        )
    expected = None if key is None else read_public_key(Path(key))
    try:
        opened = load_release(path, engine=engine)
    except PromiseRefutedError as error:
        # Nothing else of it is looked at: it is no release to anybody.
        return Verification(
            path.resolve().name, (Check(f"promise {error.promise}", "broken", capital(str(error))),), None
        )
    with opened as release:
        signature = release.signature
        _refuse_other_signatures(signature, expected, at_least)
        surplus = _unnamed_files(release)
        if signature is not None:
            _refuse_unsigned(release, signature, surplus)
        checks = [
            Check(
                "files",
                "holds",
                "Checksums fit, which shows accidental changes; whoever changes files can change checksums too.",
            ),
            *_surplus(surplus),
            *_rows(release),
            *(_promise(*each) for each in judged(release)),
            *([Check("promises", "cannot be told", WITHHELD_PROMISE)] if release.law.is_withheld else []),
            *release.self_checks(),
            _words(release),
            _signature(signature, is_expected=expected is not None),
        ]
    stated = None if signature is None else signature.statement
    return Verification(
        path.resolve().name,
        tuple(checks),
        None if signature is None else signature.fingerprint,
        None if stated is None else stated.date,
        None if stated is None else stated.serial,
    )


def judged(release: Release) -> Iterator[tuple[Guarantee, Judgement | None]]:
    """Every promise with what the published tables say of it; None where they cannot."""
    return ((promise, promise.judge(release)) for promise in release.guarantees)


def refuse_broken_promises(folder: Path, manifest: Manifest, *, engine: Engine) -> None:
    """Refuse to publish what was just written, when its own tables break a promise or do not fit each other.

    Raises
    ------
    DataError
        Naming the promise.
    """
    sources = {each.name: source_of(folder, each) for each in manifest.tables}
    release = Release(folder, manifest, sources, engine)
    release.law.refuse_unfit_tables(release)
    for _, judgement in judged(release):
        if judgement is not None and not judgement.holds:
            raise DataError(
                f"what was written breaks the promise it was made for: {judgement.sentence}. The private table may have "
                "changed while it was read. Nothing was published; try again when it is at rest."
            )


def _unnamed_files(release: Release) -> list[str]:
    """Files beside those that the manifest names: published with them, and looked at by nothing."""
    assert release.folder is not None
    named = {MANIFEST_NAME, README_NAME, SIGNATURE_NAME}
    for table in release.tables:
        named |= {each.path for each in table.parts} or {table.path}
    found = (
        each.relative_to(release.folder).as_posix()
        for each in release.folder.rglob("*")
        if each.is_symlink() or not each.is_dir()
    )
    return sorted(each for each in found if each not in named)


def _surplus(files: Sequence[str]) -> Iterator[Check]:
    if files:
        yield Check(
            "other files",
            "red flag",
            f"The folder holds {counted(len(files), 'file')} that the manifest does not name: nothing says what they are or tell. "
            "Take them out before the release is passed on.",
        )


def _rows(release: Release) -> Iterator[Check]:
    """Each table is read whole: every cell must be of the category list, and their number as stated."""
    for table in release.tables:
        names = (*table.schema_of_attributes.names, *table.integers)
        rows = sum(batch.number_of_rows for batch in release.scan(table.name, names))
        if rows != table.number_of_rows:
            raise ReleaseDamagedError(
                f"table {table.name!r} has {counted(rows, 'row')} and its manifest says {table.number_of_rows:,}. "
                "Get the release again from where it came."
            )
        yield Check(f"table {table.name}", "holds", f"{counted(rows, 'row')}, every cell a listed category.")
    release.law.refuse_unfit_tables(release)


def _promise(promise: Guarantee, judgement: Judgement | None) -> Check:
    about = f"promise {promise.model_dump()['guarantee']}"
    if judgement is None:
        return Check(
            about, "cannot be told", f"Follows from the law; tables cannot show it. {promise.statement}"
        )
    return Check(
        about,
        "holds" if judgement.holds else "broken",
        f"{capital(judgement.sentence)}. {promise.statement}",
    )


def _words(release: Release) -> Check:
    """The text for readers stands beside the manifest and is not covered by its checksum."""
    assert release.folder is not None
    path = release.folder / README_NAME
    written = readme_text(release.manifest, release.law).encode()
    is_file = path.is_file() and not path.is_symlink()
    if is_file and path.stat().st_size == len(written) and path.read_bytes() == written:
        return Check("README.md", "holds", "It says what the manifest says.")
    return Check(
        "README.md",
        "cannot be told",
        "It is not what this version would write from the manifest; rely on the manifest alone.",
    )


def _refuse_other_signatures(
    signature: Signature | None, expected: bytes | None, at_least: int | None
) -> None:
    if expected is not None and (signature is None or signature.public_key != expected):
        raise ReleaseDamagedError(
            f"the release is {'not signed' if signature is None else 'signed by another key than the one given'}. "
            "Ask the custodian for a signed release, or for the public key."
        )
    stated = None if signature is None else signature.statement
    if at_least is not None and (stated is None or stated.serial < at_least):
        number = "no serial number" if stated is None else f"serial number {stated.serial}"
        raise ReleaseDamagedError(
            f"the release is signed with {number}, and at least {at_least} is asked for: it may be an old one. "
            "Ask the custodian for the newest."
        )


def _refuse_unsigned(release: Release, signature: Signature, surplus: Sequence[str]) -> None:
    """Refuse files that were added or changed after signing; those that the manifest names were checked on opening."""
    assert release.folder is not None
    if surplus:
        raise ReleaseDamagedError(
            f"{shortened(surplus[0])!r} is not covered by the release's signature: it was added afterwards. "
            "Take it out, or get the release again from where it came."
        )
    path = release.folder / README_NAME
    is_file = path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST_README
    if signature.statement is not None and not (is_file and signature.covers(README_NAME, path.read_bytes())):
        raise ReleaseDamagedError(
            f"{README_NAME} is not the one that was signed: it was changed afterwards. "
            "Get the release again from where it came."
        )


def _signature(signature: Signature | None, *, is_expected: bool) -> Check:
    if signature is None:
        return Check("signature", "cannot be told", "Nobody signed the release: who made it is not known.")
    whose = "the key given" if is_expected else "a key that you must know by other means"
    said = f"Signed by {whose}, fingerprint {signature.fingerprint}"
    if signature.statement is None:
        limit = (
            "It is of an earlier kind, which has no date and no serial number and does not cover README.md."
        )
        return Check("signature", "holds", f"{said}. {limit}")
    stated = signature.statement
    return Check("signature", "holds", f"{said}, on {stated.date}, serial number {stated.serial}.")
