"""The law of Anatomy: estimates, intervals and posteriors from rows and sensitive values joined by bucket."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.arrays import Floats, Integers
from sfumato.errors import NotIdentifiableError, TooLargeError
from sfumato.estimates.counts import CountTable, Feasibility, rake
from sfumato.estimates.estimates import Certainties, Certainty, Estimates, Limits, all_claim, normal_quantile
from sfumato.estimates.exact_intervals import Spread
from sfumato.guarantees import Guarantee
from sfumato.guarantees.k_anonymity import LDiversity
from sfumato.immutable import MOST_ROWS
from sfumato.laws.base import Law, Published
from sfumato.laws.estimator import (
    Formula,
    JointCounts,
    Target,
    answer,
    binding,
    cell_of,
    codes_shown,
    conditions_outside,
    indicator,
    names_of,
    order_of,
    satisfying,
    shape_of,
    take_codes,
    without_errors,
)
from sfumato.laws.posterior import Posterior, SharedPrior, Targets, places_among
from sfumato.methods.anatomy.buckets import (
    BUCKET,
    LARGEST_DENSE,
    ROWS,
    SENSITIVE,
    BucketComposition,
    ManyBuckets,
    feasible_cells,
    refuse_other_sizes,
    sizes_of_buckets,
    spreads_of_cells,
)
from sfumato.methods.anatomy.permutations import (
    LARGEST_EXACT,
    BucketedPeople,
    balanced_marginals,
    permutation_marginals,
)
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.partitions import partition_rows
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Schema

# --------------------------------------------------------------------------------------------------
# Intervals of counts of few rows in buckets, at levels beyond 95 %: errors of such counts lean.


BEGINS, WHOLE = 0.95, 0.99
"""Levels from which on intervals lean, and at which they do so in full. Up to the first normal ones hold what they say."""


@dataclass(frozen=True, eq=False)
class RareEnds:
    """Intervals that know, at levels beyond 95 %, how errors are dealt where the truth would be, and lean as they do.

    Parameters
    ----------
    values
        The estimates, ``(n,)``.
    spread
        Gives their variances, and third moments by variances, ``(n,)`` each.
    usual
        Gives what the numbers would be if no value were more frequent in a cell than elsewhere, and their variances there.

    Notes
    -----
    Of Cornish and Fisher's quantile ``z + g (z^2 - 1) / 6`` with the skewness g, the second term is ``(z^2 - 1) / 6`` times the third moment
    by the variance, in rows. It matters little at 95 %; at 99.8 %, which each of 28 intervals has that hold together, it is more than a row of a
    count of nobody, whose estimate is a row too many for every bucket in which the value meets a row of the cell by chance.

    An estimate that is far too large says besides that its variance is small, because the cell would have few rows of other values. So
    the end toward the usual number is judged by the variance there: it changes evenly on the way to the usual one, and no further.

    Examples
    --------
    >>> usual = Spread(lambda: (np.array([0.5]), np.array([0.5])))
    >>> ends = RareEnds(np.array([2.7]), Spread(lambda: (np.array([0.4]), np.array([0.7]))), usual)
    >>> [round(float(ends(level)[0][0]), 2) for level in (0.99, 0.998)]
    [0.26, -0.48]
    """

    values: Floats
    spread: Spread
    usual: Spread

    def __call__(self, confidence_level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends; not a number up to 95 % and without a variance: normal intervals are as good there."""
        nothing = np.full(self.values.size, np.nan)
        if confidence_level <= BEGINS:
            return nothing, nothing.copy()
        half, first, last = (normal_quantile(each) for each in (confidence_level, BEGINS, WHOLE))
        part = min((half - first) / (last - first), 1.0)
        variances, slopes = self.spread.both
        lean = part * (half**2 - 1) / 6 * slopes
        reach = half * np.sqrt(variances)
        usual, there = self.usual.both
        away = self.values - usual
        rise = np.divide(there - variances, np.abs(away), out=np.zeros_like(reach), where=away != 0)
        middle = half**2 * np.maximum(rise, 0) / 2
        toward = np.minimum(middle + np.sqrt(middle**2 + reach**2), half * np.sqrt(there))
        more = part * np.maximum(toward - reach, 0)
        low = self.values - reach - np.maximum(lean, 0) - np.where(away > 0, more, 0)
        high = self.values + reach - np.minimum(lean, 0) + np.where(away < 0, more, 0)
        return np.where(variances > 0, low, nothing), np.where(variances > 0, high, nothing)


