"""The demonstration: the whole way on an embedded sample, and what each promise costs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from sfumato.custody.publish import publish
from sfumato.data.private_table import PrivateTable, read_table
from sfumato.datasets import make_dataset
from sfumato.errors import ParameterError, ReleaseError, ReleaseExistsError
from sfumato.methods.randomized_response.design import RandomizedResponse
from sfumato.report.comparison import Comparison, Group, LabelledRelease, Question, compare_releases
from sfumato.report.comparison_document import describe_comparison
from sfumato.report.demonstration_methods import OTHERS, Variant, describe_methods, show_methods
from sfumato.report.html import write_page
from sfumato.report.repetition import publish_command, query_command

ROWS = 20_000
LEAST_ROWS = 1_000
"""With fewer, some questions are about nobody."""
SEED = 2026
"""For the rows and the noise: everybody sees the same numbers, and nobody is protected by them."""

REPORT_NAME = "report.html"
DATA_NAME = "people.parquet"
SCHEMA_NAME = "people.schema.toml"
MARKER_NAME = ".sfumato-demonstration"
"""Says that a folder was made here and may be replaced."""
MARKER_TEXT = "Made by the sfumato demonstration, which may replace this folder.\n"


VARIANTS = tuple(
    Variant(f"retention-{retention}", f"retention {retention}", RandomizedResponse(retention=retention))
    for retention in (0.8, 0.5, 0.2)
)
MIDDLE = 1
"""Of these the one that stands beside other methods."""

QUESTIONS = (
    Question("cleaners", "occupation = 'Cleaner'"),
    Question("female nurses", "sex = 'Female' AND occupation = 'Registered nurse'"),
    Question("people under 20k", "salary IN ('0-4k', '4-8k', '8-12k', '12-16k', '16-20k')"),
    Question(
        "cleaners under 20k",
        "occupation = 'Cleaner' AND salary IN ('0-4k', '4-8k', '8-12k', '12-16k', '16-20k')",
    ),
    Question("married women", "sex = 'Female' AND marital = 'Married'"),
)
"""About one perturbed attribute, with and without an exact one; about two; about none."""

GROUP = Group(
    "women with a high school diploma", "sex = 'Female' AND education = 'High school diploma'", "occupation"
)


def run_demonstration(out: str | Path, *, rows: int = ROWS, say: Callable[[str], None] = print) -> Path:
    """Publish make-believe people several ways, ask each release the same questions, and report.

    Everything is made with a fixed seed, so the numbers are the same every time and the releases are not
    private; that is said, on the page too.

    Parameters
    ----------
    out
        The folder to make. One that an earlier demonstration made is replaced.
    rows
        How many people.
    say
        Called with the results, a few lines at a time.

    Returns
    -------
    Path
        The report. Beside it are the data, their schema and the release folders.

    Raises
    ------
    ReleaseExistsError
        When the folder holds anything else than an earlier demonstration.
    ParameterError
        When there are too few rows for the questions.
    """
    if rows < LEAST_ROWS:
        raise ParameterError(
            f"the demonstration needs at least {LEAST_ROWS:,} rows, got {rows:,}. Its questions are about "
            "small groups; leave the number out for a good size.",
            parameter="rows",
        )
    folder = Path(out)
    _make_room(folder)
    say(
        f"{rows:,} make-believe people. Occupation and salary are sensitive and are perturbed; the rest is published.\n"
        "NOT PRIVATE: a fixed seed makes these releases repeatable, and anyone can undo them."
    )
    people = make_dataset("census", rows, SEED, folder / DATA_NAME)
    table = read_table(people.data, people.schema)
    comparison = _publish_and_compare(table, folder, say)
    _say_results(comparison, say)
    methods = show_methods(
        table, folder, comparison.releases[MIDDLE], QUESTIONS[:2], seed=SEED + len(VARIANTS)
    )
    say(f"\n{methods.answers.to_text()}\n\n{methods.attack_sentence}")
    page = describe_comparison(
        comparison, rows=rows, commands=_commands(rows), besides=(describe_methods(methods),)
    )
    report = write_page(page, folder / REPORT_NAME)
    say(f"Report: {report}")
    return report


def _publish_and_compare(table: PrivateTable, folder: Path, say: Callable[[str], None]) -> Comparison:
    # Each release has the same rows, so that what is said of the first holds of all.
    listeners = (say, *(lambda _: None for _ in VARIANTS[1:]))
    releases = [
        # A seed of its own: the same bits would give all releases the same luck.
        LabelledRelease(
            each.label, publish(table, each.design, folder / each.folder, seed=SEED + number, say=listener)
        )
        for number, (each, listener) in enumerate(zip(VARIANTS, listeners, strict=True))
    ]
    return compare_releases(releases, table, QUESTIONS, GROUP)


def _say_results(comparison: Comparison, say: Callable[[str], None]) -> None:
    for table in (comparison.promises, comparison.answers, comparison.beliefs):
        say(f"\n{table.to_text()}")
    inside, intervals = comparison.coverage
    say(
        f"\n{inside} of {intervals} intervals contain the truth.\nA large group's numbers can be reconstructed; "
        "what one row says of one person can be doubted, the more so the smaller epsilon is."
    )


def _commands(rows: int) -> str:
    lines = [f"sfumato datasets make census --rows {rows} --seed {SEED} --out {DATA_NAME}"]
    for number, each in enumerate((*VARIANTS, *OTHERS)):
        command = publish_command(
            each.design.to_dict(), each.folder, data=DATA_NAME, schema=SCHEMA_NAME, seed=SEED + number
        )
        lines.append(command)
    lines += [query_command(each.folder, QUESTIONS[0].text) for each in (*VARIANTS, *OTHERS)]
    lines.append(f"sfumato attack {OTHERS[0].folder} --attack anatomy-naive-bayes")
    return "\n".join(lines)


def _make_room(folder: Path) -> None:
    """An empty folder with our marker, in place of an earlier demonstration if that is what is there."""
    ours = {MARKER_NAME, DATA_NAME, SCHEMA_NAME, REPORT_NAME, *(each.folder for each in (*VARIANTS, *OTHERS))}
    try:
        present = sorted(each.name for each in folder.iterdir()) if folder.exists() else []
        # What somebody added to an earlier demonstration is not ours to remove.
        if present and (MARKER_NAME not in present or not ours.issuperset(present)):
            raise ReleaseExistsError(
                f"{str(folder)!r} holds something else than a demonstration. Only an empty folder, or what an "
                "earlier demonstration made, is replaced; choose another name."
            )
        for name in present:
            _remove(folder / name)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARKER_NAME).write_text(MARKER_TEXT, encoding="utf-8")
    except OSError as error:
        raise ReleaseError(
            f"cannot write to {str(folder)!r}: {error.strerror}. It must be a folder that can be written to; "
            "choose another place."
        ) from None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
