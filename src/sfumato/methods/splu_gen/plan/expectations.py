"""What a plan says before decoys are drawn: questions, promises by count, errors to expect."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from sfumato.chance.partition import largest_group_size
from sfumato.data.private_table import PrivateTable
from sfumato.guarantees.large_sum_utility import LargeSumUtility
from sfumato.guarantees.small_sum_privacy import (
    SmallSumPrivacy,
    error_probabilities,
    homogeneous_error_probability,
    vanishing_probability,
)
from sfumato.methods.splu_gen.law.model import DecoyModel, covariance, margin_variance
from sfumato.values.number_text import Cell, percent
from sfumato.values.result_tables import ResultTable

SHARES = (0.001, 0.01, 0.1)
"""Shares of rows for which a plan states the expected error."""

RANDOM_SHARE = 0.1
"""Share of rows, unrelated to the sensitive value, for which a plan states the expected error."""

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
    gammas: Mapping[str, int],
    promises: tuple[SmallSumPrivacy, LargeSumUtility],
    rows: int,
    table: PrivateTable | None,
) -> tuple[ResultTable, ...]:
    """All tables of a plan; those computed from the private table are marked.

    Parameters
    ----------
    gammas
        Group size of every drawn attribute.
    promises
        What the design promises.
    rows
        Rows to be published.
    table
        The private rows, when they may be looked at.
    """
    privacy, utility = promises
    public = (
        ResultTable("Questions to answer before publishing", ("question", "why"), APPLICABILITY),
        _by_attribute(gammas, privacy, utility),
        _by_count(gammas, privacy),
        _by_share(gammas, rows),
    )
    if table is None:
        return public
    # One set of rows is published, so the groups of every attribute must divide it.
    left_out = table.number_of_rows % math.lcm(*gammas.values())
    return (*public, *(_from_table(name, gamma, table, left_out) for name, gamma in gammas.items()))


def _by_attribute(
    gammas: Mapping[str, int], privacy: SmallSumPrivacy, utility: LargeSumUtility
) -> ResultTable:
    """The promises; between the largest small and the smallest large sum nothing is promised."""
    return ResultTable(
        "What each drawn attribute gets",
        (
            "attribute",
            "gamma",
            "small sums up to",
            "wrong with probability",
            "large sums from",
            "own value shown",
            "one row's value vanishes",
        ),
        tuple(
            (
                name,
                gamma,
                privacy.largest_small_count,
                privacy.error_probability(name),
                utility.smallest_large_count(name),
                1 / gamma,
                vanishing_probability(1, gamma),
            )
            for name, gamma in gammas.items()
        ),
    )


def _by_count(gammas: Mapping[str, int], privacy: SmallSumPrivacy) -> ResultTable:
    """The two probabilities for every small count: of a value alone, and of a group who all share it."""
    counts = range(1, privacy.largest_small_count + 1)
    cells: list[tuple[Cell, ...]] = []
    for name, gamma in gammas.items():
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


def _by_share(gammas: Mapping[str, int], rows: int) -> ResultTable:
    return ResultTable(
        f"Expected standard error of a category's count among {rows:,} rows",
        ("attribute", "share of rows", "count", "expected std. error"),
        tuple(
            (name, share, share * rows, margin_variance(share * rows, gamma) ** 0.5)
            for name, gamma in gammas.items()
            for share in SHARES
            if share <= 1 / gamma
        ),
    )


def _from_table(name: str, gamma: int, table: PrivateTable, left_out: int) -> ResultTable:
    """Whether groups exist, and errors of every category's counts, from the private table."""
    counts = np.asarray(table.count_by([name]).counts, dtype=np.float64)
    largest = largest_group_size(counts.astype(np.int64))
    model = DecoyModel(counts, gamma)
    is_answered = largest >= gamma and not model.is_saturated
    if largest < gamma:
        verdict = f"no groups of {gamma} exist, the largest gamma that fits is {largest}"
    elif is_answered:
        verdict = "groups exist"
    else:
        verdict = (
            "groups exist, but a category is in nearly all: only counts of categories alone are answered"
        )
    within: list[Cell] = ["not determined"] * len(counts)
    if is_answered:
        predicate = model.predicate(np.full(len(counts), RANDOM_SHARE))
        everything = np.eye(len(counts))
        whole = covariance(predicate, predicate, predicate.shares, everything, everything)
        within = [float(each) for each in np.sqrt(np.clip(np.diagonal(whole), 0, None))]
    return ResultTable(
        f"Counts of {name}: {verdict}; rows left out: {left_out}",
        (
            "category",
            "true count",
            "std. error",
            f"std. error among a random {percent(RANDOM_SHARE)} of rows",
        ),
        tuple(
            (label, int(count), margin_variance(count, gamma) ** 0.5, error)
            for label, count, error in zip(table.schema[name].labels, counts, within, strict=True)
        ),
        is_private=True,
    )
