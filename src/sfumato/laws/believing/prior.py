"""The belief that needs no law of its own: what a release's estimates of two-way tables say of a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import NotIdentifiableError, QueryError, TooLargeError
from sfumato.laws.believing.grouped_rows import GroupedRows
from sfumato.values.arrays import Floats, Integers
from sfumato.values.schema import Attribute
from sfumato.values.selection import Tabulation

if TYPE_CHECKING:
    from sfumato.laws.base import Law, Published

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
