"""The experiments of Han (2016), section 3.4, on make-believe census tables with the domains of EDU, OCC and SALARY.

The thesis's extracts are not free. The census generator has their attributes with as many values each; its frequencies and
dependencies are its own, so that what the text says of kinds and orders can be held against it, and magnitudes need not agree.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.attacks.ratio import GroupCounts, disclosures_in_counts
from sfumato.datasets.census_population import CATEGORIES, ROWS_PER_BLOCK, prepare_drawing
from sfumato.randomness.noise import Laplace

ROWS = 500_000
SEED = 1
EPSILONS = (2, 1, 0.5, 0.1, 0.01)
EXTRACTS = {
    "EDU": (("sex", "occupation", "marital", "race"), "education"),
    "OCC": (("sex", "education", "marital", "race"), "occupation"),
    "SALARY": (("sex", "education", "marital", "race", "workclass", "country"), "salary"),
}
SURE = 0.99
"""What "nearly 100 %" is read as."""

Codes = dict[str, npt.NDArray[np.int64]]


def draw_rows(rows: int) -> Codes:
    """Codes of the generated census, attribute by attribute."""
    drawing = prepare_drawing()
    blocks = [drawing.draw_block(seed=SEED, block=number) for number in range(-(-rows // ROWS_PER_BLOCK))]
    return {
        name: np.concatenate([block[name] for block in blocks])[:rows].astype(np.int64) for name in CATEGORIES
    }


def counts_of(codes: Codes, names: tuple[str, ...]) -> npt.NDArray[np.float64]:
    """How many rows have each combination, the last attribute's values side by side; combinations that nobody has too."""
    sizes = [len(CATEGORIES[name]) for name in names]
    cells = np.ravel_multi_index([codes[name] for name in names], sizes)
    found = np.bincount(cells, minlength=int(np.prod(sizes)))
    return found.reshape(-1, sizes[-1]).astype(np.float64)


def personal_groups(codes: Codes, names: tuple[str, ...], sensitive: str) -> GroupCounts:
    """Rows that are equal on all public attributes, where there are any."""
    sizes = [len(CATEGORIES[name]) for name in names]
    _, group = np.unique(np.ravel_multi_index([codes[name] for name in names], sizes), return_inverse=True)
    values = len(CATEGORIES[sensitive])
    parts = np.bincount(group * values + codes[sensitive], minlength=(int(group.max()) + 1) * values)
    parts = parts.reshape(-1, values).astype(np.float64)
    return GroupCounts(parts, parts.sum(axis=1), parts.sum(axis=0) / parts.sum())


def scan(codes: Codes, names: tuple[str, ...], sensitive: str) -> dict[str, Any]:
    """Disclosures in personal groups and in published cells, and the expected error of what is published, by epsilon."""
    pairs = list(itertools.combinations(names, 2))
    sensitivity = 4 * len(pairs)
    with_sensitive = [counts_of(codes, (*pair, sensitive)) for pair in pairs]
    published = np.concatenate([np.concatenate([each.ravel(), each.sum(axis=1)]) for each in with_sensitive])
    parts = np.concatenate(with_sensitive)
    overall = with_sensitive[0].sum(axis=0)
    cells = GroupCounts(parts, parts.sum(axis=1), overall / overall.sum())
    groups = personal_groups(codes, names, sensitive)
    rows = int(overall.sum())
    error = 1 / np.maximum(published, 1e-4 * rows)
    in_groups = {
        epsilon: disclosures_in_counts(groups, Laplace(scale=sensitivity / epsilon)) for epsilon in EPSILONS
    }
    at_half = in_groups[0.5]
    jumps = at_half.jump[at_half.is_disclosed & (at_half.closeness + at_half.uncertainty >= SURE)]
    return {
        "sensitivity": sensitivity,
        "personal groups": len(groups.groups),
        "disclosures in personal groups": {str(key): each.number for key, each in in_groups.items()},
        "disclosures in published cells": {
            str(epsilon): disclosures_in_counts(cells, Laplace(scale=sensitivity / epsilon)).number
            for epsilon in EPSILONS
        },
        "at 0.5: largest jump of those that are nearly sure": float(jumps.max()) if jumps.size else 0.0,
        "at 0.5: nearly sure with a jump above 20": int(np.count_nonzero(jumps > 20)),
        "expected error, cells with rows": {
            str(epsilon): float(sensitivity / epsilon * error[published > 0].mean()) for epsilon in EPSILONS
        },
        "expected error, all cells": {
            str(epsilon): float(sensitivity / epsilon * error.mean()) for epsilon in EPSILONS
        },
    }


def scan_extracts(rows: int = ROWS) -> dict[str, Any]:
    """All three."""
    codes = draw_rows(rows)
    return {"rows": rows} | {title: scan(codes, *chosen) for title, chosen in EXTRACTS.items()}


def holds(claim: dict[str, Any], results: dict[str, Any]) -> tuple[Any, bool]:
    """Our numbers for one claim on the extracts, and whether it holds of them."""
    extracts = [results[name] for name in claim["extracts"]]
    key = str(claim.get("epsilon", ""))
    match claim["kind"]:
        case "some disclosed":
            numbers = [each["disclosures in personal groups"][key] for each in extracts]
            return numbers, all(number > 0 for number in numbers)
        case "none disclosed":
            numbers = [each["disclosures in personal groups"][key] for each in extracts]
            return numbers, not any(numbers)
        case "jumps":
            numbers = [each["at 0.5: nearly sure with a jump above 20"] for each in extracts]
            return numbers, all(number >= claim["several"] for number in numbers)
        case "error":
            numbers = [each["expected error, cells with rows"][key] for each in extracts]
            factors = [ours / said for ours, said in zip(numbers, claim["said"], strict=True)]
            return numbers, all(1 / claim["factor"] <= each <= claim["factor"] for each in factors)
        case "error at most":
            numbers = [each["expected error, cells with rows"][key] for each in extracts]
            return numbers, all(number <= claim["said"] for number in numbers)
    raise ValueError(claim["kind"])
