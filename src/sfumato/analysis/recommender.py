"""Recommendations from published ratings: item means, similarities, factors, and their error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.analysis.counts import as_columns
from sfumato.arrays import Floats, Integers, Words
from sfumato.data.long_format import SparseUnits
from sfumato.errors import ParameterError, nearest
from sfumato.methods.columnized_counts.kernels import ItemSimilarity, PairCounts, count_pairs
from sfumato.methods.columnized_counts.law import SparseRecords, long_columns_of, read_records
from sfumato.release import Release
from sfumato.results import Charted, ResultTable, bar_chart

# --------------------------------------------------------------------------------------------------
# Recommending from published ratings: item means, similarities, factors, and an honest error.
#
# A published fragment with its count is so many people with these ratings and nothing else known of them.
# The factors of each column are learned by themselves, because columns share no people; a person's own
# vector is folded in from his ratings by whoever uses the model, and is in no release.


MEAN_SHRINKAGE = 10.0
"""Average ratings added to every item's own, so that a rare item's mean is not a single opinion."""

BIAS_SHRINKAGE = 5.0
"""Average ratings added to a person's own before his bias is taken."""


@dataclass(frozen=True)
class Factorization:
    """How factors are learned: factor analysis by expectation-maximization.

    A person's vector is standard normal and a rating has noise. How uncertain each vector is enters the
    factors of the items; plain alternating least squares leaves it out, and overfits where people have
    few ratings.

    Parameters
    ----------
    rank
        Numbers in the factor of an item.
    noise_variance
        Of a rating around its prediction.
    item_ridge
        Ridge on the factors of items, in ratings.
    sweeps
        Of the expectation-maximization.
    """

    rank: int = 4
    noise_variance: float = 0.8
    item_ridge: float = 20.0
    sweeps: int = 20


