"""How far a release's tables lie from the true ones: five distances of tables over one, two and three attributes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np

from sfumato.analysis.measures import MEASURES
from sfumato.custody.audit.people import recode
from sfumato.data.coded_rows import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError, SfumatoError
from sfumato.release import Release
from sfumato.values.arrays import Floats, Integers
from sfumato.values.mixed_radix import MixedRadix
from sfumato.values.schema import Schema
from sfumato.values.selection import Tabulation

MOST_TABLES = 6
"""Tables of each number of attributes, drawn by the seed where there are more."""

MOST_CELLS = 5_000
"""Cells of a table at most."""

MOST_CELLS_ASKED = 1_000_000
"""The same of tables that somebody names."""

UNCERTAINTY = "uncertainty"
"""Share of an attribute's entropy that another one takes away."""

DISTANCES = ("total variation", "Hellinger", "KL", "L2", "chi-square")
"""Names of the distances, as Guo (2010), section 5.4, has them; Hellinger besides."""


def distances(truth: Floats, estimate: Floats) -> dict[str, float]:
    """Distances of estimated from true counts, each taken as shares, ``(cells,)``.

    Kullback and Leibler's is computed with half a row added to every cell of both; chi-square is over cells that occur.

    Examples
    --------
    >>> found = distances(np.array([50.0, 50.0]), np.array([75.0, 25.0]))
    >>> {name: round(each, 4) for name, each in found.items()}
    {'total variation': 0.25, 'Hellinger': 0.1846, 'KL': 0.1406, 'L2': 0.3536, 'chi-square': 0.25}
    """
    true, other = _shares(truth), _shares(estimate)
    padded, padded_other = (
        _shares(truth + 0.5),
        _shares(estimate / max(estimate.sum(), 1e-300) * truth.sum() + 0.5),
    )
    occurs = true > 0
    return {
        "total variation": float(np.abs(true - other).sum() / 2),
        "Hellinger": float(np.sqrt(np.square(np.sqrt(true) - np.sqrt(other)).sum() / 2)),
        "KL": float((padded * np.log(padded / padded_other)).sum()),
        "L2": float(np.linalg.norm(true - other)),
        "chi-square": float(((true - other)[occurs] ** 2 / true[occurs]).sum()),
    }


def choose_tables(schema: Schema, seed: int) -> tuple[tuple[str, ...], ...]:
    """Sets of one to three attributes, some of each number, none too large.

    Examples
    --------
    >>> from sfumato.testing.sample import SAMPLE_SCHEMA
    >>> choose_tables(SAMPLE_SCHEMA, 1)[:4]
    (('sex',), ('age',), ('region',), ('job',))
    """
    generator = np.random.default_rng([seed, 1])
    attributes = schema.publishable.attributes
    found: list[tuple[str, ...]] = []
    for number in (1, 2, 3):
        # Of very wide tables not every set is listed: the first so many attributes, in an order drawn by the seed.
        few = [attributes[place] for place in sorted(generator.permutation(len(attributes))[:30].tolist())]
        sets = [
            tuple(each.name for each in some)
            for some in itertools.combinations(few, number)
            if math.prod(each.size for each in some) <= MOST_CELLS
        ]
        chosen = generator.permutation(len(sets))[: max(MOST_TABLES, len(few) if number == 1 else 0)]
        found += [sets[place] for place in sorted(chosen.tolist())]
    return tuple(found)


