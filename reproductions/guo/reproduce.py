"""Guo (2010): the tables of chapters 3 and 5 beside ours. Writes results.json."""

from __future__ import annotations

import datetime as dt
import json
import math
import platform
import tempfile
import tomllib
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

from sfumato import Schema, __version__, read_table
from sfumato.chance.distortion import TwoValued, contract, warner
from sfumato.data.private_table import PrivateTable
from sfumato.datasets import fetch_dataset
from sfumato.errors import GoalUnattainableError
from sfumato.guarantees.reconstruction_risk import reconstruction_risks
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.randomized_response.plan.calibrate import RiskOptimum, risk_optimum
from sfumato.methods.randomized_response.plan.goals import goal_from
from sfumato.values.arrays import Floats

HERE = Path(__file__).parent
NAMES = ("education", "marital_status", "sex", "race", "workclass")
"""The thesis's EMGRW; the last one is sensitive."""
NAMES_OF_ESGRO = ("education", "income", "sex", "race", "occupation")
"""Its ESGRO, which calls income salary."""
DRAWS = 12
"""Releases over which the comparison with Anatomy is averaged."""


def read_adult(data: Path, names: tuple[str, ...]) -> PrivateTable:
    """Complete training rows on five attributes, with the categories that occur."""
    import duckdb

    with duckdb.connect() as connection:
        rows = connection.sql(
            f"select {', '.join(names)} from read_csv('{data}', all_varchar=true) where part = 'train' and "
            "workclass is not null and occupation is not null and native_country is not null"
        ).to_arrow_table()
    attributes = {
        name: {
            "role": "sensitive" if name == names[-1] else "quasi-identifier",
            "categories": sorted(rows[name].unique().to_pylist()),
        }
        for name in names
    }
    return read_table(rows, Schema.from_dict({"attributes": attributes}))


def compare(printed: list[float], ours: list[float], tolerance: float) -> dict[str, Any]:
    """Both, and whether every number agrees."""
    largest = max(abs(a - b) for a, b in zip(printed, ours, strict=True))
    return {
        "printed": printed,
        "ours": [round(each, 5) for each in ours],
        "largest_difference": round(largest, 5),
        "matched": bool(largest <= tolerance),
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


def reproduce_optimum(claim: dict[str, Any], table: PrivateTable) -> dict[str, Any]:
    """One part of table 5.2, for l = 2 to 5."""
    result = {}
    for l_value in (2, 3, 4, 5):
        printed = claim[str(l_value)]
        printed_loss, printed_risk = loss_and_risk(table, claim["attributes"], printed)
        entry: dict[str, Any] = {
            "printed_loss": round(printed_loss, 1),
            "printed_largest_risk": round(printed_risk, 5),
            "printed_keeps_its_bound": bool(printed_risk <= 1 / l_value),
        }
        try:
            found = calibrated(table, claim["attributes"], l_value)
        except GoalUnattainableError as refusal:
            groups = sum(refusal.group_sizes.values())
            entry |= {
                "printed": printed,
                "refused": True,
                "lowest_attainable_risk": round(refusal.attainable, 5),
                "blocking_groups": groups,
                "matched": False,
            }
        else:
            diagonals = found.diagonals
            ours = [diagonals[name] for name in claim["attributes"]]
            entry |= compare(printed, ours, claim["tolerance"])
            entry |= {
                "loss": round(found.loss, 1),
                "largest_risk": round(float(found.risks().max()), 7),
                "loss_at_or_below_printed": bool(found.loss <= printed_loss),
            }
        result[str(l_value)] = entry
    return result


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
    given = claim["parameters"][str(l_value)]
    given_loss, given_risk = loss_and_risk(table, attributes, given)
    found = calibrated(table, attributes, l_value)
    as_given = design_with(table, dict(zip(attributes, given, strict=True)))
    at_given = over_draws(lambda seed: one_release(table, as_given, names, seed), draws)
    ordered = over_draws(lambda seed: one_ordered_anatomy(table, l_value, names, seed), draws)
    optimal = design_with(table, found.diagonals)
    at_optimum = over_draws(lambda seed: one_release(table, optimal, names, seed), draws)
    random_ties = Anatomy(l_value=l_value, partition="largest-first")
    ours = over_draws(lambda seed: one_release(table, random_ties, names, seed), draws)
    diagonals = found.diagonals
    return {
        "given_loss": round(given_loss, 1),
        "given_largest_risk": round(given_risk, 5),
        "parameters": [round(diagonals[name], 4) for name in attributes],
        "loss": round(found.loss, 1),
        "against_given": held_against(claim, l_value, at_given | ordered, draws),
        "randomized_response": rounded(at_optimum),
        "anatomy": rounded(ours),
    }


def main() -> None:
    """Everything, into results.json beside this file."""
    claims = tomllib.loads((HERE / "claims.toml").read_text(encoding="utf-8"))
    pair = claims["section_3_2"]
    published = np.array(pair["published"]).reshape(2, 2)
    estimated = contract(published, [warner(0.9).inverse_on_axis] * 2).ravel().tolist()
    figure = claims["figure_5_2"]
    table = np.array([[8, 16, 48], [12, 14, 2]])
    risks = [
        float(
            reconstruction_risks(table, [TwoValued(sex, 1 - sex), TwoValued(disease, (1 - disease) / 2)])[
                1, 0
            ]
        )
        for sex, disease in figure["parameters"]
    ]
    with tempfile.TemporaryDirectory() as folder:
        data = fetch_dataset("adult", Path(folder)).data
        adult = read_adult(data, NAMES)
        optima = {
            name: reproduce_optimum(claims[name], adult)
            for name in ("table_5_2_a", "table_5_2_b", "table_5_2_c")
        }
        rows = adult.number_of_rows
        esgro = read_adult(data, NAMES_OF_ESGRO)
        claim = claims["against_anatomy"]
        lines = {str(l_value): compare_with_anatomy(claim, esgro, l_value, DRAWS) for l_value in range(2, 8)}
    results = {
        "made_by": "reproductions/guo/reproduce.py",
        "versions": {"sfumato": __version__, "numpy": np.__version__, "python": platform.python_version()},
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "rows": rows,
        "section_3_2": compare(pair["estimated"], estimated, pair["tolerance"]),
        "figure_5_2": compare(figure["risks"], risks, figure["tolerance"]),
        **optima,
        "against_anatomy": {"draws": DRAWS, **lines},
    }
    (HERE / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    for name in ("section_3_2", "figure_5_2"):
        print(f"{name}: {'matched' if results[name]['matched'] else 'differs'}")
    for name, parts in optima.items():
        for l_value, entry in parts.items():
            loss = "refused" if entry.get("refused") else f"loss {entry['loss']:,.0f}"
            verdict = "matched" if entry["matched"] else "differs"
            print(f"{name} l = {l_value}: {verdict}; {loss}, printed {entry['printed_loss']:,.0f}")
    for l_value, line in lines.items():
        off = [key for key, each in line["against_given"].items() if not each["matched"]]
        print(f"against Anatomy, l = {l_value}: {'differs: ' + ', '.join(off) if off else 'matched'}")
    assert math.isclose(rows, 30_162)


if __name__ == "__main__":
    main()
