"""Numbers on pages that are measured on Adult: accuracy of tables and linking, design by design, on the rows that are bundled.

A figure is a page and the text that must stand on it, numbers filled in. One seed, fixed before the run.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import sfumato
from sfumato.attacks.linking import OutsideLinking
from sfumato.compare.trial import distances
from sfumato.custody.publish import in_memory
from sfumato.testing import release_in_memory

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "reproductions"))

Figure = tuple[str, str]
SEED = 7
DROPPED = ", 5 % dropped at most"
LINKED = "docs/attacks/outside-linking.md"
ACCURATE = "docs/methods/generalization.md"

EDUCATION = {
    "tree": {
        "no degree": {
            "up to 8th": ["Preschool", "1st-4th", "5th-6th", "7th-8th"],
            "9th to 12th": ["9th", "10th", "11th", "12th"],
        },
        "school or college": {"school": ["HS-grad"], "college": ["Some-college", "Assoc-voc", "Assoc-acdm"]},
        "university": {"Bachelor": ["Bachelors"], "beyond": ["Masters", "Prof-school", "Doctorate"]},
    }
}
"""The only hierarchy; values of the other attributes are kept or left out."""

HIERARCHIES = {"education": EDUCATION}

DESIGNS: dict[str, sfumato.Design] = {
    "randomized response, occupation kept with .5": sfumato.RandomizedResponse(retention=0.5),
    "randomized response on quasi-identifiers (Guo's optimum for l = 4)": sfumato.RandomizedResponse(
        attributes=("education", "income", "sex", "race"),
        retention={"education": 0.5712, "income": 0.842, "sex": 0.974, "race": 0.96375},
    ),
    "Anatomy, l = 4": sfumato.Anatomy(l_value=4),
    f"full-domain, k = 10, distinct l = 4{DROPPED}": sfumato.Generalization(
        k=10, search="full-domain", suppression=0.05, l_value=4, diversity="distinct", hierarchies=HIERARCHIES
    ),
    "Mondrian, k = 10, distinct l = 4": sfumato.Generalization(
        k=10, l_value=4, diversity="distinct", hierarchies=HIERARCHIES
    ),
    "Mondrian, k = 10, fraction l = 4": sfumato.Generalization(
        k=10, l_value=4, diversity="fraction", hierarchies=HIERARCHIES
    ),
    f"full-domain, k = 10, fraction l = 4{DROPPED}": sfumato.Generalization(
        k=10, search="full-domain", suppression=0.05, l_value=4, diversity="fraction", hierarchies=HIERARCHIES
    ),
}
"""By what the pages call them."""


def figures() -> Iterator[Figure]:
    """A row of each design on both pages."""
    from adult import ESGRO, read_adult
    from evidence import bundled

    with tempfile.TemporaryDirectory() as folder:
        table = in_memory(read_adult(bundled("adult", Path(folder)), ESGRO))
    *public, secret = ESGRO
    groups = np.asarray(table.count_by(ESGRO).counts, float).reshape(-1, table.schema[secret].size)
    right = groups.max(axis=1).sum() / groups.sum()
    smallest = groups.sum(axis=1)[groups.sum(axis=1) > 0].min()
    assert smallest == 1
    yield ACCURATE, f"| nothing protected | 0 | 0 | 0 | 1 | {_short(right)} |"
    yield LINKED, f"| nothing protected | 1 | {100 * right:.1f} % |"
    for name, design in DESIGNS.items():
        release = release_in_memory(table, design, seed=SEED)
        told = OutsideLinking().run(release).findings
        risk = float(str(told["prosecutor: highest risk"]))
        right = float(str(told[f"{secret}: expected right, names the likeliest value"]))
        pairs = list(itertools.combinations(public, 2))
        cells = [
            np.mean([_apart(table, release, pair) for pair in pairs]),
            np.mean([_apart(table, release, (each, secret)) for each in public]),
            _apart(table, release, ESGRO),
        ]
        distance = " | ".join("0" if each < 5e-4 else _short(each) for each in cells)
        highest = "1" if risk == 1 else f"{risk:.2g}".removeprefix("0")
        yield ACCURATE, f"| {name} | {distance} | {highest} | {_short(right)} |"
        yield LINKED, f"| {name} | {highest} | {100 * right:.1f} % |"
    frequency = groups.sum(axis=0).max() / groups.sum()
    yield ACCURATE, f"Without linking, occupation is guessed right for {_short(frequency)}."
    yield LINKED, f"the commonest occupation is held by {100 * frequency:.1f} %"


def _short(number: float) -> str:
    return f"{number:.3f}".removeprefix("0")


def _apart(table: sfumato.PrivateTable, release: sfumato.Release, names: tuple[str, ...]) -> float:
    true = np.asarray(table.count_by(list(names)).counts, float).ravel()
    found = np.asarray(release.consistent_counts(list(names)).estimates.values, float).ravel()
    return distances(true, found)["total variation"]