@dataclass(frozen=True, eq=False)
class RatingModel:
    """What predicts ratings: means, and one block of item factors for each column.

    Parameters
    ----------
    means
        ``(items,)`` shrunken towards the mean of all.
    blocks
        ``(columns, items, rank)``; zero for items outside the column.
    numbers
        ``(values,)`` the rating that each value code stands for.
    noise_variance
        Ridge of folding in.
    """

    means: Floats
    blocks: Floats
    numbers: Floats
    noise_variance: float

    def __repr__(self) -> str:
        return f"RatingModel({len(self.blocks)} columns, {self.means.size} items)"

    def predict(self, known: SparseUnits, units: npt.ArrayLike, items: npt.ArrayLike) -> Predictions:
        """Predicted ratings of units for items, from what is known of the units.

        The person's bias, and his vector in each block, come from his own ratings by ridge regression.
        An item in several columns is predicted by the mean of its blocks.
        """
        user, item = np.asarray(units, np.int64), np.asarray(items, np.int64)
        residual = self.numbers[known.values] - self.means[known.items]
        of_entry = known.units()
        numbers = np.diff(known.starts)
        bias = np.bincount(of_entry, weights=residual, minlength=known.number_of_units) / (
            numbers + BIAS_SHRINKAGE
        )
        rest = residual - bias[of_entry]
        total, blocks = np.zeros(item.size), np.zeros(item.size)
        for factors in self.blocks:
            inside = factors.any(axis=1)
            asked, told = inside[item], inside[known.items]
            if not asked.any() or not told.any():
                continue
            # Only people who rated something in the column have a vector there.
            people, place = np.unique(of_entry[told], return_inverse=True)
            vectors = np.zeros((known.number_of_units, factors.shape[1]))
            vectors[people], _ = _fold_in(
                place, factors[known.items[told]], rest[told], people.size, self.noise_variance
            )
            total[asked] += np.einsum("ij,ij->i", vectors[user[asked]], factors[item[asked]])
            blocks += asked
        liking = total / np.maximum(blocks, 1)
        low, high = float(self.numbers.min()), float(self.numbers.max())
        mean = self.means[item]
        return Predictions(
            np.clip(mean, low, high),
            np.clip(mean + bias[user], low, high),
            np.clip(mean + bias[user] + liking, low, high),
        )


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predicted ratings: by the item's mean alone, with the person's bias, and with the factors besides."""

    by_means: Floats
    with_bias: Floats
    with_factors: Floats

    def errors(self, truth: npt.ArrayLike) -> dict[str, float]:
        """Root mean square error of each, in that order; the ablation says what the factors add.

        Examples
        --------
        >>> some = Predictions(np.array([3.0]), np.array([4.0]), np.array([5.0]))
        >>> some.errors([5.0])
        {'item means': 2.0, 'means and user bias': 1.0, 'factors': 0.0}
        """
        actual = np.asarray(truth, np.float64)
        return {
            name: float(np.sqrt(np.mean((each - actual) ** 2)))
            for name, each in (
                ("item means", self.by_means),
                ("means and user bias", self.with_bias),
                ("factors", self.with_factors),
            )
        }


@dataclass(frozen=True, eq=False)
class HoldOut:
    """Ratings kept aside, and everything else.

    Parameters
    ----------
    train
        All units with the ratings that were not kept aside.
    units, items, values
        ``(kept,)`` codes of those that were.
    """

    train: SparseUnits
    units: Integers
    items: npt.NDArray[Any]
    values: npt.NDArray[Any]

    def __repr__(self) -> str:
        return f"HoldOut({self.units.size} ratings)"


def hold_out(ratings: SparseUnits, share: float, words: Words) -> HoldOut:
    """Keep a share of the ratings aside, of units that keep at least one.

    Parameters
    ----------
    ratings
        All of them.
    share
        Between 0 and 1.
    words
        ``(entries,)`` uniform words that decide.
    """
    of_entry = ratings.units()
    # The first word of a unit's entries, in random order, is always kept for training.
    smallest = np.full(ratings.number_of_units, np.iinfo(np.uint64).max)
    np.minimum.at(smallest, of_entry, words)
    aside = (words.astype(np.float64) >= (1 - share) * 2.0**64) & (words != smallest[of_entry])
    return HoldOut(ratings.keep(~aside), of_entry[aside], ratings.items[aside], ratings.values[aside])


def fit_ratings(
    columns: Sequence[SparseRecords], numbers: npt.ArrayLike, settings: Factorization | None = None
) -> RatingModel:
    """Learn means and factors from records with their counts; one block of factors for each column.

    Examples
    --------
    >>> likes = SparseUnits.from_triples(["a", "b"], [0, 0, 1], [0, 1, 0], [4, 4, 0], 2, 5)
    >>> model = fit_ratings([SparseRecords.raw(likes)], [1, 2, 3, 4, 5])
    >>> model.means.round(2).tolist()
    [3.56, 3.79]
    """
    chosen = settings or Factorization()
    stars = np.asarray(numbers, np.float64)
    means = _item_means(columns, stars)
    blocks = [_factors(each, stars, means, chosen) for each in columns]
    return RatingModel(means, np.array(blocks), stars, chosen.noise_variance)


def _item_means(columns: Sequence[SparseRecords], stars: Floats) -> Floats:
    sums, weights = np.zeros((2, columns[0].units.number_of_items))
    for each in columns:
        crowd = _crowd_of_entries(each)
        sums += np.bincount(each.units.items, weights=crowd * stars[each.units.values], minlength=sums.size)
        weights += np.bincount(each.units.items, weights=crowd, minlength=sums.size)
    if not weights.sum():
        return np.full(sums.size, float(stars.mean()))
    overall = sums.sum() / weights.sum()
    return np.asarray((sums + MEAN_SHRINKAGE * overall) / (weights + MEAN_SHRINKAGE))


def _factors(records: SparseRecords, stars: Floats, means: Floats, settings: Factorization) -> Floats:
    """Factors of the items of one column, ``(items, rank)``."""
    units = records.units
    items = units.items.astype(np.int64)
    if not items.size:
        return np.zeros((units.number_of_items, settings.rank))
    crowd = _crowd_of_entries(records)
    of_entry = units.units()
    residual = stars[units.values] - means[items]
    lengths = np.diff(units.starts)
    bias = np.bincount(of_entry, weights=residual, minlength=units.number_of_units) / (
        lengths + BIAS_SHRINKAGE
    )
    rest = residual - bias[of_entry]
    # A fixed start: what matters is that no two items begin alike.
    factors = np.random.default_rng(0).normal(0, 0.2, (units.number_of_items, settings.rank))
    for _ in range(settings.sweeps):
        people, spread = _fold_in(
            of_entry, factors[items], rest, units.number_of_units, settings.noise_variance
        )
        # M-step: E[p p'] is the product of the means and the covariance of the vector.
        normal = _sums_of_products(items, people[of_entry], units.number_of_items, crowd)
        for i, j in np.ndindex(settings.rank, settings.rank):
            weights = crowd * spread[of_entry, i, j]
            normal[:, i, j] += np.bincount(items, weights=weights, minlength=units.number_of_items)
        normal += settings.item_ridge * np.eye(settings.rank)
        right = _sums(items, people[of_entry] * (crowd * rest)[:, None], units.number_of_items)
        factors = np.asarray(np.linalg.solve(normal, right[:, :, None])[:, :, 0], np.float64)
    present = np.bincount(items, minlength=units.number_of_items) > 0
    return np.where(present[:, None], factors, 0.0)


def _fold_in(
    groups: npt.NDArray[Any], features: Floats, target: Floats, size: int, noise_variance: float
) -> tuple[Floats, Floats]:
    """Mean ``(size, rank)`` and covariance ``(size, rank, rank)`` of every person's vector, given his ratings."""
    normal = _sums_of_products(groups, features, size) + noise_variance * np.eye(features.shape[1])
    inverse = np.asarray(np.linalg.inv(normal), np.float64)
    right = _sums(groups, features * target[:, None], size)
    return np.einsum("uij,uj->ui", inverse, right), noise_variance * inverse