def moments_of_cells(buckets: BucketComposition, inside: Floats, outputs: Floats) -> tuple[Floats, Floats]:
    """Variances of estimates, and their third moments by their variances, ``(cells, outputs)`` each.

    Parameters
    ----------
    buckets
        The composition.
    inside
        Rows of each value in each cell, ``(cells, values)``.
    outputs
        What ``A'Km`` is multiplied with, ``(outputs, values)``.

    Notes
    -----
    Rows of a value are a simple random sample of its places, each of which counts a known number ``c``. Of x places of f the sum has the variance
    ``x (f - x) / (f - 1)`` times that of c over the places, and the third moment ``x (f - x) (f - 2 x) / ((f - 1) (f - 2))`` times its.
    """
    second, third = buckets.moments_of_places(outputs)
    totals = buckets.totals.astype(np.float64)
    drawn = inside * (totals - inside) / np.maximum(totals - 1, 1)
    # A value of one row has no spread, and two places of which one is drawn lean to neither side.
    variances = np.clip((drawn * (totals > 1)) @ second, 0, None)
    moments = (drawn * (totals > 2) * (totals - 2 * inside) / np.maximum(totals - 2, 1)) @ third
    # Less than this is rounding: a row counts about as much as the outputs are large.
    is_known = variances > 1e-9 * np.maximum(np.abs(outputs).max(), 1.0) ** 2
    return variances, np.asarray(np.divide(moments, variances, out=np.zeros_like(moments), where=is_known))


# --------------------------------------------------------------------------------------------------
# Counts of rows and sensitive values that are joined by bucket, and their errors.


DRAWN_IN = 4.0
"""Times the squared error of an estimate beside its value's rows by which association is believed less where errors are worked out."""

TINY = np.finfo(np.float64).tiny
"""In the place of nobody's rows where these are divided by."""

LARGEST_OUTPUTS = 20_000_000
"""Numbers that the sums of one question may take where values are many: 160 MB, of which some copies are made."""


