"""Rows and sensitive values published apart, joined by bucket."""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from sfumato.chance.partition import partition_rows
from sfumato.chance.randomness import NoiseSource
from sfumato.errors import NotIdentifiableError
from sfumato.laws.base import Law, Published, Target
from sfumato.methods.anatomy.law.composition import (
    BucketComposition,
    check_sizes,
    feasible,
    rake,
    spreads_of_cells,
)
from sfumato.values.arrays import Floats, Integers
from sfumato.values.counts import CountTable
from sfumato.values.estimates import Estimates, Feasibility
from sfumato.values.selection import Selection, Tabulation

ROWS = "rows"
"""The published table of public attributes and buckets."""

SENSITIVE = "sensitive"
"""The published table of buckets and sensitive values."""

BUCKET = "bucket"
"""The column that joins them."""

LARGEST_COVARIANCE = 1_000
"""Cells up to which the whole covariance is computed; beyond it, variances only."""

LARGEST_PREVIEW = 20_000
"""Buckets drawn to preview accuracy; standard errors of more follow by scaling."""

# A release is read again and again; what its buckets are is worked out once, and forgotten with it.
_known: weakref.WeakKeyDictionary[Published, BucketComposition] = weakref.WeakKeyDictionary()


class _Parts(NamedTuple):
    """What of a tabulation is about public attributes, and what about the sensitive one."""

    public: Tabulation
    weights: Floats
    """``(n, values)``: which values each output adds up."""
    is_joint: bool


