"""What holds for all tests."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

import lent_databases
from sfumato.data import duckdb_connection as connection
from statistical import alarm_budget as _alarm_budget

# A time limit for each example would make a right build fail on a busy machine.
settings.register_profile("without a clock", deadline=None)
settings.load_profile("without a clock")

collect_ignore = ["plugins"]
"""Packages of others, which tests install; one of them is broken on purpose."""

# Taken before worker processes start, so that they inherit it.
_alarm_budget.entropy()


@pytest.fixture(autouse=True)
def _ledger_of_its_own(tmp_path_factory, monkeypatch):
    """No test touches the ledger of whoever runs it."""
    monkeypatch.setenv("SFUMATO_LEDGER", str(tmp_path_factory.getbasetemp() / "ledgers" / "unused.db"))


@pytest.fixture(scope="session", autouse=True)
def _databases_are_lent():
    """Some four thousand engines open a database each; what that itself does is tested with :func:`databases_of_their_own`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "_Opened", lent_databases.Lent)
        yield
    lent_databases.close_idle()


@pytest.fixture
def databases_of_their_own(monkeypatch):
    """Every engine opens a database and closes it, as outside of tests."""
    monkeypatch.setattr(connection, "_Opened", lent_databases._Opened)


@pytest.fixture
def signals_by_default():
    """Processes that a test starts take signals as by default, also under ``nohup`` and in the background of a script.

    What this process ignores it goes on surviving: a handler that does nothing is not handed down to a new program.
    """
    may_be = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1)
    ignored = [each for each in may_be if signal.getsignal(each) is signal.SIG_IGN]
    for each in ignored:
        signal.signal(each, lambda *_: None)
    yield
    for each in ignored:
        signal.signal(each, signal.SIG_IGN)


@pytest.fixture(scope="session")
def alarm_budget() -> ModuleType:
    """Give the module that counts random checks and turns samples into p-values."""
    return _alarm_budget


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the entropy of a fresh run, so that it can be repeated."""
    if _alarm_budget.entropy() is not None:
        terminalreporter.write_line(f"random checks: {_alarm_budget.entropy_message()}")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add the seconds of a phase of a test to a file, where one is named (``tests/minutes.py``)."""
    file = os.environ.get("SFUMATO_MINUTES")
    # Reports of workers arrive at the process that started them, which has them all.
    if file and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(file).open("a", encoding="utf-8") as opened:
            opened.write(f"{report.nodeid}\t{report.duration:.4f}\n")