class BucketedCounts(Formula):
    """What a release of buckets says of a question.

    Parameters
    ----------
    published
        The release.
    asked
        The whole question.
    sensitive
        The attribute that was taken apart from the rows.
    composition
        Reads the release's buckets, when they are needed.
    is_unbiased
        Least squares over the buckets; else Xiao and Tao's answer.

    Notes
    -----
    The covariance of the estimates is known exactly up to the true counts of each value's rows in each cell,
    for which the estimates stand, drawn in toward what they would be without any association and cut to what is
    possible: an estimate that is far off lies where a count varies little, and would call itself sure. Where errors are
    large beside a value's rows little is left of an association, and nearly all where they are not; all cells alike, so
    that what they are known to add up to they still add up to. A cell by itself is cut to its value's rows; the cells of
    one table, for their covariance, are made to hold no more of a value's rows together than there are, so that their
    sum varies no more than it can.
    """

    def __init__(
        self,
        published: Published,
        asked: Sequence[Tabulation],
        sensitive: str,
        composition: Callable[[Published], BucketComposition],
        *,
        is_unbiased: bool = True,
    ) -> None:
        self.sensitive = sensitive
        self.published = published
        self.schema = published.schema
        self.number_of_rows = published.number_of_rows
        self.is_unbiased = is_unbiased
        self._composition = composition
        public = [self._public(each) for each in asked]
        self._public_counts = JointCounts(published, public)
        self._counted: dict[Tabulation, Floats] = {}

    @property
    def buckets(self) -> BucketComposition:
        """The buckets and their values."""
        return self._composition(self.published)

    def is_joint(self, asked: Tabulation) -> bool:
        """Whether both public and sensitive values decide a cell; else it is exact."""
        names = {*asked.by, *asked.where.names}
        return self.sensitive in names and len(names) > 1

    def values(self, asked: Tabulation) -> Floats:
        """Exact counts of public attributes or of the sensitive one alone; estimates where they meet."""
        if self.is_joint(asked):
            outputs = self._outputs(asked)
            return (self.weighted_counts(asked) @ outputs.T).ravel()[self._order(asked)]
        if self.sensitive not in (*asked.by, *asked.where.names):
            return self._public_counts.cells(asked).ravel()
        kept = self.buckets.totals[list(codes_shown(self.schema, asked, self.sensitive))].astype(np.float64)
        return kept if asked.by else np.array([kept.sum()])

    def variances(self, asked: Tabulation) -> Floats:
        """Zero where counts are exact."""
        if not self.is_joint(asked):
            return np.zeros(math.prod(shape_of(self.schema, asked)))
        outputs, inside = self._outputs(asked), self._plausible(asked)
        spreads = spreads_of_cells(self.buckets.totals, inside, inside, inside)
        blocks = self.buckets.covariances(spreads, outputs, outputs)
        found = np.clip(np.diagonal(blocks, axis1=1, axis2=2), 0, None)
        return found.ravel()[self._order(asked)]

    def limits(self, asked: Tabulation, target: Target) -> Limits | None:
        """Beyond 95 %, ends about the table that are judged by how rows are dealt to buckets where the truth would be."""
        if (
            target != "table"
            or not self.is_unbiased
            or not self.is_joint(asked)
            or self.buckets.are_values_many
        ):
            return None
        spread, usual = (Spread(partial(each, asked)) for each in (self._leaning, self._usual))
        return RareEnds(self.values(asked), spread, usual)

    def _leaning(self, asked: Tabulation) -> tuple[Floats, Floats]:
        """Variances, and third moments by variances where no value is more frequent in a cell than elsewhere.

        There, because it is rows of other values that make an estimate of nobody too large, and a large one says that these are few.
        """
        slopes = moments_of_cells(self.buckets, self._expected(asked), self._outputs(asked))[1]
        return self.variances(asked), slopes.ravel()[self._order(asked)]

    def _usual(self, asked: Tabulation) -> tuple[Floats, Floats]:
        """Counts if no value were more frequent in a cell than elsewhere, and their variances then."""
        expected, order = self._expected(asked), self._order(asked)
        variances = moments_of_cells(self.buckets, expected, self._outputs(asked))[0]
        return (expected @ self._weights(asked).T).ravel()[order], variances.ravel()[order]

    def certainty(self, asked: Tabulation, number: int) -> Certainties:
        """Exact margins, and exactly nothing where no row has the public values or nobody the sensitive ones."""
        if not self.is_joint(asked):
            return all_claim(Certainty.EXACT, number)
        rows = self.weighted_counts(asked).sum(axis=1)
        is_nothing = np.logical_or.outer(rows == 0, self._weights(asked) @ self.buckets.totals == 0)
        claims = np.where(is_nothing, Certainty.EXACT, Certainty.ESTIMATED).astype(np.int8)
        return claims.ravel()[self._order(asked)]

    def covariance(self, one: Tabulation, other: Tabulation) -> Floats:
        """Of the random places that rows of a value have in its buckets; exact counts have none."""
        if not (self.is_joint(one) and self.is_joint(other)):
            return np.zeros([math.prod(shape_of(self.schema, each)) for each in (one, other)])
        if one is other:
            inside = np.clip(self._estimated(one), 0, None)
            # The cells share a value's rows, so together they cannot hold more of them than there are.
            totals = self.buckets.totals
            inside = inside * (totals / np.maximum(np.maximum(inside.sum(axis=0), totals), TINY))
            order = self._order(one)
            return _covariance(self.buckets, inside, self._outputs(one))[np.ix_(order, order)]
        first, second = self._plausible(one), self._plausible(other)
        # In both there are at least as many rows of a value as fit in neither alone, and at most the fewer.
        both = np.clip(
            self._plausible(Tabulation(where=one.where & other.where)),
            np.maximum(first + second - self.buckets.totals, 0),
            np.minimum(first, second),
        )
        spreads = spreads_of_cells(self.buckets.totals, first, second, both)
        return np.asarray(self.buckets.covariances(spreads, self._outputs(one), self._outputs(other))[0])

    def weighted(self, public: Tabulation, weights: Floats) -> Estimates:
        """Any sums of counts of sensitive values, ``(n, values)``, among the rows of a public selection."""
        self._require_determined(weights)
        outputs = self.buckets.outputs(weights)
        values = (self.weighted_counts(public) @ outputs.T)[0]
        found = Estimates.with_covariance(values, _covariance(self.buckets, self._plausible(public), outputs))
        if not self.weighted_counts(public).any():
            return replace(found, certainty=all_claim(Certainty.EXACT, len(values)))
        # A sum of which no error can be computed is not known to less than one of its rows.
        one_row = np.abs(weights).max(axis=1) ** 2
        return replace(found, variances=np.where(found.variances > 0, found.variances, one_row))

    def weighted_counts(self, asked: Tabulation) -> Floats:
        """``A'Km`` of every public cell, ``(cells, values)``, in one pass over the rows."""
        public = self._public(asked)
        if public not in self._counted:
            shown = {name: codes_shown(self.schema, public, name) for name in public.by}
            names = list(dict.fromkeys((*public.by, *public.where.names)))
            cells = math.prod(shape_of(self.schema, public))
            result = np.zeros((cells, self.buckets.number_of_values))
            for batch in self.published.scan(ROWS, [*names, BUCKET]):
                is_in = satisfying(batch.codes, public.where, batch.number_of_rows)
                places = cell_of(batch.codes, shown, is_in)
                result += self.buckets.weighted_counts(batch.codes[BUCKET][is_in], places, cells)
            self._counted[public] = result
        return self._counted[public]

    def _public(self, asked: Tabulation) -> Tabulation:
        """What a question asks of public attributes."""
        by = tuple(name for name in asked.by if name != self.sensitive)
        return Tabulation(by, conditions_outside(asked.where, (self.sensitive,)))

    def _plausible(self, asked: Tabulation) -> Floats:
        """Estimated rows of every value in every public cell, drawn in and cut to what is possible, ``(cells, values)``."""
        return np.clip(self._estimated(asked), 0, self.buckets.totals)

    def _estimated(self, asked: Tabulation) -> Floats:
        """Estimated rows of every value in every public cell, drawn in, ``(cells, values)``."""
        expected = self._expected(asked)
        found = self.buckets.estimates(self.weighted_counts(asked))
        return np.asarray(expected + self._kept_of_association * (found - expected))

    def _expected(self, asked: Tabulation) -> Floats:
        """Rows of every value in every public cell if no value were more frequent there than elsewhere, ``(cells, values)``."""
        # Every row counts once, over all values of its bucket.
        shares = self.weighted_counts(asked).sum(axis=1, keepdims=True) / self.number_of_rows
        return np.asarray(shares * self.buckets.totals)

    @cached_property
    def _kept_of_association(self) -> Floats:
        """How much of what estimates differ by from no association is believed where errors are worked out, ``(values,)``.

        The same for all cells, so that what they are known to add up to they still add up to.
        """
        totals = self.buckets.totals.astype(np.float64)
        if self.buckets.are_values_many:
            # Errors of all values are out of reach: each is a solution by itself.
            return np.ones_like(totals)
        # Without association x is the cell's share of f, and its spread share (1 - share) f / (f - 1).
        # A single row is in its one bucket, whatever is said to spread there.
        unit = totals / np.maximum(totals - 1, 1)
        variances = np.clip(self.buckets.variances(unit[np.newaxis], self.buckets.solution)[0], 0, None)
        # What a spread x (f - x) loses by an error of x is the error's square, beside the square of f.
        return np.asarray(totals**2 / np.maximum(totals**2 + DRAWN_IN * variances, TINY))

    def _outputs(self, asked: Tabulation) -> Floats:
        """What each sum of values takes from ``A'Km``, ``(sums, values)``."""
        weights = self._weights(asked)
        if not self.is_unbiased:
            return weights
        self._require_determined(weights)
        return self.buckets.outputs(weights)

    def _weights(self, asked: Tabulation) -> Floats:
        """Which values each sum adds up, ``(sums, values)``."""
        size, codes = self.buckets.number_of_values, asked.where.codes(self.sensitive)
        if self.sensitive in asked.by:
            chosen = np.arange(size) if codes is None else np.array(codes, np.int64)
            self._refuse_too_many(len(chosen))
            return np.asarray(chosen[:, np.newaxis] == np.arange(size), np.float64)
        return indicator(size, codes)[None]

    def _order(self, asked: Tabulation) -> Integers:
        """Where each cell of the tabulation stands among public cells times sums of values."""
        laid_out = [name for name in asked.by if name != self.sensitive]
        laid_out += [name for name in asked.by if name == self.sensitive]
        return order_of(asked.by, laid_out, shape_of(self.schema, asked, laid_out))

    def _refuse_too_many(self, sums: int) -> None:
        """Every sum is solved by itself where values are many, and each takes numbers for all values and buckets."""
        size = max(self.buckets.number_of_values, len(self.buckets.places))
        if self.buckets.are_values_many and sums * size > LARGEST_OUTPUTS:
            raise TooLargeError(
                f"{self.sensitive!r} has {self.buckets.number_of_values:,} categories, and together with other attributes "
                f"at most {LARGEST_OUTPUTS // size:,} of them can be asked for at once; here {sums:,} are. "
                f"Name fewer by a condition, such as {self.sensitive} IN (...), or ask for {self.sensitive!r} alone, "
                "which is exact."
            )

    def _require_determined(self, weights: Floats) -> None:
        buckets = self.buckets
        is_determined = buckets.determines(weights)
        if is_determined.all():
            return
        values = int(np.count_nonzero(buckets.totals))
        told = "" if buckets.are_values_many else f": they tell {buckets.rank} of its {values} values apart"
        raise NotIdentifiableError(
            f"the buckets leave {np.count_nonzero(~is_determined)} of the {len(weights)} sums of "
            f"{self.sensitive} asked for undetermined{told}. "
            "Counts of public attributes, counts of all values together, and differences between values "
            "that do not always occur together can be asked for."
        )


