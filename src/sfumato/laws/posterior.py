"""Posterior of a person's sensitive value given a release: targets, priors, rows through a matrix, noisy cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Floats, Integers, in_parts
from sfumato.errors import NotIdentifiableError, QueryError, TooLargeError
from sfumato.estimates.counts import OccupiedCounts
from sfumato.query.selection import Tabulation
from sfumato.schema import Attribute
from sfumato.text import counted

if TYPE_CHECKING:
    from sfumato.laws.base import Law, Published

# --------------------------------------------------------------------------------------------------
# People whose sensitive value somebody wants to know, and what is believed of it.


MOST_BELIEFS = 50_000_000
"""Kinds of people times values of which beliefs are written out: 400 MB for each such table."""

MOST_VALUES = 2_000
"""Values that beliefs are about: each round of working them out looks at all pairs of values for every kind of people."""


@dataclass(frozen=True, eq=False)
class Targets:
    """People by what is known of them; those alike are one combination.

    Parameters
    ----------
    public
        The attributes that the attacker knows.
    sensitive
        The one that the attacker wants to know.
    combinations
        ``(combinations, attributes)``: different codes, in ascending order.
    index
        ``(targets,)``: the combination of each.
    are_members
        They are known to be in the table. Where not, what is believed is what a release says of people like them.

    Examples
    --------
    >>> from sfumato.schema import Role
    >>> sex = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M"))
    >>> job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b"))
    >>> people = Targets.of((sex,), job, {"sex": np.array([1, 0, 1])}, are_members=True)
    >>> people.combinations.tolist(), people.index.tolist()
    ([[0], [1]], [1, 0, 1])
    """

    public: tuple[Attribute, ...]
    sensitive: Attribute
    combinations: Integers
    index: Integers = field(repr=False)
    are_members: bool

    @classmethod
    def of(
        cls,
        public: Sequence[Attribute],
        sensitive: Attribute,
        codes: Mapping[str, npt.NDArray[Any]],
        *,
        are_members: bool,
    ) -> Targets:
        """People given by their codes, one array for each attribute.

        Raises
        ------
        TooLargeError
            When there are so many kinds of people or values that what is believed of them does not fit into memory.
        """
        columns = [np.asarray(codes[each.name], np.int64) for each in public]
        # Where no public attribute was published all people are alike.
        rows = np.stack(columns, axis=1) if columns else np.zeros((len(codes[sensitive.name]), 0), np.int64)
        combinations, index = np.unique(rows, axis=0, return_inverse=True)
        if sensitive.size > MOST_VALUES or len(combinations) * sensitive.size > MOST_BELIEFS:
            raise TooLargeError(
                f"{counted(len(combinations), 'kind')} of people and {sensitive.size:,} categories of {sensitive.name!r} are too many to "
                f"write out what is believed of each: {MOST_VALUES:,} categories at most, and {MOST_BELIEFS:,} of them times kinds. "
                "Merge categories in the schema (recode, prefix), or ask about fewer people."
            )
        return cls(tuple(public), sensitive, combinations, index.ravel().astype(np.int64), are_members)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes known."""
        return tuple(each.name for each in self.public)

    def codes_of(self, name: str) -> Integers:
        """Code of one attribute in every combination."""
        return self.combinations[:, self.names.index(name)]


@dataclass(frozen=True, eq=False)
class Posterior:
    """Probability of every sensitive value, for people who are alike.

    Parameters
    ----------
    probabilities
        ``(kinds of people, values)``; rows sum to 1.
    index
        ``(targets,)``: the row of each.
    """

    probabilities: Floats = field(repr=False)
    index: Integers = field(repr=False)

    def of_targets(self) -> Floats:
        """One row for each target, ``(targets, values)``."""
        return np.asarray(self.probabilities[self.index])


def places_among(combinations: Integers, known: Integers) -> Integers:
    """Place of each combination among known ones, -1 where it is not among them.

    Examples
    --------
    >>> places_among(np.array([[2, 0], [1, 1]]), np.array([[1, 1], [0, 0]])).tolist()
    [-1, 0]
    """
    if not len(known):
        return np.full(len(combinations), -1, np.int64)
    _, numbered = np.unique(np.concatenate([known, combinations]), axis=0, return_inverse=True)
    numbered = numbered.ravel()
    lookup = np.full(int(numbered.max()) + 1, -1, np.int64)
    lookup[numbered[: len(known)]] = np.arange(len(known))
    return np.asarray(lookup[numbered[len(known) :]])