def asked_tables(schema: Schema, tables: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Tables that somebody names.

    Raises
    ------
    ParameterError
        With everything that is wrong with them.
    """
    known, problems = set(schema.publishable.names), []
    for names in map(tuple, tables):
        unknown = [name for name in names if name not in known]
        told = ", ".join(names)
        if unknown:
            problems.append(f"{told}: the schema publishes no {', '.join(map(repr, unknown))}.")
        elif not names or len(set(names)) < len(names):
            problems.append(f"{told}: a table is over different attributes, one or more.")
        elif math.prod(schema[name].size for name in names) > MOST_CELLS_ASKED:
            problems.append(f"{told}: more than {MOST_CELLS_ASKED:,} cells. Name fewer attributes.")
    if problems:
        raise ParameterError("tables: " + " ".join(problems), parameter="tables")
    return tuple(dict.fromkeys(map(tuple, tables)))


def uncertainty(counts: Floats) -> float:
    """How much of the second attribute's entropy the first takes away, of counts ``(first, second)``; 0 where there is none.

    Examples
    --------
    The second is told by the first, told half of the time, not at all:

    >>> [round(uncertainty(np.array(each)), 3) for each in ([[5.0, 0], [0, 5]], [[4.0, 0], [2, 2]], [[1.0, 1], [2, 2]])]
    [1.0, 0.384, 0.0]
    """
    kept = np.maximum(counts, 0.0)
    shares = kept[kept.sum(axis=1) > 0][:, kept.sum(axis=0) > 0] / max(float(kept.sum()), 1e-300)
    if shares.shape[1] < 2 or shares.shape[0] < 2:
        return 0.0
    return float(np.real(MEASURES["uncertainty-of-second"].formula(shares, kept.sum())))


def measure_distances(
    release: Release,
    table: PrivateTable,
    tables: Sequence[tuple[str, ...]],
    *,
    estimator: str = "",
    is_each_told: bool = False,
) -> dict[str, float]:
    """Mean distances by number of attributes, from counts that are not negative and add up.

    Another estimator of the law is taken as it is, negative counts as none. Where each is told, every table's distances follow by name, and
    of two attributes how much each tells of the other: Guo's uncertainty coefficient (section 5.3.2).

    A table that is refused is taken as the product of its attributes' own tables, uniform where even these are refused:
    refusing costs what knowing nothing costs.
    """
    rows = table.source
    assert isinstance(rows, CodedRows)
    found: dict[str, list[float]] = {}
    single: dict[str, Floats | None] = {}

    def alone(name: str) -> Floats:
        if name not in single:
            single[name] = _estimated(release, table, (name,), estimator)
        known = single[name]
        return np.full(table.schema[name].size, 1.0) if known is None else known

    for names in tables:
        estimate = _estimated(release, table, names, estimator)
        if estimate is None:
            estimate = reduce(np.multiply.outer, [_shares(alone(name)) for name in names]).ravel()
        for name, number in distances(_true(rows, table.schema, names), estimate).items():
            found.setdefault(f"{name}, {len(names)}-way", []).append(number)
            if is_each_told:
                found[f"{name} of {', '.join(names)}"] = [number]
        if is_each_told and len(names) == 2:
            square = estimate.reshape([table.schema[name].size for name in names])
            for (first, second), counts in ((names, square), (names[::-1], square.T)):
                found[f"{UNCERTAINTY} of {second} by {first}"] = [uncertainty(counts)]
    return {name: float(np.mean(numbers)) for name, numbers in found.items()}


def _estimated(release: Release, table: PrivateTable, names: Sequence[str], estimator: str) -> Floats | None:
    """Estimated counts in the table's own categories; None where refused. A merged category is spread evenly."""
    codes: Mapping[str, Integers | None] = {
        name: recode(table, release.schema[name]) if name in release.schema else None for name in names
    }
    try:
        if estimator:
            counts = release.law.estimate_by(estimator, release, Tabulation(tuple(names))).values
        else:
            counts = release.law.consistent(release, Tabulation(tuple(names)))
    except SfumatoError:
        return None
    counts = np.asarray(counts, np.float64).reshape([release.schema[name].size for name in names])
    for axis, name in enumerate(names):
        known = codes[name]
        if known is None:
            return None
        spread = np.bincount(known)[known]
        shape = [-1 if place == axis else 1 for place in range(len(names))]
        counts = counts.take(known, axis=axis) / spread.reshape(shape)
    return counts.ravel()


def _true(rows: CodedRows, schema: Schema, names: Sequence[str]) -> Floats:
    sizes = [schema[name].size for name in names]
    cells = MixedRadix(sizes).encode([rows.codes[name].astype(np.int64) for name in names])
    return np.bincount(cells, minlength=math.prod(sizes)).astype(np.float64)


def _shares(counts: Floats) -> Floats:
    """Of counts that are not negative; uniform where all are zero."""
    kept = np.maximum(counts, 0.0)
    total = float(kept.sum())
    return kept / total if total > 0 else np.full(kept.shape, 1 / max(kept.size, 1))
