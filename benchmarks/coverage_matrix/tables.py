"""Three populations of different skew, as private tables in memory."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.schema import Attribute, Role, Schema

Skew = Literal["no association", "strong associations", "long tail"]
SKEWS: tuple[Skew, ...] = get_args(Skew)

ROWS = 3_000
"""Enough for counts of every size in tables over two attributes, few enough for thousands of releases."""

SIZES: dict[Skew, dict[str, int]] = {
    "no association": {"sex": 2, "age": 4, "region": 6, "school": 6, "job": 9},
    "strong associations": {"sex": 2, "age": 4, "region": 6, "school": 6, "job": 9},
    "long tail": {"sex": 2, "age": 4, "region": 8, "school": 12, "job": 24},
}
ROLES = {
    "sex": Role.QUASI_IDENTIFIER,
    "age": Role.QUASI_IDENTIFIER,
    "region": Role.QUASI_IDENTIFIER,
    "school": Role.OTHER,
    "job": Role.SENSITIVE,
}
MOST_OF_A_JOB = 0.2
"""Largest share of a sensitive value: groups of up to five different ones can then be made."""


def schema_of(skew: Skew) -> Schema:
    """Attributes of a table: ``school`` is public and makes no groups; ages are bins of ten years."""
    return Schema(
        attributes=tuple(
            Attribute(name=name, role=role, bins=tuple(range(20, 21 + 10 * size, 10)))
            if name == "age"
            else Attribute(name=name, role=role, categories=tuple(f"{name}{code}" for code in range(size)))
            for (name, role), size in zip(ROLES.items(), SIZES[skew].values(), strict=True)
        )
    )


def population(skew: Skew, rows: int = ROWS, seed: int | None = None) -> PrivateTable:
    """The same rows every time, or those of a seed.

    Nobody has the last job, and few have the one before. Strong associations go through a trait that decides all
    attributes of most people. In the long tail frequencies fall faster than one over the rank.
    """
    generator = np.random.default_rng(SKEWS.index(skew) if seed is None else seed)
    sizes = SIZES[skew]
    if skew == "strong associations":
        trait = generator.choice(8, rows, p=_shares(8, 0.3))
        codes = {
            name: np.where(
                generator.random(rows) < 0.85,
                _order(size, name)[trait % size],
                generator.choice(size, rows, p=_shares(size, 0.5)),
            )
            for name, size in sizes.items()
        }
    else:
        steepness = 1.4 if skew == "long tail" else 0.4
        codes = {
            name: generator.choice(size, rows, p=_shares(size, steepness)) for name, size in sizes.items()
        }
        if skew == "long tail":
            # Some schools go with some jobs; regions do not.
            moved = generator.random(rows) < 0.3
            codes["school"] = np.where(moved, codes["job"] % sizes["school"], codes["school"])
    codes["job"] = _thinned(codes["job"], sizes["job"], generator)
    schema = schema_of(skew)
    typed = {each.name: codes[each.name].astype(each.code_type) for each in schema.attributes}
    return PrivateTable(CodedRows(schema, typed), schema, engine=ArrayEngine())


def _shares(size: int, steepness: float) -> npt.NDArray[np.float64]:
    shares = np.arange(1, size + 1) ** -steepness
    return np.asarray(shares / shares.sum())


def _order(size: int, name: str) -> npt.NDArray[np.int64]:
    """Which category of an attribute a trait means: another order for every attribute."""
    return np.random.default_rng(len(name)).permutation(size)


def _thinned(
    codes: npt.NDArray[np.int64], size: int, generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Jobs without the last one, with some six people in the one before, and none above the largest share."""
    result = codes.copy()
    rare = np.flatnonzero(result >= size - 2)
    result[rare] = generator.integers(0, size - 2, rare.size)
    result[generator.choice(result.size, 6, replace=False)] = size - 2
    largest = int(MOST_OF_A_JOB * result.size)
    # Those beyond go to later ones, so that the tail keeps its shape.
    for job in range(size - 3):
        surplus = generator.permutation(np.flatnonzero(result == job))[largest:]
        later = np.arange(job + 1, size - 2)
        result[surplus] = generator.choice(later, surplus.size, p=_shares(later.size, 1.4))
    return result
