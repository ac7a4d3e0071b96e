"""What a plan says before decoys are drawn: questions, promises by count, whether groups exist."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from sfumato.chance.partition import largest_group_size
from sfumato.chance.together import is_certain
from sfumato.data.private_table import PrivateTable
from sfumato.guarantees.large_sum_utility import LargeSumUtility
from sfumato.guarantees.odds_factor import OddsFactor
from sfumato.guarantees.small_sum_privacy import (
    SmallSumPrivacy,
    error_probabilities,
    homogeneous_error_probability,
    vanishing_probability,
)
from sfumato.methods.splu_gen.law.model import DecoyModel
from sfumato.methods.splu_gen.plan.telling import what_rows_tell
from sfumato.values.number_text import Cell
from sfumato.values.result_tables import ResultTable

APPLICABILITY = (
    (
        "Is a fact that holds for most people harmless here?",
        (
            "Large sums are published accurately. Where even a majority's value is a secret, as in a register of "
            "one disease, the model does not apply."
        ),
    ),
    (
        "Will these rows be published once?",
        "Fresh draws of the same rows average the protection away.",
    ),
    (
        "Is nobody known to share an extremely rare value?",
        "Someone who knows that two people share it learns from both keeping it; suppress rare values first.",
    ),
)
"""Questions that only the publisher can answer."""


def decoy_plan(
    promises: tuple[OddsFactor, SmallSumPrivacy, LargeSumUtility], table: PrivateTable | None
) -> tuple[ResultTable, ...]:
    """What is special in a plan of decoys; tables computed from the private table are marked.

    Parameters
    ----------
    promises
        What the design promises.
    table
        The private rows, when they may be looked at.
    """
    odds, privacy, utility = promises
    public = (
        ResultTable("Questions to answer before publishing", ("question", "why"), APPLICABILITY),
        _by_attribute(odds, privacy, utility),
        _by_count(privacy),
    )
    if table is None:
        return public
    shared = (_groups_together(odds, table),) if odds.together else ()
    return (*public, *what_rows_tell(odds, table), *shared, _groups(odds.gamma_by_attribute, table))


def _by_attribute(odds: OddsFactor, privacy: SmallSumPrivacy, utility: LargeSumUtility) -> ResultTable:
    """The promises; between the largest small and the smallest large sum nothing is promised."""
    return ResultTable(
        "What each drawn attribute gets",
        (
            "attribute",
            "gamma",
            "small sums up to",
            "wrong with probability",
            "large sums from",
            "odds grow up to, of N rows",
            "one row's value vanishes",
        ),
        tuple(
            (
                name,
                gamma,
                privacy.largest_small_count,
                "vacuous" if privacy.is_vacuous else privacy.error_probability(name),
                utility.smallest_large_count(name),
                " times ".join(odds.formula(each) for each in odds.tied_with(name)),
                vanishing_probability(1, gamma),
            )
            for name, gamma in odds.gamma_by_attribute.items()
        ),
    )


def _by_count(privacy: SmallSumPrivacy) -> ResultTable:
    """The two probabilities for every small count: of a value alone, and of a group who all share it."""
    counts = range(1, privacy.largest_small_count + 1)
    cells: list[tuple[Cell, ...]] = []
    for name, gamma in privacy.gamma_by_attribute.items():
        alone = error_probabilities(counts, gamma, privacy.relative_error)
        # Theorem 4 promises every concept of true count up to k what the worst single value gets.
        promised = np.minimum.accumulate(alone)
        for count, wrong, floor in zip(counts, alone, promised, strict=True):
            shared = homogeneous_error_probability(count, gamma, privacy.relative_error)
            cells.append((name, count, float(wrong), shared, "yes" if shared >= floor else "no"))
    return ResultTable(
        f"Probability that an answer is wrong by more than {privacy.relative_error:.4g} times the count",
        ("attribute", "true count", "value alone", "public group who all share it", "Theorem 4 holds"),
        tuple(cells),
    )


def _groups(gammas: Mapping[str, int], table: PrivateTable) -> ResultTable:
    """Whether groups exist, and what they leave of the questions."""
    # One set of rows is published, so the groups of every attribute must divide it.
    left_out = table.number_of_rows % math.lcm(*gammas.values())
    rows: list[tuple[Cell, ...]] = []
    for name, gamma in gammas.items():
        counts = np.asarray(table.count_by([name]).counts)
        largest = largest_group_size(counts)
        if largest < gamma:
            verdict = f"no groups of {gamma} exist"
        elif DecoyModel(counts.astype(np.float64), gamma).is_saturated:
            verdict = (
                "groups exist, but a category is in nearly all: only counts of categories alone are answered"
            )
        else:
            verdict = "groups exist"
        rows.append((name, gamma, largest, verdict, left_out))
    return ResultTable(
        "Groups of the private table",
        ("attribute", "gamma", "largest gamma that fits", "verdict", "rows left out"),
        tuple(rows),
        is_private=True,
    )


def _groups_together(odds: OddsFactor, table: PrivateTable) -> ResultTable:
    """Whether groups exist for certain whose members differ in each of the attributes drawn together."""
    gamma = odds.gamma_by_attribute[odds.together[0]]
    occupied = table.count_occupied(odds.together)
    labels = np.stack([np.asarray(each, np.int64) for each in occupied.codes])
    shares = sum(float(np.bincount(each, occupied.counts).max()) for each in labels) / occupied.counts.sum()
    verdict = (
        "groups exist for certain"
        if is_certain(occupied.counts, labels, gamma)
        else "groups are searched for when publishing, and refused by name where none are found"
    )
    return ResultTable(
        "Groups of attributes drawn together",
        ("attributes", "gamma", "largest shares together", "certain below", "verdict"),
        ((" and ".join(odds.together), gamma, shares, 1 / gamma, verdict),),
        is_private=True,
    )
