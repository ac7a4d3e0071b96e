"""The demonstration: one synthetic table by several methods, an attack, and a page that compares them."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from sfumato._version import __version__
from sfumato.arrays import Integers
from sfumato.attacks.anatomy_naive_bayes import AnatomyNaiveBayes
from sfumato.custody.audit.calibration import BucketScore, score_anatomy
from sfumato.custody.publish import publish
from sfumato.data.private_table import PrivateTable, read_table
from sfumato.datasets import make_dataset
from sfumato.errors import ParameterError, ReleaseError, ReleaseExistsError
from sfumato.estimates.answers import Answer, AnswerTable
from sfumato.guarantees.amplification import Amplification
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.base import Design
from sfumato.methods.noisy_marginals.design import NoisyMarginals
from sfumato.methods.randomized_response.design import RandomizedResponse
from sfumato.query.selection import Selection
from sfumato.randomness.streams import NoiseSource
from sfumato.release import Release
from sfumato.release.manifest import SINGLED_OUT
from sfumato.report.document import (
    Banner,
    Block,
    Bullets,
    Document,
    Facts,
    Figure,
    Folded,
    Grid,
    Listing,
    Paragraph,
    Section,
    write_page,
)
from sfumato.report.figures import comparison_chart, cost_chart, interval_chart
from sfumato.report.margins import CONFIDENCE_LEVEL, LEVEL
from sfumato.report.release_page import publish_command, query_command
from sfumato.results import ResultTable
from sfumato.text import Cell, percent, show, show_share

# --------------------------------------------------------------------------------------------------
# Several releases of one table, asked the same questions, beside the truth. Private, unless nobody is real.


UNKNOWN = "-"
"""Shown where a promise has no such number."""


@dataclass(frozen=True)
class Question:
    """A question with a short name for it."""

    name: str
    text: str


@dataclass(frozen=True)
class Group:
    """A group of people, and the attribute whose distribution within it is looked at."""

    name: str
    text: str
    attribute: str


@dataclass(frozen=True, eq=False)
class LabelledRelease:
    """A release and what it is called beside others."""

    label: str
    release: Release

    @property
    def epsilon(self) -> float | None:
        """The epsilon of its promise; None where the promise is of another kind."""
        stated = [getattr(each, "epsilon", None) for each in self.release.guarantees]
        return next((float(each) for each in stated if each is not None), None)

    def largest_belief(self, attribute: str, prior: float) -> float | None:
        """How sure anyone can be of a row's value after seeing it, from a belief before; None if no bound is stated."""
        for each in self.release.guarantees:
            if isinstance(each, Amplification) and attribute in each.gamma_by_attribute:
                gamma = {attribute: each.gamma_by_attribute[attribute]}
                return Amplification(gamma_by_attribute=gamma).largest_posterior(prior)
        return None


