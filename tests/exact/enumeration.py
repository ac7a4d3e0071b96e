"""Every way a publication can come out, with its exact probability.

The publishing code runs as it is; its random decisions are made here, one after the other, and it runs once for every
combination of them. Probabilities are fractions of the whole numbers that the code really draws with. Where an exponential
enters (noise of counts), the fraction agrees with it to sixty digits.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from sfumato.custody.publish import admitted, prepare
from sfumato.errors import DataError, SfumatoError
from sfumato.methods.columnized_counts.noisy_counts import NoisyCountMatrix, NoisyTotal
from sfumato.methods.splu_gen import kernels as decoys
from sfumato.randomness import noise
from sfumato.randomness import partitions as composition
from sfumato.randomness.streams import NoiseSource, NoiseStream
from sfumato.release.publication import make_rows
from sfumato.release.storage import entry_of

WORDS = 2**64
DIGITS = 60
ALLOWANCE = Fraction(1, 10**50)
"""Relative, for what exponentials are known to."""

REACH = 3
"""Noise of counts is enumerated up to this magnitude; what lies beyond has the same ratios."""

MOST_COPIES = 6
"""More copies than any enumerated table has rows."""

REFUSED = "no release"
"""The output of a publication that was refused: whether a release exists can be seen."""

Outputs = dict[Hashable, Fraction]


def exponential(exponent: Fraction) -> Fraction:
    """``exp(exponent)`` to sixty digits."""
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction((Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp())


class Paths:
    """Makes decisions by a list, extends it with first choices, and knows which list comes next."""

    def __init__(self) -> None:
        self._taken: list[int] = []
        self._options: list[int] = []
        self._place = 0
        self.weight = Fraction(1)

    def choose(self, weights: Sequence[Fraction | int]) -> int:
        """One of several outcomes of these probabilities."""
        possible = [place for place, weight in enumerate(weights) if weight]
        if self._place == len(self._taken):
            self._taken.append(0)
            self._options.append(len(possible))
        chosen = possible[self._taken[self._place]]
        self._place += 1
        self.weight *= Fraction(weights[chosen])
        return chosen

    def even(self, number: int) -> int:
        """One of so many outcomes, all alike."""
        return self.choose([Fraction(1, number)] * number)

    def advance(self) -> bool:
        """Go on to the next list; whether there is one."""
        del self._taken[self._place :], self._options[self._place :]
        while self._taken and self._taken[-1] + 1 == self._options[-1]:
            self._taken.pop()
            self._options.pop()
        if not self._taken:
            return False
        self._taken[-1] += 1
        self._place, self.weight = 0, Fraction(1)
        return True


def outputs_of(run: Callable[[], Hashable]) -> Outputs:
    """Every output of a function that draws from noise streams, with its probability."""
    paths, found = Paths(), {}
    with enumerated(paths):
        while True:
            output = run()
            found[output] = found.get(output, Fraction(0)) + paths.weight
            if not paths.advance():
                return found


def published(table, design) -> Hashable:
    """All that can be seen of a release: the manifest with law and promises, and the rows of each table."""
    noise = NoiseSource.seeded(0)
    try:
        publication, describe = prepare(table, admitted(table, design), noise)
        rows = tuple(_rows(each, table, noise) for each in publication.tables)
    except SfumatoError:
        return REFUSED
    entries = (
        entry_of(each, f"{each.name}.parquet", "parquet", "0" * 64, len(of_table))
        for each, of_table in zip(publication.tables, rows, strict=True)
    )
    return json.dumps(describe(tuple(entries)).to_descriptor(), sort_keys=True), rows


def _rows(each, table, noise) -> tuple[tuple[int, ...], ...]:
    """The rows of one published table, in no order; refused for having none where publishing refuses it."""
    names = (*each.schema.names, *each.integers)
    batches = list(make_rows(each.rows, table.scan, noise))
    found = [zip(*(batch.codes[name].tolist() for name in names), strict=True) for batch in batches]
    rows = tuple(sorted(itertools.chain.from_iterable(found)))
    if not rows and not each.may_be_empty:
        raise DataError("the data have no rows. There is nothing to publish.", number_of_rows=0)
    return rows


@contextmanager
def enumerated(paths: Paths) -> Iterator[None]:
    """Every draw of the publishing code becomes a decision of these paths."""
    with pytest.MonkeyPatch.context() as patch:
        for name, made in {**_draws_of_codes(paths), **_draws_of_places(paths)}.items():
            patch.setattr(NoiseStream, name, made)
        laplace, noisy_total, noisy_counts = _draws_of_counts(paths)
        patch.setattr(noise.DiscreteLaplace, "draw", laplace)
        patch.setattr(NoisyCountMatrix, "draw", noisy_counts)
        patch.setattr(NoisyTotal, "draw", noisy_total)
        patch.setattr(decoys, "compose_groups", lambda *a, **k: any_composition(paths, *a, **k))
        yield


def _draws_of_codes(paths: Paths) -> dict[str, Callable]:
    """Draws of one category for each row."""

    def perturb_uniformly(_, codes, kernel):
        replaced = Fraction(kernel.words_per_category, WORDS)
        weights = [
            [replaced + (kernel.retention if shown == own else 0) for shown in range(kernel.size)]
            for own in range(kernel.size)
        ]
        return np.array([paths.choose(weights[own]) for own in codes.tolist()], codes.dtype)

    def categories(_, sampler, given):
        rows = [[Fraction(w, sampler.total) for w in row] for row in sampler.integer_weights]
        return np.array([paths.choose(rows[each]) for each in np.asarray(given).tolist()], np.uint8)

    def bernoulli(_, count, threshold):
        chance = Fraction(threshold, WORDS)
        return np.array([paths.choose([1 - chance, chance]) for _ in range(count)], np.bool_)

    return {"perturb_uniformly": perturb_uniformly, "categories": categories, "bernoulli": bernoulli}


def _draws_of_places(paths: Paths) -> dict[str, Callable]:
    """Draws of which all outcomes are alike; bits that are taken in any other way are refused."""

    def refuse(*_: object) -> None:
        raise AssertionError("bits were taken that are not enumerated")

    def uniform_codes(_, count, size):
        return np.array([paths.even(size) for _ in range(count)], np.uint8)

    def integers_below(_, bounds):
        return np.array([paths.even(int(each)) for each in np.asarray(bounds)], np.uint64)

    def permutation(_, count):
        orders = list(itertools.permutations(range(count)))
        return np.array(orders[paths.even(len(orders))], np.int64)

    return {
        "uniform_codes": uniform_codes,
        "integers_below": integers_below,
        "permutation": permutation,
        "_fill": refuse,
    }


def _draws_of_counts(paths: Paths) -> tuple[Callable, Callable, Callable]:
    """Noise of counts, of the number of rows, and of how often a row is published."""

    def laplace(self, _, count):
        ratio = exponential(-1 / Fraction(self.scale))
        weights = [(1 - ratio) / (1 + ratio) * ratio ** abs(k) for k in range(-REACH, REACH + 1)]
        return np.array([paths.choose(weights) - REACH for _ in range(count)], np.int64)

    def noisy_total(number, epsilon, _):
        scale = NoisyTotal(count=0, epsilon=epsilon).noise.scale
        return NoisyTotal(count=paths.choose(totals_of(number, scale)) - REACH, epsilon=epsilon)

    def noisy_counts(self, counts, _):
        return np.array([paths.choose(copies_of(self, int(each))) for each in np.asarray(counts)], np.int64)

    return laplace, noisy_total, noisy_counts


def copies_of(matrix: NoisyCountMatrix, count: int) -> list[Fraction]:
    """Probabilities of publishing 0, 1, 2, ... copies, from the words really drawn; the last is all from there on.

    Copies beyond every true count have the same ratios as the largest of them, so taking them together changes no verdict.
    """
    words = matrix.words()
    released = (
        Fraction(words[min(count - matrix.k, len(words) - 1)], WORDS) if count >= matrix.k else Fraction(0)
    )
    ratio = exponential(-1 / Fraction(matrix.noise.scale))
    weights = [1 - released] + [Fraction(0)] * MOST_COPIES
    if released:
        # What would fall to k or below is published as k: the sum of a geometric tail.
        weights[matrix.k] = released * ratio ** (count - matrix.k) / (1 + ratio)
        for copies in range(matrix.k + 1, MOST_COPIES):
            weights[copies] = released * (1 - ratio) / (1 + ratio) * ratio ** abs(count - copies)
        weights[MOST_COPIES] = 1 - sum(weights)
    return weights


def totals_of(number: int, scale: float) -> list[Fraction]:
    """Probabilities of publishing -REACH, ..., MOST_COPIES as the number of rows; the ends stand for all beyond."""
    ratio = exponential(-1 / Fraction(scale))
    weights = [
        (1 - ratio) / (1 + ratio) * ratio ** abs(total - number) for total in range(-REACH, MOST_COPIES + 1)
    ]
    weights[0] = ratio ** (number + REACH) / (1 + ratio)
    weights[-1] = 1 - sum(weights[:-1])
    return weights


def valid_groups(values: tuple[int, ...], gamma: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every way of putting rows into groups of different values, rows told apart."""

    def divide(rows: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
        if not rows:
            yield ()
            return
        for others in itertools.combinations(rows[1:], gamma - 1):
            group = (rows[0], *others)
            if len({values[row] for row in group}) == gamma:
                rest = tuple(row for row in rows if row not in group)
                yield from ((group, *later) for later in divide(rest))

    return divide(tuple(range(len(values))))


def any_composition(paths: Paths, counts, gamma, stream, *, kind="mixed"):
    """A uniformly random valid partition: what the mixed one is close to."""
    del stream, kind
    values = tuple(np.repeat(np.arange(len(counts)), counts).tolist())
    partitions = list(valid_groups(values, gamma))
    chosen = partitions[paths.even(len(partitions))]
    members = [[] for _ in range(len(counts))]
    for number, group in enumerate(chosen):
        for row in group:
            members[values[row]].append(number)
    arrays = [np.array(sorted(each), np.int64) for each in members]
    return composition.Composition(composition.ascending(arrays), len(chosen))


def largest_ratio(one: Outputs, other: Outputs) -> Fraction | float:
    """The largest likelihood ratio over all outputs, in either direction; infinite where one cannot come from both.

    Where noise was enumerated up to its reach, outputs of one that lie beyond it for the other are passed over: their ratios
    are those of outputs within.
    """
    is_cut = sum(one.values()) < 1 and sum(other.values()) < 1
    worst: Fraction | float = Fraction(1)
    for output in {*one, *other}:
        here, there = one.get(output, Fraction(0)), other.get(output, Fraction(0))
        if here and there:
            worst = max(worst, here / there, there / here)
        elif not is_cut or output == REFUSED:
            return math.inf
    return worst