def _sums(groups: npt.NDArray[Any], columns: Floats, size: int) -> Floats:
    """Sums of each column over groups, ``(size, columns)``."""
    return np.stack([np.bincount(groups, weights=each, minlength=size) for each in columns.T], axis=1)


def _sums_of_products(
    groups: npt.NDArray[Any], features: Floats, size: int, weights: Floats | None = None
) -> Floats:
    """Weighted sums of ``f f'`` over groups, ``(size, rank, rank)``."""
    rank = features.shape[1]
    result = np.empty((size, rank, rank))
    for i in range(rank):
        column = features[:, i] if weights is None else features[:, i] * weights
        for j in range(i, rank):
            result[:, i, j] = np.bincount(groups, weights=column * features[:, j], minlength=size)
            result[:, j, i] = result[:, i, j]
    return result


def _crowd_of_entries(records: SparseRecords) -> Floats:
    return np.repeat(records.crowd, np.diff(records.units.starts)).astype(np.float64)


def _numbers_of(release: Release) -> Floats:
    """The rating that each value of a release stands for."""
    long = long_columns_of(release.law)
    labels = ("1",) if long.value is None else release.schema[long.value].labels
    try:
        return np.array([float(label) for label in labels])
    except ValueError:
        raise ParameterError(
            f"the values of {long.value!r} are no numbers, so ratings have no mean. Publish them with numbers as categories.",
            parameter="release",
        ) from None


def fit_release(release: Release, settings: Factorization | None = None) -> RatingModel:
    """Learn a model from a release alone.

    Raises
    ------
    ParameterError
        When the release holds no unit-item-value data, or its values are no numbers.
    """
    numbers = _numbers_of(release)
    return fit_ratings(read_records(release, long_columns_of(release.law)), numbers, settings)


def item_means(release: Release) -> ResultTable:
    """Mean published rating of every item, with the number of ratings behind it.

    The error of a mean is not stated: fragments that were left out may rate otherwise.
    """
    long, numbers = long_columns_of(release.law), _numbers_of(release)
    items = release.schema[long.item]
    sums, weights = np.zeros((2, items.size))
    for each in read_records(release, long):
        crowd = _crowd_of_entries(each)
        sums += np.bincount(
            each.units.items, weights=crowd * numbers[each.units.values], minlength=items.size
        )
        weights += np.bincount(each.units.items, weights=crowd, minlength=items.size)
    shown = np.flatnonzero(weights)
    return ResultTable(
        "Mean of published ratings by item; ratings that were left out are not in it",
        (long.item, "ratings", "mean"),
        tuple((items.labels[i], round(weights[i]), float(sums[i] / weights[i])) for i in shown),
    )


def item_similarities(release: Release, measure: ItemSimilarity = "agreement") -> Floats:
    """How alike published items are, ``(items, items)``; nan for items that share no column.

    Across columns nothing is known: which fragments belong to one person is not published.
    """
    long = long_columns_of(release.law)
    size = release.schema[long.item].size
    result = np.full((size, size), np.nan)
    for column, records in zip(long.columns, read_records(release, long), strict=True):
        inside = np.ix_(column, column)
        found = _weighted_pairs(records).similarity(measure)[inside]
        result[inside] = np.fmax(result[inside], found)
    return result