@dataclass(frozen=True)
class Reply:
    """One question: the truth, and what each release answers."""

    question: Question
    truth: int
    answers: tuple[Answer, ...]

    def relative(self, value: float) -> float:
        """A number of rows in percent of the truth."""
        return 100 * value / max(self.truth, 1)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Releases of one table, made by :func:`compare_releases`.

    Parameters
    ----------
    releases
        In the order shown.
    replies
        One for each question.
    group
        The group looked at.
    group_truth
        True counts of the group's attribute.
    group_answers
        What each release answers for them.
    """

    releases: tuple[LabelledRelease, ...]
    replies: tuple[Reply, ...]
    group: Group
    group_truth: Integers
    group_answers: tuple[AnswerTable, ...]

    @cached_property
    def promises(self) -> ResultTable:
        """What each release promises."""
        return ResultTable(
            "What each release promises",
            ("release", "epsilon", "a belief of 10 % becomes at most"),
            tuple(
                (
                    each.label,
                    UNKNOWN if each.epsilon is None else each.epsilon,
                    _shown(each.largest_belief(self.group.attribute, 0.1)),
                )
                for each in self.releases
            ),
        )

    @cached_property
    def answers(self) -> ResultTable:
        """What each release answers, beside the truth."""
        return ResultTable(
            f"What each release answers, with {LEVEL} intervals",
            ("question", "release", "truth", "estimate", "std. error", "low", "high"),
            tuple(
                (reply.question.name, each.label, reply.truth, *whole_rows(answer))
                for reply in self.replies
                for each, answer in zip(self.releases, reply.answers, strict=True)
            ),
        )

    @property
    def coverage(self) -> tuple[int, int]:
        """How many intervals contain the truth, and of how many; exact answers do not count."""
        inside = [
            answer.low <= reply.truth <= answer.high
            for reply in self.replies
            for answer in reply.answers
            if not answer.is_exact
        ]
        return sum(inside), len(inside)

    @cached_property
    def beliefs(self) -> ResultTable:
        """What one published row lets anyone believe about the person behind it."""
        size = max(int(self.group_truth.sum()), 1)
        labels = self.group_answers[0].attributes[0].labels
        ranked = np.argsort(-self.group_truth, kind="stable")
        present = ranked[self.group_truth[ranked] > 0]
        examples = [int(present[0]), int(present[-1])] if len(present) else []
        return ResultTable(
            f"One person among the {self.group.name}: how likely the published {self.group.attribute} is the true one, "
            "at most",
            ("published as", "before seeing it", *(f"after, {each.label}" for each in self.releases)),
            tuple(
                (
                    labels[code],
                    show_share(prior),
                    *(_shown(each.largest_belief(self.group.attribute, prior)) for each in self.releases),
                )
                for code in examples
                for prior in [float(self.group_truth[code]) / size]
            ),
        )


def compare_releases(
    releases: Sequence[LabelledRelease],
    table: PrivateTable,
    questions: Sequence[Question],
    group: Group,
) -> Comparison:
    """Ask every release the same questions, and the table itself for the truth.

    Parameters
    ----------
    releases
        Made from the table.
    table
        The private rows.
    questions
        What to ask.
    group
        Whose distribution to look at.
    """
    schema = table.schema

    def ask(question: Question) -> Reply:
        where = Selection.parse(question.text, schema)
        answers = tuple(
            each.release.query(question.text, confidence_level=CONFIDENCE_LEVEL) for each in releases
        )
        return Reply(question, int(table.count_by((), where).total), answers)

    return Comparison(
        releases=tuple(releases),
        replies=tuple(ask(each) for each in questions),
        group=group,
        group_truth=table.count_by([group.attribute], Selection.parse(group.text, schema)).counts,
        group_answers=tuple(
            each.release.counts([group.attribute], where=group.text, confidence_level=CONFIDENCE_LEVEL)
            for each in releases
        ),
    )


def whole_rows(answer: Answer) -> tuple[float, ...]:
    """An answer's numbers to whole rows, which is what errors of several rows support."""
    numbers = (answer.estimate, answer.std_error, answer.low, answer.high)
    return tuple(round(each) if math.isfinite(each) else each for each in numbers)


def _shown(belief: float | None) -> str:
    return UNKNOWN if belief is None else show_share(belief)


# --------------------------------------------------------------------------------------------------
# What the demonstration's report says: releases of one make-believe table, side by side.


LARGEST_GROUP_CHART = 15
"""Categories of the group that are shown: the most frequent ones."""

SEEDED = Banner(
    "not-private",
    "These releases are not private",
    "They were made with a fixed seed, so that everybody who runs the demonstration sees the same numbers. Whoever "
    "knows the seed can undo the noise. Here that harms nobody: the people are make-believe. A real release is "
    "made without a seed.",
)


def describe_comparison(
    comparison: Comparison, *, rows: int, commands: str, besides: tuple[Section, ...] = ()
) -> Document:
    """The demonstration's report, as data.

    Parameters
    ----------
    comparison
        The releases and what they answer.
    rows
        Of the table.
    commands
        Lines that repeat it.
    besides
        Further parts, before the commands.
    """
    number = len(comparison.releases)
    citations = dict.fromkeys(
        text for each in comparison.releases for text in each.release.manifest.citations
    )
    return Document(
        eyebrow="sfumato demonstration",
        title="What privacy costs",
        lead=(
            f"The same {rows:,} make-believe people, published {number} times. Each release hides every single answer "
            "behind chance; from each, the true numbers can be estimated. The stronger the promise, the wider the "
            "intervals."
        ),
        banners=(SEEDED,),
        sections=(
            _promises(comparison),
            _costs(comparison),
            _group(comparison),
            *besides,
            Section("Repeat it", (Listing("Commands", commands),)),
            Section("Sources", (Bullets(tuple(citations)),)),
        ),
        footer=f"Made by sfumato {__version__}. This page loads nothing from outside.",
    )


def _promises(comparison: Comparison) -> Section:
    words = tuple(
        (each.label, " ".join(guarantee.plain_statement for guarantee in each.release.guarantees))
        for each in comparison.releases
    )
    not_protected = dict.fromkeys(
        text for each in comparison.releases for text in each.release.manifest.not_protected
    )
    return Section(
        "The promises",
        (
            Paragraph(
                "Epsilon bounds how much a published row can tell about the person behind it: the odds of any "
                "belief change by a factor of at most e to the epsilon. Smaller is stronger. The last column says the same of "
                "one published value: what someone who thought a fact 10 % likely can come to believe."
            ),
            Grid.of(comparison.promises),
            Folded("The promises in words", (Facts(words),)),
            Folded("What is not protected", (Bullets(tuple(not_protected)),)),
        ),
    )