# --------------------------------------------------------------------------------------------------
# Published rows by public group, where each shows its own sensitive value through a matrix.


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows with true public values and distorted sensitive ones.

    Parameters
    ----------
    combinations
        ``(groups, attributes)``: public codes of the groups that occur.
    counts
        ``(groups, values)``: published rows, a row that stands for several counted once.
    channel
        ``(values, values)``: ``matrix[true, published]`` of every single row.
    kept
        ``(groups,)``: probability that a given row of the table is among those counted.
    """

    combinations: Integers
    counts: Floats = field(repr=False)
    channel: Floats = field(repr=False)
    kept: Floats = field(repr=False)

    @classmethod
    def of(
        cls, occupied: OccupiedCounts, public: Sequence[str], sensitive: str, channel: Floats
    ) -> GroupedRows:
        """All rows, each counted as often as it was published.

        Examples
        --------
        >>> from sfumato.schema import Attribute, Role
        >>> sex = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M"))
        >>> job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b"))
        >>> occupied = OccupiedCounts((sex, job), (np.array([1, 1]), np.array([0, 1])), np.array([5, 1]))
        >>> GroupedRows.of(occupied, ["sex"], "job", np.eye(2)).counts.tolist()
        [[5.0, 1.0]]
        """
        group = occupied.numbered(public)
        _, first = np.unique(group, return_index=True)
        counts = np.zeros((first.size, len(channel)))
        np.add.at(counts, (group, occupied.codes_of(sensitive).astype(np.int64)), occupied.counts)
        columns = [occupied.codes_of(name)[first].astype(np.int64) for name in public]
        combinations = np.stack(columns, axis=1) if columns else np.zeros((first.size, 0), np.int64)
        return cls(combinations, counts, channel, np.ones(first.size))


# --------------------------------------------------------------------------------------------------
# The belief that needs no law of its own: what a release's estimates of two-way tables say of a person.


PSEUDO_COUNT = 5.0
"""Rows with the attribute's own margin that every conditional distribution is given beside its estimate."""

TEMPERS = (0.5, 0.7, 0.85, 1.0)
"""Powers tried: attributes that go together are counted twice by naive Bayes, which is too sure at 1."""

TEMPER_WITHOUT_ROWS = 0.7
"""The power where no published rows can judge it."""

LARGEST_VARIANCE = 1e12
"""Of an estimate whose error is not known: it stands out from nothing."""

LEAST_SHARE = 1e-12
"""What no estimate of a share is below: an estimate of none is no proof."""


