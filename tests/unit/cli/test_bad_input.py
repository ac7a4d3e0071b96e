"""Bad input gets one clear sentence, exit 1, and nothing written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyarrow import parquet

from samples import people
from sfumato.release.manifest import checksum

MARKER = "Quetzalcoatl"
"""Planted in private cells; no message may contain it."""

METHOD = ("--schema", "schema.toml", "--method", "randomized-response")
PUBLISH = ("publish", "people.csv", *METHOD, "--set", "retention=0.5", "--out", "out")
QUERY = ("query", "release")


@dataclass(frozen=True)
class Case:
    """One way to go wrong.

    Parameters
    ----------
    spoil
        Changes the files of a working folder.
    arguments
        The command.
    said
        What the sentence must contain.
    """

    spoil: Callable[[Path], object]
    arguments: tuple[str, ...]
    said: tuple[str, ...]


def nothing(folder: Path) -> None:
    """The mistake is in the command."""


def rewrite(name: str, change: Callable[[str], str]) -> Callable[[Path], object]:
    """Change a text file."""
    return lambda folder: (folder / name).write_text(
        change((folder / name).read_text(encoding="utf-8")), encoding="utf-8"
    )


def replace(name: str, old: str, new: str, count: int = -1) -> Callable[[Path], object]:
    """Replace text in a file that must contain it."""

    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, count)

    return rewrite(name, change)


def overwrite(name: str, content: bytes | str) -> Callable[[Path], object]:
    """Give a file other content."""
    data = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / name).write_bytes(data)


def truncated_parquet(folder: Path) -> None:
    """A Parquet file that lost its end."""
    parquet.write_table(people(400), folder / "people.parquet")
    content = (folder / "people.parquet").read_bytes()
    (folder / "people.parquet").write_bytes(content[: len(content) // 2])


def parquet_with_a_broken_page(folder: Path) -> None:
    """A Parquet file whose end is right and whose pages are not."""
    parquet.write_table(people(400), folder / "people.parquet", compression="zstd")
    content = bytearray((folder / "people.parquet").read_bytes())
    content[4:2000] = b"\x7f" * 1996
    (folder / "people.parquet").write_bytes(content)


def forge(change: Callable[[dict], object]) -> Callable[[Path], object]:
    """Edit a manifest and make its checksum fit again, as a future version or a forger would."""

    def spoil(folder: Path) -> None:
        path = folder / "release" / "datapackage.json"
        descriptor = json.loads(path.read_text(encoding="utf-8"))
        change(descriptor["sfumato"])
        descriptor["sfumato"].pop("checksum")
        descriptor["sfumato"]["checksum"] = checksum(descriptor)
        path.write_text(json.dumps(descriptor), encoding="utf-8")

    return spoil


SCHEMA_OF_ONE = '[attributes.job]\nrole = "sensitive"\ncategories = ["Sales"]\n'

CASES = {
    # Rows that do not fit the schema.
    "unknown category": Case(replace("people.csv", '"Tech"', f'"{MARKER}"', 3), PUBLISH, ("'job'", "3 rows")),
    "number outside the bins": Case(
        rewrite("people.csv", lambda text: text + '"x","Male",170,"North","Tech"\n'),
        PUBLISH,
        ("'age'", "1 row"),
    ),
    "missing value without leave": Case(
        rewrite("people.csv", lambda text: text + f'"{MARKER}",,20,"North","Tech"\n'),
        PUBLISH,
        ("'sex'", "no value in 1 row"),
    ),
    "missing column": Case(replace("people.csv", '"job"', '"work"', 1), PUBLISH, ("no column 'job'",)),
    "empty table": Case(
        rewrite("people.csv", lambda text: text.splitlines()[0] + "\n"), PUBLISH, ("no rows",)
    ),
    "empty file": Case(overwrite("people.csv", ""), PUBLISH, ("people.csv", "empty")),
    "no such file": Case(lambda folder: (folder / "people.csv").unlink(), PUBLISH, ("no file 'people.csv'",)),
    "unknown format": Case(
        nothing, ("inspect", "people.docx", "--schema", "schema.toml"), ("people.docx", ".parquet")
    ),
    "repeated column": Case(
        replace("people.csv", '"age"', '"sex"', 1), PUBLISH, ("people.csv", "no column 'age'")
    ),
    # Files that are not what they claim to be.
    "ragged lines": Case(
        rewrite("people.csv", lambda text: text + f'"{MARKER}","Male"\n'),
        PUBLISH,
        ("people.csv", "number of columns"),
    ),
    "too many cells": Case(
        rewrite("people.csv", lambda text: text + f'"x","Male",20,"North","Tech","{MARKER}"\n'),
        PUBLISH,
        ("people.csv", "number of columns"),
    ),
    "unclosed quote": Case(
        rewrite("people.csv", lambda text: text + f'"{MARKER},Male,20,North,Tech\n'), PUBLISH, ("people.csv",)
    ),
    "not UTF-8": Case(
        lambda folder: (folder / "people.csv").write_bytes(
            (folder / "people.csv").read_bytes() + b'"x","M\xff\x81\xffle",20,"North","Tech"\n'
        ),
        PUBLISH,
        ("people.csv", "UTF-8"),
    ),
    "UTF-16 without its mark": Case(
        lambda folder: (folder / "people.csv").write_bytes(
            (folder / "people.csv").read_text().encode("utf-16-le")
        ),
        PUBLISH,
        ("people.csv", "--encoding utf-16-le"),
    ),
    "truncated Parquet": Case(
        truncated_parquet, ("publish", "people.parquet", *PUBLISH[2:]), ("people.parquet", "truncated")
    ),
    "damaged Parquet": Case(
        parquet_with_a_broken_page, ("publish", "people.parquet", *PUBLISH[2:]), ("people.parquet", "damaged")
    ),
    "database without table": Case(
        nothing, ("inspect", "sqlite:///x.db", "--schema", "schema.toml"), ("table or a query",)
    ),
    # Schemas.
    "two roles": Case(
        replace("schema.toml", 'role = "other"', 'role = "other"\nrole = "sensitive"'),
        PUBLISH,
        ("not valid TOML", "line 14"),
    ),
    "unknown role": Case(replace("schema.toml", '"other"', '"public"'), PUBLISH, ("region", "role")),
    "broken schema": Case(
        replace("schema.toml", "bins = [", "bins = [[", 1), PUBLISH, ("not valid TOML", "line")
    ),
    "no schema": Case(
        lambda folder: (folder / "schema.toml").unlink(), PUBLISH, ("schema.toml", "No such file")
    ),
    "one category": Case(
        overwrite("schema.toml", SCHEMA_OF_ONE), PUBLISH, ("'job'", "fewer than two categories")
    ),
    # Parameters.
    **{
        f"retention {value}": Case(
            nothing,
            ("publish", "people.csv", *METHOD, "--set", f"retention={value}", "--out", "out"),
            ("retention",),
        )
        for value in ("0", "1", "-0.5", "1.5", "nan", "inf", "half", "true")
    },
    "unknown parameter": Case(
        nothing,
        ("publish", "people.csv", *METHOD, "--set", "retentoin=0.5", "--out", "out"),
        ("did you mean 'retention'?",),
    ),
    "no parameter": Case(nothing, ("publish", "people.csv", *METHOD, "--out", "out"), ("retention",)),
    "broken design": Case(
        overwrite("design.toml", 'method = "randomized-response"\nretention 0.5\n'),
        ("publish", "people.csv", "--schema", "schema.toml", "--design", "design.toml", "--out", "out"),
        ("design.toml", "line 2"),
    ),
    "zero rows": Case(nothing, ("plan", *METHOD, "--set", "retention=0.5", "--rows", "0"), ("rows", "got 0")),
    # Output.
    "existing folder": Case(lambda folder: (folder / "out").mkdir(), PUBLISH, ("'out' is already there",)),
    # Releases.
    "not a release": Case(nothing, ("query", "nowhere", "sex = 'Male'"), ("not a release",)),
    "edited manifest": Case(
        replace("release/datapackage.json", "randomized-response", "anatomy"),
        (*QUERY, "sex = 'Male'"),
        ("changed after publication", "checksum"),
    ),
    "broken manifest": Case(
        overwrite("release/datapackage.json", "{"), (*QUERY, "sex = 'Male'"), ("not valid JSON",)
    ),
    "edited rows": Case(
        overwrite("release/rows.parquet", b"PAR1"), (*QUERY, "sex = 'Male'"), ("rows.parquet", "checksum")
    ),
    "future version": Case(
        forge(lambda block: block.update(format_version=99)), (*QUERY, "sex = 'Male'"), ("format version 99",)
    ),
    "unknown law": Case(
        forge(lambda block: block["law"].update(law="telepathy")),
        (*QUERY, "sex = 'Male'"),
        ("law 'telepathy'",),
    ),
    "unknown field": Case(
        forge(lambda block: block.update(mood="good")), (*QUERY, "sex = 'Male'"), ("mood",)
    ),
    # Questions.
    "unknown attribute": Case(nothing, (*QUERY, "jbo = 'Sales'"), ("'jbo'", "did you mean 'job'?")),
    "unknown category asked": Case(nothing, (*QUERY, "job = 'Slaes'"), ("did you mean 'Sales'?",)),
    "identifier asked": Case(nothing, (*QUERY, "person = 'person-1'"), ("no attribute 'person'",)),
    "malformed question": Case(nothing, (*QUERY, "job = 'Sales' XOR sex = 'Male'"), ("character 15",)),
    "wrong confidence": Case(nothing, (*QUERY, "job = 'Sales'", "--confidence", "95"), ("confidence", "95")),
    "unknown attribute tabulated": Case(
        nothing, ("counts", "release", "--by", "sex,jbo"), ("did you mean 'job'?",)
    ),
    "attribute tabulated twice": Case(nothing, ("counts", "release", "--by", "sex,sex"), ("once",)),
    "unknown attribute in where": Case(
        nothing, ("counts", "release", "--by", "sex", "--where", "jbo = 'Sales'"), ("did you mean 'job'?",)
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("release")
def test_it_is_refused_in_a_sentence_and_nothing_is_written(run, folder, name):
    """Exit 1, stdout empty, the reason on stderr without a private value, the folder as it was."""
    case = CASES[name]
    case.spoil(folder)
    before = _content(folder)
    outcome = run(*case.arguments)
    assert outcome.exit_code == 1, outcome
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("sfumato: ")
    assert outcome.stderr.count("\n") == 1
    assert MARKER not in outcome.stderr
    for words in case.said:
        assert words in outcome.stderr
    assert _content(folder) == before


def _content(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


@pytest.mark.parametrize(
    "respell",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace(",", ";"),
        lambda text: text.replace(",", "\t"),
        lambda text: text.replace(",", "|"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace('"person-3"', '"person\n3, the ""third"""'),
        lambda text: text.replace('"', "").replace("person-3,", '"person-3",'),
        lambda text: "\n".join(",".join(reversed(line.split(","))) for line in text.splitlines()) + "\n",
    ],
    ids=[
        "byte-order mark",
        "semicolons",
        "tabs",
        "bars",
        "CRLF",
        "quoted newlines",
        "few quotes",
        "swapped columns",
    ],
)
def test_other_ways_to_write_the_same_rows_are_read(run, folder, respell):
    """Columns go by their names in the header; the answers are those of the original file."""
    asked = ("query", "out", "sex = 'Female' AND age < 35 AND region IS MISSING", "--json")
    true = json.loads(_publish_and_ask(run, folder, "out", asked))
    text = (folder / "people.csv").read_text(encoding="utf-8")
    (folder / "people.csv").write_text(respell(text), encoding="utf-8", newline="")
    read = json.loads(_publish_and_ask(run, folder, "again", ("query", "again", *asked[2:])))
    assert read == true
    assert read["estimate"] > 0


def _publish_and_ask(run, folder: Path, out: str, asked: tuple[str, ...]) -> str:
    outcome = run("publish", "people.csv", *METHOD, "--set", "retention=0.5", "--out", out, "--again")
    assert outcome.exit_code == 0, outcome.stderr
    return run(*asked).stdout
