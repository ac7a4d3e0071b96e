"""The analyst's verbs about counts: show, query, counts, mean, report."""

from __future__ import annotations

import csv
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sfumato.cli.options import (
    AsJson,
    Confidence,
    EstimatorName,
    Reading,
    ReleaseFolder,
    Running,
    TargetName,
    Where,
    with_options,
)
from sfumato.cli.output import show_json, show_result, talk, tell
from sfumato.errors import ParameterError
from sfumato.text import as_text, counted, number_run, visible

if TYPE_CHECKING:
    from sfumato.estimates.answers import AnswerTable

# --------------------------------------------------------------------------------------------------
# ``sfumato show``: what a release is, and what can be asked of it.


SHOW_EXAMPLES = ("sfumato show release", "sfumato show release --json")


@with_options
def show(release: ReleaseFolder, *, reading: Running, as_json: AsJson = False) -> None:
    """Say what a release holds and promises, and with what error it can be counted."""
    show_result(reading.load_release(release).overview(), as_json=as_json)


# --------------------------------------------------------------------------------------------------
# ``sfumato query``: how many rows satisfy a condition, with the error of the answer.


QUERY_EXAMPLES = (
    "sfumato query release \"occupation = 'Sales' AND age < 35\"",
    "sfumato query release \"occupation = 'Sales'\" --given \"sex = 'Female'\"",
    'sfumato query release "age < 35" \\',
    "    --given \"occupation = 'Sales'\" --versus \"occupation = 'Tech'\"",
    "sfumato query release --file questions.txt --json",
)


