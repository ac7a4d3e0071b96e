"""Rows whose sensitive values were drawn, against the true ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.chance.distortion.axes import AxisMatrix, contract, squared
from sfumato.custody.audit.people import People, counts_in
from sfumato.custody.audit.truth_checks.agreement import Alike, agreements, people_alike
from sfumato.custody.audit.truth_checks.p_values import TruthCheck, bernstein, binomial
from sfumato.data.private_table import PrivateTable
from sfumato.laws.believing.targets import MOST_VALUES, places_among
from sfumato.methods.distribution_resampling.law import ResampledRows
from sfumato.methods.randomized_response.law.perturbed_rows import PerturbedRows
from sfumato.methods.sample_perturb_scale.law.sampled_rows import SampledRows
from sfumato.methods.splu_gen.law.decoy_rows import DecoyRows
from sfumato.release import Release
from sfumato.values.arrays import Floats, Integers


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
