"""Fetching MovieLens 100K: two places with different files, one checksum of the ratings.

Only the slow test uses the network.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import zipfile

import pytest

from sfumato.datasets import fetch_dataset, movielens_100k
from sfumato.errors import DownloadError, ParameterError
from sfumato.schema import Schema

PLAIN = b"196\t242\t3\t881250949\n186\t302\t3\t891717742\n"
WITH_HEADER = b"user_id:token\titem_id:token\trating:float\ttimestamp:float\n186\t302\t3.0\t891717742\n196\t242\t3\t881250949\n"


def pack(path, content):
    """A zip archive with one file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(path, content)
    return buffer.getvalue()


@pytest.fixture
def places(monkeypatch):
    """What the two places send; an error where a place is out of reach."""
    sent = {
        "address": pack("ml-100k/u.data", PLAIN),
        "wheel": pack("recbole/dataset_example/ml-100k/ml-100k.inter", WITH_HEADER),
    }

    def send(place):
        def download(_):
            if sent[place] is None:
                raise DownloadError(f"{place} is out of reach.")
            return sent[place]

        return download

    monkeypatch.setattr(movielens_100k, "download_address", send("address"))
    monkeypatch.setattr(movielens_100k, "download_wheel", send("wheel"))
    digest = movielens_100k.digest_of(movielens_100k.read_raw(PLAIN))
    monkeypatch.setattr(movielens_100k, "CHECKSUM", digest)
    monkeypatch.setattr(movielens_100k, "CARD", dataclasses.replace(movielens_100k.CARD, rows=2))
    return sent


@pytest.mark.parametrize("gone", [None, "address"])
def test_either_place_gives_the_same_file(tmp_path, places, gone):
    """Header or none, 3 or 3.0, in any order: the same ratings."""
    if gone:
        places[gone] = None
    fetched = fetch_dataset("movielens-100k", tmp_path / "new")
    with fetched.data.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["user", "movie", "rating"], ["186", "302", "3"], ["196", "242", "3"]]
    assert Schema.read(fetched.schema).long.unit == "user"


def test_changed_ratings_are_refused(tmp_path, places):
    """Whoever sends them; nothing is written."""
    for place, path in (
        ("address", "ml-100k/u.data"),
        ("wheel", "recbole/dataset_example/ml-100k/ml-100k.inter"),
    ):
        places[place] = pack(path, PLAIN.replace(b"\t3\t", b"\t5\t", 1))
    with pytest.raises(DownloadError, match="expected"):
        fetch_dataset("movielens-100k", tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_is_no_archive_is_refused(tmp_path, places):
    """With the reason for each place."""
    places["address"], places["wheel"] = b"<html>", None
    with pytest.raises(DownloadError, match=r"BadZipFile.*wheel is out of reach"):
        fetch_dataset("movielens-100k", tmp_path)


def test_nothing_is_overwritten(tmp_path, places):
    """Refused before the download."""
    (tmp_path / "movielens-100k.csv").write_text("mine")
    with pytest.raises(ParameterError, match="already exists"):
        fetch_dataset("movielens-100k", tmp_path)


@pytest.mark.slow
def test_the_real_ratings_are_fetched(tmp_path):
    """100,000 ratings of 1,682 movies by 943 people."""
    fetched = fetch_dataset("movielens-100k", tmp_path)
    with fetched.data.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert len(rows) == fetched.rows == 100_000
    assert len({row[0] for row in rows}) == 943
    assert len({row[1] for row in rows}) == 1_682
