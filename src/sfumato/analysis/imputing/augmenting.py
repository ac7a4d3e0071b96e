"""Data augmentation: parameters drawn given true rows, true rows given parameters, in turns."""

from __future__ import annotations

import math

import numpy as np

from sfumato.analysis.imputing.parameters import Parameters
from sfumato.analysis.imputing.seen_rows import SeenRows
from sfumato.errors import NoSolutionError, TooLargeError
from sfumato.values.arrays import Floats

FORGETTING = 5.0
"""Steps of a chain, times the share of the information that is told: the start is then forgotten to a hundredth."""

LEAST_STEPS = 20

MOST_STEPS = 4_000
"""Of a chain; below a share told of about a thousandth, draws would show where the chain began."""

MOST_WORK = 3_000_000_000
"""Numbers of rows that are drawn in all, zeros included: a few minutes."""

MOST_LEANING = 1.0
"""Rows of the prior, over the square root of the rows' worth: how many standard errors it may move a share."""


def steps_needed(seen: SeenRows, parameters: Parameters, draws: int) -> int:
    """Steps after which a chain has forgotten its start.

    Raises
    ------
    NoSolutionError
        When the published rows tell too little, so that the prior would show, or the start of the chain.
    TooLargeError
        When it would take too long.
    """
    least, mean = seen.shares_told
    worth = seen.number_of_rows * mean
    leaning = parameters.prior_rows / math.sqrt(max(worth, 1.0))
    if leaning > MOST_LEANING:
        raise NoSolutionError(
            f"{seen.number_of_rows:,} published rows tell as much as {worth:,.0f} true ones, too few for a model with "
            f"{parameters.prior_rows * 2:,.0f} parameters: draws would follow what is assumed before the rows are seen. About "
            f"{parameters.prior_rows**2 / MOST_LEANING**2 / mean:,.0f} rows would do. Name fewer attributes, declare a smaller model, or "
            "ask through the law, which assumes none.",
            reason="weak",
        )
    if least * MOST_STEPS < FORGETTING:
        raise NoSolutionError(
            f"published rows tell {least:.2g} of what true ones would of the rarest differences: draws would take more than "
            f"{MOST_STEPS:,} steps each to forget where they began. Name fewer perturbed attributes, or ask through the law.",
            reason="weak",
        )
    steps = max(LEAST_STEPS, math.ceil(FORGETTING / least))
    work = steps * draws * seen.rows.size * seen.width
    if work > MOST_WORK:
        raise TooLargeError(
            f"{draws} draws of {steps:,} steps over {seen.rows.size:,} combinations that occur, with {seen.width:,} true ones behind each, "
            "take too long. Name fewer attributes, or ask for fewer draws."
        )
    return steps


def draw_shares(seen: SeenRows, parameters: Parameters, steps: int, generator: np.random.Generator) -> Floats:
    """Shares of true values within groups, ``(groups, width)``, drawn from what the rows say of them.

    Every draw is the end of a chain of its own, so that draws are independent.

    Notes
    -----
    Tanner and Wong's two steps. Rows of one published combination fall on true ones by a multinomial draw; the chance of each is its
    share in the group, times the chance to be published so.

    References
    ----------
    Tanner, M. A. and Wong, W. H. (1987). The calculation of posterior distributions by data augmentation. JASA 82, 528-540.
    """
    state = parameters.start()
    for _ in range(steps):
        true = generator.multinomial(seen.rows, seen.chances(parameters.shares(state)))
        counts = np.add.reduceat(true, seen.starts, axis=0)
        state = parameters.draw(state, counts.astype(np.float64), generator)
    return parameters.shares(state)
