"""Three tables to hold an attacker's probabilities against: no association, strong ones, a very long tail."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato import RandomizedResponse
from sfumato.attacks.linking import Linking
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.methods.anatomy.buckets import BucketComposition
from sfumato.methods.anatomy.permutations import BucketedPeople
from sfumato.randomness.partitions import partition_rows
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute, Role, Schema
from sfumato.testing import release_in_memory

Kind = Literal["no association", "strong associations", "long tail"]
KINDS: tuple[Kind, ...] = ("no association", "strong associations", "long tail")

PUBLIC_SIZES = (60, 20, 6, 2)
"""Categories of the public attributes: with many, a model finds patterns in noise."""

NUMBER_OF_VALUES = {"no association": 12, "strong associations": 12, "long tail": 150}

FEWEST_GUESSES = 200
"""Guesses that a bin needs to be judged."""


def attacked_table(
    kind: Kind, rows: int, generator: np.random.Generator
) -> tuple[npt.NDArray[Any], list[npt.NDArray[Any]]]:
    """Sensitive codes and public columns.

    Strong associations go through a hidden trait, so that public attributes repeat each other: evidence that a
    naive model counts more than once. In the long tail most values are held by a few rows in a thousand.
    """
    size = NUMBER_OF_VALUES[kind]
    if kind == "strong associations":
        values = generator.integers(0, size, rows)
        trait = np.where(generator.random(rows) < 0.75, values, generator.integers(0, size, rows))
        return values, [
            np.where(
                generator.random(rows) < 0.8,
                (generator.permutation(size) % each)[trait],
                generator.integers(0, each, rows),
            )
            for each in PUBLIC_SIZES
        ]
    shares = np.linspace(2, 0.5, size) if kind == "no association" else np.arange(1, size + 1) ** -1.1
    shares = np.minimum(shares / shares.sum(), 0.09)
    values = generator.choice(size, rows, p=shares / shares.sum())
    columns = []
    for each in PUBLIC_SIZES:
        by_value = generator.dirichlet(np.full(each, 1.5), 1 if kind == "no association" else size)
        ends = by_value.cumsum(axis=1)[np.zeros(rows, int) if kind == "no association" else values]
        columns.append((generator.random((rows, 1)) > ends[:, :-1]).sum(axis=1))
    return values, columns


def attacked_buckets(
    kind: Kind, rows: int, bucket_size: int, seed: int
) -> tuple[npt.NDArray[Any], BucketedPeople]:
    """Everybody's true value, and what Anatomy would publish."""
    values, columns = attacked_table(kind, rows, np.random.default_rng(seed))
    number = NUMBER_OF_VALUES[kind]
    stream = NoiseSource.seeded(seed).stream(0)
    buckets = partition_rows(values, number, bucket_size, stream).astype(np.int64) + 1
    places = BucketComposition.from_pairs(buckets, values, number).places
    return values, BucketedPeople.arrange(columns, PUBLIC_SIZES, buckets, places, number, seed=seed)


def linked_people(kind: Kind, rows: int, seed: int) -> PrivateTable:
    """The same people by three of the public attributes, as quasi-identifiers of 240 groups."""
    values, columns = attacked_table(kind, rows, np.random.default_rng(seed))
    return _coded([*columns[1:], values], (*PUBLIC_SIZES[1:], NUMBER_OF_VALUES[kind]))


def _coded(columns: Sequence[npt.NDArray[Any]], sizes: Sequence[int]) -> PrivateTable:
    """Three quasi-identifiers and a sensitive value."""
    schema = Schema(
        attributes=tuple(
            Attribute(
                name=name,
                role=Role.SENSITIVE if name == "value" else Role.QUASI_IDENTIFIER,
                categories=tuple(map(str, range(size))),
            )
            for name, size in zip(("one", "two", "three", "value"), sizes, strict=True)
        )
    )
    every = zip(schema.attributes, columns, strict=True)
    codes = {each.name: np.asarray(column).astype(each.code_type) for each, column in every}
    return PrivateTable(CodedRows(schema, codes), schema, engine=ArrayEngine())


def told_people(rows: int, seed: int) -> PrivateTable:
    """A long tail of 60 values of which one attribute of 30 categories tells, and two others do not.

    Two in five have the category of their value, which is that of another value too; the others any. What people of
    rare values have is thus nearly even, although the categories of the frequent values are frequent.
    """
    generator = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 61)
    values = generator.choice(60, rows, p=shares / shares.sum())
    telling = np.where(generator.random(rows) < 0.4, values % 30, generator.integers(0, 30, rows))
    columns = [telling, generator.integers(0, 6, rows), generator.integers(0, 2, rows), values]
    return _coded(columns, (30, 6, 2, 60))


def linking_guesses(
    people: PrivateTable, retention: float, attributes: list[str], seed: int, **settings: Any
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Belief in everybody's likeliest value, whether it is right, and the group: people of one share a belief."""
    design = RandomizedResponse(retention=retention, attributes=attributes)
    release = release_in_memory(people, design, seed=seed)
    posterior = Linking(**settings).posterior(release)
    names = [each.name for each in posterior.attributes[:-1]]
    assert isinstance(people.source, CodedRows)
    codes = {name: people.source.codes[name].astype(np.int64) for name in names}
    guessed = posterior.likeliest(codes)
    beliefs = posterior.beliefs[posterior._groups(codes)].max(axis=-1)
    groups = np.unique(np.stack(list(codes.values())), axis=1, return_inverse=True)[1].ravel()
    return beliefs, guessed == people.source.codes["value"], groups


def bins_beyond(
    stated: npt.NDArray[Any], is_right: npt.NDArray[Any], *, allowance: float = 0.05
) -> list[tuple[float, int, int, float]]:
    """For each of ten bins with enough guesses: nearest allowed probability, right ones, number, mean stated."""
    found = []
    places = np.minimum((stated * 10).astype(int), 9)
    for place in range(10):
        inside = places == place
        number, right = int(inside.sum()), int(is_right[inside].sum())
        if number >= FEWEST_GUESSES:
            mean = float(stated[inside].mean())
            nearest = float(np.clip(right / number, max(mean - allowance, 0), min(mean + allowance, 1)))
            found.append((nearest, right, number, mean))
    return found


def marginals_by_counting(matrix):
    """How often each person of a bucket holds each value, over all assignments, and the sum of their weights."""
    size = len(matrix)
    weights, total = np.zeros((size, size)), 0.0
    for order in itertools.permutations(range(size)):
        weight = np.prod([matrix[person, value] for person, value in enumerate(order)])
        total += weight
        for person, value in enumerate(order):
            weights[person, value] += weight
    return weights / total, total
