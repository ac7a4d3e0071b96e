"""``sfumato query``: how many rows satisfy a condition, with the error of the answer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, Confidence, EstimatorName, ReleaseFolder, TargetName
from sfumato.cli.reading import Running, with_options
from sfumato.cli.showing import show, show_json, tell

EXAMPLES = (
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
    show(answer, as_json=as_json)


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
