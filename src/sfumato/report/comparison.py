"""Several releases of one table, asked the same questions, beside the truth. Private, unless nobody is real."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.data.private_table import PrivateTable
from sfumato.guarantees.amplification import Amplification
from sfumato.release import Release
from sfumato.report.margin_sections import LEVEL
from sfumato.report.margins import CONFIDENCE_LEVEL
from sfumato.values.answer_tables import AnswerTable
from sfumato.values.answers import Answer
from sfumato.values.arrays import Integers
from sfumato.values.number_text import show_share
from sfumato.values.result_tables import ResultTable
from sfumato.values.selection import Selection

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
