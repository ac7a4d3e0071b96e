"""Entries of the coverage matrix for its own tests."""

from __future__ import annotations

from coverage_matrix.entries import Entry, Key
from coverage_matrix.settings import SETTINGS

RESPONSE = SETTINGS[0]
JOINT = Key("joint", "table", "10-99")
GOOD = Entry(
    answers=20_000, certain=0, wrong=0, intervals=20_000, coverage=0.951, coverage_error=0.0015, below=0.025,
    above=0.024, cut=0.0, spread=1.01, spread_error=0.01,
)  # fmt: skip
"""Covers what it says."""
