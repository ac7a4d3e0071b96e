"""Noisy counts against the true ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.custody.audit.people import People, counts_in, occupied_in
from sfumato.custody.audit.truth_checks.p_values import TruthCheck, bernstein, noise_within, positive_noise
from sfumato.data.private_table import PrivateTable
from sfumato.laws.believing.targets import places_among
from sfumato.methods.columnized_counts.law.columns import COUNT_COLUMN, read_table
from sfumato.methods.columnized_counts.law.noisy_rows import NoisyRows
from sfumato.methods.noisy_marginals.law.marginals import read_marginal
from sfumato.methods.noisy_marginals.law.noisy_counts import NoisyCounts
from sfumato.release import Release
from sfumato.values.number_text import counted


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
