"""Tests of a law against the private rows: agreement, noisy counts, buckets and classes, with bounds of p-values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from sfumato.arrays import Floats, Integers
from sfumato.custody.audit.people import People, counts_in, occupied_in, recode
from sfumato.data.private_table import PrivateTable
from sfumato.laws.posterior import MOST_VALUES, places_among
from sfumato.methods.anatomy.buckets import BUCKET, ROWS, SENSITIVE
from sfumato.methods.anatomy.law import BucketedRows
from sfumato.methods.columnized_counts.law import NoisyRows
from sfumato.methods.columnized_counts.noisy_counts import COUNT_COLUMN, read_table
from sfumato.methods.distribution_resampling.law import ResampledRows
from sfumato.methods.generalization.law import GeneralizedRows
from sfumato.methods.noisy_marginals.law import NoisyCounts, read_marginal
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.methods.sample_perturb_scale.law import SampledRows
from sfumato.methods.splu_gen.law import DecoyRows
from sfumato.randomness.distortion import AxisMatrix, contract, squared, transposed
from sfumato.release import Release
from sfumato.text import counted

# --------------------------------------------------------------------------------------------------
# A statement of a law tested, and bounds of the probability that chance alone deviates as far.


SPREADS = (0.25, 0.5, 0.75, 0.95)
"""Shares of the noise within the distances at which its size is tested."""


class Noise(Protocol):
    """What is asked of a law of noise here."""

    def half_width(self, confidence_level: float) -> float:
        """Distance within which so much of it lies."""

    def tail(self, distance: float) -> float:
        """Probability that it lies at least so far from zero."""


@dataclass(frozen=True)
class TruthCheck:
    """One statement of a law, tested.

    Parameters
    ----------
    about
        What was tested.
    p_value
        Probability of a deviation as large, at most, were the law true; 0 where it is impossible.
    sentence
        The numbers.
    """

    about: str
    p_value: float
    sentence: str


def bernstein(observed: float, expected: float, variance: float, largest: float = 1.0) -> float:
    """Upper bound of the probability that a sum of independent terms lies so far from its mean, on either side.

    Parameters
    ----------
    observed, expected, variance
        Of the sum.
    largest
        How far any term can lie from its mean.

    Examples
    --------
    >>> bernstein(600, 500, 250) < 1e-7, bernstein(510, 500, 250) > 0.5
    (True, True)
    """
    distance = abs(observed - expected)
    # A hair for rounding in sums of many terms.
    distance = max(0.0, distance - 1e-9 * max(1.0, abs(expected)))
    if distance == 0:
        return 1.0
    return min(1.0, 2 * float(np.exp(-(distance**2) / (2 * (variance + largest * distance / 3)))))


def binomial(successes: int, trials: int, probability: float) -> float:
    """Two-sided exact p-value: twice the smaller tail.

    Examples
    --------
    >>> round(binomial(5, 10, 0.5), 6), binomial(0, 100, 0.5) < 1e-20
    (1.0, True)
    """
    from scipy.stats import binom

    low = float(binom.cdf(successes, trials, probability))
    high = float(binom.sf(successes - 1, trials, probability))
    return min(1.0, 2 * min(low, high))


def positive_noise(excess: float, number: int, ratio: float) -> float:
    """Upper bound of the probability that the positive parts of so many two-sided geometric draws add up to as much.

    Parameters
    ----------
    excess
        The sum, or less.
    number
        Of draws.
    ratio
        ``P(g) = (1 - r) / (1 + r) r^|g|``.

    Examples
    --------
    A hundred draws of ratio 1/2 have a mean sum of 66.7, and add up to 200 hardly ever.

    >>> positive_noise(60, 100, 0.5), positive_noise(200, 100, 0.5) < 1e-6
    (1.0, True)
    """
    if excess <= 0 or number == 0:
        return 1.0 if excess <= 0 else 0.0
    # E exp(s G+) = 1/(1+r) + (1-r)/(1+r) r e^s / (1 - r e^s), for 0 <= s < -log r.
    steps = -np.log(ratio) * np.linspace(0, 1, 200, endpoint=False)
    grown = ratio * np.exp(steps)
    moments = (1 + (1 - ratio) * grown / (1 - grown)) / (1 + ratio)
    return float(min(1.0, np.exp(np.min(number * np.log(moments) - steps * excess))))


def noise_within(about: str, errors: Integers, noise: Noise) -> Iterator[TruthCheck]:
    """How many noises lie within distances of stated probability: exact binomials."""
    if not errors.size:
        return
    seen = set()
    for share in SPREADS:
        distance = int(noise.half_width(share))
        if distance in seen:
            continue
        seen.add(distance)
        inside = 1 - noise.tail(distance + 1)
        number = int((np.abs(errors) <= distance).sum())
        yield TruthCheck(
            f"noise of {about} within {distance}",
            binomial(number, errors.size, inside),
            f"{number:,} of {errors.size:,} counts lie within {distance} of the true ones, expected are "
            f"{inside * errors.size:,.1f}.",
        )


# --------------------------------------------------------------------------------------------------
# Whether published values agree with the true ones of people alike in all else as often as a matrix says.
#
# A margin shows little of a wrong matrix where values are about equally frequent: keeping more of them
# changes nothing in it.
# Among people who are alike in what is published as it is, it shows at once.


MOST_CELLS = 20_000_000
"""Groups times categories beyond which groups are not looked at one by one."""


@dataclass(frozen=True, eq=False)
class Alike:
    """True and published values of one attribute among people alike in what is published as it is.

    Parameters
    ----------
    name
        The attribute.
    true, published
        ``(groups, categories)``: rows.
    """

    name: str
    true: Floats
    published: Floats

    @cached_property
    def shares(self) -> Floats:
        """``(groups, categories)``: of the true rows of every group."""
        found: Floats = self.true / np.maximum(self.true.sum(axis=1, keepdims=True), 1)
        return found

    def against(self, channel: AxisMatrix) -> TruthCheck:
        """Rows drawn independently through ``channel[true, published]``; one row of it where all true values are alike.

        Each published row counts for the share that its shown value truly has in its group: a sum of independent draws between 0
        and 1, whose mean and variance the matrix gives.
        """
        onto = [None, transposed(channel)]
        means, squares = contract(self.shares, onto), contract(self.shares**2, onto)
        expected = float((self.true * means).sum())
        variance = float((self.true * (squares - means**2)).sum())
        observed = float((self.published * self.shares).sum())
        return TruthCheck(
            f"published {self.name} among people alike in all else, against the stated matrix",
            bernstein(observed, expected, variance),
            f"Published values agree with those of people alike by {observed:,.1f} rows, expected are {expected:,.1f} (standard "
            f"deviation {np.sqrt(variance):,.1f}).",
        )

    def kept_by_loners(self, chance: float) -> TruthCheck:
        """People like nobody else, who keep their own value with this chance, each by a draw of their own."""
        alone = (self.true.sum(axis=1) == 1) & (self.published.sum(axis=1) == 1)
        kept = int((self.true * self.published)[alone].sum())
        return TruthCheck(
            f"own {self.name} kept by people like nobody else",
            binomial(kept, int(alone.sum()), chance),
            f"{kept:,} of {int(alone.sum()):,} show their own value, expected are {chance * int(alone.sum()):,.1f}.",
        )


def people_alike(release: Release, table: PrivateTable, name: str, changed: Collection[str]) -> Alike | None:
    """People by everything that is published as it is; None where nothing is, or there are too many groups to look at.

    Parameters
    ----------
    name
        The attribute whose values are compared.
    changed
        Attributes that are not published as they are.
    """
    exact = [each.name for each in release.schema.attributes if each.name not in changed]
    codes = {each: recode(table, release.schema[each]) for each in (*exact, name)}
    if not exact or any(each is None for each in codes.values()):
        return None
    size = release.schema[name].size
    true = table.count_occupied([*exact, name])
    known = [codes[each][column] for each, column in zip((*exact, name), true.codes, strict=True)]  # type: ignore[index]
    shown = release.count_occupied([*exact, name])
    groups, whose = np.unique(np.stack(known[:-1], axis=1), axis=0, return_inverse=True)
    if len(groups) * size > MOST_CELLS:
        return None
    places = places_among(_stacked(shown.codes[:-1]), groups)
    true_rows, published = np.zeros((len(groups), size)), np.zeros((len(groups), size))
    np.add.at(true_rows, (whose.ravel(), known[-1]), true.counts)
    inside = places >= 0
    np.add.at(published, (places[inside], shown.codes[-1][inside].astype(np.int64)), shown.counts[inside])
    return Alike(name, true_rows, published)


def agreements(
    release: Release, table: PrivateTable, channels: Mapping[str, AxisMatrix]
) -> Iterator[TruthCheck]:
    """Every attribute that was drawn row by row through a matrix; two by two where nothing is published as it is."""
    alike = {name: people_alike(release, table, name, channels) for name in channels}
    yield from (each.against(channels[name]) for name, each in alike.items() if each is not None)
    left = [name for name, each in alike.items() if each is None]
    for first, second in itertools.pairwise(left):
        found = _pair(release, table, (first, second), channels)
        if found is not None:
            yield found


def _pair(
    release: Release, table: PrivateTable, names: tuple[str, str], channels: Mapping[str, AxisMatrix]
) -> TruthCheck | None:
    """Published pairs of values, each counted for how frequent it truly is beside the most frequent pair."""
    codes = [recode(table, release.schema[name]) for name in names]
    shape = [release.schema[name].size for name in names]
    if any(each is None for each in codes) or shape[0] * shape[1] > MOST_CELLS:
        return None
    true = counts_in(table, release, names)
    scores = true / max(float(true.max()), 1.0)
    onto = [transposed(channels[name]) for name in names]
    means, squares = contract(scores, onto), contract(scores**2, onto)
    expected, variance = float((true * means).sum()), float((true * (squares - means**2)).sum())
    observed = float((np.asarray(release.count_by(names).counts) * scores).sum())
    return TruthCheck(
        f"published {names[0]} with {names[1]} against the stated matrices",
        bernstein(observed, expected, variance),
        f"Pairs that are frequent are published by {observed:,.1f}, expected are {expected:,.1f} (standard deviation "
        f"{np.sqrt(variance):,.1f}).",
    )


def _stacked(columns: Sequence[Integers]) -> Integers:
    return np.stack([each.astype(np.int64) for each in columns], axis=1)


# --------------------------------------------------------------------------------------------------
# Rows whose sensitive values were drawn, against the true ones.


def perturbed(release: Release, people: People, table: PrivateTable) -> Iterator[TruthCheck]:
    """Margins of perturbed attributes, and agreement of their values with those of people alike in all else."""
    law = release.law
    assert isinstance(law, PerturbedRows)
    del people
    for name, distortion in law.distortions.items():
        true = counts_in(table, release, [name]).astype(np.float64)
        yield _margin(name, release.count_by([name]).counts, true, distortion.on_axis)
    yield from agreements(release, table, law.matrices())


def _margin(name: str, published: Integers, true: Floats, channel: AxisMatrix) -> TruthCheck:
    """Each category's published rows are a sum of one independent draw for each row."""
    expected = contract(true, [channel])
    variances = expected - contract(true, [squared(channel)])
    values = [
        bernstein(float(each), float(mean), float(variance))
        for each, mean, variance in zip(published, expected, variances, strict=True)
    ]
    worst = float(np.abs(published - expected).max())
    return TruthCheck(
        f"published {name} against the stated matrix",
        min(1.0, min(values) * len(values)),
        f"Counts of its {len(values)} categories lie up to {worst:,.0f} rows from what the matrix makes of the true ones.",
    )


