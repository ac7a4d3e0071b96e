"""Counts of rows and sensitive values that are joined by bucket, and their errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from sfumato.errors import NotIdentifiableError, TooLargeError
from sfumato.laws.asking import (
    Formula,
    JointCounts,
    cell_of,
    codes_shown,
    conditions_outside,
    indicator,
    order_of,
    satisfying,
    shape_of,
)
from sfumato.laws.asking.interval_ends import Spread
from sfumato.laws.base import Published, Target
from sfumato.methods.anatomy.law.composition import (
    BUCKET,
    ROWS,
    BucketComposition,
    spreads_of_cells,
)
from sfumato.methods.anatomy.law.rare_ends import RareEnds, moments_of_cells
from sfumato.values.arrays import Floats, Integers
from sfumato.values.certainty import Certainties, Certainty, all_claim
from sfumato.values.estimates import Estimates, Limits
from sfumato.values.selection import Tabulation

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
