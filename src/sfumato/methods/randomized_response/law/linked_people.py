"""What is believed of people whose public values were perturbed too."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sfumato.chance.distortion import AxisMatrix
from sfumato.errors import TooLargeError
from sfumato.laws.base import Published
from sfumato.laws.believing import Posterior, SharedPrior, Targets
from sfumato.laws.believing.group_pooling import NOBODY, linked_counts, occupied_groups, shares_with_overall
from sfumato.laws.believing.judging import fit_groups
from sfumato.laws.believing.targets import places_among


def linked_posterior(
    matrices: Mapping[str, AxisMatrix], published: Published, targets: Targets, prior: SharedPrior
) -> Posterior:
    """Beliefs by weighing every published row, by Bayes, with how likely it is to be of such a person.

    A member is one of the published rows, so the rows' own weights are added up; somebody else is like the joint
    distribution that was fitted to them. Where the joint table is too large, the shared prior is what is left. The own
    row of a member is part of the fitted distribution too: beliefs about the rarest people are a little too sure.
    """
    found = prior.at(targets.names, targets.combinations)
    order = sorted(targets.names, key=lambda name: name in matrices)
    number_of_exact = sum(name not in matrices for name in order)
    joint = (*order, targets.sensitive.name)
    try:
        exact, counts = occupied_groups(published.count_occupied(joint), number_of_exact)
    except TooLargeError:
        return Posterior(found, targets.index)
    every: list[AxisMatrix] = [matrices.get(name) for name in joint]
    axes: list[AxisMatrix] = [None, *every[number_of_exact:]] if number_of_exact else every
    fitted = fit_groups(counts, axes, np.random.default_rng(0), codes=exact)
    linked = linked_counts(counts, axes, fitted) if targets.are_members else fitted
    beliefs = shares_with_overall(linked, NOBODY)
    codes = [targets.codes_of(name) for name in order]
    known = np.ones(len(found), bool)
    if exact is not None:
        places = places_among(np.stack(codes[:number_of_exact], axis=1), exact)
        known = places >= 0
        codes = [places, *codes[number_of_exact:]]
    found[known] = beliefs[tuple(each[known] for each in codes)]
    return Posterior(found, targets.index)
