"""What stays valid when distortion matrices are unknown, and a suspected matrix tested against the margin (Guo 2010, chapter 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfumato.analysis.counts import Classification, PublishedRows, as_columns
from sfumato.analysis.measures import measure
from sfumato.arrays import Floats
from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.estimates.counts import most_likely
from sfumato.laws import Target, refuse_target
from sfumato.randomness.distortion import DenseDistortion, Distortion, UniformDistortion, check_sizes
from sfumato.release.release import Release
from sfumato.results import Charted, ResultTable, bar_chart, verdict_chart
from sfumato.schema import Attribute, Schema
from sfumato.text import show_cell

# --------------------------------------------------------------------------------------------------
# The one table of what randomizing row by row preserves, whatever the matrices are (Guo 2010, chapter 4,
# corrected).
#
# Statements are about expectations: what chance adds to a release comes on top.


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


# --------------------------------------------------------------------------------------------------
# Valid, known in one direction, or not valid: what a release says when its matrices are unknown.


Verdict = Literal["valid", "direction known", "not valid"]


@dataclass(frozen=True)
class Judged:
    """One task, judged.

    Parameters
    ----------
    task, about, source
        As the table of properties has them.
    verdict
        What may be concluded from the published rows as they stand.
    reason
        Why, in a sentence.
    published
        Of a measure, what the published rows give; the truth lies on its other side from independence. None where there
        is no such number.
    """

    task: str
    about: str
    verdict: Verdict
    reason: str
    source: str
    published: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class Advice(Charted):
    """What may be concluded from published rows as they stand.

    Parameters
    ----------
    of
        The attributes or conditions asked about; empty where the advice is about any pair of perturbed attributes.
    given
        Attributes that others are compared within.
    knowing
        What is known of the matrices.
    perturbed
        Attributes that were randomized.
    judged
        Every task.
    """

    of: tuple[str, ...]
    given: tuple[str, ...]
    knowing: Knowledge
    perturbed: tuple[str, ...]
    judged: tuple[Judged, ...]

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{sum(each.verdict == verdict for each in self.judged)} {verdict}"
            for verdict in ("valid", "direction known", "not valid")
        )
        return f"Advice({' with '.join(self.of) or 'any perturbed pair'}: {counts})"

    def __str__(self) -> str:
        return self.summary()

    def __getitem__(self, task: str) -> Judged:
        for each in self.judged:
            if task in (each.task, f"{each.about} {each.task}"):
                return each
        raise KeyError(task)

    def summary(self) -> str:
        """A table for people."""
        about = " and ".join(self.of) or "any two perturbed attributes"
        given = f" given {' and '.join(self.given)}" if self.given else ""
        table = ResultTable(
            f"What published rows say about {about}{given}, knowing {self.knowing} of the matrices",
            ("task", "about", "verdict", "published", "reason"),
            tuple(
                (
                    each.task,
                    each.about,
                    each.verdict,
                    "" if each.published is None else show_cell(each.published),
                    f"{each.reason} ({each.source})",
                )
                for each in self.judged
            ),
        )
        perturbed = ", ".join(self.perturbed) or "nothing"
        return "\n".join(
            [table.to_text(), f"Perturbed: {perturbed}. Guo (2010), chapter 4; about expectations."]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``advise --json`` prints it."""
        return {
            "of": list(self.of),
            "given": list(self.given),
            "knowing": self.knowing,
            "perturbed": list(self.perturbed),
            "judged": [each.to_dict() for each in self.judged],
        }

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each task."""
        import pyarrow as pa

        return pa.table(as_columns([each.to_dict() for each in self.judged]))

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the verdicts, as plain data."""
        points = [{"label": f"{each.about} {each.task}", "verdict": each.verdict} for each in self.judged]
        return verdict_chart(points, title="")


@dataclass(frozen=True)
class _Asked:
    """A pair, what it is compared within, and what was done to each."""

    sides: tuple[Classification, ...]
    given: tuple[str, ...]
    knowing: Knowledge
    randomized: frozenset[Part]
    is_binary: bool
    is_given_binary: bool
    has_merged: bool
    """A condition merges categories of a randomized attribute: its matrix is one of two categories only where all are alike."""


