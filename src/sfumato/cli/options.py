"""Arguments and options that several verbs share, and the examples under their help."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sfumato.cli.completion import complete_attacks, complete_methods, complete_settings

if TYPE_CHECKING:
    from sfumato.custody.ledger import Ledger

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