def sampled(release: Release, people: People, table: PrivateTable) -> Iterator[TruthCheck]:
    """Sizes of groups, and agreement in those that were not cut."""
    del table
    law = release.law
    assert isinstance(law, SampledRows)
    names = [each.name for each in people.public]
    if people.sensitive.size > MOST_VALUES:
        return
    rows = law.grouped_rows(release, names, people.sensitive.name)
    if rows is None or set(names) != set(law.groups):
        return
    places = places_among(people.rows, rows.combinations)
    sizes = np.bincount(places[places >= 0], minlength=len(rows.counts))
    if law.has_exact_sizes:
        shown = np.round(rows.counts.sum(axis=1) / rows.kept)
        wrong = int((shown != sizes).sum()) + int((places < 0).sum())
        yield TruthCheck(
            "sizes of public groups",
            0.0 if wrong else 1.0,
            f"{wrong:,} of {len(sizes):,} groups have another size than in the table.",
        )
    # Groups that were not cut hold every row once, like plain perturbation.
    whole = rows.kept >= 1
    inside = (places >= 0) & whole[np.maximum(places, 0)]
    true = np.zeros_like(rows.counts)
    np.add.at(true, (places[inside], people.truth[inside]), 1)
    shown = np.where(whole[:, np.newaxis], rows.counts, 0)
    yield Alike(people.sensitive.name, true, shown).against(rows.channel)


