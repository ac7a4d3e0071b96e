"""The page of promises says what its script finds."""

from __future__ import annotations

from pathlib import Path

from scripts import load_script
from sfumato.guarantees import GUARANTEES

ROOT = Path(__file__).parents[2]


def test_every_promise_is_attacked_and_the_page_has_the_numbers():
    """The attacks are seeded or exhaustive, so that running them again gives the page; a promise more needs a row."""
    script = load_script(ROOT / "docs" / "attack_promises.py")
    assert set(script.attacked()) == set(GUARANTEES.members)
    assert script.table() in (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")


def test_the_attack_that_breaks_a_probability_is_among_them():
    """Every row of the telling ward that shows its value is true, while one row in ten shows its own."""
    script = load_script(ROOT / "docs" / "attack_promises.py")
    right, shown, own = script.wards()
    assert right == shown >= 30
    assert abs(own - 0.1) < 0.01