@dataclass(frozen=True, eq=False)
class SharedPrior:
    """Naive Bayes from a release's own estimates, the same for every law.

    ``P(v) prod over attributes of P(x | v)^t``. A table that the release leaves open is left out; where all are, the
    margin is all there is.

    Parameters
    ----------
    margin
        ``(values,)``: estimated shares of the sensitive values.
    given_value
        By public attribute, ``(categories, values)``: estimated shares of its categories among each value's rows;
        columns sum to 1.
    shares
        By public attribute ``(categories,)``; even where nothing is known.
    number_of_rows
        Of the table, as far as the release says.
    temper
        The power t.
    refused
        Public attributes whose table with the sensitive one the release leaves open.
    estimates
        By public attribute the estimated counts and their variances, from which a row can be taken out.
    only_outliers
        Cells are believed only where they stand out.

    Examples
    --------
    >>> prior = SharedPrior(
    ...     np.array([0.5, 0.5]), {"sex": np.array([[0.8, 0.2], [0.2, 0.8]])}, {"sex": np.array([0.5, 0.5])}, 10.0, 1.0
    ... )
    >>> prior.at(("sex",), np.array([[0], [1]])).round(6).tolist()
    [[0.8, 0.2], [0.2, 0.8]]
    """

    margin: Floats = field(repr=False)
    given_value: Mapping[str, Floats] = field(repr=False)
    shares: Mapping[str, Floats] = field(repr=False)
    number_of_rows: float
    temper: float
    refused: tuple[str, ...] = ()
    estimates: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict, repr=False)
    only_outliers: bool = False

    @classmethod
    def from_release(
        cls,
        law: Law,
        published: Published,
        public: Sequence[Attribute],
        sensitive: Attribute,
        rows: GroupedRows | None,
        *,
        only_outliers: bool = False,
    ) -> SharedPrior:
        """What a release's estimates say, tempered as its published rows bear it out.

        Parameters
        ----------
        law, published, public, sensitive
            What is asked about what.
        rows
            Published rows that judge the power, where there are any.
        only_outliers
            Believe a cell of a two-way table only where it stands out from its noise (:func:`outliers`): what is wanted
            where an attribute has very many categories, and a few of them hold all of a rare value.
        """
        margin = _estimated(law, published, (sensitive,))
        total = _estimated(law, published, ())
        margin = np.ones(sensitive.size) if margin is None or margin.sum() <= 0 else margin
        given, shares, refused, estimates = {}, {}, [], {}
        for each in public:
            found_table = _asked(law, published, (each, sensitive))
            table = None if found_table is None else _cut(found_table, only_outliers=only_outliers)
            if table is None or table.sum() <= 0:
                refused.append(each.name)
                alone = _estimated(law, published, (each,))
                alone = np.ones(each.size) if alone is None or alone.sum() <= 0 else alone
                shares[each.name] = _normalised(alone)
                continue
            shares[each.name] = _normalised(table.sum(axis=1))
            padded = table + PSEUDO_COUNT * shares[each.name][:, np.newaxis]
            given[each.name] = padded / padded.sum(axis=0)
            if found_table is not None:
                estimates[each.name] = found_table
        number = float(margin.sum()) if total is None else float(total)
        found = cls(
            _normalised(margin),
            given,
            shares,
            max(number, 1.0),
            TEMPER_WITHOUT_ROWS,
            refused=tuple(refused),
            estimates=estimates,
            only_outliers=only_outliers,
        )
        if rows is None or not given:
            return found
        names = tuple(each.name for each in public)
        # A power is judged by the rows that it must explain, through the matrix they went through.
        judged = [(found.tempered(power).fit_to(rows, names), power) for power in TEMPERS]
        return found.tempered(max(judged)[1])

    def tempered(self, power: float) -> SharedPrior:
        """The same with another power."""
        return replace(self, temper=power)

    def fit_to(self, rows: GroupedRows, names: Sequence[str]) -> float:
        """Log probability of published rows."""
        shown = self.at(names, rows.combinations) @ rows.channel
        return float((rows.counts * np.log(np.maximum(shown, LEAST_SHARE))).sum())

    def at(self, names: Sequence[str], combinations: Integers, *, fewest_rows: float = 0.0) -> Floats:
        """Beliefs about people with some public values, ``(combinations, values)``.

        Parameters
        ----------
        names, combinations
            The attributes, and ``(combinations, attributes)`` codes.
        fewest_rows
            Use a category only where at least so many rows have it: then no single row decides.
        """
        logs = np.tile(np.log(self.margin), (len(combinations), 1))
        for place, name in enumerate(names):
            if name in self.given_value:
                is_used = self.number_of_rows * self.shares[name] >= fewest_rows
                table = self.temper * np.log(self.given_value[name]) * is_used[:, np.newaxis]
                logs += table[combinations[:, place]]
        return _from_logarithms(logs)

    def without_rows(self, names: Sequence[str], combinations: Integers, added: Floats) -> Floats:
        """Beliefs about people, each from estimates without one row of theirs, ``(people, values)``.

        In a category of few people a row is much of what is estimated, and would be believed twice: here, and as what
        the row itself shows.

        Parameters
        ----------
        names, combinations
            The attributes, and ``(people, attributes)`` codes.
        added
            ``(people, values)``: what each row adds to the estimated counts of its categories.
        """
        logs = np.tile(np.log(self.margin), (len(combinations), 1))
        for place, name in enumerate(names):
            if name not in self.estimates:
                continue
            (table, variances), codes = self.estimates[name], combinations[:, place]
            own, whole = table[codes] - added, np.clip(table, 0, None)
            if self.only_outliers:
                own = _standing_out(own, variances[codes], _column_shares(table), len(table))
                whole = outliers(table, variances)
            cells = np.clip(own, 0, None) + PSEUDO_COUNT * self.shares[name][codes][:, np.newaxis]
            totals = whole.sum(axis=0) + PSEUDO_COUNT
            logs += self.temper * np.log(cells / totals)
        return _from_logarithms(logs)

    def group_sizes(self, names: Sequence[str], combinations: Integers) -> Floats:
        """Rows to expect with some public values, attributes taken to be independent, ``(combinations,)``."""
        result = np.full(len(combinations), self.number_of_rows)
        for place, name in enumerate(names):
            result = result * self.shares[name][combinations[:, place]]
        return result


