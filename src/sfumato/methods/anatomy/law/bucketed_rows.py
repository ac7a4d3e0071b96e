"""Rows and sensitive values published apart, joined by bucket."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.chance.partition import partition_rows
from sfumato.chance.randomness import NoiseSource
from sfumato.errors import NotIdentifiableError, TooLargeError
from sfumato.guarantees import Guarantee
from sfumato.guarantees.l_diversity import LDiversity
from sfumato.laws.asking import answer, binding, names_of, shape_of, take_codes, without_errors
from sfumato.laws.base import Law, Published, Target
from sfumato.laws.believing import Posterior, SharedPrior, Targets
from sfumato.methods.anatomy.law.bucket_beliefs import bucketed_posterior
from sfumato.methods.anatomy.law.bucketed_counts import BucketedCounts
from sfumato.methods.anatomy.law.composition import (
    BUCKET,
    LARGEST_DENSE,
    ROWS,
    SENSITIVE,
    BucketComposition,
    feasible_cells,
    refuse_other_sizes,
    sizes_of_buckets,
    spreads_of_cells,
)
from sfumato.methods.anatomy.law.many_buckets import ManyBuckets
from sfumato.values.arrays import Floats
from sfumato.values.bounds import MOST_ROWS
from sfumato.values.counts import CountTable
from sfumato.values.estimates import Estimates
from sfumato.values.feasibility import Feasibility, rake
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection, Tabulation

LARGEST_PREVIEW = 60_000
"""Rows dealt into buckets to preview accuracy; standard errors of more follow by scaling."""

# A release is read again and again; what its buckets are is worked out once, and forgotten with it.
_known: weakref.WeakKeyDictionary[Published, BucketComposition] = weakref.WeakKeyDictionary()


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
        buckets come to (:class:`~sfumato.methods.anatomy.law.many_buckets.ManyBuckets`); else over buckets drawn anew for this
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
