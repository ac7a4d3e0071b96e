"""``sfumato counts``: a table of estimated counts."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sfumato.cli.options import (
    AsJson,
    Confidence,
    EstimatorName,
    ReleaseFolder,
    TargetName,
    Where,
)
from sfumato.cli.reading import Running, with_options
from sfumato.cli.showing import show, talk
from sfumato.errors import ParameterError
from sfumato.values.number_text import counted
from sfumato.values.plain_text import as_text, number_run

if TYPE_CHECKING:
    from sfumato.values.answer_tables import AnswerTable


EXAMPLES = (
    "sfumato counts release --by sex,occupation",
    "sfumato counts release --by occupation --where \"sex = 'Female'\"",
    "sfumato counts release --by sex,occupation --shares row --simultaneous max-t",
    "sfumato counts release --by occupation --consistent --csv counts.csv",
)


@with_options
def counts(
    release: ReleaseFolder,
    *,
    by: Annotated[
        list[str],
        typer.Option(
            "--by",
            metavar="ATTRIBUTES",
            help="Attributes, separated by commas; in double quotes when a name holds one.",
            show_default=False,
        ),
    ],
    where: Where = "",
    consistent: Annotated[
        bool, typer.Option("--consistent", help="Not negative and adding up, therefore biased.")
    ] = False,
    confidence: Confidence = 0.95,
    feasibility: Annotated[
        Literal["projection", "clip", "em"],
        typer.Option(
            "--feasibility",
            help="How --consistent makes them so: nearest, cut and rescaled, or most likely.",
        ),
    ] = "projection",
    shares: Annotated[
        Literal["row", "column", "all"] | None,
        typer.Option(
            "--shares",
            help="Shares instead of counts: in each row (combination of all attributes but the last), in each column "
            "(category of the last), or of all rows.",
        ),
    ] = None,
    simultaneous: Annotated[
        Literal["bonferroni", "max-t"] | None,
        typer.Option(
            "--simultaneous",
            help="Intervals that hold all together: however errors go together, or narrower, from their correlation.",
        ),
    ] = None,
    target: TargetName = "table",
    estimator: EstimatorName = None,
    as_json: AsJson = False,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write the table to a new CSV file instead.")
    ] = None,
    formulas: Annotated[
        Literal["quote", "refuse", "keep"],
        typer.Option(
            "--formulas",
            help="With --csv: what becomes of labels that a spreadsheet would run, such as =1+1.",
        ),
    ] = "quote",
    reading: Running,
) -> None:
    """Estimate the true counts over the categories of some attributes."""
    if as_json and csv_file is not None:
        raise typer.BadParameter("give --json or --csv, one of them.")
    if consistent and target != "table":
        raise typer.BadParameter("--consistent counts are about the table; leave --target out.")
    if consistent and estimator is not None:
        raise typer.BadParameter("--consistent starts from the law's own estimates; leave --estimator out.")
    if (consistent or estimator is not None) and shares is not None:
        raise typer.BadParameter(
            "--shares are made of the law's own estimates; leave --consistent and --estimator out."
        )
    if consistent and simultaneous is not None:
        raise typer.BadParameter(
            "--simultaneous intervals are about unbiased counts; leave --consistent out."
        )
    opened = reading.load_release(release)
    names = attribute_names(by)
    if shares is not None:
        table = opened.shares(
            names,
            within={"row": names[:-1], "column": names[-1:], "all": ()}[shares],
            where=where,
            confidence_level=confidence,
            target=target,
            simultaneous=simultaneous,
        )
    elif consistent:
        table = opened.consistent_counts(
            names, where=where, confidence_level=confidence, feasibility=feasibility
        )
    else:
        table = opened.counts(
            names,
            where=where,
            confidence_level=confidence,
            target=target,
            estimator=estimator,
            simultaneous=simultaneous,
        )
    if csv_file is None:
        show(table, as_json=as_json)
    else:
        write_csv(table, csv_file, formulas)
        talk(f"Wrote {csv_file}.")


def attribute_names(texts: Iterable[str]) -> list[str]:
    """Names from comma-separated texts.

    Examples
    --------
    >>> attribute_names(['a,b', '"c,d"'])
    ['a', 'b', 'c,d']
    """
    try:
        rows = list(csv.reader(texts, skipinitialspace=True))
    except csv.Error:
        raise ParameterError(
            "by: attributes are names separated by commas, on one line. Put a name that holds a comma in double quotes.",
            parameter="by",
        ) from None
    return [name.strip() for row in rows for name in row if name.strip()]


def write_csv(table: AnswerTable, path: Path, formulas: Literal["quote", "refuse", "keep"]) -> None:
    """A new CSV file with a column for each attribute, and estimate, std_error, low, high."""
    from sfumato.writing import write_whole

    texts = {text for labels, *_ in table.cells() for text in labels} | {*table.column_names()}
    run = number_run(texts)
    if run and formulas == "refuse":
        raise ParameterError(
            f"csv: {counted(run, 'label')} would be run by a spreadsheet as a formula: such labels begin with =, +, - or @. "
            "Write them with an apostrophe before them by --formulas quote, or as they are by --formulas keep.",
            parameter="formulas",
        )
    written = as_text if formulas == "quote" else str
    if run:
        what = "now begin with an apostrophe" if formulas == "quote" else "were written as they are"
        talk(f"{counted(run, 'label')} that a spreadsheet would run as a formula {what} (--formulas).")
    with (
        write_whole(path, parameter="csv") as (temporary,),
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([written(name) for name in table.column_names()])
        writer.writerows([*map(written, labels), *numbers] for labels, *numbers in table.cells())