def decoys(release: Release, people: People, table: PrivateTable) -> Iterator[TruthCheck]:
    """Margins of drawn attributes, and how many people like nobody else show their own value."""
    law = release.law
    assert isinstance(law, DecoyRows)
    del people
    for name, gamma in law.gamma_by_attribute.items():
        true = counts_in(table, release, [name])
        left_out = int(true.sum()) - release.number_of_rows
        # Binomial(gamma f, 1/gamma), whatever the groups; rows left out take up to their number from any value.
        values = [
            max(binomial(int(y), gamma * max(int(f) - less, 0), 1 / gamma) for less in {0, max(left_out, 0)})
            if left_out == 0 or f > left_out
            else 1.0
            for y, f in zip(release.count_by([name]).counts, true, strict=True)
        ]
        yield TruthCheck(
            f"published {name} against decoys of {gamma}",
            min(1.0, min(values) * len(values)),
            f"Counts of its {len(values)} categories against binomial draws from groups of {gamma}.",
        )
        alike = people_alike(release, table, name, law.gamma_by_attribute)
        if alike is not None:
            # Values of a decoy group differ, and every row draws one of them by itself, whatever the groups are.
            yield alike.kept_by_loners(1 / gamma)


def resampled(release: Release, people: People, table: PrivateTable) -> Iterator[TruthCheck]:
    """Margins of resampled attributes, and agreement with the true values of people alike: what chance makes of it and no more."""
    law = release.law
    assert isinstance(law, ResampledRows)
    del people
    for name in law.attributes:
        true = counts_in(table, release, [name])
        number = int(true.sum())
        published = release.count_by([name]).counts
        values = [
            binomial(int(y), release.number_of_rows, f / number) for y, f in zip(published, true, strict=True)
        ]
        yield TruthCheck(
            f"published {name} against draws from the table",
            min(1.0, min(values) * len(values)),
            f"Counts of its {len(values)} categories against binomial draws from the true ones.",
        )
        alike = people_alike(release, table, name, law.attributes)
        if alike is not None:
            yield alike.against((true / number)[np.newaxis])


