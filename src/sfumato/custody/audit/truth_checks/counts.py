"""Noisy counts against the true ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.custody.audit.people import People
from sfumato.custody.audit.truth_checks.p_values import TruthCheck, bernstein, noise_within
from sfumato.data.private_table import PrivateTable
from sfumato.laws.believing.targets import places_among
from sfumato.methods.columnized_counts.law.columns import COUNT_COLUMN, read_table
from sfumato.methods.columnized_counts.law.noisy_rows import NoisyRows
from sfumato.methods.noisy_marginals.law.marginals import read_marginal
from sfumato.methods.noisy_marginals.law.noisy_counts import NoisyCounts
from sfumato.release import Release


def noisy_counts(release: Release, people: People, table: PrivateTable) -> Iterator[TruthCheck]:
    """Noise of every table, by how many counts lie within distances of stated probability."""
    law = release.law
    assert isinstance(law, NoisyCounts)
    del people
    for marginal in law.marginals:
        true = table.count_by(list(marginal.attributes)).counts
        noisy = read_marginal(release, marginal).counts
        errors = np.round(noisy - true).astype(np.int64).ravel()
        yield from noise_within(f"the counts of {marginal.title}", errors, marginal.noise)


def noisy_rows(release: Release, people: People, table: PrivateTable) -> Iterator[TruthCheck]:
    """Rows that must not be there, how many are, and the noise of those far above the threshold."""
    law = release.law
    assert isinstance(law, NoisyRows)
    del people
    if law.column_budget is not None:
        return
    for column in law.columns:
        names = list(column.attributes)
        found = table.count_occupied(names)
        known = np.stack([each.astype(np.int64) for each in found.codes], axis=1)
        codes, (shown,) = read_table(release, column.table, names, (COUNT_COLUMN,))
        places = places_among(np.stack([codes[name].astype(np.int64) for name in names], axis=1), known)
        true = np.where(places >= 0, found.counts[np.maximum(places, 0)], 0)
        few = int((true < law.matrix.k).sum()) + int((shown < law.matrix.k).sum())
        yield TruthCheck(
            f"rows over {' and '.join(names)} of at least {law.matrix.k} copies",
            0.0 if few else 1.0,
            f"{few:,} published rows have, or are said to have, fewer.",
        )
        appears, _ = law.matrix.release_probabilities_of(found.counts)
        yield TruthCheck(
            f"how many rows over {' and '.join(names)} are published",
            bernstein(len(shown), float(appears.sum()), float((appears * (1 - appears)).sum())),
            f"{len(shown):,} are, expected were {appears.sum():,.1f}.",
        )
        # Far above k nothing is cut, and the noise is as it was drawn.
        is_far = true >= law.matrix.k + law.matrix.noise.half_width(1 - 1e-9)
        errors = (shown - true)[is_far].astype(np.int64)
        yield from noise_within(f"rows over {' and '.join(names)}", errors, law.matrix.noise)
