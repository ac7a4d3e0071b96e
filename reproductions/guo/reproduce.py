"""Guo (2010): the tables of chapters 3 and 5 beside ours.

``python reproductions/run.py guo`` computes everything anew and compares, ``--part "l = 3"`` a part of it; ``--renew`` writes ``results.json``.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from against_anatomy import (
    Spread,
    design_with,
    held_against,
    one_ordered_anatomy,
    one_release,
    over_draws,
)

from adult import EMGRW, ESGRO, read_adult
from evidence import Claims, Moves, Part, Reproduction, Results, Verdicts, bundled
from sfumato.arrays import Floats
from sfumato.data.private_table import PrivateTable
from sfumato.errors import GoalUnattainableError
from sfumato.guarantees.reconstruction_risk import reconstruction_risks
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.randomized_response.plan import RiskOptimum, goal_from, risk_optimum
from sfumato.randomness.distortion import TwoValued, contract, warner

HERE = Path(__file__).parent
DRAWS = 12
"""Releases over which the comparison with Anatomy is averaged."""


def compare(printed: list[float], ours: list[float], tolerance: float) -> dict[str, Any]:
    """Both, and whether every number agrees."""
    largest = max((abs(a - b) for a, b in zip(printed, ours, strict=True)), default=math.inf)
    return {"printed": printed, "ours": ours, "matched": bool(largest <= tolerance)}


def printed_entry(claim: dict[str, Any], table: PrivateTable, l_value: int) -> dict[str, Any]:
    """What the printed parameters lose and risk."""
    loss, risk = loss_and_risk(table, claim["attributes"], claim[str(l_value)])
    return {
        "printed_loss": round(loss, 1),
        "printed_largest_risk": round(risk, 5),
        "printed_keeps_its_bound": bool(risk <= 1 / l_value),
    }


def loss_and_risk(table: PrivateTable, attributes: list[str], diagonals: list[float]) -> tuple[float, float]:
    """Product of squared inverse norms, and the largest risk, of given parameters."""
    counts = table.count_by(table.schema.names)
    matrices: list[Floats | TwoValued | None] = [None] * len(table.schema.names)
    loss = 1.0
    for axis, attribute in enumerate(counts.attributes):
        size = attribute.size
        diagonal = diagonals[attributes.index(attribute.name)] if attribute.name in attributes else 1.0
        # Lemma 5; 1 gives the norm of the identity.
        loss *= (size - 1) ** 3 / (size * diagonal - 1) ** 2 + 1
        if diagonal < 1:
            matrices[axis] = TwoValued(diagonal, (1 - diagonal) / (size - 1))
    return loss, float(reconstruction_risks(counts.counts, matrices).max())


def optimum_entry(claim: dict[str, Any], table: PrivateTable, l_value: int) -> dict[str, Any]:
    """One cell of table 5.2: the printed parameters, and ours or why there are none."""
    entry = printed_entry(claim, table, l_value)
    try:
        found = calibrated(table, claim["attributes"], l_value)
    except GoalUnattainableError as refusal:
        return entry | {
            "refused": True,
            "lowest_attainable_risk": round(refusal.attainable, 5),
            "blocking_groups": sum(refusal.group_sizes.values()),
        }
    return entry | {
        "ours": [round(found.diagonals[name], 5) for name in claim["attributes"]],
        "loss": round(found.loss, 1),
        "largest_risk": round(float(found.risks().max()), 7),
        "loss_at_or_below_printed": bool(found.loss <= entry["printed_loss"]),
    }


def optimum_part(name: str) -> Part:
    """One part of table 5.2, for l = 2 to 5."""

    def computed(claims: Claims, folder: Path) -> dict[str, Any]:
        table = read_adult(bundled("adult", folder), EMGRW)
        return {str(l_value): optimum_entry(claims[name], table, l_value) for l_value in (2, 3, 4, 5)}

    return computed


def calibrated(table: PrivateTable, attributes: list[str], l_value: int) -> RiskOptimum:
    """The parameters that lose least at a largest risk of 1/l, to the last digit, as the thesis has them."""
    return risk_optimum(goal_from({"max-risk": 1 / l_value}, table.schema), table, attributes)


def rounded(found: Spread) -> dict[str, float]:
    """The means."""
    return {key: round(mean, 4) for key, (mean, _) in found.items()}


def compare_with_anatomy(
    claim: dict[str, Any], table: PrivateTable, l_value: int, draws: int
) -> dict[str, Any]:
    """One line of the comparison: at the given parameters, at our optimum, and with our own buckets."""
    names, attributes = table.schema.names, claim["attributes"]
    found = calibrated(table, attributes, l_value)
    optimal = design_with(table, found.diagonals)
    at_optimum = over_draws(lambda seed: one_release(table, optimal, names, seed), draws)
    random_ties = Anatomy(l_value=l_value, partition="largest-first")
    ours = over_draws(lambda seed: one_release(table, random_ties, names, seed), draws)
    diagonals = found.diagonals
    return {
        **at_given_parameters(claim, table, l_value, draws),
        "parameters": [round(diagonals[name], 4) for name in attributes],
        "loss": round(found.loss, 1),
        "randomized_response": rounded(at_optimum),
        "anatomy": rounded(ours),
    }


def at_given_parameters(
    claim: dict[str, Any], table: PrivateTable, l_value: int, draws: int
) -> dict[str, Any]:
    """What the given parameters lose and risk, and how far their releases and Anatomy's are from the truth."""
    names, attributes = table.schema.names, claim["attributes"]
    given = claim["parameters"][str(l_value)]
    loss, risk = loss_and_risk(table, attributes, given)
    as_given = design_with(table, dict(zip(attributes, given, strict=True)))
    at_given = over_draws(lambda seed: one_release(table, as_given, names, seed), draws)
    ordered = over_draws(lambda seed: one_ordered_anatomy(table, l_value, names, seed), draws)
    return {
        "given_loss": round(loss, 1),
        "given_largest_risk": round(risk, 5),
        "against_given": held_against(claim, l_value, at_given | ordered, draws),
    }


