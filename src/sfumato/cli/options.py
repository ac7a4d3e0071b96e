"""Arguments and options that verbs share, shell completion, and options for reading rows."""

from __future__ import annotations

import csv
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from sfumato.cli.output import talk

if TYPE_CHECKING:
    from sfumato.custody.ledger import Ledger
    from sfumato.data.engine import Engine
    from sfumato.data.private_table import PrivateTable
    from sfumato.registry import Family
    from sfumato.release import Release
    from sfumato.schema import Schema

# --------------------------------------------------------------------------------------------------
# Completion in the shell: names of methods, attacks and their parameters.


Item = tuple[str, str]
"""What is completed, and its help."""


def complete_methods(incomplete: str) -> list[Item]:
    """Methods whose name begins so."""
    from sfumato.methods.base import METHODS

    return _members(METHODS, incomplete)


def complete_attacks(incomplete: str) -> list[Item]:
    """Attacks whose name begins so."""
    from sfumato.attacks import ATTACKS

    return _members(ATTACKS, incomplete)


def complete_datasets(incomplete: str) -> list[Item]:
    """Data sets whose name begins so."""
    from sfumato.datasets import list_datasets

    return [(each.name, each.title) for each in list_datasets() if each.name.startswith(incomplete)]


def complete_settings(ctx: typer.Context, incomplete: str) -> list[Item]:
    """Parameters of the method or attack already on the line; of all of them when none is yet."""
    from sfumato.attacks import ATTACKS
    from sfumato.methods.base import METHODS

    family: Family[Any] = ATTACKS if "attack" in ctx.params else METHODS
    chosen = ctx.params.get(family.tag)
    members = [family.members[chosen]] if chosen in family.members else list(family.members.values())
    found = {
        f"{name}=": field.description or ""
        for member in members
        for name, field in member.model_fields.items()
        if name != family.tag and f"{name}=".startswith(incomplete)
    }
    return list(found.items())


def _members(family: Family[Any], incomplete: str) -> list[Item]:
    return [(name, member.title) for name, member in family.members.items() if name.startswith(incomplete)]


# --------------------------------------------------------------------------------------------------
# Arguments and options that several verbs share, and the examples under their help.


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file (.csv, .parquet, .xlsx, .sav, .dta and others), a pattern of files, - for stdin, "
        "file.duckdb::table, or a sqlite:/// or postgresql:// address.",
        show_default=False,
    ),
]
SchemaFile = Annotated[
    Path, typer.Option("--schema", metavar="FILE", help="Schema file (TOML).", show_default=False)
]
ReleaseFolder = Annotated[
    Path, typer.Argument(metavar="RELEASE", help="Folder of a release.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
MethodName = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="Method to publish by; `sfumato methods` lists them.",
        autocompletion=complete_methods,
    ),
]
AttackName = Annotated[
    str,
    typer.Option(
        "--attack",
        metavar="NAME",
        help="Attack to run; `sfumato attacks` lists them.",
        show_default=False,
        autocompletion=complete_attacks,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter; may be repeated. The value is TOML or plain text, or @FILE with the value in a "
        ".json, .toml or .csv file. NAME.ATTRIBUTE=VALUE sets it for one attribute.",
        autocompletion=complete_settings,
    ),
]
DesignFile = Annotated[
    Path | None,
    typer.Option(
        "--design", metavar="FILE", help='Design file (TOML): method = "..." and a line for each parameter.'
    ),
]
Where = Annotated[str, typer.Option("--where", metavar="CONDITIONS", help="Only rows that satisfy these.")]
Given = Annotated[
    list[str] | None,
    typer.Option("--given", metavar="ATTRIBUTES", help="Attributes within whose groups is meant."),
]
Confidence = Annotated[float, typer.Option("--confidence", help="Confidence level of the intervals.")]
TargetName = Annotated[
    Literal["table", "population"],
    typer.Option(
        "--target",
        help="What is estimated: counts of the private table itself, or what its population leads to expect.",
    ),
]

EstimatorName = Annotated[
    str | None,
    typer.Option(
        "--estimator",
        metavar="NAME",
        help="Another estimator of the release's law, such as xiao-tao; the law's own when not given.",
    ),
]

WorkloadKind = Annotated[
    str,
    typer.Option(
        "--workload",
        metavar="NAME",
        help="Which questions errors are measured by: strata (of the schema), cells (that occur, and as many that do not), "
        "differences (of shares of two groups), conjunctions (true of few and of many rows), base or cube (cells that occur).",
    ),
]
QuestionsFile = Annotated[
    Path | None,
    typer.Option(
        "--questions", metavar="FILE", help="Questions of your own, one a line, in place of a workload."
    ),
]

LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        readable=False,
        metavar="FILE",
        help="Where releases are written down; SFUMATO_LEDGER or a file in your home folder unless given.",
    ),
]


def ledger_named(path: Path | None) -> Ledger:
    """The ledger in a file, or this person's own."""
    from sfumato.custody.ledger import Ledger, default_ledger

    return default_ledger() if path is None else Ledger(path)


def examples(*commands: str) -> str:
    """The text under a verb's help."""
    # A bracket would be read as markup.
    return "\n".join(["Examples:", *(f"  {each}".replace("[", r"\[") for each in commands)])


# --------------------------------------------------------------------------------------------------
# What every verb that reads rows can be told about reading them.


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
        from sfumato.atomic_files import remove_abandoned_spill

        # What a process that was killed has left must not wait for one that spills too.
        remove_abandoned_spill(self.temp_dir)
        if self.engine == "spark":
            from sfumato.data.distributed.spark import SparkEngine, require_parts

            # Before anything is read, so that what is missing is said at once.
            require_parts()
            return SparkEngine(threads=self.threads, memory_limit=self.memory, temporary_folder=self.temp_dir)
        from sfumato.data.duckdb_engine import DuckDBEngine

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