def _covariance(buckets: BucketComposition, inside: Floats, outputs: Floats) -> Floats:
    """Covariance of every output in every one of disjoint cells, the outputs of a cell side by side.

    Parameters
    ----------
    buckets
        The composition.
    inside
        Rows of each value in each cell, ``(cells, values)``.
    outputs
        What ``A'Km`` is multiplied with, ``(outputs, values)``.
    """
    number, width = len(inside), len(outputs)
    both = np.eye(number)[:, :, np.newaxis] * inside
    spreads = spreads_of_cells(buckets.totals, inside[:, np.newaxis], inside[np.newaxis], both)
    blocks = buckets.covariances(spreads.reshape(number * number, -1), outputs, outputs)
    whole = blocks.reshape(number, number, width, width).transpose(0, 2, 1, 3)
    return whole.reshape(number * width, number * width)


# --------------------------------------------------------------------------------------------------
# What is believed of people in buckets: whose the values of a bucket are.


AFFORDABLE_STEPS = 5e8
"""Steps of exact sums over permutations, some seconds; balanced ones, which are close, take their place beyond."""


def read_people(
    published: Published, buckets: BucketComposition, public: Sequence[str], *, seed: int
) -> BucketedPeople:
    """Everybody in a release, by the public attributes named."""
    batches = list(published.scan(ROWS, [*public, BUCKET]))
    return BucketedPeople.arrange(
        [np.concatenate([batch.codes[name] for batch in batches]) for name in public],
        [published.schema[name].size for name in public],
        np.concatenate([batch.codes[BUCKET] for batch in batches]),
        buckets.places,
        buckets.number_of_values,
        seed=seed,
    )


