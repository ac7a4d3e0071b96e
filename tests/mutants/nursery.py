"""Many mutants in one process that has imported and collected everything, each in a fork of it.

A mutant of the body of a function is put into the function that is there already, wherever it is referred to; nothing
is imported again, and a mutant costs no more than the tests that see it. What is done while modules are imported
(constants, defaults, class bodies) cannot be changed so late: such mutants are told apart by :func:`changed_functions`.
"""

from __future__ import annotations

import ast
import functools
import gc
import inspect
import itertools
import os
import resource
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from mutants.mutations import Mutation
from mutants.reaching import Recorder
from mutants.rooms import ROOT

MEMORY = 8 * 2**30
# A process that waits for ever uses no processor time.
WALL_TIMES_PROCESSOR = 20
SECONDS_BETWEEN_LOOKS = 0.005
LARGEST_SECONDS = 1_000
NOT_THERE = 99
"""Exit code where no function that is alive has a place for a mutant."""
COMPREHENSIONS = frozenset(["<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"])

Functions = Mapping[tuple[str, str, int], list[FunctionType]]
"""Functions by file, name and first line."""
Plan = Callable[[Sequence[str]], Mapping[int, "Task"] | None]
"""Gives numbered tasks, when it is told which tests there are; None to stop."""


@dataclass(frozen=True)
class Task:
    """Some tests, in this order, with a mutant in a function's body or a record of the lines they run."""

    tests: tuple[str, ...]
    mutation: Mutation | None = None
    record: Path | None = None
    seconds: float = LARGEST_SECONDS


class Nursery:
    """Pytest plugin: instead of running what was collected, runs tasks, each in a fork.

    Parameters
    ----------
    plans
        One after the other.
    folder
        For what tests write.
    jobs
        Processes at once.
    tell
        Is given number and exit code of every task that has ended; negative where a signal ended it.
    """

    def __init__(
        self, plans: Sequence[Plan], folder: Path, jobs: int, tell: Callable[[int, int], None]
    ) -> None:
        self._plans = plans
        self._folder = folder
        self._jobs = jobs
        self._tell = tell
        self._caches: list[Any] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """All tasks of all plans."""
        items = {each.nodeid: each for each in session.items}
        functions = _functions()
        self._caches = _caches()
        # Objects that are there are not looked at again, so that forks share them.
        gc.freeze()
        for plan in self._plans:
            tasks = plan(tuple(items))
            if tasks is None:
                break
            self._run(session, items, functions, tasks)
        return True

    def _run(
        self,
        session: pytest.Session,
        items: Mapping[str, pytest.Item],
        functions: Functions,
        tasks: Mapping[int, Task],
    ) -> None:
        waiting = list(tasks.items())[::-1]
        running: dict[int, tuple[int, float]] = {}
        while waiting or running:
            while waiting and len(running) < self._jobs:
                number, task = waiting.pop()
                process = os.fork()
                if process == 0:
                    self._in_fork(session, items, functions, task, self._folder / str(number))
                running[process] = number, time.monotonic() + WALL_TIMES_PROCESSOR * task.seconds
            time.sleep(SECONDS_BETWEEN_LOOKS)
            for process, (number, end) in list(running.items()):
                if time.monotonic() > end:
                    os.kill(process, signal.SIGKILL)
                ended, status = os.waitpid(process, os.WNOHANG)
                if ended:
                    del running[process]
                    shutil.rmtree(self._folder / str(number), ignore_errors=True)
                    self._tell(number, os.waitstatus_to_exitcode(status))

    def _in_fork(
        self,
        session: pytest.Session,
        items: Mapping[str, pytest.Item],
        functions: Functions,
        task: Task,
        folder: Path,
    ) -> None:
        code = 1
        try:
            limit = int(task.seconds) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            # Processes at once must not share, nor leave behind, what tests write.
            session.config._tmp_path_factory._given_basetemp = folder
            if task.mutation is not None and not put_in(task.mutation, functions):
                code = NOT_THERE
            else:
                # What was remembered while tests were collected was computed without the slip.
                _forget(self._caches)
                code = _run(session, [items[each] for each in task.tests], task.record, self._caches)
        finally:
            os._exit(code)


def _forget(caches: Sequence[Any]) -> None:
    for each in caches:
        each.cache_clear()


def _run(
    session: pytest.Session, items: Sequence[pytest.Item], record: Path | None, caches: Sequence[Any]
) -> int:
    recorder = None if record is None else Recorder(record)
    if recorder is not None:
        session.config.pluginmanager.register(recorder)
        recorder.start()
    for item, following in itertools.pairwise([*items, None]):
        assert item is not None
        if recorder is not None:
            # Else only the first test of all that use a remembered number would be seen to compute it.
            _forget(caches)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            if record is not None:
                record.with_suffix(".failed").write_text(item.nodeid, encoding="utf-8")
            return 1
    if recorder is not None:
        recorder.finish()
    return 0


def _functions() -> dict[tuple[str, str, int], list[FunctionType]]:
    """Every function of the package that is alive, by where it was written, under decorators too."""
    found: dict[tuple[str, str, int], list[FunctionType]] = {}
    for each in gc.get_objects():
        if isinstance(each, FunctionType):
            found.setdefault(_place(each.__code__), []).append(each)
    return found


def _caches() -> list[Any]:
    """Every function of the package that remembers what it gave."""
    return [
        each
        for each in gc.get_objects()
        if isinstance(each, functools._lru_cache_wrapper) and each.__module__.startswith("sfumato")
    ]


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def put_in(mutation: Mutation, functions: Functions) -> bool:
    """Give the functions that are alive the body with the slip; whether there were any."""
    found = [
        (function, code)
        for code in changed_functions(mutation) or ()
        for function in functions.get(_place(code), ())
    ]
    for function, code in found:
        function.__code__ = code
    return bool(found)


def changed_functions(mutation: Mutation) -> list[CodeType] | None:
    """Code of the outermost functions that a mutation changes; None when it changes what importing does."""
    path = ROOT / mutation.file
    tree = ast.parse(path.read_text(encoding="utf-8"))
    # A slip may be one that no compiler takes.
    with suppress(SyntaxError, ValueError):
        before, after = (compile(each, str(path), "exec") for each in (tree, mutation.applied_to(tree)))
        if not _differs_outside(before, after):
            pairs = zip(_outermost(before), _outermost(after), strict=True)
            return [new for old, new in pairs if old != new]
    return None


def _differs_outside(before: CodeType, after: CodeType) -> bool:
    """Whether what a module or a class body does by itself has changed."""
    if before.co_code != after.co_code or before.co_names != after.co_names:
        return True
    if len(before.co_consts) != len(after.co_consts):
        return True
    for old, new in zip(before.co_consts, after.co_consts, strict=True):
        if isinstance(old, CodeType) != isinstance(new, CodeType):
            return True
        if not isinstance(old, CodeType):
            if (type(old), repr(old)) != (type(new), repr(new)):
                return True
        elif not _is_function(old) and _differs_outside(old, new):
            return True
    return False


def _outermost(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if _is_function(each):
                yield each
            else:
                yield from _outermost(each)


def _is_function(code: CodeType) -> bool:
    """Functions keep their variables for themselves, bodies of classes do not; comprehensions run where they stand."""
    return bool(code.co_flags & inspect.CO_OPTIMIZED) and code.co_name not in COMPREHENSIONS
