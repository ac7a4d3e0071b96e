"""What holds for all tests."""

from __future__ import annotations

import pytest
from hypothesis import settings

# A time limit for each example would make a right build fail on a busy machine.
settings.register_profile("without a clock", deadline=None)
settings.load_profile("without a clock")


@pytest.fixture(autouse=True)
def _ledger_of_its_own(tmp_path_factory, monkeypatch):
    """No test touches the ledger of whoever runs it."""
    monkeypatch.setenv("SFUMATO_LEDGER", str(tmp_path_factory.getbasetemp() / "ledgers" / "unused.db"))
