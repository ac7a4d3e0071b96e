"""What every verb that reads rows can be told about reading them."""

from __future__ import annotations

import csv
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from sfumato.cli.showing import talk

if TYPE_CHECKING:
    from sfumato.data.engine import Engine
    from sfumato.data.private_table import PrivateTable
    from sfumato.release import Release
    from sfumato.values.schema import Schema

PANEL = "Reading"


@dataclass(frozen=True)
class Running:
    """How rows are read: by what, and with how much of the machine."""

    engine: Annotated[
        Literal["duckdb", "spark"],
        typer.Option("--engine", help="What reads and counts rows.", rich_help_panel=PANEL),
    ] = "duckdb"
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads", metavar="N", help="Threads to read with; one per core.", rich_help_panel=PANEL
        ),
    ] = None
    memory: Annotated[
        str,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Memory to read with, such as 4GB; the rest goes to disk.",
            rich_help_panel=PANEL,
        ),
    ] = "1GB"
    temp_dir: Annotated[
        Path | None,
        typer.Option(
            "--temp-dir", metavar="DIR", help="Where what exceeds memory is put.", rich_help_panel=PANEL
        ),
    ] = None

    def make_engine(self) -> Engine:
        """The engine asked for.

        Raises
        ------
        ParameterError
            When something that it needs is not there.
        """
        if self.engine == "spark":
            from sfumato.data.distributed.spark_engine import SparkEngine
            from sfumato.data.distributed.spark_session import require_parts

            # Before anything is read, so that what is missing is said at once.
            require_parts()
            return SparkEngine(threads=self.threads, memory_limit=self.memory, temporary_folder=self.temp_dir)
        from sfumato.data.duckdb import DuckDBEngine

        return DuckDBEngine(memory_limit=self.memory, threads=self.threads, temporary_folder=self.temp_dir)

    def load_release(self, folder: Path) -> Release:
        """The release in a folder."""
        from sfumato.release import load_release

        return load_release(folder, engine=self.make_engine())


@dataclass(frozen=True)
class Reading(Running):
    """What is read, besides how."""

    table: Annotated[
        str | None,
        typer.Option(
            "--table", metavar="NAME", help="Table of a database, sheet of a workbook.", rich_help_panel=PANEL
        ),
    ] = None
    query: Annotated[
        str | None,
        typer.Option(
            "--query",
            metavar="SQL",
            help="SQL that gives the rows: the database's own, or DuckDB's, which calls the rows of DATA data.",
            rich_help_panel=PANEL,
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding",
            metavar="NAME",
            help="Of a text file that is not UTF-8, such as cp1252.",
            rich_help_panel=PANEL,
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(
            "--delimiter",
            metavar="MARK",
            help="What stands between the cells of a text file.",
            rich_help_panel=PANEL,
        ),
    ] = None

    names: Annotated[
        str | None,
        typer.Option(
            "--names",
            metavar="A,B,...",
            help="Names of all columns of a text file that has no header line.",
            rich_help_panel=PANEL,
        ),
    ] = None

    @property
    def source_options(self) -> dict[str, Any]:
        """What was said about the source, as functions that read take it."""
        said = {name: getattr(self, name) for name in ("table", "query", "encoding", "delimiter")}
        # As a line of a text file, so that a name may hold a comma in quotes.
        return {
            **said,
            "names": None if self.names is None else next(csv.reader([self.names], skipinitialspace=True)),
        }

    def read_table(self, data: str, schema: Schema | Path) -> PrivateTable:
        """Private rows; what a reader might not expect of them is said."""
        from sfumato.data.private_table import read_table

        table = read_table(data, schema, **self.source_options, engine=self.make_engine())
        for remark in table.source.remarks:
            talk(remark)
        return table


def with_options(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb whose argument ``reading`` is spread out into the options that its type declares."""
    hints = get_type_hints(verb, include_extras=True)
    options = hints.pop("reading")
    declared = get_type_hints(options, include_extras=True)

    @functools.wraps(verb)
    def run(*arguments: Any, **named: Any) -> None:
        chosen = {each.name: named.pop(each.name) for each in fields(options)}
        verb(*arguments, **named, reading=options(**chosen))

    own = [
        each.replace(annotation=hints[each.name])
        for each in inspect.signature(verb).parameters.values()
        if each.name != "reading"
    ]
    added = [
        inspect.Parameter(
            each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=declared[each.name]
        )
        for each in fields(options)
    ]
    signature = inspect.Signature([*own, *added])
    # Typer looks at the signature and the annotations; at the wrapped function it must not.
    del run.__wrapped__
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
    return run
