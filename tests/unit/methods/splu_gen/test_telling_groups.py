"""A value whose holders live together: what the release tells of them, and what is said about it beforehand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from sfumato.custody.plan import plan
from sfumato.guarantees.small_sum_privacy import odds_factor
from sfumato.methods.splu_gen.decoy_model import DecoyModel
from sfumato.methods.splu_gen.design import SPLUGen
from sfumato.release.readme import readme_text
from sfumato.report import write_report
from sfumato.testing import release_in_memory
from telling_wards import DESIGN, GAMMA, HOLDERS, ROWS, SCHEMA, table_of, wards


def test_nothing_says_one_in_gamma_of_a_person(tmp_path):
    """Neither the manifest, nor the plan, nor the pages: it holds on average over the table and not of a person."""
    release = release_in_memory(wards(), DESIGN, seed=1)
    root = Path(__file__).parents[4]
    texts = [json.dumps(release.manifest.to_descriptor()), plan(DESIGN, SCHEMA, ROWS).summary()]
    texts += [each.read_text() for each in (root / "docs").rglob("*.md")] + [(root / "README.md").read_text()]
    false = re.compile(r"value with probability (about |of )*1\s*/\s*gamma|own value shown")
    assert not [found for text in texts for found in false.findall(text)]
    # What a release, a plan and the command line say never speaks of it at all.
    write_report(release, tmp_path / "report.html")
    texts = [*texts[:2], (tmp_path / "report.html").read_text(), readme_text(release.manifest, release.law)]
    assert not [text for text in texts if re.search(r"1\s*/\s*gamma", text)]


def test_the_promise_about_a_person_is_an_odds_factor():
    """About (N - f) / (f (gamma - 1)): 55 in this example, and 444 for a value that one person holds."""
    (promise,) = [each for each in DESIGN.guarantees(SCHEMA) if each.guarantee == "odds-factor"]
    assert promise.factor_on_average("disease", HOLDERS, ROWS) == pytest.approx(3_992 / 72)
    assert "(N - 1) / 9" in promise.sentence
    assert "(N - 8) / 72" in SPLUGen(gamma=GAMMA, suppress_rarer_than=8).guarantees(SCHEMA)[0].sentence


def test_the_plan_shows_the_telling_group_first():
    """Without the own row seven of nine hold the disease: odds of 3.5, times 55."""
    tables = plan(DESIGN, SCHEMA, ROWS, table=wards()).tables
    found = table_of(tables, "What a row tells")
    assert found.is_private
    first = dict(zip(found.columns, found.rows[0], strict=True))
    assert (first["public group"], first["rows"]) == ("ward = 'ward-0'", 10)
    assert first["highest posterior"] == pytest.approx(0.995, abs=0.002)
    assert "disease-" not in found.to_text()


def test_the_worst_factor_is_that_of_the_law_s_matrix():
    """Equal counts: every other value is alike, so it is the average one; near saturation it has no bound."""
    equal = DecoyModel(np.full(20, 200.0), GAMMA)
    average = odds_factor(200, 4_000, GAMMA)
    assert equal.largest_factors == pytest.approx(average)
    pairs = DecoyModel(np.array([499.0, 400.0, 101.0]), 2)
    assert pairs.largest_factors[2] > 20 * odds_factor(101, 1_000, 2)
    assert DecoyModel(np.array([50.0, 50.0, 0.0]), 2).largest_factors[:2].tolist() == [1, 1]