class BucketedRows(Law):
    """Each bucket's rows hold its sensitive values in an order that was not published.

    Counts of public attributes are exact, and so are counts of the sensitive attribute alone. Counts of
    both together are estimated from the buckets by least squares
    (:class:`~sfumato.methods.anatomy.law.composition.BucketComposition`): exactly unbiased given the buckets, with
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
    l_value: Annotated[int, Field(ge=2)]

    estimators: ClassVar[Mapping[str, str]] = {"xiao-tao": "biased toward independence"}

    def estimate(
        self, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """Unbiased estimates of the cells of a tabulation; margins are exact and have no error."""
        return self._estimate(published, tabulation, target, is_unbiased=True)

    def estimate_by(
        self, estimator: str, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """Xiao and Tao's answer: errors about its own mean, which is not the true count."""
        if estimator not in self.estimators:
            return super().estimate_by(estimator, published, tabulation, target=target)
        return self._estimate(published, tabulation, target, is_unbiased=False)

    def _estimate(
        self, published: Published, tabulation: Tabulation, target: Target, *, is_unbiased: bool
    ) -> Estimates:
        tabulation = Tabulation(tabulation.by, tabulation.where.binding(published.schema))
        parts = self._parts(published, tabulation)
        if not parts.is_joint:
            values = self._exact(published, tabulation)
            estimates = Estimates.with_covariance(values, np.zeros((values.size, values.size)))
            return _about(estimates, published.number_of_rows, target)
        buckets = self.composition(published)
        solution = buckets.solution if is_unbiased else np.eye(buckets.number_of_values)
        if is_unbiased:
            self._require_determined(buckets, parts.weights)
        cells = self._weighted_counts(published, buckets, parts.public)
        estimates = _least_squares(buckets, cells, parts.weights @ solution)
        order = self._order(published, tabulation, parts)
        return _about(_reordered(estimates, order), published.number_of_rows, target)

    def estimate_selections(
        self, published: Published, selections: Sequence[Selection], *, target: Target = "table"
    ) -> Estimates:
        """Unbiased estimates for selections that may overlap, with the covariance between them."""
        buckets = self.composition(published)
        selections = [each.binding(published.schema) for each in selections]
        parts = [self._parts(published, Tabulation(where=each)) for each in selections]
        weights = np.concatenate([each.weights for each in parts])
        is_joint = np.array([each.is_joint for each in parts])
        self._require_determined(buckets, weights[is_joint])
        public = [each.public.where for each in parts]
        counted: dict[Selection, Floats] = {}
        for each in (*public, *(a & b for a in public for b in public)):
            if each not in counted:
                counted[each] = self._weighted_counts(published, buckets, Tabulation(where=each))[0]
        totals = buckets.totals.astype(np.float64)
        found = {each: buckets.solution @ counts for each, counts in counted.items()}
        plausible = {each: np.clip(values, 0, totals) for each, values in found.items()}
        number = len(selections)
        values = np.array([w @ found[p] for w, p in zip(weights, public, strict=True)])
        covariance = np.zeros((number, number))
        for i in range(number):
            for j in range(number):
                first, second = plausible[public[i]], plausible[public[j]]
                both = np.clip(
                    plausible[public[i] & public[j]],
                    np.maximum(first + second - totals, 0),
                    np.minimum(first, second),
                )
                if is_joint[i] and is_joint[j]:
                    spreads = spreads_of_cells(buckets.totals, first, second, both)[np.newaxis]
                    left, right = (weights[[k]] @ buckets.solution for k in (i, j))
                    covariance[i, j] = buckets.covariances(spreads, left, right)[0, 0, 0]
        for place in np.flatnonzero(~is_joint).tolist():
            values[place] = self._exact(published, Tabulation(where=selections[place]))[0]
        estimates = Estimates.with_covariance(values, covariance)
        if target == "table":
            return estimates
        shared = [
            [self.estimate(published, Tabulation(where=a & b)).values[0] for b in selections]
            for a in selections
        ]
        return _about(estimates, published.number_of_rows, target, np.array(shared))

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
        self._require_determined(buckets, weights)
        cells = self._weighted_counts(published, buckets, Tabulation(where=question))
        return _least_squares(buckets, cells, weights @ buckets.solution)

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """Non-negative cells that add up to both exact margins: public counts and sensitive counts."""
        parts = self._parts(published, tabulation)
        if not parts.is_joint:
            return self._exact(published, tabulation)
        buckets = self.composition(published)
        names = tuple(dict.fromkeys((*parts.public.by, *parts.public.where.names)))
        cells = self._weighted_counts(published, buckets, Tabulation(by=names))
        rows = cells.sum(axis=1)
        totals = buckets.totals.astype(np.float64)
        whole = rake(feasible(buckets, cells, feasibility), rows, totals)
        table = CountTable(
            published.schema.select((*names, self.sensitive)),
            whole.reshape([*(published.schema[name].size for name in names), buckets.number_of_values]),
        )
        for name, codes in tabulation.where.conditions:
            if name not in tabulation.by:
                table = table.condition(name, codes)
        values = table.project(tabulation.by).counts
        for axis, name in enumerate(tabulation.by):
            chosen = tabulation.where.codes(name)
            values = values if chosen is None else values.take(list(chosen), axis=axis)
        return np.asarray(values, np.float64).ravel()

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Standard errors to expect for a table's cells, over buckets drawn anew for this purpose.

        Zero where the sensitive attribute is absent or alone. Many rows are scaled down, because the
        variance of a count grows in proportion to the rows.
        """
        if self.sensitive not in true_counts.names or len(true_counts.names) == 1:
            return np.zeros(true_counts.counts.shape)
        axis = true_counts.axis_of(self.sensitive)
        cells = np.moveaxis(np.asarray(true_counts.counts, np.float64), axis, -1)
        flat = cells.reshape(-1, cells.shape[-1])
        scale = min(1.0, LARGEST_PREVIEW * self.l_value / max(float(flat.sum()), 1.0))
        totals = np.ceil(flat.sum(axis=0) * scale).astype(np.int64)
        values = np.repeat(np.arange(len(totals)), totals)
        # No private row is drawn here, so the bits need not be secret, and the preview can be repeated.
        stream = NoiseSource.seeded(0).named("preview of buckets").stream(0)
        groups = partition_rows(values, len(totals), self.l_value, stream)
        buckets = BucketComposition.from_pairs(groups.astype(np.int64) + 1, values, len(totals))
        shares = np.divide(flat, flat.sum(axis=0), out=np.zeros_like(flat), where=flat.sum(axis=0) > 0)
        inside = shares * totals
        spreads = spreads_of_cells(buckets.totals, inside, inside, inside)
        covariances = buckets.covariances(spreads, buckets.solution, buckets.solution)
        variances = np.clip(np.diagonal(covariances, axis1=1, axis2=2), 0, None) / scale
        return np.asarray(np.moveaxis(np.sqrt(variances).reshape(cells.shape), -1, axis))

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
            rows_of_bucket = np.zeros(len(buckets.places) + 1, np.int64)
            for batch in published.scan(ROWS, [BUCKET]):
                inside = np.clip(batch.codes[BUCKET], 0, len(buckets.places))
                # Numbers that no bucket has are counted at 0 or twice, and so do not fit.
                rows_of_bucket += np.bincount(inside, minlength=len(rows_of_bucket))
            check_sizes(buckets, rows_of_bucket[1:])
            _known[published] = buckets
        return _known[published]

    def _parts(self, published: Published, tabulation: Tabulation) -> _Parts:
        """Take a tabulation apart; it is joint when both public and sensitive values decide a cell."""
        size = published.schema[self.sensitive].size
        chosen = tabulation.where.codes(self.sensitive)
        codes = tuple(range(size)) if chosen is None else chosen
        is_tabulated = self.sensitive in tabulation.by
        weights = np.eye(size)[list(codes)] if is_tabulated else np.zeros((1, size))
        if not is_tabulated:
            weights[0, list(codes)] = 1
        public = Tabulation(
            by=tuple(name for name in tabulation.by if name != self.sensitive),
            where=Selection(tuple(each for each in tabulation.where.conditions if each[0] != self.sensitive)),
        )
        is_public = not is_tabulated and chosen is None
        is_sensitive = not public.by and not public.where.names
        return _Parts(public, weights, is_joint=not is_public and not is_sensitive)

    def _exact(self, published: Published, tabulation: Tabulation) -> Floats:
        """Counts of public attributes, or of the sensitive one alone."""
        chosen = tabulation.where.codes(self.sensitive)
        if self.sensitive in tabulation.by or chosen is not None:
            counts = self.composition(published).totals.astype(np.float64)
            kept = counts if chosen is None else counts[list(chosen)]
            return kept if tabulation.by else np.array([kept.sum()])
        counts = np.asarray(published.count_by(tabulation.by, tabulation.where).counts, np.float64)
        for axis, name in enumerate(tabulation.by):
            codes = tabulation.where.codes(name)
            counts = counts if codes is None else counts.take(list(codes), axis=axis)
        return counts.ravel()

    def _weighted_counts(
        self, published: Published, buckets: BucketComposition, public: Tabulation
    ) -> Floats:
        """``A'Km`` of every public cell, ``(cells, values)``, in one pass over the rows."""
        chosen = {name: public.where.codes(name) for name in public.by}
        shape = [
            len(codes) if (codes := chosen[name]) is not None else published.schema[name].size
            for name in public.by
        ]
        names = list(dict.fromkeys((*public.by, *public.where.names)))
        result = np.zeros((math.prod(shape), buckets.number_of_values))
        for batch in published.scan(ROWS, [*names, BUCKET]):
            is_in = np.ones(batch.number_of_rows, np.bool_)
            for name, codes in public.where.conditions:
                is_in &= np.isin(batch.codes[name], codes)
            cells = np.zeros(int(is_in.sum()), np.int64)
            for name, size in zip(public.by, shape, strict=True):
                column = batch.codes[name][is_in].astype(np.int64)
                codes_of = chosen[name]
                cells = cells * size + (column if codes_of is None else np.searchsorted(codes_of, column))
            result += buckets.weighted_counts(batch.codes[BUCKET][is_in], cells, len(result))
        return result

    def _require_determined(self, buckets: BucketComposition, weights: Floats) -> None:
        is_determined = buckets.determines(weights)
        if is_determined.all():
            return
        values = int(np.count_nonzero(buckets.totals))
        raise NotIdentifiableError(
            f"the buckets leave {np.count_nonzero(~is_determined)} of the {len(weights)} sums of "
            f"{self.sensitive} asked for undetermined: they tell {buckets.rank} of its {values} values apart. "
            "Counts of public attributes, counts of all values together, and differences between values "
            "that do not always occur together can be asked for."
        )

    def _order(self, published: Published, tabulation: Tabulation, parts: _Parts) -> Integers:
        """Where each cell of the tabulation stands among public cells times outputs."""
        shape = [
            len(codes) if (codes := tabulation.where.codes(name)) is not None else published.schema[name].size
            for name in parts.public.by
        ]
        places = np.arange(math.prod(shape) * len(parts.weights)).reshape([*shape, len(parts.weights)])
        if self.sensitive in tabulation.by:
            places = np.moveaxis(places, -1, tabulation.by.index(self.sensitive))
        return places.ravel()