def _costs(comparison: Comparison) -> Section:
    inside, intervals = comparison.coverage
    blocks: list[Block] = [
        Paragraph(
            f"The same questions, asked of each release. Every dot is an unbiased estimate, every bar its {LEVEL} "
            f"interval, both as a difference from the truth, which an analyst would not know. Here {inside} of "
            f"{intervals} intervals contain the truth; about one in twenty is meant to miss it."
        ),
        _answers_figure(comparison),
        Folded("The answers as a table", (Grid.of(comparison.answers),)),
    ]
    if all(each.epsilon is not None for each in comparison.releases):
        blocks.append(_cost_figure(comparison))
    return Section("The cost", tuple(blocks))


def _answers_figure(comparison: Comparison) -> Figure:
    points = [
        {
            "question": f"{reply.question.name} ({reply.truth:,})",
            "release": each.label,
            "estimate": reply.relative(answer.estimate - reply.truth),
            "low": reply.relative(answer.low - reply.truth),
            "high": reply.relative(answer.high - reply.truth),
        }
        for reply in comparison.replies
        for each, answer in zip(comparison.releases, reply.answers, strict=True)
    ]
    description = (
        f"Estimates of {len(comparison.replies)} numbers from {len(comparison.releases)} releases with their {LEVEL} "
        "intervals, as differences from the truth in percent."
    )
    chart = comparison_chart(
        points, across="difference from the truth, in percent of it", zero="truth", description=description
    )
    caption = (
        "Estimates and intervals around the truth (dashed line); true counts in brackets. Questions about attributes "
        "that were published as they are have no error at all."
    )
    return Figure(chart, caption, description)


def _cost_figure(comparison: Comparison) -> Figure:
    points = [
        {
            "question": reply.question.name,
            "release": each.label,
            "promise": each.epsilon,
            "error": reply.relative(answer.std_error),
        }
        for reply in comparison.replies
        for each, answer in zip(comparison.releases, reply.answers, strict=True)
        if not answer.is_exact
    ]
    description = "Standard errors in percent of the truth, against epsilon: errors fall as epsilon grows."
    chart = cost_chart(
        points,
        across="epsilon (smaller: stronger promise)",
        up="standard error, in percent of the truth",
        description=description,
    )
    return Figure(chart, "What a stronger promise costs in accuracy, on a logarithmic scale.", description)


def _group(comparison: Comparison) -> Section:
    group = comparison.group
    # The strongest promise is the hardest case for the group and the best for the person.
    hardest = max(
        range(len(comparison.releases)),
        key=lambda place: comparison.group_answers[place].std_errors.max(),
    )
    label = comparison.releases[hardest].label
    size = int(comparison.group_truth.sum())
    return Section(
        "A group is seen, one row is in doubt",
        (
            Paragraph(
                f"There are {size:,} {group.name}. Many rows together let the noise average out, so the group's "
                f"{group.attribute} can be reconstructed; even from the release with {label}:"
            ),
            _group_figure(comparison, hardest),
            Paragraph(
                "One row is another matter. Its published value may be the true one or drawn by chance, and the "
                "chances are public, so anyone can compute how much it tells. A value that is rare in the group "
                "remains doubtful. One that is common in it becomes likely, and partly because it was likely before: "
                "that much a group's distribution gives away about its members, and no noise on single rows prevents it."
            ),
            Grid.of(comparison.beliefs),
        ),
    )


def _group_figure(comparison: Comparison, place: int) -> Figure:
    group = comparison.group
    largest = set((-comparison.group_truth).argsort(kind="stable")[:LARGEST_GROUP_CHART].tolist())
    points = [
        {"category": labels[0], "estimate": estimate, "low": low, "high": high, "reference": int(truth)}
        for code, ((labels, estimate, _, low, high), truth) in enumerate(
            zip(comparison.group_answers[place].cells(), comparison.group_truth, strict=True)
        )
        if code in largest
    ]
    error = comparison.group_answers[place].std_errors.max()
    description = (
        f"Estimated and true counts of {group.attribute} among the {group.name}, for the {len(points)} most frequent "
        f"categories; standard errors up to {show(error, error)} rows."
    )
    chart = interval_chart(
        points,
        attribute=group.attribute,
        estimated=f"reconstructed, with {LEVEL} interval",
        reference="true",
        description=description,
    )
    caption = (
        f"{group.attribute} among the {group.name}: reconstructed from {comparison.releases[place].label}, and the "
        f"truth. The {len(points)} most frequent categories."
    )
    return Figure(chart, caption, description)