def bucket_beliefs(people: BucketedPeople, likelihoods: Floats) -> Floats:
    """Probability of every value for people of each combination, ``(combinations, values)``.

    Over all ways of giving each bucket's values to its people, weighed by how likely each person is to have the value
    given; people alike are averaged, since which of them is the target is not known.

    Parameters
    ----------
    people
        The buckets.
    likelihoods
        ``(combinations, values)``: how likely somebody with a value has these public values, up to a factor for each
        value and each combination.

    Examples
    --------
    One bucket of two people: what is true of one decides the other.

    >>> people = BucketedPeople.arrange([np.array([0, 1])], [2], np.array([1, 1]), np.array([[0, 1]]), 2, seed=0)
    >>> bucket_beliefs(people, np.array([[0.6, 0.2], [0.3, 0.4]])).round(6).tolist()
    [[0.8, 0.2], [0.2, 0.8]]
    """
    steps = sum(float(block.rows.size) * 2**block.size for block in people.blocks)
    is_exact = people.largest_bucket <= LARGEST_EXACT and steps <= AFFORDABLE_STEPS
    flat = likelihoods.ravel()
    total = np.zeros(flat.size)
    for block in people.blocks:
        marginals, _ = (permutation_marginals if is_exact else balanced_marginals)(flat[block.cells])
        total += np.bincount(block.cells.ravel(), marginals.ravel(), minlength=flat.size)
    found = total.reshape(likelihoods.shape)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def bucketed_posterior(
    published: Published, buckets: BucketComposition, targets: Targets, prior: SharedPrior
) -> Posterior:
    """Of members by their bucket and the others in it; of anybody else the shared prior."""
    found = prior.at(targets.names, targets.combinations)
    if not targets.are_members:
        return Posterior(found, targets.index)
    people = read_people(published, buckets, targets.names, seed=0)
    # Beliefs are likelihoods times the shares of values: a factor for each value, which every way of giving them has alike.
    beliefs = bucket_beliefs(people, prior.at(targets.names, people.combinations))
    places = places_among(targets.combinations, people.combinations)
    known = places >= 0
    found[known] = beliefs[places[known]]
    return Posterior(found, targets.index)