def _least_squares(buckets: BucketComposition, cells: Floats, outputs: Floats) -> Estimates:
    """Estimates of every output in every public cell, the outputs of a cell side by side.

    Parameters
    ----------
    buckets
        The composition.
    cells
        ``A'Km`` of disjoint predicates, ``(cells, values)``.
    outputs
        What to multiply it with, ``(outputs, values)``.
    """
    values = (cells @ outputs.T).ravel()
    totals = buckets.totals.astype(np.float64)
    inside = np.clip(cells @ buckets.solution.T, 0, None)
    # The cells share a value's rows, so together they cannot hold more of them than there are.
    inside /= np.maximum(inside.sum(axis=0) / np.maximum(totals, 1), 1)
    number, width = len(cells), len(outputs)
    if values.size > LARGEST_COVARIANCE:
        spreads = spreads_of_cells(buckets.totals, inside, inside, inside)
        blocks = buckets.covariances(spreads, outputs, outputs)
        return Estimates(values, np.clip(np.diagonal(blocks, axis1=1, axis2=2), 0, None).ravel())
    both = np.eye(number)[:, :, np.newaxis] * inside
    spreads = spreads_of_cells(buckets.totals, inside[:, np.newaxis], inside[np.newaxis], both)
    blocks = buckets.covariances(spreads.reshape(number * number, -1), outputs, outputs)
    whole = blocks.reshape(number, number, width, width).transpose(0, 2, 1, 3)
    return Estimates.with_covariance(values, whole.reshape(number * width, number * width))


def _reordered(estimates: Estimates, order: Integers) -> Estimates:
    covariance = None if estimates.covariance is None else estimates.covariance[np.ix_(order, order)]
    return Estimates(estimates.values[order], estimates.variances[order], covariance)


def _about(estimates: Estimates, rows: int, target: Target, shared: Floats | None = None) -> Estimates:
    """Add the error of drawing the table from a population: ``(Cov + diag(x) - x x'/N) N/(N-1)``."""
    if target == "table":
        return estimates
    factor = rows / max(rows - 1, 1)
    values = estimates.values
    if estimates.covariance is None:
        return Estimates(values, np.clip(factor * (estimates.variances + values - values**2 / rows), 0, None))
    drawn = (np.diag(values) if shared is None else shared) - np.outer(values, values) / rows
    return Estimates.with_covariance(values, factor * (estimates.covariance + drawn))