def advise(
    release: Release,
    first: str | None = None,
    second: str | None = None,
    *,
    given: Sequence[str] = (),
    knowing: Knowledge = "nothing",
) -> Advice:
    """What may be concluded from the published rows as they stand, were the matrices unknown.

    Parameters
    ----------
    release
        One whose rows were redrawn one by one; its matrices, if it has any, are not looked at.
    first, second
        Two attributes or conditions; any two perturbed ones when not given.
    given
        Attributes that the two are compared within.
    knowing
        ``"nothing"`` of the matrices; ``"keeping"``: of two categories each is kept at least as often as changed;
        ``"uniform"``: every value is kept with one probability, and else any other is as likely.

    Raises
    ------
    NotIdentifiableError
        When rows were not redrawn one by one, so that none of this holds.
    """
    if knowing not in KNOWLEDGE:
        raise ParameterError(
            f"knowing must be one of {', '.join(KNOWLEDGE)}, got {knowing!r}. Leave it out to assume nothing.",
            parameter="knowing",
        )
    if (first is None) != (second is None):
        raise ParameterError(
            "advice is about two attributes or conditions, got one. Name another, or none for any pair.",
            parameter="second",
        )
    rows = PublishedRows.redrawn(release)
    perturbed = frozenset(release.law.changed_attributes)
    asked = _asked(release.schema, perturbed, [each for each in (first, second) if each], given, knowing)
    published = _published(rows, first, second)
    return Advice(
        tuple(each.text for each in asked.sides),
        tuple(given),
        knowing,
        tuple(release.law.changed_attributes),
        tuple(_judged(asked, published)),
    )


def _asked(
    schema: Schema,
    perturbed: frozenset[str],
    texts: Sequence[str],
    given: Sequence[str],
    knowing: Knowledge,
) -> _Asked:
    names = [schema[name].name for name in given]
    sides = tuple(Classification.parse(each, schema) for each in texts)
    if not sides:
        is_binary = all(schema[name].size == 2 for name in perturbed)
        parts: set[Part] = {"first", "second"}
        has_merged = False
    else:
        is_binary = all(len(each.labels) == 2 for each in sides)
        ends: tuple[Part, Part] = ("first", "second")
        parts = {part for part, side in zip(ends, sides, strict=True) if perturbed & set(side.names)}
        has_merged = any(
            side.condition is not None
            and any(
                name in perturbed and (len(side.names) > 1 or schema[name].size > 2) for name in side.names
            )
            for side in sides
        )
    if perturbed & set(names):
        parts.add("given")
    is_given_binary = len(names) == 1 and schema[names[0]].size == 2
    return _Asked(sides, tuple(names), knowing, frozenset(parts), is_binary, is_given_binary, has_merged)


def _published(rows: PublishedRows, first: str | None, second: str | None) -> dict[str, float]:
    """Measures of the published table, where a pair is asked about and they are defined."""
    if first is None or second is None:
        return {}
    try:
        found = measure(rows, first, second).values
    except NotIdentifiableError:
        return {}
    return {each.name: each.estimate for each in found if not each.undefined}


def _judged(asked: _Asked, published: dict[str, float]) -> Iterator[Judged]:
    for each in PROPERTIES:
        if each.needs_given and not asked.given:
            continue
        verdict, reason = _judge(each, asked)
        is_told = each.about == "size" and verdict != "not valid"
        number = published.get(each.task) if is_told else None
        yield Judged(each.task, each.about, verdict, reason, each.source, number)


def _judge(each: Property, asked: _Asked) -> tuple[Verdict, str]:
    if not asked.randomized:
        return "valid", "nothing of it was randomized"
    if set(each.untouched) & asked.randomized:
        return "not valid", each.otherwise
    is_binary = asked.is_binary and (not each.needs_given or asked.is_given_binary or each.about == "test")
    needed = each.binary if is_binary else each.larger
    if needed is None:
        return "not valid", each.otherwise if each.binary is None else "it is defined for two categories each"
    if each.about != "test" and asked.has_merged and asked.knowing != "uniform":
        # A test looks at published values alone; a size is compared with that of the true condition.
        return (
            "not valid",
            "a condition merges categories of a randomized attribute, whose own matrices may differ; enough if they are uniform",
        )
    if KNOWLEDGE.index(asked.knowing) < KNOWLEDGE.index(needed):
        return "not valid", f"{each.otherwise}; enough if the matrices are known to be {needed}"
    return ("direction known" if each.about == "size" else "valid"), each.because