def _normalised(weights: Floats) -> Floats:
    shares = np.maximum(weights / weights.sum(axis=-1, keepdims=True), LEAST_SHARE)
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def _from_logarithms(logs: Floats) -> Floats:
    """Shares in proportion to numbers that may be too small to be written, ``(people, values)``."""
    return _normalised(np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf)))


def _column_shares(estimates: Floats) -> Floats:
    """Shares of the values in a two-way table; values that are estimated below none have none."""
    column = np.clip(estimates.sum(axis=0), 0, None)
    return np.asarray(column / max(float(column.sum()), 1.0))


def outliers(estimates: Floats, variances: Floats) -> Floats:
    """A two-way table in which only cells that stand out are believed; the others are as if nothing went together.

    Parameters
    ----------
    estimates, variances
        ``(categories, values)``: estimated counts and the variances of their errors.

    Notes
    -----
    A cell is as its margins say, or anything between nobody and its category's rows; the latter beforehand with
    probability one over the categories. By Bayes, with normal errors, each cell is the mean of both.

    Examples
    --------
    Ten rows where one is expected and the error is about one: believed. Two rows: hardly.

    >>> table = np.ones((50, 2)) * [9.0, 1.0]
    >>> table[0], table[1] = (0.0, 10.0), (8.0, 2.0)
    >>> outliers(table, np.ones_like(table))[:2, 1].round(1).tolist()
    [10.0, 1.2]
    """
    return _standing_out(estimates, variances, _column_shares(estimates), len(estimates))


def _standing_out(estimates: Floats, variances: Floats, shares: Floats, categories: int) -> Floats:
    """The same for some categories of so many, given the shares of all rows."""
    rows = np.maximum(estimates.sum(axis=1, keepdims=True), 1.0)
    expected = rows * shares
    spread = np.sqrt(np.maximum(np.maximum(variances, expected), LEAST_SHARE))
    slab = 1 / categories
    as_expected = np.exp(-0.5 * ((estimates - expected) / spread) ** 2) / (np.sqrt(2 * np.pi) * spread)
    stands_out = slab / rows / (slab / rows + (1 - slab) * as_expected)
    return np.asarray(stands_out * np.clip(estimates, 0, rows) + (1 - stands_out) * expected)


def _asked(law: Law, published: Published, attributes: tuple[Attribute, ...]) -> tuple[Floats, Floats] | None:
    """Estimated counts and variances, one axis for each attribute; None where the release leaves them open."""
    try:
        found = law.estimate(published, Tabulation(by=tuple(each.name for each in attributes)))
    except (NotIdentifiableError, TooLargeError, QueryError):
        return None
    shape = [each.size for each in attributes]
    variances = np.nan_to_num(found.variances, nan=LARGEST_VARIANCE, posinf=LARGEST_VARIANCE)
    return np.nan_to_num(found.values).reshape(shape), variances.reshape(shape)


def _cut(found: tuple[Floats, Floats], *, only_outliers: bool) -> Floats:
    return outliers(*found) if only_outliers else np.clip(found[0], 0, None)


def _estimated(law: Law, published: Published, attributes: tuple[Attribute, ...]) -> Floats | None:
    found = _asked(law, published, attributes)
    return None if found is None else np.clip(found[0], 0, None)


