"""Query pools as in Fu et al. (2014), section 6, and every method's answers to them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.methods.splu_gen.decoy_model import DecoyModel
from sfumato.methods.splu_gen.kernels import draw_decoys
from sfumato.methods.splu_gen.law import iterate, pairwise_count
from sfumato.randomness.partitions import partition_rows
from sfumato.randomness.streams import NoiseSource

Codes = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

LARGEST_NUMBER_OF_ATTRIBUTES = 3
DRAWS_AT_ONCE = 20_000


@dataclass(frozen=True, eq=False)
class Pool:
    """Queries: the rows that satisfy each public condition, the sensitive value, the true count."""

    rows: list[Codes]
    values: Codes
    truth: Floats
    distinct: int

    def counts(self, column: Codes, size: int) -> Floats:
        """Rows of each value among those that satisfy each query's condition, ``(queries, values)``."""
        return np.array([np.bincount(column[each], minlength=size) for each in self.rows], dtype=np.float64)

    def error(self, answers: Floats) -> float:
        """Mean relative error."""
        return float(np.mean(np.abs(answers - self.truth) / self.truth))


def draw_pool(
    public: dict[str, Codes], sensitive: Codes, low: float, high: float, number: int, seed: int
) -> Pool:
    """Random conditions on one to three attributes with a random value, kept when the count is in [low, high].

    The number of attributes is uniform on 1, 2, 3 and values are uniform on their domains, as far as
    rejection leaves them so.
    """
    draw = np.random.default_rng(seed)
    names, size = list(public), int(sensitive.max()) + 1
    sizes = {name: int(column.max()) + 1 for name, column in public.items()}
    tables: dict[tuple[str, ...], Codes] = {}
    found: list[tuple[tuple[str, ...], int]] = []
    while len(found) < number:
        degree = int(draw.integers(1, LARGEST_NUMBER_OF_ATTRIBUTES + 1))
        chosen = tuple(sorted(draw.choice(names, degree, replace=False).tolist()))
        if chosen not in tables:
            shape = [*(sizes[name] for name in chosen), size]
            flat = np.ravel_multi_index([*(public[name] for name in chosen), sensitive], shape)
            tables[chosen] = np.bincount(flat, minlength=int(np.prod(shape)))
        cells = draw.integers(0, len(tables[chosen]), DRAWS_AT_ONCE)
        fitting = cells[(tables[chosen][cells] >= low) & (tables[chosen][cells] <= high)]
        # One attribute set may not fill the pool: at most a fiftieth of it at a time.
        found += [(chosen, int(cell)) for cell in fitting[: max(number // 50, 1)]]
    rows, values, truth = [], [], []
    known: dict[tuple[Any, ...], Codes] = {}
    for chosen, cell in found[:number]:
        *codes, value = np.unravel_index(cell, [*(sizes[name] for name in chosen), size])
        key = (chosen, tuple(map(int, codes)))
        if key not in known:
            mask = np.ones(len(sensitive), dtype=bool)
            for name, code in zip(chosen, codes, strict=True):
                mask &= public[name] == code
            known[key] = np.flatnonzero(mask)
        rows.append(known[key])
        values.append(int(value))
        truth.append(float(tables[chosen][cell]))
    return Pool(rows, np.array(values), np.array(truth), len(set(found[:number])))


def splu_answers(
    pool: Pool, sensitive: Codes, size: int, gamma: int, seed: int
) -> dict[str, tuple[Floats, Codes | None]]:
    """Answers, and the rounds of those that iterate, by the paper's way, pairwise, and by the distortion matrix; raw and cut to what is possible."""
    noise, rows = NoiseSource.seeded(seed), len(sensitive)
    result: dict[str, tuple[Floats, Codes | None]] = {}
    for partition in ("largest-first", "mixed"):
        drawn = draw_decoys(sensitive, size, gamma, noise.named(partition), partition=partition)
        margin = np.bincount(drawn, minlength=size).astype(np.float64)
        shown = pool.counts(drawn, size)
        selected, own = shown.sum(axis=1), shown[np.arange(len(shown)), pool.values]
        total = margin[pool.values]
        if partition == "largest-first":
            inside = np.stack([selected - own, own], axis=1)
            outside = np.stack([rows - total - inside[:, 0], total - own], axis=1)
            states, rounds = iterate(np.stack([outside, inside], axis=1), [gamma])
            result["SPLU-Gen, paper: printed matrix, 1 % stop, largest-first"] = (states[:, 1, 1], rounds)
            continue
        limit = np.minimum(selected, total)
        pairwise = pairwise_count(own, selected, total, rows, gamma)
        model = DecoyModel(margin, gamma)
        matrix = np.einsum("qv,vq->q", shown, model.inverse[:, pool.values])
        result["SPLU-Gen, pairwise closed form, mixed"] = (pairwise, None)
        result["SPLU-Gen, matrix from the margin, mixed"] = (matrix, None)
        result["SPLU-Gen, matrix from the margin, mixed, cut to [0, possible]"] = (
            np.clip(matrix, 0, limit),
            None,
        )
    return result


def anatomy_answers(pool: Pool, sensitive: Codes, size: int, l_value: int, seed: int) -> dict[str, Floats]:
    """Xiao and Tao's answer, and the same with the public co-occurrence inverted."""
    groups = partition_rows(sensitive, size, l_value, NoiseSource.seeded(seed).stream(0)).astype(np.int64)
    members = np.zeros((int(groups.max()) + 1, size))
    members[groups, sensitive] = 1
    weights = members / members.sum(axis=1, keepdims=True)
    frequencies = members.sum(axis=0)
    distortion = (members.T @ weights) / np.maximum(frequencies, 1)[:, None]
    distortion[frequencies == 0, frequencies == 0] = 1
    corrected = weights @ np.linalg.inv(distortion)
    answers = {}
    for label, table in (
        ("Anatomy, Xiao and Tao's answer", weights),
        ("Anatomy, co-occurrence inverted", corrected),
    ):
        answers[label] = np.array(
            [table[groups[each], value].sum() for each, value in zip(pool.rows, pool.values, strict=True)]
        )
    return answers


def resampled_answers(pool: Pool, sensitive: Codes, size: int, seed: int) -> Floats:
    """DBR: the published count."""
    stream = NoiseSource.seeded(seed).stream(0)
    places = stream.integers_below(np.full(len(sensitive), len(sensitive))).astype(np.int64)
    shown = pool.counts(sensitive[places], size)
    return np.asarray(shown[np.arange(len(shown)), pool.values])


def laplace_error(pool: Pool, epsilon: float) -> float:
    """Expected relative error of the true answer plus Laplace noise of scale 1/epsilon: exact."""
    return float(np.mean(1 / epsilon / pool.truth))


def pairs_of(pools: list[tuple[str, Pool]], gammas: range) -> itertools.product[tuple[tuple[str, Pool], int]]:
    """Every pool at every group size."""
    return itertools.product(pools, gammas)