# --------------------------------------------------------------------------------------------------
# The demonstration's second part: the same table by other methods, and an attack that succeeds against one of
# them.


@dataclass(frozen=True)
class Variant:
    """One way to publish the sample.

    Parameters
    ----------
    folder
        Name of the release's folder.
    label
        What it is called in tables and charts.
    design
        The method with its parameters.
    """

    folder: str
    label: str
    design: Design


BUCKETS = Anatomy(l_value=4, attribute="occupation")
OTHERS = (
    Variant("anatomy-4", "Anatomy, buckets of 4", BUCKETS),
    Variant(
        "noisy-marginals-1",
        "noisy marginals, epsilon 1",
        NoisyMarginals(epsilon=1.0, marginals=(("sex", "occupation"), ("education", "occupation"))),
    ),
)
"""Beside randomized response: exact values whose owners are hidden, and counts without rows."""

ATTACK = AnatomyNaiveBayes(starts=1, variant="balanced", beliefs="in-sample")
"""One start: the demonstration is to take seconds."""


@dataclass(frozen=True, eq=False)
class MethodsShown:
    """What releases by different methods answer, and how an attack on one of them ended.

    Parameters
    ----------
    answers
        A row for each question and method.
    score
        Guesses of the attacker, held against the truth.
    l_value
        Rows of a bucket: one over it is the chance that Anatomy's promise speaks of.
    """

    answers: ResultTable
    score: BucketScore
    l_value: int

    @property
    def attack_sentence(self) -> str:
        """What was promised, and what was found."""
        right, promised = percent(self.score.expected_accuracy), percent(1 / self.l_value)
        return (
            f"An attack that succeeds: Anatomy promises that one bucket alone tells an occupation with a chance of {promised}. "
            f"Comparing buckets, anatomy-naive-bayes names the occupation of {right} of the people rightly, from the release alone."
        )


def show_methods(
    table: PrivateTable,
    folder: Path,
    first: LabelledRelease,
    questions: Sequence[Question],
    *,
    seed: int,
    say: Callable[[str], None] = lambda _: None,
) -> MethodsShown:
    """Publish the table by the other methods, ask all of them the same, and attack the buckets.

    Parameters
    ----------
    table
        The rows, which are make-believe.
    folder
        Where release folders go.
    first
        A release by randomized response, shown beside the others.
    questions
        What to ask.
    seed
        Of the noise.
    say
        Called with what publishing says.
    """
    made = [
        LabelledRelease(
            each.label,
            publish(
                table, each.design, folder / each.folder, seed=seed + number, say=say, accept=(SINGLED_OUT,)
            ),
        )
        for number, each in enumerate(OTHERS)
    ]
    rows: list[tuple[Cell, ...]] = [
        (
            question.name,
            each.label,
            truth,
            *whole_rows(each.release.query(question.text, confidence_level=CONFIDENCE_LEVEL)),
        )
        for question in questions
        for truth in [int(table.count_by((), Selection.parse(question.text, table.schema)).total)]
        for each in [LabelledRelease(f"randomized response, {first.label}", first.release), *made]
    ]
    answers = ResultTable(
        f"The same questions, asked of three methods, with {LEVEL} intervals",
        ("question", "method", "truth", "estimate", "std. error", "low", "high"),
        tuple(rows),
    )
    score = score_anatomy(table, BUCKETS, ATTACK, NoiseSource.seeded(seed))
    return MethodsShown(answers, score, BUCKETS.l_value)


def describe_methods(shown: MethodsShown) -> Section:
    """The report's part about methods and the attack."""
    return Section(
        "Three methods, and an attack that succeeds",
        (
            Paragraph(
                "Randomized response changes every row by public chance. Anatomy publishes true values and hides whose they are, in buckets. Noisy "
                "marginals publish no row at all, only counts with noise. Each release carries its law, so that each can be asked the same."
            ),
            Grid.of(shown.answers),
            Paragraph(shown.attack_sentence),
            Grid.of(shown.score.exposure()),
            Paragraph(
                "That is no fault of the program: the promise is about one bucket, and the attacker looks at all of them. A custodian finds it out "
                "before publishing, with sfumato attack and sfumato audit."
            ),
        ),
    )


# --------------------------------------------------------------------------------------------------
# The demonstration: the whole way on an embedded sample, and what each promise costs.


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
            each.label,
            publish(
                table,
                each.design,
                folder / each.folder,
                seed=SEED + number,
                say=listener,
                accept=(SINGLED_OUT,),
            ),
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