# --------------------------------------------------------------------------------------------------
# What noisy or missing counts of the cells of a person's group say of the person.


POINTS = 401
"""Numbers of rows tried for a cell; where more are possible they are tried at even distances."""

SURPRISE = 0.01
"""Probability that a cell is nothing like what was believed of it: groups that no model of two attributes foresees."""

LEAST_MEAN = 1e-6
"""Rows to expect in a cell that was believed empty."""


def expected_counts(
    low: Integers, high: Integers, likelihood: Callable[[Integers], Floats], means: Floats
) -> Floats:
    """Rows to expect in cells, given what was published of them.

    Parameters
    ----------
    low, high
        ``(cells,)``: numbers of rows that are possible, ends included.
    likelihood
        Numbers of rows ``(cells, points)`` to the probability of what was published, in the same shape.
    means
        ``(cells,)``: rows to expect beforehand.

    Notes
    -----
    Beforehand a number of rows has a geometric distribution, which among all with a mean says least: ``r^n (1 - r)`` with
    ``r = mean / (1 + mean)``. Its tail would outweigh any noise, so with a small probability the number is drawn from
    ``1 / ((n + 1) (n + 2))`` instead, which rules nothing out.

    Examples
    --------
    A cell published as it is.

    >>> expected_counts(np.array([3]), np.array([3]), lambda n: np.ones(n.shape), np.array([1.0])).tolist()
    [3.0]
    """
    width = int((high - low).max(initial=0)) + 1
    steps = np.linspace(0.0, 1.0, min(width, POINTS))
    points = np.round(low[:, np.newaxis] + (high - low)[:, np.newaxis] * steps).astype(np.int64)
    # Where fewer numbers are possible than are tried, some come twice; they count once.
    is_new = np.concatenate([np.ones((len(points), 1), bool), np.diff(points, axis=1) > 0], axis=1)
    mean = np.maximum(means, LEAST_MEAN)[:, np.newaxis]
    foreseen = np.exp(points * (np.log(mean) - np.log1p(mean))) / (1 + mean)
    believed = (1 - SURPRISE) * foreseen + SURPRISE / ((points + 1.0) * (points + 2.0))
    weights = np.where(is_new, believed * likelihood(points), 0.0)
    total = weights.sum(axis=1)
    # Where nothing is possible under the law, what was believed beforehand is all there is.
    return np.asarray(np.divide((weights * points).sum(axis=1), total, out=means.copy(), where=total > 0))


def beliefs_of_counts(expected: Floats, prior: Floats, *, are_members: bool) -> Floats:
    """Beliefs about people of groups whose cells are expected to hold so many rows, ``(groups, values)``.

    A member is one of the rows. With the number of all rows known, the chance that a row drawn from the table
    has a value, given its public values, is the ratio of the expected counts. Somebody else is like the group, as far
    as its rows outweigh some of prior belief.

    Examples
    --------
    >>> expected, prior = np.array([[3.0, 1.0]]), np.array([[0.2, 0.8]])
    >>> beliefs_of_counts(expected, prior, are_members=True).tolist()
    [[0.75, 0.25]]
    >>> beliefs_of_counts(expected, prior, are_members=False).round(6).tolist()
    [[0.444444, 0.555556]]
    """
    rows = expected if are_members else expected + PSEUDO_COUNT * prior
    total = rows.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(rows, total, out=prior.copy(), where=total > 0))


# --------------------------------------------------------------------------------------------------
# What somebody believes of a member of a public group whose rows went through a matrix.
#
# A group's composition is estimated from its published rows, leaning on what is believed of such people
# anyway. Somebody
# known to be in the table is one of the group's rows besides, and that row must not count twice: the
# composition of the
# others is what is believed beforehand, and the own row, whichever it is, the evidence.


CONCENTRATIONS = (1e4, 1e3, 250.0, 60.0, 15.0, 4.0, 1.0, 0.3)
"""Rows of prior belief tried, from groups that say nothing of their own to groups by themselves; each about a quarter of the one
before, so that groups of a hundred rows that are nearly alike need not be taken for quite alike."""