# --------------------------------------------------------------------------------------------------
# Rows and sensitive values published apart, joined by bucket.


LARGEST_PREVIEW = 60_000
"""Rows dealt into buckets to preview accuracy; standard errors of more follow by scaling."""

# A release is read again and again; what its buckets are is worked out once, and forgotten with it.
_known: weakref.WeakKeyDictionary[Published, BucketComposition] = weakref.WeakKeyDictionary()


class BucketedRows(Law):
    """Each bucket's rows hold its sensitive values in an order that was not published.

    Counts of public attributes are exact, and so are counts of the sensitive attribute alone. Counts of
    both together are estimated from the buckets by least squares
    (:class:`~sfumato.methods.anatomy.buckets.BucketComposition`): exactly unbiased given the buckets, with
    an exact covariance into which the estimates themselves are put, cut to what is possible.

    The estimator ``"xiao-tao"`` counts every row toward each value of its bucket, by its share of the
    bucket. It needs no rank and has smaller errors about its own mean, but that mean lies between the
    truth and independence of public and sensitive values, the closer to independence the larger the buckets.

    References
    ----------
    Xiao and Tao (2006), section 3.2, for their answer.

    Examples
    --------
    >>> BucketedRows(sensitive="job", l_value=3).sentence
    'Counts of public attributes and counts of job are exact; where they meet, buckets of 3 or more rows say which values occur in them, not whose they are.'
    """

    law: Literal["bucketed-rows"] = "bucketed-rows"
    sensitive: str
    l_value: Annotated[int, Field(ge=2, le=MOST_ROWS)]

    chosen_from_rows: ClassVar[tuple[str, ...]] = ("l_value",)
    estimators: ClassVar[Mapping[str, str]] = {"xiao-tao": "biased toward independence, no error known"}

    def refuse_unfit_tables(self, published: Published) -> None:
        """Refuse buckets that have not as many values as rows."""
        rows, values = (
            sizes_of_buckets(published.scan(name, [BUCKET]), published.number_of_rows)
            for name in (ROWS, SENSITIVE)
        )
        refuse_other_sizes(rows, values)

    def promises(self, schema: Schema, stated: Guarantee) -> tuple[Guarantee, ...]:
        """l-diversity of the buckets, by the share of the most frequent value."""
        del schema, stated
        return (LDiversity(attribute=self.sensitive, l_value=self.l_value),)

    def posterior(self, published: Published, targets: Targets, prior: SharedPrior) -> Posterior:
        """Of members by all ways of giving a bucket's values to its people."""
        if targets.sensitive.name != self.sensitive or self.sensitive in targets.names:
            return super().posterior(published, targets, prior)
        return bucketed_posterior(published, self.composition(published), targets, prior)

    def formula(self, published: Published, asked: Sequence[Tabulation]) -> BucketedCounts:
        """Exact margins, and least squares over the buckets where public and sensitive values meet."""
        return self._counts(published, asked)

    def estimate_by(
        self, estimator: str, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """Xiao and Tao's answer, without errors: they would be about its own mean, which is not the true count."""
        if estimator not in self.estimators:
            return super().estimate_by(estimator, published, tabulation, target=target)
        asked = (binding(tabulation, published.schema),)
        return without_errors(answer(self._counts(published, asked, is_unbiased=False), asked, target))

    def _counts(
        self, published: Published, asked: Sequence[Tabulation], *, is_unbiased: bool = True
    ) -> BucketedCounts:
        return BucketedCounts(published, asked, self.sensitive, self.composition, is_unbiased=is_unbiased)

    def difference(
        self,
        published: Published,
        question: Selection,
        first: Selection,
        second: Selection,
        *,
        target: Target = "table",
    ) -> Estimates:
        """Difference of two groups' shares; between groups of sensitive values, by one linear combination.

        How many rows hold a value is exact, so the difference is linear in joint counts. It can be
        determined where neither joint count is, because a third value is in every bucket.
        """
        groups = {*first.names, *second.names}
        if target != "table" or groups != {self.sensitive} or self.sensitive in question.names:
            return super().difference(published, question, first, second, target=target)
        buckets = self.composition(published)
        weights = np.zeros((1, buckets.number_of_values))
        for group, sign in ((first, 1.0), (second, -1.0)):
            codes = group.codes(self.sensitive)
            members = slice(None) if codes is None else list(codes)
            rows = int(buckets.totals[members].sum())
            if rows == 0:
                raise NotIdentifiableError(
                    f"no row has the {self.sensitive} of one of the two groups, so no share of it exists. "
                    "Choose a larger group."
                )
            weights[0, members] += sign / rows
        asked = Tabulation(where=question)
        return self._counts(published, (asked,)).weighted(asked, weights)

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """Non-negative cells that add up to both exact margins: public counts and sensitive counts."""
        formula = self._counts(published, (tabulation,))
        if not formula.is_joint(tabulation):
            return formula.values(tabulation)
        buckets = self.composition(published)
        names = tuple(name for name in names_of([tabulation]) if name != self.sensitive)
        whole = Tabulation((*names, self.sensitive))
        cells = formula.weighted_counts(whole)
        totals = buckets.totals.astype(np.float64)
        made = rake(feasible_cells(buckets, cells, feasibility), cells.sum(axis=1), totals)
        shown = take_codes(made.reshape(shape_of(published.schema, whole)), whole.by, tabulation.where)
        gone = tuple(axis for axis, name in enumerate(whole.by) if name not in tabulation.by)
        kept = [name for name in whole.by if name in tabulation.by]
        summed = np.asarray(shown.sum(axis=gone))
        return summed.transpose([kept.index(name) for name in tabulation.by]).ravel()

    def treats_alike(self, name: str) -> bool:
        """Yes: buckets are made by how many rows have a value, not by which value it is."""
        del name
        return True

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Standard errors to expect for a table's cells.

        Zero where the sensitive attribute is absent or alone. Where buckets are many and values of few kinds, by what random
        buckets come to (:class:`~sfumato.methods.anatomy.buckets.ManyBuckets`); else over buckets drawn anew for this
        purpose, where many rows are scaled down, because the variance of a count grows in proportion to the rows.
        """
        if self.sensitive not in true_counts.names or len(true_counts.names) == 1:
            return np.zeros(true_counts.counts.shape)
        axis = true_counts.axis_of(self.sensitive)
        cells = np.moveaxis(np.asarray(true_counts.counts, np.float64), axis, -1)
        errors = self._expected(cells.reshape(-1, cells.shape[-1]))
        return np.asarray(np.moveaxis(errors.reshape(cells.shape), -1, axis))

    def _expected(self, flat: Floats) -> Floats:
        """Standard errors of ``(cells, values)``; nobody has no error."""
        occurs, errors = flat.sum(axis=0) > 0, np.zeros(flat.shape)
        if occurs.any():
            errors[:, occurs] = self._expected_of_occurring(flat[:, occurs])
        return errors

    def _expected_of_occurring(self, flat: Floats) -> Floats:
        """The same where some row has every value."""
        many = ManyBuckets.of(flat, self.l_value)
        if many is not None:
            alike, kinds = many
            of_kinds = np.unique(kinds, return_index=True)[1]
            return np.asarray(alike.standard_errors(flat[:, of_kinds])[:, kinds])
        if flat.shape[1] > LARGEST_DENSE:
            raise TooLargeError(
                f"the errors of counts of {flat.shape[1]:,} values within public groups are not computed all together; "
                f"at most {LARGEST_DENSE:,} are. Publish, and ask for some of them."
            )
        scale = min(1.0, LARGEST_PREVIEW / float(flat.sum()))
        # Of a rare value at least one row is dealt.
        totals = np.ceil(flat.sum(axis=0) * scale).astype(np.int64)
        values = np.repeat(np.arange(len(totals)), totals)
        # No private row is drawn here, so the bits need not be secret, and the preview can be repeated.
        stream = NoiseSource.seeded(0).named("preview of buckets").stream(0)
        groups = partition_rows(values, len(totals), self.l_value, stream)
        buckets = BucketComposition.from_pairs(groups.astype(np.int64) + 1, values, len(totals))
        inside = flat / flat.sum(axis=0) * totals
        spreads = spreads_of_cells(buckets.totals, inside, inside, inside)
        variances = np.clip(buckets.variances(spreads, buckets.solution), 0, None) / scale
        return np.asarray(np.sqrt(variances))

    @property
    def sentence(self) -> str:
        """The link in words."""
        return (
            f"Counts of public attributes and counts of {self.sensitive} are exact; where they meet, buckets of "
            f"{self.l_value} or more rows say which values occur in them, not whose they are."
        )

    def composition(self, published: Published) -> BucketComposition:
        """The buckets of a release and their values.

        Raises
        ------
        ReleaseDamagedError
            When rows and values do not fit together, bucket by bucket.
        """
        if published not in _known:
            pairs = list(published.scan(SENSITIVE, [BUCKET, self.sensitive]))
            buckets = BucketComposition.from_pairs(
                np.concatenate([each.codes[BUCKET] for each in pairs]),
                np.concatenate([each.codes[self.sensitive] for each in pairs]),
                published.schema[self.sensitive].size,
            )
            rows = sizes_of_buckets(published.scan(ROWS, [BUCKET]), len(buckets.places))
            refuse_other_sizes(rows, buckets.sizes)
            _known[published] = buckets
        return _known[published]