# --------------------------------------------------------------------------------------------------
# A suspected matrix held against the margin that was published.


LEAST_EIGENVALUE = 1e-9
"""Share of the largest below which a direction has no spread: the matrix says exactly what is published there."""

LEVEL = 0.05
"""At which a matrix is called refuted in words; the p-value is told beside it."""


@dataclass(frozen=True)
class Suspicion(Charted):
    """Whether a published margin could come from a suspected matrix.

    Parameters
    ----------
    attribute
        The perturbed attribute.
    statistic, degrees, p_value
        Of a chi-square test. Without the true margin it is an upper bound of the p-value: some true margin is sought that
        fits best.
    published, expected
        Counts by category.
    assumed
        What was taken for the true margin.
    """

    attribute: str
    statistic: float
    degrees: int
    p_value: float
    categories: tuple[str, ...]
    published: tuple[float, ...]
    expected: tuple[float, ...]
    assumed: str

    def __repr__(self) -> str:
        return f"Suspicion({self.attribute}: {self.words}, p = {self.p_value:.3g})"

    def __str__(self) -> str:
        return self.summary()

    @property
    def words(self) -> str:
        """What the p-value says of the matrix."""
        return "refuted" if self.p_value < LEVEL else "not refuted"

    def summary(self) -> str:
        """A few lines for people."""
        rows = zip(self.categories, self.published, self.expected, strict=True)
        return "\n".join(
            [
                f"Suspected matrix of {self.attribute}: {self.words} at {LEVEL:g}",
                f"Chi-square {show_cell(self.statistic)} on {self.degrees} degrees, p = {self.p_value:.3g} ({self.assumed})",
                *(
                    f"  {label}: {seen:,.0f} published, {show_cell(due)} expected"
                    for label, seen, due in rows
                ),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``check-matrix --json`` prints it."""
        lists = {name: list(getattr(self, name)) for name in ("categories", "published", "expected")}
        return {**vars(self), **lists, "conclusion": self.words}

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each category."""
        import pyarrow as pa

        return pa.table({name: list(getattr(self, name)) for name in ("categories", "published", "expected")})

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of published counts beside expected ones, as plain data."""
        points = [
            {"label": label, "value": float(value), "kind": kind}
            for kind in ("published", "expected")
            for label, value in zip(self.categories, getattr(self, kind), strict=True)
        ]
        return bar_chart(points, title=self.attribute, unit="rows", kind="count")


def check_matrix(
    release: Release,
    attribute: str,
    *,
    retention: float | None = None,
    matrix: Sequence[Sequence[float]] | None = None,
    margin: Mapping[str, float] | None = None,
    target: Target = "population",
) -> Suspicion:
    """Test whether the published margin of an attribute could have come from a matrix.

    Parameters
    ----------
    release
        One whose rows were redrawn one by one; its own matrices, if it tells them, are not looked at.
    attribute
        A perturbed attribute.
    retention
        Suspected probability of keeping a value, else one drawn uniformly.
    matrix
        Or a whole suspected matrix, a row for each true category and an entry for each published one.
    margin
        True counts or shares by category, where they are known from elsewhere. Without them a matrix is refuted only
        when no true margin at all fits it, as when it is too weak for what was published.
    target
        What the margin is of: the ``"population"`` that rows were drawn from (shares suffice), or the private ``"table"``
        itself (counts that add up to its rows).

    Raises
    ------
    ParameterError
        When the matrix or the margin does not fit the attribute.

    Notes
    -----
    Rows of true category j are published as a multinomial draw from row j of the matrix. With the table's counts n the
    published ones have mean ``n P`` and covariance ``sum_j n_j (diag(P_j) - P_j P_j')``; of a population they are one multinomial
    draw, and the statistic is Pearson's. Without a margin it is the likelihood ratio at the likeliest margin, which is never
    larger than at the true one, so that its chi-square p-value is an upper bound.
    """
    refuse_target(release, target)
    own = release.schema[attribute]
    if attribute not in release.law.changed_attributes:
        raise ParameterError(
            f"attribute {attribute!r} was published as it is, so there is no matrix to suspect. Name one of "
            f"{', '.join(release.law.changed_attributes)}.",
            parameter="attribute",
        )
    chances = _suspected(own, retention, matrix).dense()
    published = PublishedRows.redrawn(release).counts(attribute).estimates.values
    if margin is None:
        statistic, degrees, p_value, expected = _at_the_likeliest(published, chances)
        assumed = "the likeliest true margin; the p-value is an upper bound"
    else:
        true = _true_counts(own, margin, float(published.sum()), target)
        expected, covariance = expected_margin(true, chances, target)
        statistic, degrees, p_value = quadratic_test(published - expected, covariance)
        assumed = f"true margin given, of the {target}"
    return Suspicion(
        attribute,
        statistic,
        degrees,
        p_value,
        own.labels,
        tuple(published.tolist()),
        tuple(expected.tolist()),
        assumed,
    )


def _suspected(
    attribute: Attribute, retention: float | None, matrix: Sequence[Sequence[float]] | None
) -> Distortion:
    if (retention is None) == (matrix is None):
        raise ParameterError("give a retention or a matrix to suspect, one of them.", parameter="matrix")
    found: Distortion = (
        UniformDistortion(retention=retention, size=attribute.size)
        if retention is not None
        else DenseDistortion(rows=tuple(tuple(float(each) for each in row) for row in matrix or ()))
    )
    check_sizes({attribute.name: found}, {attribute.name: attribute.size})
    return found


def _true_counts(attribute: Attribute, margin: Mapping[str, float], rows: float, target: Target) -> Floats:
    unknown = sorted(set(margin) ^ set(attribute.labels))
    if unknown:
        raise ParameterError(
            f"the margin must have a number for each category of {attribute.name!r} and no other; {unknown[0]!r} does not fit.",
            parameter="margin",
        )
    numbers = np.array([margin[label] for label in attribute.labels], dtype=float)
    total = float(numbers.sum())
    if not np.isfinite(numbers).all() or (numbers < 0).any() or total <= 0:
        raise ParameterError(
            "the numbers of a margin must not be negative and must not all be zero. Give counts or shares.",
            parameter="margin",
        )
    if target == "table" and round(total) != round(rows):
        raise ParameterError(
            f"the margin of the table itself must add up to its {rows:,.0f} rows, it adds up to {total:g}. Give the table's "
            'counts, or target="population" for shares.',
            parameter="margin",
        )
    return numbers / total * rows


def expected_margin(true: Floats, chances: Floats, target: Target) -> tuple[Floats, Floats]:
    """Published counts to expect of true ones, or of a population with their shares, ``(size,)``, and their covariance."""
    expected = true @ chances
    if target == "population":
        return expected, np.diag(expected) - np.outer(expected, expected) / expected.sum()
    return expected, np.diag(expected) - (chances.T * true) @ chances


def quadratic_test(differences: Floats, covariance: Floats) -> tuple[float, int, float]:
    """Statistic, degrees and p-value of a difference whose covariance is singular: where nothing may vary, nothing may differ."""
    from scipy.special import chdtrc

    sizes, directions = np.linalg.eigh(covariance)
    parts = directions.T @ differences
    free = sizes > LEAST_EIGENVALUE * max(float(sizes[-1]), 1.0)
    degrees = int(free.sum())
    # A hundredth of a row is rounding of the given numbers; a whole row is not.
    if np.abs(parts[~free]).max(initial=0.0) > 0.01 * max(1.0, float(np.sqrt(sizes[-1]))):
        return float("inf"), degrees, 0.0
    statistic = float((parts[free] ** 2 / sizes[free]).sum())
    return statistic, degrees, float(chdtrc(degrees, statistic))


def _at_the_likeliest(published: Floats, chances: Floats) -> tuple[float, int, float, Floats]:
    from scipy.special import chdtrc

    true = most_likely(
        published, lambda each: each @ chances, lambda each: each @ chances.T, np.ones_like(published)
    )
    expected = true @ chances
    seen = published > 0
    ratio = float(2 * (published[seen] * np.log(published[seen] / expected[seen])).sum())
    degrees = published.size - 1
    return max(ratio, 0.0), degrees, float(chdtrc(degrees, max(ratio, 0.0))), np.asarray(expected)
