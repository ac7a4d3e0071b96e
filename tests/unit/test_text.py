"""Numbers as they are written into TOML."""

from __future__ import annotations

import tomllib

import pytest

from sfumato.text import toml_value


@pytest.mark.parametrize("number", [0, -17, 2**40 * 10**400, 17.0, 25.5, 1e15, 1e300, -1e-7])
def test_every_number_reads_back_as_itself(number):
    """Whole numbers too that are larger than any fraction can be."""
    assert tomllib.loads(f"x = {toml_value(number)}")["x"] == number