def small_examples(claims: Claims, folder: Path) -> dict[str, Any]:
    """Reconstruction of a pair of items, and the risks of one cell."""
    del folder
    published = np.array(claims["section_3_2"]["published"]).reshape(2, 2)
    estimated = contract(published, [warner(0.9).inverse_on_axis] * 2).ravel().tolist()
    table = np.array([[8, 16, 48], [12, 14, 2]])
    risks = [
        float(
            reconstruction_risks(table, [TwoValued(sex, 1 - sex), TwoValued(disease, (1 - disease) / 2)])[
                1, 0
            ]
        )
        for sex, disease in claims["figure_5_2"]["parameters"]
    ]
    return {"section_3_2": estimated, "figure_5_2": risks}


def line_part(l_value: int) -> Part:
    """One line of the comparison with Anatomy."""

    def computed(claims: Claims, folder: Path) -> dict[str, Any]:
        table = read_adult(bundled("adult", folder), ESGRO)
        return compare_with_anatomy(claims["against_anatomy"], table, l_value, DRAWS)

    return computed


def quick(claims: Claims, folder: Path) -> Results:
    """The examples, table 5.2(b), what the printed parameters of (a) and (c) lose and risk, our optimum at l = 2, and there the comparison at given parameters."""
    table = read_adult(bundled("adult", folder), EMGRW)
    optima = ("table_5_2_a", "table_5_2_c")
    found: Results = {
        name: {str(each): printed_entry(claims[name], table, each) for each in (2, 3, 4, 5)}
        for name in optima
    }
    found["table_5_2_a"]["2"] = optimum_entry(claims["table_5_2_a"], table, 2)
    found["table_5_2_b"] = optimum_part("table_5_2_b")(claims, folder)
    income = read_adult(bundled("adult", folder), ESGRO)
    found["l = 2"] = at_given_parameters(claims["against_anatomy"], income, 2, DRAWS)
    return {"examples": small_examples(claims, folder), **found}


def judge(claims: Claims, results: Results) -> Verdicts:
    """Two rows of numbers, every cell of table 5.2, every number of the comparison."""
    examples = results["examples"]
    found: Verdicts = {}
    for name, key in (("section_3_2", "estimated"), ("figure_5_2", "risks")):
        found[name] = compare(claims[name][key], examples[name], claims[name]["tolerance"])
    for name in ("table_5_2_a", "table_5_2_b", "table_5_2_c"):
        for l_value, entry in results[name].items():
            ours = entry.get("ours", [])
            printed = claims[name][l_value] if ours else []
            found[f"{name}-{l_value}"] = compare(printed, ours, claims[name]["tolerance"])
    given = claims["against_anatomy"]
    for l_value in map(str, L_VALUES):
        line = results[f"l = {l_value}"]["against_given"]
        spread = {key: (each["mean"], each["deviation"]) for key, each in line.items()}
        for key, entry in held_against(given, int(l_value), spread, DRAWS).items():
            number = entry["given"]
            found[f"{key}, l = {l_value}"] = {
                "printed": number,
                "ours": entry["mean"],
                "matched": entry["matched"],
            }
    return found


L_VALUES = range(2, 8)
TWELVE = f"means of {DRAWS} releases: five standard errors"
REPRODUCTION = Reproduction(
    folder=HERE,
    parts={
        "examples": small_examples,
        **{name: optimum_part(name) for name in ("table_5_2_a", "table_5_2_b", "table_5_2_c")},
        **{f"l = {l_value}": line_part(l_value) for l_value in L_VALUES},
    },
    quick=quick,
    judge=judge,
    differs=frozenset({"table_5_2_a-3", "table_5_2_c-4", *(f"table_5_2_b-{l_value}" for l_value in "2345")}),
    moves=(
        Moves(pattern="table_5_2_* > ours > *", absolute=0.003, why="the loss is flat about its minimum"),
        Moves(pattern="table_5_2_* > loss", relative=0.002, why="the search ends at a tolerance"),
        Moves(pattern="table_5_2_* > largest_risk", absolute=1e-4, why="the search ends at a tolerance"),
        Moves(pattern="l = ? > parameters > *", absolute=0.02, why="several parameters lose nearly the same"),
        Moves(pattern="l = ? > loss", relative=0.01, why="the search ends at a tolerance"),
        Moves(
            pattern="l = ? > * > deviation",
            factor=5.6,
            absolute=0.001,
            why="a standard deviation of 12 releases: two of them differ by a factor of 5.6 once in a million (F with 11 and 11 degrees)",
        ),
        Moves(pattern="l = ? > * > chi2*", relative=0.5, why=TWELVE),
        Moves(pattern="l = ? > *", relative=0.12, absolute=0.002, why=TWELVE),
    ),
)