def _weighted_pairs(records: SparseRecords) -> PairCounts:
    """Pair counts in which each record counts as often as it stands for people."""
    repeated = np.repeat(np.arange(records.units.number_of_units), records.crowd)
    lengths = np.diff(records.units.starts)[repeated]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    places = np.repeat(records.units.starts[:-1][repeated], lengths) + within
    starts = np.concatenate([[0], np.cumsum(lengths)])
    units = SparseUnits(
        (),
        starts,
        records.units.items[places],
        records.units.values[places],
        records.units.number_of_items,
        records.units.number_of_values,
    )
    return count_pairs(units)


# --------------------------------------------------------------------------------------------------
# What a person may like, from published ratings and his own.


NO_ERROR = (
    "no standard error is given: fragments that were left out may rate otherwise, and nobody can say how"
)


@dataclass(frozen=True)
class Recommended:
    """One item with the ratings to expect: by its mean alone, with the person's bias, and with his tastes."""

    item: str
    mean: float
    with_bias: float
    predicted: float


@dataclass(frozen=True)
class Recommendations(Charted):
    """Items that a person has not rated, those he may like best first.

    Parameters
    ----------
    items
        With their predicted ratings.
    rated
        How many ratings of his they come from.
    """

    items: tuple[Recommended, ...]
    rated: int
    method: str
    law: str
    notes: tuple[str, ...] = (NO_ERROR,)

    def __repr__(self) -> str:
        return f"Recommendations({len(self.items)} items from {self.rated} ratings)"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A table for people."""
        rows = tuple((each.item, each.predicted, each.with_bias, each.mean) for each in self.items)
        table = ResultTable(
            f"What to expect of items not rated, from {self.rated} ratings",
            ("item", "predicted", "mean and bias", "mean alone"),
            rows,
        )
        return "\n".join(
            [table.to_text(), f"({self.method}, law {self.law})", *(f"Note: {each}" for each in self.notes)]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``recommend --json`` prints it."""
        return {
            "items": [dict(vars(each)) for each in self.items],
            "rated": self.rated,
            "method": self.method,
            "law": self.law,
            "notes": list(self.notes),
        }

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each item."""
        import pyarrow as pa

        return pa.table(as_columns([dict(vars(each)) for each in self.items]))

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the predicted ratings, as plain data."""
        points = [{"label": each.item, "value": each.predicted} for each in self.items]
        return bar_chart(points, title="item", unit="predicted rating")


def recommend(release: Release, rated: Mapping[str, str], *, number: int = 10) -> Recommendations:
    """Items that a person may like, from a release of ratings and the person's own, which stay here.

    Parameters
    ----------
    release
        Of unit-item-value data by columnized counts.
    rated
        Item to value, by label; may be empty.
    number
        Items to give, at most.

    Raises
    ------
    ParameterError
        When the release holds no ratings, or an item or value is not of its lists.
    """
    if number < 1:
        raise ParameterError(f"number must be 1 or more, got {number}.", parameter="number")
    model = fit_release(release)
    long = long_columns_of(release.law)
    items = release.schema[long.item]
    values = ("1",) if long.value is None else release.schema[long.value].labels
    codes = [_place(each, items.labels, "item") for each in rated]
    known = SparseUnits.from_triples(
        ["person"],
        np.zeros(len(codes), dtype=np.int64),
        np.array(codes, dtype=np.int64),
        np.array([_place(str(each), values, "value") for each in rated.values()], dtype=np.int64),
        items.size,
        len(values),
    )
    others = np.setdiff1d(np.arange(items.size), codes)
    found = model.predict(known, np.zeros(others.size, dtype=np.int64), others)
    order = np.argsort(-found.with_factors, kind="stable")[:number]
    return Recommendations(
        tuple(
            Recommended(
                items.labels[others[place]],
                float(found.by_means[place]),
                float(found.with_bias[place]),
                float(found.with_factors[place]),
            )
            for place in order
        ),
        len(codes),
        release.method,
        str(release.manifest.law["law"]),
    )


def _place(label: str, labels: tuple[str, ...], what: str) -> int:
    if label not in labels:
        raise ParameterError(
            f"the release has no {what} {label!r}; {nearest(label, labels)}", parameter="rated"
        )
    return labels.index(label)
