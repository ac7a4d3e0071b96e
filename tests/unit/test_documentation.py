"""The documentation says what is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.attacks import ATTACKS
from sfumato.methods.base import METHODS

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("script", ["generate.py", "scale.py"])
def test_tables_of_pages_are_up_to_date(script):
    """They are made from declarations and from what was measured, never by hand."""
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / script, "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", list(METHODS.members))
def test_every_method_has_a_page_that_names_its_parameters(name):
    """With promise and weaknesses on it."""
    page = (ROOT / "docs" / "methods" / f"{name}.md").read_text()
    for parameter in METHODS.members[name].model_fields:
        assert parameter == "method" or f"`{parameter}`" in page, parameter
    assert "eakness" in page
    assert "romise" in page


@pytest.mark.parametrize("name", list(ATTACKS.members))
def test_every_attack_has_a_page(name):
    """Which says what the attacker knows."""
    assert (ROOT / "docs" / "attacks" / f"{name}.md").is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    """Relative links only; what is outside is not looked at."""
    for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target
