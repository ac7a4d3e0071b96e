"""Numbers in the text of pages are those that come out; tables are tables."""

from __future__ import annotations

import json
import re

import pytest

from documentation.running import ROOT
from scripts import load_script
from sfumato import ATTACKS, METHODS, compare_designs, read_table
from sfumato.compare.grid import candidate
from sfumato.custody.audit.scores import LINKABLE

FIGURES = ROOT / "docs" / "figures"
CHECK = load_script(FIGURES / "check.py")
SIMULATED = ("simulated", "calibrated", "linked")
IN_WORDS = {8: "eight", 9: "nine", 10: "ten", 11: "eleven", 12: "twelve", 13: "thirteen"}


def figures(name):
    """What a module computes."""
    return load_script(FIGURES / f"{name}.py")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in SIMULATED else name for name in CHECK.MODULES],
)
def test_numbers_of_pages_are_those_that_come_out(name):
    """Formulas, stored evidence, benchmarks and Adult at once; simulations in the slow run."""
    assert CHECK.missing(figures(name).figures()) == []


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("simulated", "believed_frequencies"),
        ("simulated", "marginals_of_buckets"),
        ("calibrated", "without_association"),
        ("linked", "towns"),
        ("linked", "diseases"),
    ],
)
def test_a_sample_of_the_simulations_comes_out(name, part):
    """The others take longer."""
    found = list(getattr(figures(name), part)())
    assert found
    assert CHECK.missing(found) == []


def test_a_number_that_is_not_on_its_page_is_told():
    """Also where lines are broken elsewhere."""
    page = "docs/attacks/averaging.md"
    assert CHECK.missing([(page, "| 1 | 0.764 |\n 0.10 |"), (page, "| 1 | 0.765 | 0.10 |")]) == [
        (page, "| 1 | 0.765 | 0.10 |")
    ]


def pages():
    """All pages with tables."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_line_of_a_table_stands_in_one(page):
    """A table has a line of dashes under its first one, and lines of as many cells."""
    text = re.sub(r"^(```+).*?^\1[ ]*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for block in re.findall(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE):
        lines = block.splitlines()
        assert len(lines) > 1, lines
        assert re.fullmatch(r"\|(?::?-+:?\|)+", lines[1].replace(" ", "")), lines[0]
        plain = [re.sub(r"`[^`]*`|\\\|", "", line).count("|") for line in lines]
        assert len(set(plain)) == 1, [
            line for line, each in zip(lines, plain, strict=True) if each != plain[0]
        ]


def test_numbers_of_members_are_told_rightly():
    """Of attacks and of methods, on the first page of each."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"**[{IN_WORDS[len(ATTACKS.members)]}](docs/attacks/index.md)**" in readme
    assert f"by one of {IN_WORDS[len(METHODS.members)]} methods" in readme
    index = (ROOT / "docs" / "methods" / "index.md").read_text(encoding="utf-8")
    assert f"{IN_WORDS[len(METHODS.members)].capitalize()} ways to publish." in index


@pytest.mark.slow
def test_the_comparison_on_adult_comes_out_as_it_was_kept(tmp_path):
    """Two of its designs on the first of its splits, from the rows on: the same splits, draws, attacks and questions.

    The page of audits has the same designs on the first three splits.
    """
    script = load_script(ROOT / "benchmarks" / "adult_frontier.py")
    kept = json.loads((ROOT / "docs" / "adult_frontier.json").read_text(encoding="utf-8"))["first split"]
    assert kept.keys() == set(script.CHECKED)
    data, schema = script.prepare(tmp_path / "adult")
    designs = [candidate("randomized-response", {"retention": 0.5}), candidate("splu-gen", {"gamma": 4})]
    found = compare_designs(
        read_table(data, schema),
        tmp_path / "comparison",
        candidates=designs,
        sensitive="occupation",
        queries=1_000,
        repeats=3,
        seed=18,
        workers=0,
    )
    for each in (each for each in found.outcomes if each.repeat == 0):
        ours = [each.present[LINKABLE], each.absent[LINKABLE], each.numbers["error"]]
        assert ours == pytest.approx(list(kept[each.label].values()), rel=1e-6)
    audited = load_script(ROOT / "docs" / "audit_figures.py")
    page = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    for name, point in zip(("randomized response .5", "decoys 4"), found.points, strict=True):
        assert audited.row(name, point) in page