# --------------------------------------------------------------------------------------------------
# Noisy counts against the true ones.


def noisy_counts(release: Release, people: People, table: PrivateTable) -> Iterator[TruthCheck]:
    """Noise of every table, by how many counts lie within distances of stated probability."""
    law = release.law
    assert isinstance(law, NoisyCounts)
    del people
    for marginal in law.marginals:
        true = counts_in(table, release, marginal.attributes)
        noisy = read_marginal(release, marginal).counts
        errors = np.round(noisy - true).astype(np.int64).ravel()
        yield from noise_within(f"the counts of {marginal.title}", errors, marginal.noise)


def _truncated(release: Release, law: NoisyRows, budget: int, number_of_rows: int) -> TruthCheck:
    """Nobody has a part in more columns than the budget.

    Then all counts together are at most the budget for every row. A published count is ``max(k, t + G)`` of a count t of at least k, so that
    noise adds at most what of G is positive, of which the sum is bounded by its exponential moments (Chernoff).
    """
    shown = [
        read_table(release, each.table, list(each.attributes), (COUNT_COLUMN,))[1][0] for each in law.columns
    ]
    total, rows = int(sum(each.sum() for each in shown)), sum(each.size for each in shown)
    most = budget * number_of_rows
    return TruthCheck(
        f"nobody in more than {counted(budget, 'column')}",
        positive_noise(total - most, rows, law.matrix.ratio),
        f"Published counts add up to {total:,}, true ones to {most:,} at most.",
    )


