"""The fingerprint of a table in splits, added up from theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.data.distributed.engine import SplitEngine
from sfumato.data.distributed.tasks import SplitTask
from sfumato.data.duckdb import DuckDBEngine
from sfumato.data.engine import Engine
from sfumato.data.fingerprints import SKETCH_SIZE, Fingerprint, Sketch, fingerprint
from sfumato.data.sources.base import Source

HASHES = 2.0**60
"""Of how many numbers a hash is one."""


@dataclass(frozen=True, eq=False)
class FingerprintRows(SplitTask):
    """The fingerprint of a split.

    Parameters
    ----------
    key
        Of the ledger.
    people
        Columns that say whose a row is.
    """

    reads_cells = True

    key: bytes
    people: tuple[str, ...]

    def on(self, engine: Engine, source: Source, number: int) -> Fingerprint:
        """Of the rows as they were given."""
        del number
        assert isinstance(engine, DuckDBEngine)
        return fingerprint(source, engine, self.key, self.people)


def fingerprint_of_splits(
    source: Source, engine: SplitEngine, key: bytes, people: Sequence[str]
) -> Fingerprint:
    """The fingerprint that one reading of the whole table would give; only keyed digests come here.

    How many people there are is told by the smallest hashes, within some per cent, where they are many.
    """
    # A frame comes once to a task, which can then not ask for people too.
    asked = () if engine.reads_once(source) else tuple(people)
    parts = engine.map(FingerprintRows(key, asked), source, ())
    columns = {
        name: "-".join(
            f"{sum(part):x}" for part in zip(*(_numbers(each.columns[name]) for each in parts), strict=True)
        )
        for name in (parts[0].columns if parts else ())
    }
    sketches = {name: _joined([each.people[name] for each in parts]) for name in asked}
    return Fingerprint(sum(each.number_of_rows for each in parts), columns, sketches if parts else {})


def _numbers(digest: str) -> tuple[int, ...]:
    return tuple(int(each, 16) for each in digest.split("-"))


def _joined(sketches: Sequence[Sketch]) -> Sketch:
    """The sketch of all values of some parts, each of which may hold values of the others.

    Examples
    --------
    >>> _joined([Sketch((1, 5), 2), Sketch((2, 5), 2)])
    Sketch(hashes=(1, 2, 5), different=3)
    """
    hashes = sorted({each for sketch in sketches for each in sketch.hashes})
    if all(len(sketch.hashes) == sketch.different for sketch in sketches) and len(hashes) <= SKETCH_SIZE:
        return Sketch(tuple(hashes), len(hashes))
    kept = hashes[:SKETCH_SIZE]
    # Of n even draws the k-th smallest lies at about k/n of the range (Bar-Yossef and others, 2002).
    return Sketch(tuple(kept), max(len(kept), round((len(kept) - 1) * HASHES / (kept[-1] + 1))))
