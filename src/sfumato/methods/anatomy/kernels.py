"""The row phase of Anatomy: rows are assigned to blocks of buckets, and within a block to its buckets.

Which values each bucket holds was drawn from counts alone. Every assignment of a value's rows to the
places of that value is equally likely; how many rows of a portion go to each block is then a random table
with given sums, and given that table, portions and blocks can each arrange their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Integers
from sfumato.data.chunks import PILE, CodedBatch, Portion, refuse_changed_table
from sfumato.methods.anatomy.buckets import BUCKET
from sfumato.randomness.partitions import Composition
from sfumato.randomness.quotas import Arrangement, contingency
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute

ROWS_PER_BLOCK = 2**21
"""Rows of a block, nearly; one is held in memory at a time."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some buckets with consecutive numbers.

    Parameters
    ----------
    first
        Number of the first bucket.
    held
        Which values each of them holds.
    """

    first: int
    held: Composition

    def batch(self, sensitive: Attribute) -> CodedBatch:
        """What is published of the values: each with its bucket."""
        buckets = np.concatenate(self.held.members) + np.int32(self.first)
        values = np.repeat(np.arange(sensitive.size, dtype=sensitive.code_type), self.held.counts)
        return CodedBatch({sensitive.name: values, BUCKET: buckets}, buckets.size)


def cut_into_blocks(composition: Composition) -> tuple[Block, ...]:
    """The groups of a composition as buckets, numbered from 1."""
    number_of_blocks = -(-int(composition.counts.sum()) // ROWS_PER_BLOCK)
    ends = np.linspace(0, composition.number_of_groups, number_of_blocks + 1).astype(np.int64).tolist()
    return tuple(Block(first + 1, composition.block(first, end)) for first, end in itertools.pairwise(ends))


@dataclass(frozen=True, eq=False)
class BlockQuotas:
    """How many rows of each value a portion deals to each block.

    Parameters
    ----------
    values, blocks, numbers
        ``(n,)`` each: so many rows of the value go to the block; values increasing.
    """

    values: Integers
    blocks: Integers
    numbers: Integers


def block_quotas(counts: Integers, blocks: tuple[Block, ...], noise: NoiseSource) -> tuple[BlockQuotas, ...]:
    """Quotas of every portion, from the rows of each value in each portion, ``(portions, values)``."""
    size = counts.shape[1]
    places = np.stack([each.held.counts for each in blocks])
    tables = [contingency(counts[:, v], places[:, v], noise.stream(v)) for v in range(size)]
    quotas = []
    for portion in range(len(counts)):
        table = np.stack([each[portion] for each in tables])
        values, to = np.nonzero(table)
        quotas.append(BlockQuotas(values, to, table[values, to]))
    return tuple(quotas)


@dataclass(frozen=True, eq=False)
class DealToBlocks:
    """Deals rows to blocks of buckets, by their sensitive value and by chance.

    Parameters
    ----------
    sensitive
        The attribute whose values are put into buckets.
    size
        Number of its values.
    """

    sensitive: str
    size: int

    def __call__(
        self, batches: Iterator[CodedBatch], portion: Portion[BlockQuotas], noise: NoiseSource
    ) -> Iterator[CodedBatch]:
        """The same rows, each with its block."""
        quotas, stream = portion.share, noise.named("blocks of rows").stream(portion.number)
        dealt = Arrangement(quotas.values, quotas.blocks, quotas.numbers, self.size, stream)
        for batch in batches:
            blocks = dealt.take(batch.codes[self.sensitive])
            yield CodedBatch({**batch.codes, PILE: blocks}, batch.number_of_rows)
        if not dealt.is_finished:
            refuse_changed_table()


@dataclass(frozen=True, eq=False)
class DealToBuckets:
    """Deals the rows of a block to its buckets.

    Parameters
    ----------
    sensitive
        The attribute whose values are put into buckets.
    kept
        Columns to hand on beside the bucket.
    """

    sensitive: str
    kept: tuple[str, ...]

    def __call__(self, rows: CodedBatch, pile: Portion[Block], noise: NoiseSource) -> CodedBatch:
        """The rows without their sensitive value, each with its bucket."""
        block, codes = pile.share, rows.codes[self.sensitive]
        counts = block.held.counts
        if not np.array_equal(np.bincount(codes, minlength=counts.size), counts):
            refuse_changed_table()
        stream = noise.named("buckets of rows").stream(pile.number)
        buckets = block.held.deal(codes, stream) + np.int32(block.first)
        return CodedBatch({**{name: rows.codes[name] for name in self.kept}, BUCKET: buckets}, codes.size)