def noisy_rows(release: Release, people: People, table: PrivateTable) -> Iterator[TruthCheck]:
    """Rows that must not be there, how many are, and the noise of those far above the threshold."""
    law = release.law
    assert isinstance(law, NoisyRows)
    del people
    if law.column_budget is not None:
        yield _truncated(release, law, law.column_budget, table.number_of_rows)
        return
    for column in law.columns:
        names = list(column.attributes)
        known, copies = occupied_in(table, release, names)
        codes, (shown,) = read_table(release, column.table, names, (COUNT_COLUMN,))
        places = places_among(np.stack([codes[name].astype(np.int64) for name in names], axis=1), known)
        true = np.where(places >= 0, copies[np.maximum(places, 0)], 0)
        few = int((true < law.matrix.k).sum()) + int((shown < law.matrix.k).sum())
        yield TruthCheck(
            f"rows over {' and '.join(names)} of at least {law.matrix.k} copies",
            0.0 if few else 1.0,
            f"{few:,} published rows have, or are said to have, fewer.",
        )
        appears, _ = law.matrix.release_probabilities_of(copies)
        yield TruthCheck(
            f"how many rows over {' and '.join(names)} are published",
            bernstein(len(shown), float(appears.sum()), float((appears * (1 - appears)).sum())),
            f"{len(shown):,} are, expected were {appears.sum():,.1f}.",
        )
        # Far above k nothing is cut, and the noise is as it was drawn.
        is_far = true >= law.matrix.k + law.matrix.noise.half_width(1 - 1e-9)
        errors = (shown - true)[is_far].astype(np.int64)
        yield from noise_within(f"rows over {' and '.join(names)}", errors, law.matrix.noise)


# --------------------------------------------------------------------------------------------------
# Buckets and classes of rows, against the true ones.


def buckets(release: Release, people: People, table: PrivateTable) -> Iterator[TruthCheck]:
    """Values as they are in the table, in an order that says nothing."""
    law = release.law
    assert isinstance(law, BucketedRows)
    del table
    buckets = law.composition(release)
    true = np.bincount(people.truth, minlength=people.sensitive.size)
    wrong = int(np.abs(buckets.totals - true).sum())
    yield TruthCheck(
        f"published {law.sensitive} as they are",
        0.0 if wrong else 1.0,
        f"{wrong:,} values differ from the table's.",
    )
    names = [each.name for each in people.public]
    rows = list(release.scan(ROWS, [*names, BUCKET]))
    values = list(release.scan(SENSITIVE, [BUCKET, law.sensitive]))
    public = np.stack(
        [np.concatenate([each.codes[name] for each in rows]).astype(np.int64) for name in names], axis=1
    )
    yield _order(
        people,
        public,
        np.concatenate([each.codes[BUCKET] for each in rows]).astype(np.int64),
        np.concatenate([each.codes[BUCKET] for each in values]).astype(np.int64),
        np.concatenate([each.codes[law.sensitive] for each in values]).astype(np.int64),
    )


