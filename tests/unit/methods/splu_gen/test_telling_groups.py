"""A value whose holders live together: what the release tells of them, and what is said about it beforehand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from sfumato.attacks.small_sum import SmallSum
from sfumato.custody.plan import plan
from sfumato.data.coded_rows import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.methods.splu_gen.design import SPLUGen
from sfumato.testing import in_memory, release_in_memory
from sfumato.values.schema import Schema

WARDS, RARE, HOLDERS, GAMMA = 400, 20, 8, 10
SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "ward": {"role": "quasi-identifier", "categories": [f"ward-{each}" for each in range(WARDS)]},
            "sex": {"role": "quasi-identifier", "categories": ["Female", "Male"]},
            "disease": {"role": "sensitive", "categories": [f"disease-{each}" for each in range(RARE + 1)]},
        }
    }
)
ROWS = 10 * WARDS
DESIGN = SPLUGen(gamma=GAMMA)


def wards():
    """Four hundred wards of ten; eight of the ten people of the first hold a disease that nobody else has."""
    codes = {
        "ward": np.repeat(np.arange(WARDS), 10).astype(np.uint16),
        "sex": (np.arange(ROWS) % 2).astype(np.uint8),
        "disease": (np.arange(ROWS) * 7 % RARE).astype(np.uint8),
    }
    codes["disease"][:HOLDERS] = RARE
    return in_memory(PrivateTable(CodedRows(SCHEMA, codes), SCHEMA))


def table_of(tables, start):
    """The table whose title begins so."""
    (found,) = [each for each in tables if each.title.startswith(start)]
    return found


@pytest.mark.xfail(strict=True, reason="the weakness in every manifest says 1/gamma of a person")
def test_nothing_says_one_in_gamma_of_a_person():
    """Neither the manifest, nor the plan, nor the pages: it holds on average over the table and not of a person."""
    release = release_in_memory(wards(), DESIGN, seed=1)
    root = Path(__file__).parents[4]
    texts = [json.dumps(release.manifest.to_descriptor()), plan(DESIGN, SCHEMA, ROWS).summary()]
    texts += [each.read_text() for each in (root / "docs").rglob("*.md")] + [(root / "README.md").read_text()]
    false = re.compile(r"value with probability (about |of )*1\s*/\s*gamma|own value shown")
    assert not [found for text in texts for found in false.findall(text)]


@pytest.mark.xfail(strict=True, reason="no promise is about a person")
def test_the_promise_about_a_person_is_an_odds_factor():
    """About (N - f) / (f (gamma - 1)): 55 in this example, and 444 for a value that one person holds."""
    (promise,) = [each for each in DESIGN.guarantees(SCHEMA) if each.guarantee == "odds-factor"]
    assert promise.factor_on_average("disease", HOLDERS, ROWS) == pytest.approx(3_992 / 72)
    assert "(N - 1) / 9" in promise.sentence
    assert "(N - 8) / 72" in SPLUGen(gamma=GAMMA, suppress_rarer_than=8).guarantees(SCHEMA)[0].sentence


@pytest.mark.xfail(strict=True, reason="a plan knows no public groups")
def test_the_plan_shows_the_telling_group_first():
    """Without the own row seven of nine hold the disease: odds of 3.5, times 55."""
    tables = plan(DESIGN, SCHEMA, ROWS, table=wards()).tables
    found = table_of(tables, "What a row tells")
    assert found.is_private
    first = dict(zip(found.columns, found.rows[0], strict=True))
    assert (first["public group"], first["rows"]) == ("ward = 'ward-0'", 10)
    assert first["highest posterior"] == pytest.approx(0.995, abs=0.002)
    assert "disease-" not in found.to_text()


@pytest.mark.xfail(strict=True, reason="the attack knows no public groups")
def test_the_attack_finds_the_telling_group_and_is_right():
    """Over releases in which two of the ward's rows show the disease: it is named first, and both rows are true."""
    table = wards()
    telling = right = 0
    for seed in range(40):
        release = release_in_memory(table, DESIGN, seed=seed)
        result = SmallSum(trials=10, largest_number_of_attributes=1).run(release)
        found = table_of(result.tables, "What a row tells")
        first = dict(zip(found.columns, found.rows[0], strict=True))
        if first["posterior"] > 0.8:
            telling += 1
            right += first["public group"] == "ward = 'ward-0'"
    assert telling >= 5
    assert right >= 0.8 * telling
