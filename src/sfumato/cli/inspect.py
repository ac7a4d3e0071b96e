"""``sfumato inspect``: the risk before anything is done."""

from __future__ import annotations

from sfumato.cli.options import AsJson, Data, SchemaFile
from sfumato.cli.reading import Reading, with_options
from sfumato.cli.showing import show, talk

EXAMPLES = (
    "sfumato inspect people.csv --schema schema.toml",
    "sfumato inspect people.duckdb::people --schema schema.toml --json",
)


@with_options
def inspect(
    data: Data,
    *,
    schema: SchemaFile,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Show columns, group sizes and uniqueness of private rows as they stand."""
    from sfumato.custody.inspect import inspect_table

    found = inspect_table(reading.read_table(data, schema))
    talk("Everything below was computed from the private rows: for your eyes, not for publication.")
    show(found, as_json=as_json)
