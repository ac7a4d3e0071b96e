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

    @classmethod
    def from_release(
        cls,
        law: Law,
        published: Published,
        public: Sequence[Attribute],
        sensitive: Attribute,
        rows: GroupedRows | None,
    ) -> SharedPrior:
        """What a release's estimates say, tempered as its published rows bear it out."""
        margin = _estimated(law, published, (sensitive,))
        total = _estimated(law, published, ())
        margin = np.ones(sensitive.size) if margin is None or margin.sum() <= 0 else margin
        given, shares, refused = {}, {}, []
        for each in public:
            table = _estimated(law, published, (each, sensitive))
            if table is None or table.sum() <= 0:
                refused.append(each.name)
                alone = _estimated(law, published, (each,))
                alone = np.ones(each.size) if alone is None or alone.sum() <= 0 else alone
                shares[each.name] = _normalised(alone)
                continue
            shares[each.name] = _normalised(table.sum(axis=1))
            padded = table + PSEUDO_COUNT * shares[each.name][:, np.newaxis]
            given[each.name] = padded / padded.sum(axis=0)
        number = float(margin.sum()) if total is None else float(total)
        found = cls(_normalised(margin), given, shares, max(number, 1.0), TEMPER_WITHOUT_ROWS, tuple(refused))
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

    def at(self, names: Sequence[str], combinations: Integers) -> Floats:
        """Beliefs about people with some public values, ``(combinations, values)``."""
        logs = np.tile(np.log(self.margin), (len(combinations), 1))
        for place, name in enumerate(names):
            if name in self.given_value:
                table = np.log(np.maximum(self.given_value[name], LEAST_SHARE))
                logs += self.temper * table[combinations[:, place]]
        logs -= logs.max(axis=1, keepdims=True, initial=-np.inf)
        return _normalised(np.exp(logs))

    def group_sizes(self, names: Sequence[str], combinations: Integers) -> Floats:
        """Rows to expect with some public values, attributes taken to be independent, ``(combinations,)``."""
        result = np.full(len(combinations), self.number_of_rows)
        for place, name in enumerate(names):
            result = result * self.shares[name][combinations[:, place]]
        return result


def _normalised(weights: Floats) -> Floats:
    padded = np.maximum(weights, LEAST_SHARE * weights.sum(axis=-1, keepdims=True))
    return np.asarray(padded / padded.sum(axis=-1, keepdims=True))


def _estimated(law: Law, published: Published, attributes: tuple[Attribute, ...]) -> Floats | None:
    """Estimated counts cut at zero, one axis for each attribute; None where the release leaves them open."""
    try:
        found = law.estimate(published, Tabulation(by=tuple(each.name for each in attributes)))
    except (NotIdentifiableError, TooLargeError, QueryError):
        return None
    values = np.clip(np.nan_to_num(found.values), 0, None)
    return np.asarray(values.reshape([each.size for each in attributes]))
