"""One mutant against its tests, in a process of its own that starts from a warm one.

Nothing is written and no tree is copied: the mutated module is compiled in memory and given to the import of
the child process. The parent never imports sfumato, so that a child imports all of it with the mutant inside.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import CodeType, ModuleType
from typing import TypeVar

from mutants.mutations import Mutation
from mutants.reaching import Chosen
from mutants.rooms import ROOT, module_name

# Loaded once in the parent; a child inherits them.
WARM = ("pytest", "hypothesis", "numpy", "scipy.stats", "scipy.optimize", "pydantic", "pyarrow", "duckdb")
MEMORY = 8 * 2**30
# Endless loops are stopped by their own processor time, which a busy machine does not stretch.
SECONDS_AT_LEAST = 10
TIMES_THE_BASELINE = 4
# A process that waits for ever uses no processor time.
WALL_TIMES_PROCESSOR = 20
SECONDS_BETWEEN_LOOKS = 0.02
NO_TESTS = 5
"""Pytest's exit code where nothing was collected."""


class Outcome(Enum):
    """What the tests did with a mutant."""

    SURVIVED = "survived"
    KILLED = "killed"
    ENDLESS = "killed by the clock"


@dataclass(frozen=True)
class Trial:
    """One run of some tests, with or without a mutant."""

    tests: tuple[Path, ...]
    mutation: Mutation | None = None
    seconds: float = 600
    """Processor seconds it may use."""
    chosen: tuple[str, ...] | None = None
    """Only these of the tests, in this order; all as they stand when not given."""


Key = TypeVar("Key")


def run(trials: dict[Key, Trial], jobs: int) -> Iterator[tuple[Key, Outcome, float]]:
    """Run trials, as many at once as there are jobs; each as it ends, with the processor seconds it used."""
    waiting = list(trials.items())[::-1]
    running: dict[int, tuple[Key, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            key, trial = waiting.pop()
            running[_start(trial)] = key, time.monotonic() + WALL_TIMES_PROCESSOR * trial.seconds
        time.sleep(SECONDS_BETWEEN_LOOKS)
        for process, (key, end) in list(running.items()):
            if time.monotonic() > end:
                os.kill(process, signal.SIGKILL)
            ended, status, used = os.wait4(process, os.WNOHANG)
            if ended:
                del running[process]
                yield key, outcome_of(os.waitstatus_to_exitcode(status)), used.ru_utime + used.ru_stime


def warm_up() -> None:
    """Import what every child needs and no mutant changes."""
    for name in WARM:
        importlib.import_module(name)


def outcome_of(code: int) -> Outcome:
    """What an exit code says."""
    # Where no test was there to run, none has seen anything.
    if code in {0, NO_TESTS}:
        return Outcome.SURVIVED
    # A signal ends what uses up its time.
    return Outcome.ENDLESS if code < 0 else Outcome.KILLED


def _start(trial: Trial) -> int:
    """The child process that runs a trial; its exit code is that of the tests."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            code = _run_tests(trial)
        finally:
            os._exit(code)
    return process


def _run_tests(trial: Trial) -> int:
    limit = int(trial.seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if trial.mutation is not None:
        sys.meta_path.insert(0, MutantFinder(trial.mutation))
    return run_pytest(trial.tests, [] if trial.chosen is None else [Chosen(trial.chosen)])


def run_pytest(tests: Iterable[Path], plugins: Sequence[object]) -> int:
    """Pytest's exit code, of a process that says nothing."""
    import pytest

    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "src"))
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    options = [
        *("-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "--assert=plain", "--tb=no"),
        # The same examples each time, and none kept for the next run.
        *("--hypothesis-seed=0", "-p", "mutants.quick_examples"),
    ]
    return int(pytest.main([*options, *map(str, tests)], plugins=list(plugins)))


class MutantFinder(importlib.abc.MetaPathFinder):
    """Finds one module, with its slip in it, before anyone else does."""

    def __init__(self, mutation: Mutation) -> None:
        self._name = module_name(Path(mutation.file))
        self._path = ROOT / mutation.file
        self._mutation = mutation

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The mutated module where it is asked for."""
        del path, target
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(
            fullname, self._path, loader=_MutantLoader(fullname, str(self._path), self._code)
        )

    def _code(self) -> CodeType:
        tree = ast.parse(self._path.read_text(encoding="utf-8"))
        return compile(self._mutation.applied_to(tree), self._path, "exec")


class _MutantLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, code: Callable[[], CodeType]) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        del fullname
        return self._code()
