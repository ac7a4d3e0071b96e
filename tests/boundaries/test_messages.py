"""No cell of a private table is in an error, in what the error was made from, or on a terminal as a command."""

from __future__ import annotations

import io
import sqlite3

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from samples import SCHEMA, people
from sfumato import RandomizedResponse, check_schema, inspect_table, plan, publish, read_table
from sfumato.custody.schemas.inference import infer_schema
from sfumato.errors import SfumatoError

MARKER = "Quetzalcoatl"
"""Stands in private cells; no error may contain it, however deep one looks."""


def texts(*, change):
    """A CSV file of people, changed."""
    sink = io.BytesIO()
    csv.write_csv(people(300), sink)
    return change(sink.getvalue().replace(b"person-7", MARKER.encode()))


def unfit_table():
    """A cell that fits no category, in a table."""
    table = people(300)
    job = [MARKER if place == 7 else each for place, each in enumerate(table["job"].to_pylist())]
    return table.set_column(4, "job", [job])


SPOILED = {
    "a cell too many": lambda folder: (
        folder / "a.csv",
        texts(change=lambda text: text + f'{MARKER},"Female",30,"North","Care",{MARKER}\n'.encode()),
    ),
    "a cell too few": lambda folder: (
        folder / "a.csv",
        texts(change=lambda text: text + f"{MARKER}\n".encode()),
    ),
    "an open quote": lambda folder: (
        folder / "a.csv",
        texts(change=lambda text: text + f'"{MARKER},,,\n'.encode()),
    ),
    "other bytes": lambda folder: (
        folder / "a.csv",
        texts(
            change=lambda text: text + f'{MARKER}\xff\x81\xff,"Female",30,"North","Care"\n'.encode("latin-1")
        ),
    ),
    "an unfit job": lambda folder: (
        folder / "a.csv",
        texts(change=lambda text: text + f'"x","Female",30,"North","{MARKER}"\n'.encode()),
    ),
    "an unfit age": lambda folder: (
        folder / "a.csv",
        texts(change=lambda text: text + f'"x","Female",{MARKER},"North","Care"\n'.encode()),
    ),
    "no header": lambda folder: (
        folder / "a.csv",
        texts(change=lambda text: f"{MARKER},Female,30,North,Care\n".encode() + text.split(b"\n", 1)[1]),
    ),
    "a header of one value twice": lambda folder: (
        folder / "a.csv",
        texts(change=lambda text: f"{MARKER},{MARKER},30,North,Care\n".encode() + text.split(b"\n", 1)[1]),
    ),
    "a query with a mistake": lambda folder: (folder / "a.csv", texts(change=lambda text: text)),
    "a workbook that is text": lambda folder: (folder / "a.xlsx", texts(change=lambda text: text)),
    "a database that is text": lambda folder: (folder / "a.duckdb", texts(change=lambda text: text)),
    "a Parquet file that is text": lambda folder: (folder / "a.parquet", texts(change=lambda text: text)),
    "an SPSS file that is text": lambda folder: (folder / "a.sav", texts(change=lambda text: text)),
}


def through_every_door(data, folder, **options):
    """What each way to read private rows raises."""

    def read():
        return read_table(data, SCHEMA, **options)

    doors = (
        lambda: infer_schema(data, **options),
        lambda: check_schema(data, SCHEMA, **options),
        read,
        lambda: list(read().scan()),
        lambda: read().group_sizes(["sex", "age"]),
        lambda: inspect_table(read()),
        lambda: plan(RandomizedResponse(retention=0.5), SCHEMA, 300, table=read()),
        lambda: publish(read(), RandomizedResponse(retention=0.5), folder / "release", seed=1),
    )
    for door in doors:
        try:
            door()
        except SfumatoError as error:
            yield error