@with_options
def query(
    release: ReleaseFolder,
    question: Annotated[
        str | None,
        typer.Argument(
            metavar="[QUESTION]",
            help="Conditions joined by AND, OR, NOT and parentheses: =, !=, IN (...), NOT IN (...), IS MISSING; on bins "
            "also <, <=, >, >=, BETWEEN. Text in single quotes.",
            show_default=False,
        ),
    ] = None,
    *,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="Many questions, one a line, answered from one pass over the rows; - for stdin.",
        ),
    ] = None,
    given: Annotated[
        str | None,
        typer.Option(
            "--given", metavar="CONDITIONS", help="Estimate a share of the rows that satisfy these."
        ),
    ] = None,
    versus: Annotated[
        str | None,
        typer.Option(
            "--versus",
            metavar="CONDITIONS",
            help="With --given: how much larger its share is than that of the rows that satisfy these.",
        ),
    ] = None,
    confidence: Confidence = 0.95,
    target: TargetName = "table",
    estimator: EstimatorName = None,
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Estimate how many rows satisfy a condition, or which share of a group does."""
    if (question is None) == (file is None):
        raise typer.BadParameter("give a QUESTION or --file, one of them.")
    if file is not None and given is not None:
        raise typer.BadParameter("--file asks for counts; leave --given out.")
    if given is not None and estimator is not None:
        raise typer.BadParameter("shares are ratios of the law's own estimates; leave --estimator out.")
    if versus is not None and given is None:
        raise typer.BadParameter("--versus compares with the group of --given; give both.")
    opened = reading.load_release(release)
    if question is None:
        assert file is not None
        answers = opened.queries(
            questions_in(file), confidence_level=confidence, target=target, estimator=estimator
        )
        if as_json:
            show_json([each.to_dict() for each in answers])
        else:
            tell("\n\n".join(each.summary() for each in answers))
        return
    if given is None:
        answer = opened.query(question, confidence_level=confidence, target=target, estimator=estimator)
    elif versus is not None:
        answer = opened.difference(
            question, given=given, versus=versus, confidence_level=confidence, target=target
        )
    else:
        answer = opened.proportion(question, given=given, confidence_level=confidence, target=target)
    show_result(answer, as_json=as_json)


def questions_in(file: Path) -> list[str]:
    """The lines of a file that hold something; ``-`` is stdin.

    Raises
    ------
    ParameterError
        When the file is not text, or holds no question.
    """
    from sfumato.errors import ParameterError

    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError(f"{file} is not UTF-8 text. Save it as such.", parameter="file") from None
    questions = [line.strip() for line in text.splitlines() if line.strip()]
    if not questions:
        raise ParameterError(f"{file} holds no question; write one on each line.", parameter="file")
    return questions


# --------------------------------------------------------------------------------------------------
# ``sfumato counts``: a table of estimated counts.


COUNTS_EXAMPLES = (
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
        show_result(table, as_json=as_json)
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
    """A new CSV file with a column for each attribute, and estimate, std_error, low, high; nothing in it commands a terminal."""
    from sfumato.atomic_files import write_whole

    texts = {text for labels, *_ in table.cells() for text in labels} | {*table.column_names()}
    run = number_run(texts)
    if run and formulas == "refuse":
        raise ParameterError(
            f"csv: {counted(run, 'label')} would be run by a spreadsheet as a formula: such labels begin with =, +, - or @. "
            "Write them with an apostrophe before them by --formulas quote, or as they are by --formulas keep.",
            parameter="formulas",
        )
    written = as_text if formulas == "quote" else visible
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


# --------------------------------------------------------------------------------------------------
# ``sfumato mean``: means, quantiles and variances of binned and numeric attributes.


MEAN_EXAMPLES = (
    "sfumato mean release age",
    "sfumato mean release age --where \"occupation = 'Sales'\"",
    "sfumato mean release age --quantile 0.5",
)


@with_options
def mean(
    release: ReleaseFolder,
    attribute: Annotated[
        str,
        typer.Argument(
            metavar="ATTRIBUTE",
            help="Binned, or with ordered categories that are numbers.",
            show_default=False,
        ),
    ],
    *,
    where: Where = "",
    quantile: Annotated[
        float | None,
        typer.Option("--quantile", metavar="SHARE", help="This quantile instead; 0.5 is the median."),
    ] = None,
    variance: Annotated[bool, typer.Option("--variance", help="The variance instead.")] = False,
    score: Annotated[
        list[str] | None,
        typer.Option(
            "--score", metavar="CATEGORY=NUMBER", help="What a category counts for; for all of them."
        ),
    ] = None,
    confidence: Confidence = 0.95,
    target: TargetName = "table",
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Estimate the mean, a quantile or the variance of an attribute whose categories stand for numbers."""
    if variance and quantile is not None:
        raise typer.BadParameter("give --quantile or --variance, one of them.")
    scores = None if score is None else dict(category_number(each, "--score") for each in score)
    opened = reading.load_release(release)
    if quantile is not None:
        found = opened.quantile(
            attribute, quantile, where=where, scores=scores, confidence_level=confidence, target=target
        )
    elif variance:
        found = opened.variance(
            attribute, where=where, scores=scores, confidence_level=confidence, target=target
        )
    else:
        found = opened.mean(attribute, where=where, scores=scores, confidence_level=confidence, target=target)
    show_result(found, as_json=as_json)


def category_number(text: str, option: str) -> tuple[str, float]:
    """A category and its number, from what was given to an option.

    Examples
    --------
    >>> category_number("a=b=0.5", "--score")
    ('a=b', 0.5)
    """
    category, _, number = text.rpartition("=")
    try:
        return category, float(number)
    except ValueError:
        raise typer.BadParameter(f"{option} is CATEGORY=NUMBER, got {text!r}.") from None


# --------------------------------------------------------------------------------------------------
# ``sfumato report``: one self-contained page about a release.


REPORT_EXAMPLES = (
    "sfumato report release --out report.html",
    "sfumato report release --against people.csv --out private.html",
)


@with_options
def report(
    release: ReleaseFolder,
    *,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE", help="HTML file to make; must not exist.", show_default=False),
    ],
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="DATA",
            help="The private rows, to show errors against the truth: a private page.",
        ),
    ] = None,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Write a report on a release: promise, accuracy, margins with intervals, how to repeat it."""
    from sfumato.report import write_report

    opened = reading.load_release(release)
    private = None if against is None else reading.read_table(against, opened.schema)
    # Names without folders: where files lie is nobody else's business.
    command = f"sfumato report {shlex.quote(release.name)} --out {shlex.quote(out.name)}"
    page = write_report(opened, out, against=private, command=command)
    if private is not None:
        talk("The page holds what was computed from the private rows: for your eyes, not for publication.")
    if as_json:
        show_json({"report": str(page), "private": private is not None})
    else:
        tell(str(page))