def _order(
    people: People, public: Integers, row_bucket: Integers, value_bucket: Integers, values: Integers
) -> TruthCheck:
    """Whether the order of a bucket's values in the file tells whose they are.

    The first row of a bucket is held against its first value, and so on: by the share that the value truly has
    among people with the row's public values. In random order a bucket's sum is that of a random permutation, whose mean
    and variance are known (Hoeffding 1951).
    """
    known, place = np.unique(people.rows, axis=0, return_inverse=True)
    true = np.zeros((len(known), people.sensitive.size))
    np.add.at(true, (place.ravel(), people.truth), 1)
    shares = true / true.sum(axis=1, keepdims=True)
    by_row = np.argsort(row_bucket, kind="stable")
    by_value = np.argsort(value_bucket, kind="stable")
    whose = np.maximum(places_among(public[by_row], known), 0)
    given = values[by_value]
    sizes = np.bincount(row_bucket)
    sizes = sizes[sizes > 0]
    observed = float(shares[whose, given].sum())
    expected = variance = 0.0
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes):
        inside = starts[sizes == size][:, np.newaxis] + np.arange(size)
        # (buckets, people, values) of all buckets of one size.
        matrix = shares[whose[inside][:, :, np.newaxis], given[inside][:, np.newaxis, :]]
        expected += float(matrix.sum()) / size
        centred = matrix - matrix.mean(axis=1, keepdims=True) - matrix.mean(axis=2, keepdims=True)
        centred += matrix.mean(axis=(1, 2), keepdims=True)
        variance += float((centred**2).sum()) / max(int(size) - 1, 1)
    return TruthCheck(
        "the order of values within buckets",
        bernstein(observed, expected, variance, largest=float(sizes.max())),
        f"Row and value in the same place go together by {observed:,.1f}, in random order by {expected:,.1f} "
        f"(standard deviation {np.sqrt(variance):,.1f}).",
    )


def generalized(release: Release, people: People, table: PrivateTable) -> Iterator[TruthCheck]:
    """Every published row has a true one that its values may stand for, and none is missing."""
    law = release.law
    assert isinstance(law, GeneralizedRows)
    del table
    if people.sensitive.name in law.covers:
        return
    classes = law.classes(release, people.targets(are_members=True))
    combinations, place = np.unique(people.rows, axis=0, return_inverse=True)
    true = np.zeros((len(combinations), people.sensitive.size))
    np.add.at(true, (place.ravel(), people.truth), 1)
    possible = classes.rows_that_may_be(combinations, true)
    beyond = float(np.maximum(classes.counts - possible, 0).sum())
    yield TruthCheck(
        "rows of every class are rows of the table",
        0.0 if beyond else 1.0,
        f"{beyond:,.0f} published rows have no true row that their values may stand for.",
    )
    if law.suppressed_rows is not None:
        missing = people.number - law.suppressed_rows - release.number_of_rows
        yield TruthCheck(
            "rows published and dropped",
            0.0 if missing else 1.0,
            f"{release.number_of_rows:,} published and {law.suppressed_rows:,} dropped, of {people.number:,}.",
        )


# --------------------------------------------------------------------------------------------------
# Which law is tested by what.


Checks = Callable[[Release, People, PrivateTable], Iterator[TruthCheck]]

CHECKS: dict[type, Checks] = {
    PerturbedRows: perturbed,
    SampledRows: sampled,
    DecoyRows: decoys,
    ResampledRows: resampled,
    BucketedRows: buckets,
    GeneralizedRows: generalized,
    NoisyCounts: noisy_counts,
    NoisyRows: noisy_rows,
}
"""By law, what its releases are tested by."""


def check_against_truth(release: Release, people: People, table: PrivateTable) -> tuple[TruthCheck, ...]:
    """Everything about a release's law that the private rows can refute; nothing for laws that are not known here.

    Parameters
    ----------
    release
        What was published.
    people
        Everybody in the table, in the release's categories.
    table
        The private rows, for attributes that are neither public nor the one attacked.
    """
    for law, checks in CHECKS.items():
        if isinstance(release.law, law):
            return tuple(checks(release, people, table))
    return ()
