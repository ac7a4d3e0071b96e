"""Pytest plugin of a trial: a failing example ends it; it is neither made smaller nor kept."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Change the profile after the project's own is loaded and before tests take their settings from it."""
    settings.register_profile("trial", settings(), database=None, phases=(Phase.explicit, Phase.generate))
    settings.load_profile("trial")
