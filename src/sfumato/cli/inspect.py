"""``sfumato inspect``: the risk before anything is done."""

from __future__ import annotations

from sfumato.cli.options import AsJson, Data, EngineName, SchemaFile, SqlQuery, TableName, engine_named
from sfumato.cli.showing import show, talk

EXAMPLES = (
    "sfumato inspect people.csv --schema schema.toml",
    "sfumato inspect people.duckdb::people --schema schema.toml --json",
)


def inspect(
    data: Data,
    *,
    schema: SchemaFile,
    table: TableName = None,
    query: SqlQuery = None,
    engine: EngineName = "duckdb",
    as_json: AsJson = False,
) -> None:
    """Show columns, group sizes and uniqueness of private rows as they stand."""
    from sfumato.custody.inspect import inspect_table
    from sfumato.data.private_table import read_table

    private = read_table(data, schema, table=table, query=query, engine=engine_named(engine))
    found = inspect_table(private)
    talk("Everything below was computed from the private rows: for your eyes, not for publication.")
    show(found, as_json=as_json)
