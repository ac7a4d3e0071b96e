"""Which tests reach which lines: a mutant is tried first by those that run its statement, the fastest first.

A test that never runs a statement cannot see a slip in it. Two ways of running are not told apart from this:
what a module does when it is imported, and what a fixture or a cache does once for many tests. Survivors are therefore
tried again by all other tests of their file.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mutants.rooms import PACKAGE, ROOT

if TYPE_CHECKING:
    from coverage import Coverage


@dataclass(frozen=True)
class Reach:
    """Tests that were run: how long each took, and which of them ran each line of each file."""

    seconds: dict[str, float]
    tests_of_lines: dict[str, dict[int, set[str]]]

    def tests_of(self, file: str, lines: Iterable[int], among: Iterable[Path]) -> list[str]:
        """Tests of some files that ran one of the lines, the fastest first."""
        of_lines = self.tests_of_lines.get(file, {})
        reaching = {test for line in lines for test in of_lines.get(line, ())}
        return [test for test in self.all_of(among) if test in reaching]

    def all_of(self, files: Iterable[Path]) -> list[str]:
        """All tests of some files, the fastest first."""
        paths = {str(each) for each in files}
        found = (test for test in self.seconds if test.split("::")[0] in paths)
        return sorted(found, key=lambda test: (self.seconds[test], test))


def read(paths: Iterable[Path]) -> Reach:
    """What recorders wrote, together."""
    seconds: dict[str, float] = {}
    tests_of_lines: dict[str, dict[int, set[str]]] = {}
    for path in paths:
        found = json.loads(path.read_text(encoding="utf-8"))
        seconds |= found["seconds"]
        for file, of_lines in found["lines"].items():
            for line, tests in of_lines.items():
                tests_of_lines.setdefault(file, {}).setdefault(int(line), set()).update(tests)
    return Reach(seconds, tests_of_lines)


class Recorder:
    """Pytest plugin that writes which lines each test runs."""

    def __init__(self, path: Path) -> None:
        from coverage import Coverage

        self._path = path
        self._seconds: dict[str, float] = {}
        self._coverage: Coverage = Coverage(
            data_file=None, config_file=False, include=[str(ROOT / PACKAGE / "*")]
        )

    def start(self) -> None:
        """From now on."""
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """One test, with what it alone sets up."""
        self._coverage.switch_context(item.nodeid)
        begun = time.process_time()
        result = yield
        self._seconds[item.nodeid] = time.process_time() - begun
        return result

    def finish(self) -> None:
        """Write it down."""
        self._coverage.stop()
        data = self._coverage.get_data()
        lines = {
            str(Path(file).relative_to(ROOT)): {
                line: [each for each in tests if each in self._seconds]
                for line, tests in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        self._path.write_text(json.dumps({"seconds": self._seconds, "lines": lines}), encoding="utf-8")


class Chosen:
    """Pytest plugin that runs some tests only, in a given order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._place = {test: place for place, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Take the chosen."""
        items[:] = sorted(
            (each for each in items if each.nodeid in self._place), key=lambda each: self._place[each.nodeid]
        )
