"""The demonstration's second part: the same table by other methods, and an attack that succeeds against one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.attacks.anatomy_naive_bayes.attack import AnatomyNaiveBayes
from sfumato.chance.randomness import NoiseSource
from sfumato.custody.audit.bucket_scoring import BucketScore, score_anatomy
from sfumato.custody.publish import publish
from sfumato.data.private_table import PrivateTable
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.base import Design
from sfumato.methods.noisy_marginals.design import NoisyMarginals
from sfumato.report.comparison import LabelledRelease, Question, whole_rows
from sfumato.report.document import Grid, Paragraph, Section
from sfumato.report.margin_sections import LEVEL
from sfumato.report.margins import CONFIDENCE_LEVEL
from sfumato.values.number_text import Cell, percent
from sfumato.values.result_tables import ResultTable
from sfumato.values.selection import Selection


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
            each.label, publish(table, each.design, folder / each.folder, seed=seed + number, say=say)
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
