"""Text files as offices have them: encodings, compression, marks, and columns without a name."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from sfumato.data.private_table import read_table
from sfumato.data.sources import open_source
from sfumato.errors import SourceError
from sfumato.schema import Schema

CITIES = Schema.from_toml("""
[attributes.city]
role = "other"
categories = ["Köln", "Orléans", "Łódź", "10 €"]
[attributes.job]
role = "sensitive"
categories = ["a", "b"]
""")
WESTERN = "city;job\nKöln;a\nOrléans;b\n10 €;a\n"
CENTRAL = "miasto;płeć\nŁódź;mężczyzna\nBiałystok;żadna\nCzęstochowa;nadciśnienie\n"
"""Whose letters are signs and powers to western Windows: ³, ¹, ¿."""


def cities_read(path, **options) -> list[str]:
    """The first column, decoded."""
    table = read_table(path, CITIES, **options)
    return [CITIES["city"].labels[code] for batch in table.scan() for code in batch.codes["city"]]


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("utf-16", None),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "UTF-16BE"),
        ("cp1252", "cp1252"),
        ("cp1252", "windows-1252"),
        ("iso8859-15", "iso-8859-15"),
    ],
)
@pytest.mark.parametrize("compress", [None, gzip.compress, "zstd"])
def test_a_file_in_another_encoding_is_read_when_it_is_said(tmp_path, encoding, said, compress):
    """Compressed or not; a byte-order mark says it by itself."""
    raw = WESTERN.encode(encoding)
    path = tmp_path / "people.csv"
    if compress is gzip.compress:
        raw, path = gzip.compress(raw), tmp_path / "people.csv.gz"
    elif compress is not None:
        with pa.CompressedOutputStream(str(tmp_path / "people.csv.zst"), "zstd") as stream:
            stream.write(raw)
        raw, path = (tmp_path / "people.csv.zst").read_bytes(), tmp_path / "people.csv.zst"
    path.write_bytes(raw)
    assert cities_read(path, encoding=said) == ["Köln", "Orléans", "10 €"]


def test_latin_1_is_read_when_it_is_said(tmp_path):
    """It has no sign for the euro."""
    (tmp_path / "people.csv").write_bytes("city;job\nKöln;a\n".encode("latin-1"))
    assert cities_read(tmp_path / "people.csv", encoding="latin-1") == ["Köln"]


def test_big_endian_utf_16_with_its_mark_is_read(tmp_path):
    """The engine reads the other order only."""
    (tmp_path / "people.csv").write_bytes(b"\xfe\xff" + WESTERN.encode("utf-16-be"))
    assert cities_read(tmp_path / "people.csv") == ["Köln", "Orléans", "10 €"]


@pytest.mark.parametrize(
    ("raw", "question"),
    [
        (WESTERN.encode("utf-16-le"), "Say --encoding utf-16-le"),
        (WESTERN.encode("utf-16-be"), "Say --encoding utf-16-be"),
    ],
)
def test_a_file_that_does_not_say_its_encoding_is_asked_about(tmp_path, raw, question):
    """With the likely answer, and without its text."""
    (tmp_path / "people.csv").write_bytes(raw)
    with pytest.raises(SourceError, match=question) as caught:
        open_source(tmp_path / "people.csv").columns()
    assert "Köln" not in str(caught.value)


def test_a_wrong_encoding_is_refused(tmp_path):
    """Unknown ones with the nearest; ones that the bytes do not fit without their text."""
    path = tmp_path / "people.csv"
    path.write_bytes(WESTERN.encode("cp1252"))
    with pytest.raises(SourceError, match="no encoding 'cp125'; did you mean 'cp1252'"):
        cities_read(path, encoding="cp125")
    with pytest.raises(SourceError, match="not utf-8"):
        cities_read(path, encoding="utf-8")
    far = b"city;job\n" + b"Koln;a\n" * 200_000 + "Köln;a\n".encode("cp1252")
    path.write_bytes(far)
    with pytest.raises(SourceError, match="--encoding"):
        list(read_table(path, CITIES).scan())


def test_a_compressed_file_that_is_cut_off_is_refused(tmp_path):
    """Whether or not it still has its header."""
    whole = gzip.compress(WESTERN.encode() * 1000)
    for end in (20, len(whole) - 12):
        (tmp_path / "people.csv.gz").write_bytes(whole[:end])
        with pytest.raises(SourceError):
            cities_read(tmp_path / "people.csv.gz")


def test_the_row_numbers_of_pandas_are_left_out_and_said(tmp_path):
    """Its default CSV begins with a column without a name."""
    frame = pd.DataFrame({"city": ["Köln", "Orléans"], "job": ["a", "b"]})
    frame.to_csv(tmp_path / "people.csv")
    table = read_table(tmp_path / "people.csv", CITIES)
    assert table.source.columns() == ("city", "job")
    assert table.source.remarks == (
        "people.csv: column 1 without a name in the header, as pandas writes row numbers, is not read.",
    )
    assert cities_read(tmp_path / "people.csv") == ["Köln", "Orléans"]
    frame.to_csv(tmp_path / "people.csv", index=False)
    assert read_table(tmp_path / "people.csv", CITIES).source.remarks == ()


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("n,n|x\n1|2\n3|4\n", ("n,n", "x")),
        ("n,n|x\n1,2\n3,4\n", ("n", "n|x")),
        ("size;price, net\n1,5;2,5\n2;3\n", ("size", "price, net")),
        ("a|b,c,d\n1,2,3\n", ("a|b", "c", "d")),
        ('"a;b",c\n"1;2",3\n', ("a;b", "c")),
        ("only\n1\n", ("only",)),
    ],
)
def test_the_mark_that_divides_all_lines_is_the_delimiter(tmp_path, content, names):
    """A mark in a name or a decimal comma is none."""
    (tmp_path / "a.csv").write_text(content)
    assert open_source(tmp_path / "a.csv").columns() == names


def test_a_file_that_divides_two_ways_is_asked_about(tmp_path):
    """The first lines do not tell; the answer does."""
    (tmp_path / "a.csv").write_text("n,n|x\n1,5|2\n")
    with pytest.raises(SourceError, match=r"divide alike at ',' or '\|'\. Say --delimiter"):
        open_source(tmp_path / "a.csv").columns()
    assert open_source(tmp_path / "a.csv", delimiter="|").columns() == ("n,n", "x")
    with pytest.raises(SourceError, match="one character"):
        open_source(tmp_path / "a.csv", delimiter="||").columns()


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.duckdb::t"])
def test_a_file_that_may_not_be_read_is_said(tmp_path, monkeypatch, name):
    """It is not damaged; its owner has not given the right."""
    (tmp_path / name.partition("::")[0]).write_text("x\n1\n")
    original = Path.open

    def refuse(self, *arguments, **options):
        if self.parent == tmp_path:
            raise PermissionError(13, "Permission denied", str(self))
        return original(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(SourceError, match="permission denied"):
        open_source(f"{tmp_path}/{name}").columns()


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_names_are_given_for_a_file_without_a_header_line(tmp_path, ending):
    """The first line is a row like others."""
    path = tmp_path / f"bare.{ending}"
    raw = b"a;31\nb;40\na;50\n"
    path.write_bytes(gzip.compress(raw) if ending.endswith("gz") else raw)
    source = open_source(path, names=("job", "age"))
    assert source.columns() == ("job", "age")
    schema = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
    assert read_table(path, schema, names=("job", "age")).count_by(["job"]).counts.tolist() == [2, 1]


@pytest.mark.parametrize("names", [("job",), ("job", "age", "town")])
def test_as_many_names_must_be_given_as_there_are_columns(tmp_path, names):
    """Otherwise cells would be read under the names of others."""
    path = tmp_path / "bare.csv"
    path.write_text("a;31\nb;40\n", encoding="utf-8")
    with pytest.raises(SourceError, match=f"has 2 columns, and {len(names)} names were given"):
        open_source(path, names=names).columns()


def test_names_that_are_the_same_are_refused(tmp_path):
    """As in a header."""
    path = tmp_path / "bare.csv"
    path.write_text("a;31\nb;40\n", encoding="utf-8")
    with pytest.raises(SourceError, match="same name, capitals apart, for its columns 1 and 2"):
        open_source(path, names=("job", "Job")).columns()


def test_a_first_row_with_equal_cells_is_answered_by_names(tmp_path):
    """Without a header line two cells of the first row are often the same; the flag that answers it is named."""
    path = tmp_path / "bare.csv"
    path.write_text("1;1;SECRET\n2;1;SECRET\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"no header line.*--names") as caught:
        open_source(path).columns()
    assert "SECRET" not in str(caught.value)
    assert open_source(path, names=("a", "b", "c")).columns() == ("a", "b", "c")


def test_the_line_that_cannot_be_read_is_said_by_its_number(tmp_path):
    """Among millions nobody finds it otherwise; what stands in it is not said."""
    path = tmp_path / "broken.csv"
    path.write_text("job;age\n" + "a;31\n" * 1_500 + "SECRET-MARKER;31;7\n" + "b;40\n" * 10, encoding="utf-8")
    schema = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
    with pytest.raises(SourceError, match="line 1,502 does not have") as caught:
        read_table(path, schema).count_by(["job"])
    assert "SECRET" not in str(caught.value)
