"""Every entry of docs/errata.md says what, why and what instead, and leads to a test that exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "errata.md"
FIELDS = ("Printed", "Wrong", "Corrected", "Shown by")
LINK = re.compile(r"\[`(test_\w+)`\]\((\.\./tests/[\w/]+\.py)\)")


def entries(text):
    """Title and body of each entry."""
    parts = re.split(r"^### (.+)$", text, flags=re.MULTILINE)
    return {title: body.split("\n## ")[0] for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def names_in(path):
    """Names of the tests in a file."""
    return {
        each.name
        for each in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(each, ast.FunctionDef)
    }


def faults(text):
    """What is missing, entry by entry."""
    found = []
    for title, body in entries(text).items():
        found += [f"{title}: no {field}" for field in FIELDS if f"- **{field}" not in body]
        shown = body.split("- **Shown by:**")[-1].split("\n")[0] if "Shown by" in body else ""
        links = LINK.findall(shown)
        found += [] if links else [f"{title}: no test"]
        for name, target in links:
            path = (PAGE.parent / target).resolve()
            if not path.is_file() or name not in names_in(path):
                found.append(f"{title}: {name} is not in {target}")
    return found


TEXT = PAGE.read_text(encoding="utf-8")


def test_no_entry_lacks_a_part_or_a_test():
    """Claim with its place, reason, correction, counterexample."""
    assert faults(TEXT) == []
    assert all(re.search(r"\*\*Printed\*\* \(.+?\):", body) for body in entries(TEXT).values())


@pytest.mark.parametrize(
    ("work", "number"), [("Guo", 31), ("Han", 22), ("Fu", 15), ("Mothali", 25), ("Li", 16)]
)
def test_entries_are_numbered_by_work(work, number):
    """So that other pages can name them."""
    found = [title.split(":")[0] for title in entries(TEXT) if title.startswith(f"{work} ")]
    assert found == [f"{work} {place}" for place in range(1, number + 1)]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("(../tests/errata/test_li.py)", "(../tests/errata/test_nobody.py)", "is not in"),
        ("`test_g_square_counts_the_rows`", "`test_that_is_not_there`", "is not in"),
        ("- **Corrected:** times N.\n", "", "no Corrected"),
        ("- **Shown by:** [`test_g_square_counts_the_rows`](../tests/errata/test_guo.py)\n", "", "no test"),
    ],
)
def test_a_spoiled_page_is_noticed(old, new, fault):
    """A missing part, a test that does not exist, a file that does not."""
    assert old in TEXT
    assert any(fault in each for each in faults(TEXT.replace(old, new, 1)))


@pytest.mark.parametrize("work", ["guo", "han", "fu", "mothali", "li"])
def test_every_counterexample_is_on_the_page(work):
    """A test here that no entry names would be found by nobody."""
    shown = {name for name, _ in LINK.findall(TEXT)}
    tests = {
        name for name in names_in(Path(__file__).with_name(f"test_{work}.py")) if name.startswith("test_")
    }
    assert tests <= shown
