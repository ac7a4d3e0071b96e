"""A skewed table, and what is measured of people held out of its releases."""

from __future__ import annotations

import numpy as np

from coded_tables import table_of
from sfumato.custody.audit.attackers import _published_again
from sfumato.custody.audit.people import people_of
from sfumato.randomness.streams import NoiseSource
from sfumato.testing import release_in_memory


def skewed_table(generator, rows=4_000, *, shuffled=False):
    """Two public attributes, many of whose combinations one person has, and a value that goes with the first."""
    first = generator.choice(40, rows, p=falling(40))
    second = generator.choice(40, rows, p=falling(40))
    value = (first // 10 + generator.choice(4, rows, p=[0.6, 0.2, 0.1, 0.1])) % 4
    if shuffled:
        value = generator.permutation(value)
    return table_of([40, 40, 4], [first, second, value])


def falling(size):
    """Shares that fall like one over the rank."""
    weights = 1 / np.arange(1, size + 1)
    return weights / weights.sum()


def held_out(design, table, generator, repeats=3):
    """Trials of a design published again without a fifth of the people."""
    release = release_in_memory(table, design, seed=1)
    people = people_of(table, release, "s")
    seeded = NoiseSource.seeded(int(generator.integers(2**31)))
    return people, tuple(_published_again([release], table, people, repeats, generator, seeded))
