"""A question, questions that every design is asked, and their true answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.data.coded_rows import CodedRows
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.predicate import Predicate
from sfumato.values.selection import Selection


@dataclass(frozen=True)
class Question:
    """How many rows satisfy a condition, or how much larger a share of one group satisfies it than of another.

    Parameters
    ----------
    pool
        Questions that are averaged together.
    where
        The condition.
    groups
        Two groups, where a difference of shares is asked for.
    """

    pool: str
    where: Predicate
    groups: tuple[Predicate, Predicate] | None = None

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """Everything it takes to ask: the condition, then the groups."""
        return (self.where, *(self.groups or ()))


@dataclass(frozen=True)
class Workload:
    """Questions for all designs.

    Parameters
    ----------
    name
        Of its kind.
    questions
        In a fixed order.
    is_by_size
        Small, middling and large truths count equally within a pool.

    Raises
    ------
    ValueError
        When it mixes counts and differences of shares, which have no scale in common.
    """

    name: str
    questions: tuple[Question, ...]
    is_by_size: bool = False

    def __post_init__(self) -> None:
        if len({each.groups is None for each in self.questions}) > 1:
            raise ValueError("a workload asks for counts or for differences of shares, not for both")

    @property
    def is_of_differences(self) -> bool:
        """Its questions are about differences of shares."""
        return any(each.groups is not None for each in self.questions)


def true_counts(rows: CodedRows, asked: Sequence[Predicate]) -> Integers:
    """How many rows satisfy each condition.

    Examples
    --------
    >>> from sfumato.testing import sample_table
    >>> table = sample_table(600)
    >>> asked = [Predicate.parse("sex = 'Female' OR sex = 'Male'", table.schema)]
    >>> true_counts(table.source, asked).tolist()
    [600]
    """
    masks: dict[tuple[str, tuple[int, ...]], Booleans] = {}

    def mask(name: str, codes: tuple[int, ...]) -> Booleans:
        if (name, codes) not in masks:
            masks[name, codes] = np.isin(rows.codes[name], codes)
        return masks[name, codes]

    everybody = np.ones(rows.number_of_rows, bool)

    def number(part: Selection) -> int:
        found = everybody
        for condition in part.conditions:
            found = found & mask(*condition)
        return int(found.sum())

    return np.array([sum(number(part) for part in each.parts) for each in asked], np.int64)


def true_answers(rows: CodedRows, questions: Sequence[Question]) -> Floats:
    """The true answer to each question: a number of rows, or a difference of shares; of an empty group the share is 0.

    Examples
    --------
    >>> from sfumato.testing import sample_table
    >>> table = sample_table(600)
    >>> job, female, male = (
    ...     Predicate.parse(text, table.schema) for text in ("job = 'Tech'", "sex = 'Female'", "sex = 'Male'")
    ... )
    >>> both = [Question("one", job, (female, male)), Question("one", job, (male, female))]
    >>> first, second = true_answers(table.source, both).tolist()
    >>> first == -second != 0
    True
    """
    needed = dict.fromkeys(part for each in questions for part in _counted(each))
    counts = dict(zip(needed, true_counts(rows, list(needed)).astype(np.float64).tolist(), strict=True))
    return np.array([answer_from(each, counts.__getitem__) for each in questions], np.float64)


def answer_from(question: Question, number: Callable[[Predicate], float]) -> float:
    """The answer to a question by numbers of rows that satisfy conditions; the share of an empty group is 0."""
    counts = [number(each) for each in _counted(question)]
    if question.groups is None:
        return counts[0]
    among_first, first, among_second, second = counts
    return (among_first / first if first else 0.0) - (among_second / second if second else 0.0)


def _counted(question: Question) -> tuple[Predicate, ...]:
    if question.groups is None:
        return (question.where,)
    return tuple(part for group in question.groups for part in (group & question.where, group))
