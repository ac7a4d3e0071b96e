"""What the tests make of many mutants: first those that run the mutated statement, then all others of its file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mutants.mutations import Mutation
from mutants.nursery import NOT_THERE, Nursery, Task, changed_functions
from mutants.reaching import Reach, read
from mutants.rooms import PACKAGE, ROOT
from mutants.scores import say, shown
from mutants.trial import (
    SECONDS_AT_LEAST,
    TIMES_THE_BASELINE,
    Outcome,
    Trial,
    outcome_of,
    run,
    run_pytest,
    warm_up,
)

PROGRESS_EVERY = 25
REMEMBERED = "outcomes.txt"


class BrokenTestsError(Exception):
    """Tests that fail without a mutant."""


@dataclass(frozen=True)
class Bench:
    """How mutants are tried.

    Parameters
    ----------
    tests
        Of each file.
    folder
        For what is written while they run.
    kept
        Where the lines that tests run are kept, each file of tests once while it is the same, and where only near tests are
        tried, all sources too; and what became of mutants, while all sources and the tests of their file are the same, so
        that a run that was stopped goes on.
    jobs
        Processes at once.
    is_near_only
        Whether mutants that the tests of their statement let through are tried by no others.
    """

    tests: Mapping[str, tuple[Path, ...]]
    folder: Path
    kept: Path
    jobs: int
    is_near_only: bool = False

    def outcomes(self, some: Sequence[Mutation]) -> list[Outcome]:
        """What the tests do with each mutant.

        Raises
        ------
        BrokenTestsError
            When they fail without one.
        """
        self.kept.mkdir(parents=True, exist_ok=True)
        known = self._remembered()
        left = [each for each in some if self._key(each) not in known]
        if left:
            warm_up()
            known |= {self._key(each): outcome for each, outcome in zip(left, self._tried(left), strict=True)}
        outcomes = [known[self._key(each)] for each in some]
        for each, outcome in zip(some, outcomes, strict=True):
            if outcome is Outcome.SURVIVED:
                say(f"survivor: {shown(each)}")
        return outcomes

    def _tried(self, some: Sequence[Mutation]) -> list[Outcome]:
        found = {number: outcome_of(code) for number, code in self._in_nursery(some).items()}
        reach = self._reach()
        near = [self._near(each, reach) for each in some]
        # What is done on importing is tried by importing.
        again = [number for number in range(len(some)) if number not in found and near[number]]
        found |= self._imported(some, {number: near[number] for number in again}, reach)
        left = [
            number for number in range(len(some)) if found.get(number, Outcome.SURVIVED) is Outcome.SURVIVED
        ]
        if not self.is_near_only:
            rest = {number: self._others(some[number], near[number], reach) for number in left}
            found |= self._imported(some, {number: tests for number, tests in rest.items() if tests}, reach)
        return [found.get(number, Outcome.SURVIVED) for number in range(len(some))]

    @cached_property
    def _sources(self) -> str:
        """Of everything that a mutant is imported with."""
        digest = hashlib.sha256()
        for path in sorted((ROOT / PACKAGE).rglob("*.py")):
            digest.update(path.read_bytes())
        return digest.hexdigest()

    @cached_property
    def _digests(self) -> dict[Path, str]:
        return {file: _digest(file) for file in set().union(*self.tests.values())}

    def _key(self, mutation: Mutation) -> str:
        tests = [self._digests[each] for each in self.tests[mutation.file]]
        told = [*mutation.identity, mutation.line, self._sources, tests, self.is_near_only]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def _remembered(self) -> dict[str, Outcome]:
        path = self.kept / REMEMBERED
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return {key: Outcome[name] for key, name in map(json.loads, lines)}

    def _remember(self, mutation: Mutation, outcome: Outcome) -> None:
        # Whoever survives the tests of its statement is tried by others, unless these are left out.
        if outcome is Outcome.SURVIVED and not self.is_near_only:
            return
        with (self.kept / REMEMBERED).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps([self._key(mutation), outcome.name]) + "\n")

    def _near(self, mutation: Mutation, reach: Reach) -> list[str]:
        """Tests that run a mutant's statement; what is done on importing, all, those that run anything of its file first."""
        tests = self.tests[mutation.file]
        if changed_functions(mutation) is not None:
            return reach.tests_of(mutation.file, mutation.lines, tests)
        # A bound that a field is declared with, or a constant that another module takes, is used without any line of the file.
        first = reach.tests_of(mutation.file, reach.tests_of_lines.get(mutation.file, ()), tests)
        return [*first, *self._others(mutation, first, reach)]

    def _others(self, mutation: Mutation, near: Sequence[str], reach: Reach) -> list[str]:
        """All tests of a mutant's file but some; all of them where importing computes what a mutant changes."""
        tests = reach.all_of(self.tests[mutation.file])
        tried = set(near)
        return [each for each in tests if each not in tried]

    def _imported(
        self, some: Sequence[Mutation], chosen: Mapping[int, Sequence[str]], reach: Reach
    ) -> dict[int, Outcome]:
        trials = {}
        for number, tests in chosen.items():
            files = tuple(dict.fromkeys(Path(test.split("::")[0]) for test in tests))
            trials[number] = Trial(files, some[number], _seconds(tests, reach), tuple(tests))
        found = {}
        for done, (number, outcome, _) in enumerate(run(trials, self.jobs), start=1):
            found[number] = outcome
            self._remember(some[number], outcome)
            if not done % PROGRESS_EVERY:
                say(f"{done} of {len(trials)} by importing")
        return found

    @cached_property
    def _records(self) -> dict[Path, Path]:
        # Tests import modules by their names; doctests, collected after them, then find these and make no copies.
        files = sorted(set().union(*self.tests.values()), key=lambda file: (file.is_relative_to("src"), file))
        # Lines of sources that were changed since are others. Where all tests are tried in the end that costs time alone;
        # where only those near are, the right ones would be missed and a mutant be called a survivor.
        of_sources = f"-{self._sources[:32]}" if self.is_near_only else ""
        return {file: self.kept / f"{_digest(file)}{of_sources}.json" for file in files}

    def _reach(self) -> Reach:
        return read(path for path in self._records.values() if path.exists())

    def _in_nursery(self, some: Sequence[Mutation]) -> dict[int, int]:
        """Exit codes of the mutants of functions' bodies that some test reaches."""
        records = self._records
        results = self.folder / "results.txt"
        results.touch()
        process = os.fork()
        if process == 0:
            code = 1
            try:
                plans = [self._recordings(records), self._slips(some, results)]
                nursery = Nursery(plans, self.folder, self.jobs, self._teller(some, results))
                code = run_pytest(records, [nursery])
            finally:
                os._exit(code)
        os.waitpid(process, 0)
        codes = dict(json.loads(line) for line in results.read_text(encoding="utf-8").splitlines())
        failed = [path.with_suffix(".failed") for path in records.values()]
        broken = [path.read_text(encoding="utf-8") for path in failed if path.exists()]
        for path in failed:
            path.unlink(missing_ok=True)
        if broken or DONE not in codes:
            raise BrokenTestsError(", ".join(broken) or "they cannot be collected")
        # A mutant that had no place in what was imported is tried by importing.
        return {
            number: code
            for number, code in codes.items()
            if number >= 0 and number != DONE and code != NOT_THERE
        }

    def _teller(self, some: Sequence[Mutation], results: Path) -> Callable[[int, int], None]:
        """Writes what a task came to, and remembers it where it is a mutant that had a place."""
        write = _writer(results)

        def tell(number: int, code: int) -> None:
            write(number, code)
            if number >= 0 and code != NOT_THERE:
                self._remember(some[number], outcome_of(code))

        return tell

    def _recordings(self, records: Mapping[Path, Path]) -> Callable[[Sequence[str]], dict[int, Task]]:
        """Files of tests that were not recorded, numbered below zero."""

        def plan(tests: Sequence[str]) -> dict[int, Task]:
            by_file: dict[str, list[str]] = {}
            for test in tests:
                by_file.setdefault(test.split("::")[0], []).append(test)
            return {
                -1 - place: Task(tuple(by_file[str(file)]), record=path)
                for place, (file, path) in enumerate(records.items())
                if not path.exists() and str(file) in by_file
            }

        return plan

    def _slips(
        self, some: Sequence[Mutation], results: Path
    ) -> Callable[[Sequence[str]], dict[int, Task] | None]:
        def plan(tests: Sequence[str]) -> dict[int, Task] | None:
            if any(json.loads(line)[1] for line in results.read_text(encoding="utf-8").splitlines()):
                return None
            _writer(results)(DONE, 0)
            reach, there = self._reach(), set(tests)
            found = {}
            for number, each in enumerate(some):
                near = [
                    test
                    for test in reach.tests_of(each.file, each.lines, self.tests[each.file])
                    if test in there
                ]
                if near and changed_functions(each) is not None:
                    found[number] = Task(tuple(near), each, seconds=_seconds(near, reach))
            return found

        return plan


DONE = 10**9
"""Number that says that everything was recorded."""


def _seconds(tests: Iterable[str], reach: Reach) -> float:
    return SECONDS_AT_LEAST + TIMES_THE_BASELINE * sum(reach.seconds[test] for test in tests)


def _writer(path: Path) -> Callable[[int, int], None]:
    def write(number: int, code: int) -> None:
        with path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps([number, code]) + "\n")

    return write


def _digest(file: Path) -> str:
    return hashlib.sha256(str(file).encode() + b"\0" + (ROOT / file).read_bytes()).hexdigest()[:32]
