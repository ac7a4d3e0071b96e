"""Accuracy and risk to expect of perturbed rows, before publishing: the tables of a plan."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from sfumato.chance.distortion import (
    DenseDistortion,
    UniformDistortion,
    expected_squared_error,
    largest_epsilon,
)
from sfumato.data.private_table import PrivateTable
from sfumato.guarantees.conditional_distribution_risk import conditional_distribution_risks, posterior_risks
from sfumato.guarantees.reconstruction_risk import reconstruction_risks, risk_at_share
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Role, Schema

Distortions = Mapping[str, UniformDistortion | DenseDistortion]

LARGEST_NUMBER_OF_MARGINALS = 20
"""Marginals that a plan lists; with more perturbed attributes the pairs are left out."""

LONGEST_ITEM_SET = 4
"""Items of a set whose error a plan states."""

LARGEST_RISK_TABLE = 5_000_000
"""Cells up to which a plan computes risks: a few seconds."""


def promise_table(distortions: Distortions) -> ResultTable:
    """What each perturbed attribute gets."""
    return ResultTable(
        "What each perturbed attribute gets",
        ("attribute", "categories", "retention", "epsilon", "condition number"),
        tuple(
            (
                name,
                each.size,
                each.retention if isinstance(each, UniformDistortion) else "own matrix",
                largest_epsilon(each),
                each.condition_number,
            )
            for name, each in distortions.items()
        ),
    )


def marginal_table(distortions: Distortions, schema: Schema, rows: int) -> ResultTable:
    """L2 error of every perturbed attribute, and of marginals over several of them."""
    names = tuple(distortions)
    pairs = tuple(itertools.combinations(names, 2))
    listed = pairs if len(pairs) <= LARGEST_NUMBER_OF_MARGINALS else ()
    marginals = (*((name,) for name in names), *listed, *((names,) if len(names) > 2 else ()))
    return ResultTable(
        f"Expected error of marginals, of {rows:,} rows",
        ("marginal", "cells", "L2 error of its counts", "root mean square error of a cell"),
        tuple(_marginal_row(distortions, schema, each, rows) for each in marginals),
    )


def item_set_table(distortion: UniformDistortion | DenseDistortion, units: int) -> ResultTable:
    """Errors of the shares of rare item sets by their length: every further item multiplies the noise.

    A unit without an item adds row y of the inverse to it with the probability of publishing y; of a set that nearly
    nobody has, the second moments of its items multiply.
    """
    present = distortion.inverse()[:, 1:]
    moment = float((distortion.dense()[0] @ present**2).max())
    return ResultTable(
        f"Expected error of the share of a rare item set, of {units:,} units",
        ("items", "std. error of the share"),
        tuple((length, math.sqrt(moment**length / units)) for length in range(1, LONGEST_ITEM_SET + 1)),
    )


def l2_error(distortions: Distortions, schema: Schema, names: Sequence[str], rows: int) -> float:
    r"""Root of the expected sum of squared errors of a marginal's estimated counts, for the table itself.

    With the matrices of uniform perturbation it does not depend on the data:
    ``sqrt(N (product of (1 + (m - 1)/p^2)/m - 1))`` (Guo 2010, result 16, for a fixed table). Matrices of
    one's own make it depend on the data; the largest value over all tables is given then.

    Examples
    --------
    >>> schema = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
    >>> round(l2_error({"job": UniformDistortion(retention=0.5, size=2)}, schema, ("job",), 10_000), 3)
    122.474
    """
    moments = (
        float(expected_squared_error(distortions.get(name), schema[name].size).max()) for name in names
    )
    return math.sqrt(max(rows * (math.prod(moments) - 1), 0))


def risk_tables(distortions: Distortions, table: PrivateTable) -> tuple[ResultTable, ...]:
    """What attackers of three kinds find out about each sensitive attribute, from the true counts."""
    schema = table.schema
    quasi_identifiers = tuple(each.name for each in schema.with_role(Role.QUASI_IDENTIFIER))
    if not quasi_identifiers:
        return ()
    return tuple(
        _risk_table(distortions, table, quasi_identifiers, each.name)
        for each in schema.with_role(Role.SENSITIVE)
        if math.prod(schema[name].size for name in (*quasi_identifiers, each.name)) <= LARGEST_RISK_TABLE
    )


def _risk_table(
    distortions: Distortions, table: PrivateTable, quasi_identifiers: tuple[str, ...], sensitive: str
) -> ResultTable:
    names = (*quasi_identifiers, sensitive)
    counts = table.count_by(names).counts
    matrices = [distortions[name].on_axis if name in distortions else None for name in names]
    risks = (
        (
            "links, picks a row, redraws its truth (reconstruction risk)",
            reconstruction_risks(counts, matrices),
        ),
        (
            "reads the reconstructed distribution of the group (conditional-distribution risk)",
            conditional_distribution_risks(counts),
        ),
        ("knows which row is the target's (largest posterior)", posterior_risks(counts, matrices[-1])),
    )
    return ResultTable(
        f"How often an attacker who knows {', '.join(quasi_identifiers)} names a row's {sensitive}",
        ("attacker", "mean of rows", "99 % of rows at most", "largest"),
        tuple(
            (
                attacker,
                float((values * counts).sum() / counts.sum()),
                risk_at_share(values, counts, 0.99),
                risk_at_share(values, counts, 1),
            )
            for attacker, values in risks
        ),
        is_private=True,
    )


def _marginal_row(
    distortions: Distortions, schema: Schema, names: tuple[str, ...], rows: int
) -> tuple[str, int, float, float]:
    cells = math.prod(schema[name].size for name in names)
    error = l2_error(distortions, schema, names, rows)
    return ", ".join(names), cells, error, error / math.sqrt(cells)
