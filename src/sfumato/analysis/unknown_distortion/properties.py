"""The one table of what randomizing row by row preserves, whatever the matrices are (Guo 2010, chapter 4, corrected).

Statements are about expectations: what chance adds to a release comes on top.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Knowledge = Literal["nothing", "keeping", "uniform"]
"""What is known of the matrices: nothing; that of two categories each is kept at least as often as changed, on average (``p0
+ p1 >= 1``); or that every value is kept with one probability, and else any other is as likely, none likelier than the own."""

KNOWLEDGE: tuple[Knowledge, ...] = ("nothing", "keeping", "uniform")
"""From the least to the most: each implies those before it."""

About = Literal["test", "size", "order", "number"]
"""A test of the published table; how large an association is; which of two pairs has the larger; any other number."""

Part = Literal["first", "second", "given"]


@dataclass(frozen=True)
class Property:
    """What is preserved of one task, and when.

    Parameters
    ----------
    task
        Public name; of a measure, its own.
    about
        What kind of conclusion it is.
    binary, larger
        The least that must be known of the matrices where both attributes have two categories, and where one has
        more; None where nothing suffices, or the task is not defined there.
    because
        Why it holds.
    otherwise
        Why it fails where it does.
    source
        In the thesis.
    untouched
        What must not have been randomized.
    needs_given
        It is about attributes given others.
    """

    task: str
    about: About
    binary: Knowledge | None
    larger: Knowledge | None
    because: str
    otherwise: str
    source: str
    untouched: tuple[Part, ...] = ()
    needs_given: bool = False


_MIXED = "the normaliser shrinks too, so that merging categories can raise it"
_NEGATIVE = (
    "a matrix that changes more than it keeps can turn its sign and raise its distance from independence"
)
_MARGINS = "it depends on margins, which randomization can raise or lower"
_TOWARDS = "every table that redrawing can give is nearer to independence"
_RESULT_4, _RESULT_5 = "Result 4", "Result 5"


def _size(
    task: str,
    binary: Knowledge | None,
    larger: Knowledge | None = None,
    *,
    otherwise: str = "it is defined for two by two categories",
    source: str = _RESULT_4,
) -> Property:
    return Property(task, "size", binary, larger, _TOWARDS, otherwise, source)


def _unstable(task: str) -> Property:
    return Property(task, "size", None, None, "", _MARGINS, "Table 3.6")


PROPERTIES: tuple[Property, ...] = (
    Property(
        "independence",
        "test",
        "nothing",
        "nothing",
        "what is independent in truth is independent in the release, so the test keeps its level; only power is lost",
        "",
        "Result 9",
    ),
    Property(
        "conditional-independence",
        "test",
        "nothing",
        "nothing",
        "within every group of the given attributes independence stays independence; only power is lost",
        "a given attribute was randomized: its published groups mix the true ones, and what is independent within true "
        "groups is not within published ones",
        "Result 10",
        untouched=("given",),
        needs_given=True,
    ),
    _size("phi-squared", "nothing", "nothing", source="Result 8"),
    _size("cramers-v", "nothing", "nothing", source="Result 8"),
    _size("chi-square", "nothing", "nothing", source="Result 8"),
    _size("g-square", "nothing", "nothing", source="Result 8"),
    _size("mutual-information", "nothing", "nothing", source="Result 8"),
    _size("uncertainty-of-first", "nothing", "uniform", otherwise=_MIXED, source="Result 8, corrected"),
    _size("uncertainty-of-second", "nothing", "uniform", otherwise=_MIXED, source="Result 8, corrected"),
    _size("gini-decrease", "nothing", "uniform", otherwise=_MIXED, source="Result 8, corrected"),
    _size("concentration", "nothing", "uniform", otherwise=_MIXED, source="Result 8, corrected"),
    _size("phi", "nothing"),
    _size("risk-difference", "nothing"),
    _size("reverse-risk-difference", "nothing"),
    _size("leverage", "nothing"),
    _size("odds-ratio", "keeping", otherwise=_NEGATIVE, source=_RESULT_5),
    _size("risk-ratio", "keeping", otherwise=_NEGATIVE, source=_RESULT_5),
    _size("certainty", "keeping", otherwise=_NEGATIVE, source=_RESULT_5),
    _size("added-value", "keeping", otherwise=_NEGATIVE, source=_RESULT_5),
    _size("kappa", "keeping", otherwise=_NEGATIVE, source=_RESULT_5),
    _size("lift", "keeping", otherwise=_NEGATIVE, source=_RESULT_5),
    _size("conviction", "keeping", otherwise=_NEGATIVE, source=_RESULT_5),
    _size("collective-strength", "keeping", otherwise=_NEGATIVE, source=_RESULT_5),
    _size("j-measure", "keeping", otherwise=_NEGATIVE, source="Result 5, extended"),
    _size("standardized-residual", "keeping", otherwise=_NEGATIVE, source="Result 5, extended"),
    _unstable("cosine"),
    _unstable("jaccard"),
    _unstable("laplace"),
    _unstable("support"),
    _unstable("confidence"),
    Property(
        "partial-correlation",
        "size",
        "nothing",
        None,
        "the correlation within groups of the given attribute shrinks",
        "the given attribute was randomized, so that the part it explains is not taken out whole",
        "Result 11",
        untouched=("given",),
        needs_given=True,
    ),
    Property(
        "leverage",
        "order",
        "nothing",
        None,
        "every pair shrinks by one factor, that of its two matrices",
        "it is defined for two by two categories",
        "Result 6",
    ),
    Property(
        "risk-difference",
        "order",
        "nothing",
        None,
        "shares given an untouched attribute shrink by one factor",
        "the attribute that shares are given was randomized",
        "Result 7",
        untouched=("first",),
    ),
    Property(
        "reverse-risk-difference",
        "order",
        "nothing",
        None,
        "shares given an untouched attribute shrink by one factor",
        "the attribute that shares are given was randomized",
        "Result 7",
        untouched=("second",),
    ),
    Property(
        "added-value",
        "order",
        "nothing",
        None,
        "shares given an untouched antecedent shrink by one factor",
        "the antecedent was randomized",
        "Result 7, corrected",
        untouched=("first",),
    ),
    Property(
        "confidence",
        "order",
        "keeping",
        None,
        "shares given an untouched antecedent move along one rising line",
        "the antecedent was randomized, or its consequent more often changed than kept",
        "section 1.6, extended",
        untouched=("first",),
    ),
    Property("counts-and-shares", "number", None, None, "", "a cell or margin can rise or fall", "Lemma 1"),
    Property(
        "means-and-regressions",
        "number",
        None,
        None,
        "",
        "they are functions of counts, which can rise or fall",
        "Lemma 1",
    ),
    Property(
        "loglinear-parameters",
        "number",
        None,
        None,
        "",
        "each can grow, shrink or turn its sign",
        "Result 12",
    ),
    Property(
        "tree-splits",
        "number",
        None,
        None,
        "",
        "attributes randomized more strongly lose more impurity decrease, so that the best split can be another",
        "Result 13",
    ),
    Property(
        "naive-bayes",
        "number",
        None,
        None,
        "",
        "the likeliest class can be another",
        "Result 14",
    ),
)


def broken_generators(generators: tuple[tuple[str, ...], ...], randomized: frozenset[str]) -> tuple[str, ...]:
    """Randomized attributes that stand in more than one generator of a loglinear model: those that break it.

    A model stays what it is under any matrices exactly when there is none (Korn's theorem; Guo 2010, theorem 2).

    Examples
    --------
    >>> broken_generators((("a", "c"), ("b", "c")), frozenset("ab"))
    ()
    >>> broken_generators((("a", "c"), ("b", "c")), frozenset("c"))
    ('c',)
    """
    return tuple(sorted(name for name in randomized if sum(name in each for each in generators) > 1))