STEPS = 200
"""Steps of a fit at most."""

TOLERANCE = 1e-6
"""Largest change of a share at which a fit stops."""

CELLS_AT_ONCE = 4_000_000
"""Numbers worked on at a time."""


def compositions(
    counts: Floats,
    channel: Floats,
    prior: Floats,
    concentration: float,
    *,
    start: Floats | None = None,
    steps: int = STEPS,
) -> Floats:
    """Most plausible shares of the values among each group's true rows, ``(groups, values)``.

    Parameters
    ----------
    counts
        ``(groups, values)``: published rows.
    channel
        ``matrix[true, published]``.
    prior
        ``(groups, values)``: shares believed beforehand.
    concentration
        Rows that these count for, above 0.
    start
        Shares to begin with.
    steps
        After how many to stop, converged or not.

    Notes
    -----
    Expectation-maximization for the mode under a Dirichlet distribution: with n rows published as y, prior shares q
    and a rows of them, ``p <- (a q + p * ((y / pT) T')) / (a + n)``.

    Examples
    --------
    Nothing distorted: the group's rows and the prior ones, added up.

    >>> compositions(np.array([[3.0, 0.0]]), np.eye(2), np.array([[0.5, 0.5]]), 1.0).tolist()
    [[0.875, 0.125]]
    """
    shares = (prior if start is None else start).copy()
    moving = np.arange(len(shares))
    for _ in range(steps):
        if not moving.size:
            return shares
        now = shares[moving]
        expected = now @ channel
        ratio = np.divide(counts[moving], expected, out=np.zeros_like(expected), where=expected > 0)
        linked = now * (ratio @ channel.T)
        following = concentration * prior[moving] + linked
        # By the sum itself, a + n: rounding over many steps would leave it.
        following /= following.sum(axis=1, keepdims=True)
        shares[moving] = following
        moving = moving[np.abs(following - now).max(axis=1) > TOLERANCE]
    return shares


def choose_concentration(
    counts: Floats, channel: Floats, prior: Floats, generator: np.random.Generator
) -> float:
    """How many rows the prior shares should count for, by predicting one half of the rows from the other.

    Parameters
    ----------
    counts, channel, prior
        As for :func:`compositions`; counts that are no whole numbers are rounded.
    generator
        Deals the published rows into halves.

    Notes
    -----
    A fit judged by the rows it was made of would choose to believe them alone: each row explains itself. Half of the
    rows is fitted with half of the concentration's weight beside it, so that the choice is about the whole.

    Examples
    --------
    Groups that are what was believed lean on it; groups of their own do not.

    >>> generator = np.random.default_rng(1)
    >>> even = np.full((60, 2), 0.5)
    >>> choose_concentration(np.full((60, 2), 10.0), np.eye(2), even, generator) >= 60
    True
    >>> choose_concentration(np.array([[20.0, 0.0], [0.0, 20.0]] * 30), np.eye(2), even, generator)
    0.3
    """
    whole = np.round(counts).astype(np.int64)
    useful = whole.sum(axis=1) >= 2
    whole, shares = whole[useful], prior[useful]
    if not len(whole):
        return CONCENTRATIONS[0]
    half: Integers = generator.binomial(whole, 0.5)
    halves = (half.astype(np.float64), (whole - half).astype(np.float64))

    def fit(kept: Floats, held_out: Floats, concentration: float) -> float:
        found = compositions(kept, channel, shares, concentration / 2)
        return float((held_out * np.log(np.maximum(found @ channel, np.finfo(float).tiny))).sum())

    judged = [fit(*halves, each) + fit(*halves[::-1], each) for each in CONCENTRATIONS]
    return CONCENTRATIONS[int(np.argmax(judged))]