def everything_in(error):
    """The texts of an error, and of all that it carries."""
    seen, waiting = set(), [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield f"{each!r} {each} {vars(each)} {getattr(each, '__notes__', '')} {getattr(each, 'object', '')}"
        waiting += [each.__cause__, each.__context__]


@pytest.mark.parametrize("case", list(SPOILED))
def test_no_error_carries_a_cell(case, tmp_path):
    """Not even in what it was made from, which is only kept from being printed."""
    path, content = SPOILED[case](tmp_path)
    path.write_bytes(content)
    options = {"query": f"select * from data where sex::int = '{MARKER}'::int"} if "query" in case else {}
    errors = list(through_every_door(path, tmp_path, **options))
    assert errors
    for error in errors:
        for text in everything_in(error):
            assert MARKER not in text


def test_no_error_about_a_table_in_memory_or_a_database_carries_a_cell(tmp_path):
    """Nor of other sources."""
    table = unfit_table()
    parquet.write_table(table, tmp_path / "a.parquet")
    with sqlite3.connect(tmp_path / "a.sqlite") as connection:
        connection.execute("create table people (person, sex, age, region, job)")
        connection.executemany(
            "insert into people values (?, ?, ?, ?, ?)", zip(*table.to_pydict().values(), strict=True)
        )
    sources = [
        (table, {}),
        (tmp_path / "a.parquet", {}),
        (table, {"query": "select * replace (cast(job as int) as job) from data"}),
    ]
    try:
        import adbc_driver_sqlite  # noqa: F401 - whether it is there

        sources.append((f"sqlite:///{tmp_path / 'a.sqlite'}", {"table": "people"}))
    except ImportError:
        pass
    for data, options in sources:
        errors = list(through_every_door(data, tmp_path, **options))
        assert errors
        for error in errors:
            assert not any(MARKER in text for text in everything_in(error))


def test_the_check_sees_what_an_error_was_made_from():
    """The test's own eyes: what is only kept from being printed is found."""

    def made():
        try:
            int(MARKER)
        except ValueError:
            raise SfumatoError("cannot be read.") from None

    with pytest.raises(SfumatoError) as caught:
        made()
    assert any(MARKER in text for text in everything_in(caught.value))


TERMINAL_CODES = ("\x1b[2J\x1b[31mred", "a\x07b", "over\rwritten", "\x9b31m", "\u202eturned")


def test_labels_do_not_command_a_terminal(tmp_path, monkeypatch):
    """Not in tables, refusals, warnings, or the page for readers; nothing but line ends and tabs remain."""
    from typer.testing import CliRunner

    from sfumato.cli.app import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SFUMATO_LEDGER", str(tmp_path / "ledger.db"))
    rows = pa.table(
        {
            "job\x1b[1m": [TERMINAL_CODES[place % 5] for place in range(400)],
            "sex": ["F\x1b[0m", "M"] * 200,
        }
    )
    parquet.write_table(rows, "codes.parquet")
    shown = []

    def run(*arguments):
        outcome = CliRunner().invoke(app, list(arguments), prog_name="sfumato")
        shown.append(outcome.stdout + outcome.stderr)
        return outcome.exit_code

    assert run("schema", "infer", "codes.parquet", "--out", "codes.toml", "--header") == 0
    assert run("schema", "check", "codes.parquet", "codes.toml") == 0
    assert run("inspect", "codes.parquet", "--schema", "codes.toml") == 0
    publish_it = ("publish", "codes.parquet", "--schema", "codes.toml", "--out", "release")
    assert (
        run(
            *publish_it,
            "--method",
            "randomized-response",
            "--set",
            'attributes=["sex"]',
            "--set",
            "retention=0.5",
        )
        == 0
    ), shown[-1]
    shown.append((tmp_path / "release" / "README.md").read_text(encoding="utf-8"))
    assert run("show", "release") == 0
    assert run("counts", "release", "--by", "job\x1b[1m,sex") == 0
    assert run("query", "release", "\"job\x1b[1m\" = 'over\rwritten'") == 0
    assert run("query", "release", "\"job\x1b[1m\" = 'a\x1b[2J'") == 1
    assert run("verify", "release") == 0
    assert any("\\x1b[2J" in text for text in shown)
    for text in shown:
        left = {letter for letter in text if not letter.isprintable()} - {"\n", "\t"}
        assert not left, left
