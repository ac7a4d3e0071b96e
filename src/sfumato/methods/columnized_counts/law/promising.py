"""What noisy counts of rows promise together, and under which conditions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sfumato.chance.noise import scale_at_least
from sfumato.guarantees import Guarantee
from sfumato.guarantees.differential_privacy import DifferentialPrivacy
from sfumato.guarantees.semantic_k_anonymity import SemanticKAnonymity
from sfumato.methods.columnized_counts.law.noisy_count_matrix import NoisyCountMatrix

LEAST_PAYMENT = 1e-6
"""Share of epsilon below which nothing was paid for the columns: it is the rounding of sums."""

LEARNED_COLUMNS = "the columns, which were learned from the same rows"
"""What a promise takes as known where no share of epsilon was spent on learning them."""

TRUNCATION_KEY = "the public key of truncation"
"""What a promise takes as known where a key decides which parts a row loses."""

PUBLIC_SIZE = "the number of rows or units, which is stated as public"
"""What a promise takes as known where the number of rows is published as it is."""


def promised(
    matrix: NoisyCountMatrix,
    *,
    number: int,
    column_budget: int | None,
    total_epsilon: float,
    columns_epsilon: float,
    is_size_public: bool,
    whole_units: bool,
) -> tuple[Guarantee, ...]:
    """The strongest promises that follow from how every column was published.

    A row that loses some of its parts to the column budget does so by chance, which costs the pointwise form,
    or by a public key, given which it is kept (Li and Li, theorem 7).
    """
    parts = column_budget or number
    size = (PUBLIC_SIZE,) if is_size_public else ()
    besides = Fraction(total_epsilon) + Fraction(columns_epsilon)
    numbers: dict[str, Any] = {
        "epsilon": scale_at_least(parts * Fraction(matrix.epsilon) + besides),
        "delta": scale_at_least(parts * Fraction(matrix.delta)),
        "whole_units": whole_units,
    }
    forms: list[dict[str, Any]] = [{"form": "pointwise", "given": size}]
    if parts < number:
        forms = [
            {"form": "additive", "given": size},
            {"form": "pointwise", "given": (TRUNCATION_KEY, *size)},
        ]
    added = [DifferentialPrivacy(**numbers, **form, relation="add-remove") for form in forms]
    return (
        SemanticKAnonymity(
            k=matrix.k,
            epsilon=total_epsilon,
            scope="each-column" if number > 1 else "table",
            whole_units=whole_units,
            given=size,
        ),
        *added,
        *(each.for_replacing() for each in added),
    )


def unless_paid(stated: Guarantee, premises: Sequence[Guarantee]) -> tuple[str, ...]:
    """That learned columns are taken as known, unless a promise leaves room for what was paid for them.

    Releases of older versions do not say how much that was; what they promise exceeds what their counts cost.
    """
    if not isinstance(stated, DifferentialPrivacy):
        return ()
    counts = [
        each.for_units(stated.rows_per_unit).epsilon
        for each in premises
        if isinstance(each, DifferentialPrivacy) and each.relation == stated.relation
    ]
    is_paid = bool(counts) and stated.epsilon > max(counts) * (1 + LEAST_PAYMENT)
    return () if is_paid else (LEARNED_COLUMNS,)
