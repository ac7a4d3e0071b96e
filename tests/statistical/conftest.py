"""Gives the statistical tests their alarm budget.

Test files are imported on their own and cannot import their neighbours; the fixture
``alarm_budget`` is the module ``alarm_budget.py`` beside this file.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def _load_alarm_budget() -> ModuleType:
    path = Path(__file__).with_name("alarm_budget.py")
    spec = importlib.util.spec_from_file_location("sfumato_alarm_budget", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name while they are made.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_alarm_budget = _load_alarm_budget()
# Taken before worker processes start, so that they inherit it.
_alarm_budget.entropy()


@pytest.fixture(scope="session")
def alarm_budget() -> ModuleType:
    """Give the module that counts random checks and turns samples into p-values."""
    return _alarm_budget


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the entropy of a fresh run, so that it can be repeated."""
    if _alarm_budget.entropy() is not None:
        terminalreporter.write_line(f"tests/statistical: {_alarm_budget.entropy_message()}")