@dataclass(frozen=True, eq=False)
class GroupBeliefs:
    """What is believed of people by their public group, with and without their own row.

    Parameters
    ----------
    rows
        The published rows.
    prior
        ``(groups, values)``: what is believed of people of each group before its rows are looked at.
    concentration
        Rows that the prior counts for.
    without
        Groups and published values ``(n,)`` to what is believed there without a row that shows the value, ``(n, values)``;
        the prior itself where it does not rest on single rows.

    Examples
    --------
    Two rows of one group, each kept with 3/4 in place of an even draw of two: one shows each value.

    >>> kept = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> rows = GroupedRows(np.array([[0]]), np.array([[1.0, 1.0]]), kept, np.ones(1))
    >>> GroupBeliefs(rows, np.array([[0.5, 0.5]]), 4.0).of_members(np.array([0])).tolist()
    [[0.5, 0.5]]
    """

    rows: GroupedRows
    prior: Floats = field(repr=False)
    concentration: float
    without: Callable[[Integers, Integers], Floats] | None = None

    @classmethod
    def fitted(cls, rows: GroupedRows, prior: SharedPrior, names: Sequence[str]) -> GroupBeliefs:
        """On a prior of the whole release, with the concentration that published rows bear out; the same every time."""
        before = prior.at(names, rows.combinations)
        generator = np.random.default_rng(0)
        chosen = choose_concentration(rows.counts, rows.channel, before, generator)
        # What a published row adds to the estimates of its categories: its row of the inverse, as often as it counts.
        inverse = np.linalg.pinv(rows.channel)

        def without(groups: Integers, shown: Integers) -> Floats:
            added = inverse[shown] / rows.kept[groups][:, np.newaxis]
            return prior.without_rows(names, rows.combinations[groups], added)

        return cls(rows, before, chosen, without)

    @cached_property
    def compositions(self) -> Floats:
        """Of the groups as published, ``(groups, values)``: what to believe of somebody like them."""
        return compositions(self.rows.counts, self.rows.channel, self.prior, self.concentration)

    def places(self, combinations: Integers) -> Integers:
        """Group of each combination, -1 where no row is published of it."""
        return places_among(combinations, self.rows.combinations)

    def of_members(self, groups: Integers) -> Floats:
        """Beliefs about members of some groups, ``(groups asked, values)``.

        For each published value the composition of the other rows times the chance to show it, averaged over
        the rows of the group: which one is the target's is not known. Where a sample was taken, the target may be
        outside of it, and is then like the group.
        """
        found = np.empty((len(groups), len(self.rows.channel)))
        for part, cells in self._blocks(groups):
            own = np.zeros((part.stop - part.start, len(self.rows.channel)))
            np.add.at(own, cells.place, cells.weight[:, np.newaxis] * cells.believed)
            kept = self.rows.kept[groups[part], np.newaxis]
            found[part] = kept * own + (1 - kept) * self.compositions[groups[part]]
        return found

    def left_out(
        self, groups: Integers, values: Integers, generator: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Beliefs about people of some groups who have these values, had their row not been published.

        For the custodian, who knows everybody's value: which published row is a person's own is drawn by its probability.
        A belief averaged over rows that may be the own one would be nobody's: it tells the value that the average knows.

        Parameters
        ----------
        groups, values
            ``(people,)`` each: group and true value, of everybody in the groups or of many.
        generator
            Draws the own rows.

        Returns
        -------
        tuple
            ``(people, values)`` each: the composition of the group's others, and the prior without the row.

        Notes
        -----
        A row that shows w is the own one of somebody who has v with odds ``T[v, w] / (c T)[w]``, c being the true shares among the
        group's others: the own row shows w by the first, any of theirs by the second. For groups of two this is exact.
        """
        size = len(self.rows.channel)
        found, before = np.empty((len(groups), size)), np.empty((len(groups), size))
        different, of_person = np.unique(groups, return_inverse=True)
        people = np.argsort(of_person.ravel(), kind="stable")
        starts = np.searchsorted(of_person.ravel()[people], np.arange(len(different) + 1))
        for part in in_parts(len(different), each=size**2, at_once=CELLS_AT_ONCE):
            cells = self._cells(different[part])
            asked = people[starts[part.start] : starts[part.stop]]
            place = of_person.ravel()[asked] - part.start
            shown = self._own_rows(different[part], place, values[asked], generator)
            row = np.full((part.stop - part.start, size), -1)
            row[cells.place, cells.shown] = np.arange(len(cells.place))
            # Of a row that is not among them, the -1 stands for any: it is not looked at.
            is_in, own = (shown >= 0)[:, np.newaxis], row[place, shown]
            found[asked] = np.where(is_in, cells.others[own], self.compositions[groups[asked]])
            before[asked] = np.where(is_in, cells.before[own], self.prior[groups[asked]])
        return found, before

    def _own_rows(
        self, groups: Integers, place: Integers, values: Integers, generator: np.random.Generator
    ) -> Integers:
        """The published value of each person's own row, drawn; -1 where it is not among those counted, ``(people,)``."""
        counts, kept, channel = self.rows.counts[groups], self.rows.kept[groups], self.rows.channel
        others = np.zeros_like(counts)
        np.add.at(others, (place, values), 1.0)
        # Where only some of a group were asked about, the rest is like what is believed of it.
        missing = np.maximum(counts.sum(axis=1) / kept - others.sum(axis=1), 0.0)
        others += missing[:, np.newaxis] * self.compositions[groups]
        of_others = others[place]
        of_others[np.arange(len(place)), values] -= 1
        shown = of_others @ channel
        weights = counts[place] * channel[values]
        weights = np.divide(weights, shown, out=weights, where=shown > 0)
        # What none of the others can show is the own row, or nobody's.
        certain = (shown <= 0) & (weights > 0)
        weights = np.where(certain.any(axis=1, keepdims=True), weights * certain, weights)
        # A value that no published row can hide: any row may be the own one.
        weights = np.where(weights.any(axis=1, keepdims=True), weights, counts[place])
        cumulative = np.cumsum(weights, axis=1)
        drawn = generator.random((len(place), 1)) * cumulative[:, -1:] >= cumulative
        is_in = generator.random(len(place)) < kept[place]
        return np.where(is_in, drawn.sum(axis=1), -1)

    def _blocks(self, groups: Integers) -> Iterator[tuple[slice, _Cells]]:
        """Some groups at a time, with the cells of each that hold rows."""
        parts = in_parts(len(groups), each=len(self.rows.channel) ** 2, at_once=CELLS_AT_ONCE)
        return ((part, self._cells(groups[part])) for part in parts)

    def _cells(self, groups: Integers) -> _Cells:
        # People asked about may share a group; its cells are worked out once.
        different, of_asked = np.unique(groups, return_inverse=True)
        counts = self.rows.counts[different]
        group, shown = np.nonzero(counts > 0)
        others = counts[group]
        others[np.arange(len(group)), shown] = np.maximum(counts[group, shown] - 1, 0)
        whose = different[group]
        before = self.prior[whose] if self.without is None else self.without(whose, shown)
        shares = compositions(others, self.rows.channel, before, self.concentration)
        evidence = shares * self.rows.channel[:, shown].T
        total = evidence.sum(axis=1, keepdims=True)
        # What can show nothing else is certain, however unlikely it was believed to be.
        likely = np.where(total > 0, evidence, self.rows.channel[:, shown].T)
        believed = likely / likely.sum(axis=1, keepdims=True)
        weight = counts[group, shown] / counts.sum(axis=1)[group]
        return _expanded(
            _Cells(group, shown, weight, before, shares, believed), of_asked.ravel(), len(different)
        )


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells with rows: of which group and value, what share of its rows; without one of them the prior and the others' shares."""

    place: Integers
    shown: Integers
    weight: Floats
    before: Floats
    others: Floats
    believed: Floats


def _expanded(cells: _Cells, of_asked: Integers, number: int) -> _Cells:
    """The cells of every group asked for, groups that are asked for twice twice."""
    if len(of_asked) == number and (of_asked == np.arange(number)).all():
        return cells
    order = np.argsort(cells.place, kind="stable")
    sizes = np.bincount(cells.place, minlength=number)
    starts = np.cumsum(sizes) - sizes
    taken = sizes[of_asked]
    place = np.repeat(np.arange(len(of_asked)), taken)
    within = np.arange(len(place)) - np.repeat(np.cumsum(taken) - taken, taken)
    chosen = order[starts[of_asked][place] + within]
    parts = (cells.shown, cells.weight, cells.before, cells.others, cells.believed)
    return _Cells(place, *(each[chosen] for each in parts))
