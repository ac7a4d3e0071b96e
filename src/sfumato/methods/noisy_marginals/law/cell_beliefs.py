"""What is believed of people from the noisy counts of their own public group."""

from __future__ import annotations

import numpy as np

from sfumato.chance.noise import DiscreteNoise
from sfumato.laws.believing import SharedPrior, Targets, beliefs_of_counts, expected_counts
from sfumato.methods.noisy_marginals.law.marginal_effects import NoisyTable
from sfumato.values.arrays import Floats

ALMOST_SURE = 1 - 1e-9
"""Noise beyond the half width of this is not looked at: beliefs beforehand, which rule nothing out, pull less hard than that."""


def beliefs_by_cells(table: NoisyTable, noise: DiscreteNoise, targets: Targets, prior: SharedPrior) -> Floats:
    """Beliefs about people, ``(combinations, values)``, from a table over all public values and the sensitive one."""
    before = prior.at(targets.names, targets.combinations)
    order = [table.names.index(name) for name in (*targets.names, targets.sensitive.name)]
    cells = table.counts.transpose(order)[tuple(targets.combinations.T)].astype(np.int64)
    means = prior.group_sizes(targets.names, targets.combinations)[:, np.newaxis] * before
    reach, noisy = int(noise.half_width(ALMOST_SURE)), cells.ravel()
    expected = expected_counts(
        np.maximum(noisy - reach, 0),
        np.maximum(noisy, 0) + reach,
        lambda rows: noise.probability(noisy[:, np.newaxis] - rows),
        means.ravel(),
    )
    return beliefs_of_counts(expected.reshape(cells.shape), before, are_members=targets.are_members)
