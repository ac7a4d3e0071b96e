"""Dealing portion by portion follows the law of dealing all rows at once, by brute force on tiny tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.data.chunks import PILE, CodedBatch, Portion
from sfumato.methods.anatomy import kernels as anatomy
from sfumato.methods.splu_gen import kernels as decoys
from sfumato.methods.splu_gen.kernels import KeptRows, leave_out
from sfumato.randomness import quotas
from sfumato.randomness.partitions import Composition
from sfumato.randomness.quotas import Arrangement, ChosenPositions, contingency, split
from sfumato.randomness.streams import NoiseSource

pytestmark = pytest.mark.statistical


def frequencies(outcomes, possible):
    """How often each possible outcome came; others are an error."""
    places = {each: place for place, each in enumerate(possible)}
    return np.bincount([places[each] for each in outcomes], minlength=len(possible))


def test_split_quotas_make_every_subset_equally_likely(alarm_budget):
    """Null: all 35 subsets of 3 of 7 rows in 3 parts are equally likely. Statistic: chi-square, n = 45,000.

    Twin: parts that always get the rounded share of the quota, 1 of 2, 0 of 1 and 2 of 4.
    """
    check = alarm_budget.draw("subsets by split quotas")
    noise = NoiseSource.seeded(check.seed)
    draws = 45_000
    sizes, starts = np.tile([2, 1, 4], draws), np.arange(0, 3 * draws, 3)
    expected = np.full(35, draws / 35)
    possible = [bits for bits in range(128) if bits.bit_count() == 3]

    def p_value(shares, stream):
        chosen = ChosenPositions.draw(sizes, shares, stream)
        is_listed = np.zeros(7 * draws, bool)
        is_listed[np.repeat(np.cumsum(sizes) - sizes, np.diff(chosen.offsets)) + chosen.listed] = True
        is_chosen = (is_listed == np.repeat(chosen.lists_chosen, sizes)).reshape(draws, 7)
        return alarm_budget.chi_square_p_value(
            frequencies((is_chosen @ (1 << np.arange(7))).tolist(), possible), expected
        )

    shares = split(sizes, starts, np.full(draws, 3), noise.stream(0))
    alarm_budget.assert_passes(p_value(shares, noise.stream(1)), check)
    alarm_budget.assert_rejects(p_value(np.tile([1, 0, 2], draws), noise.stream(2)), check)


def test_contingency_and_arrangement_make_every_assignment_equally_likely(alarm_budget):
    """Null: all 10 ways to give 5 rows in 2 parts 3 times one outcome and 2 times the other. n = 12,000.

    Statistic: chi-square. Twin: outcomes handed out in order within a part.
    """
    check = alarm_budget.draw("assignments by portions")
    noise = NoiseSource.seeded(check.seed)
    stream, draws = noise.stream(0), 12_000
    possible = [
        tuple(int(row in chosen) for row in range(5)) for chosen in itertools.combinations(range(5), 2)
    ]

    def dealt():
        table = contingency(np.array([2, 3]), np.array([3, 2]), stream)
        given = []
        for numbers, rows in zip(table, (2, 3), strict=True):
            (kept,) = np.nonzero(numbers)
            arranged = Arrangement(np.zeros_like(kept), kept, numbers[kept], 1, stream)
            given += arranged.take(np.zeros(rows, np.int64)).tolist()
            assert arranged.is_finished
        return tuple(given)

    outcomes = [dealt() for _ in range(draws)]
    expected = np.full(10, draws / 10)
    alarm_budget.assert_passes(
        alarm_budget.chi_square_p_value(frequencies(outcomes, possible), expected), check
    )
    twin = [(*sorted(each[:2]), *sorted(each[2:])) for each in outcomes]
    alarm_budget.assert_rejects(alarm_budget.chi_square_p_value(frequencies(twin, possible), expected), check)


def test_rows_left_out_are_any_rows(alarm_budget):
    """Null: all 10 pairs of 5 rows in 2 portions are equally likely to be left out. n = 12,000, chi-square.

    Twin: both from the larger portion.
    """
    check = alarm_budget.draw("rows left out")
    stream, draws = NoiseSource.seeded(check.seed).stream(0), 12_000
    possible = list(itertools.combinations(range(5), 2))

    def portion(rows):
        return KeptRows({}, rows, stream.permutation(rows), {})

    outcomes = []
    for _ in range(draws):
        first, second = leave_out([portion(2), portion(3)], 2, stream)
        assert (first.rows + second.rows, first.candidates.size + second.candidates.size) == (3, 2)
        outcomes.append(tuple(sorted([*first.candidates.tolist(), *(second.candidates + 2).tolist()])))
    expected = np.full(10, draws / 10)
    alarm_budget.assert_passes(
        alarm_budget.chi_square_p_value(frequencies(outcomes, possible), expected), check
    )
    twin = [tuple(sorted((stream.permutation(3)[:2] + 2).tolist())) for _ in range(draws)]
    alarm_budget.assert_rejects(alarm_budget.chi_square_p_value(frequencies(twin, possible), expected), check)


GROUPS = ((0, 1), (0, 1), (0, 2), (1, 2))
"""Values that meet: three rows of 0, three of 1, two of 2."""

WATCHED = ((0, 0), (0, 1), (1, 1))
"""Value and place among its rows of three rows that are watched together."""


def composition_of(groups, size):
    """The composition in which these values meet."""
    members = [[number for number, held in enumerate(groups) if value in held] for value in range(size)]
    return Composition(tuple(np.array(each, np.int32) for each in members), len(groups))


def joint_law_of_decoys():
    """Probability of what the watched rows show, over all deals of rows to places and all draws."""
    members = composition_of(GROUPS, 3).members
    law = {}
    deals = [list(itertools.permutations(each.tolist())) for each in members]
    for dealt in itertools.product(*deals):
        shown = itertools.product(*(GROUPS[dealt[value][place]] for value, place in WATCHED))
        for each in shown:
            law[each] = law.get(each, 0.0) + 1.0
    total = sum(law.values())
    return {each: weight / total for each, weight in law.items()}


def test_decoys_drawn_on_counts_have_the_joint_law_of_rows_in_groups(alarm_budget, monkeypatch):
    """Null: three rows in two portions jointly show what rows dealt to groups would. n = 10,000, chi-square.

    The groups are given; the law is enumerated over all deals and draws. Twin: every row by its own law,
    independently of the others.
    """
    check = alarm_budget.draw("joint law of decoys by portions")
    noise = NoiseSource.seeded(check.seed)
    monkeypatch.setattr(decoys, "compose_groups", lambda *_, **__: composition_of(GROUPS, 3))
    counts = np.array([[1, 2, 1], [2, 1, 1]])
    rows = [np.array([0, 1, 2, 1]), np.array([1, 0, 0, 2])]
    # The first row of 0 is in the first portion and the second in the other; of 1 both are in the first.
    watched = ((0, 0), (1, 1), (0, 3))
    law, draws = joint_law_of_decoys(), 10_000
    outcomes = []
    for number in range(draws):
        fresh = noise.named(str(number))
        drawn = decoys.draw_on_counts(counts.sum(axis=0), 2, fresh)
        shares = drawn.split(counts, fresh.named("portions"))
        shown = [each.arranged(fresh.stream(p)).take(rows[p]) for p, each in enumerate(shares)]
        outcomes.append(tuple(int(shown[p][row]) for p, row in watched))
    possible = list(itertools.product(range(3), repeat=3))
    expected = draws * np.array([law.get(each, 0.0) for each in possible])
    alarm_budget.assert_passes(
        alarm_budget.chi_square_p_value(frequencies(outcomes, possible), expected), check
    )
    columns = list(zip(*outcomes, strict=True))
    apart = [np.array(each)[noise.stream(p).permutation(draws)].tolist() for p, each in enumerate(columns)]
    twin = list(zip(*apart, strict=True))
    alarm_budget.assert_rejects(alarm_budget.chi_square_p_value(frequencies(twin, possible), expected), check)


def test_rows_of_a_value_get_any_of_its_buckets_by_portions_and_blocks(alarm_budget, monkeypatch):
    """Null: two of four rows of a value get any two of its four buckets. Statistic: chi-square, n = 6,600.

    Eight rows in two portions, four buckets in two blocks; both rows are in the first portion. Twin: quotas
    that are always the expected ones, by which two rows of a portion never go to the same block.
    """
    check = alarm_budget.draw("buckets by portions and blocks")
    noise = NoiseSource.seeded(check.seed)
    monkeypatch.setattr(anatomy, "ROWS_PER_BLOCK", 4)
    blocks = anatomy.cut_into_blocks(composition_of(((0, 1), (0, 1), (0, 2), (0, 2)), 3))
    assert len(blocks) == 2
    portions = [np.array([0, 1, 0, 2]), np.array([2, 0, 0, 1])]
    counts = np.stack([np.bincount(each, minlength=3) for each in portions])
    step, gather = anatomy.DealToBlocks("job", 3), anatomy.DealToBuckets("job", ("row",))
    possible = list(itertools.combinations(range(1, 5), 2))
    draws = 6_600
    expected = np.full(6, draws / 6)

    def buckets(fresh):
        shares = anatomy.block_quotas(counts, blocks, fresh.named("quotas"))
        piles = [[], []]
        for number, (codes, share) in enumerate(zip(portions, shares, strict=True)):
            batch = CodedBatch({"job": codes, "row": 4 * number + np.arange(4)}, 4)
            (dealt,) = step(iter([batch]), Portion(number, share), fresh)
            for row, job, pile in zip(
                *(dealt.codes[name].tolist() for name in ("row", "job", PILE)), strict=True
            ):
                piles[pile].append((row, job))
        bucket = {}
        for number, pile in enumerate(piles):
            rows, jobs = (np.array(each) for each in zip(*pile, strict=True))
            made = gather(
                CodedBatch({"row": rows, "job": jobs}, rows.size), Portion(number, blocks[number]), fresh
            )
            bucket.update(zip(made.codes["row"].tolist(), made.codes["bucket"].tolist(), strict=True))
        return tuple(sorted((bucket[0], bucket[2])))

    def p_value(source):
        outcomes = [buckets(source.named(str(number))) for number in range(draws)]
        return alarm_budget.chi_square_p_value(frequencies(outcomes, possible), expected)

    alarm_budget.assert_passes(p_value(noise), check)

    def expected_table(parts, outcomes, stream):
        return quotas.contingency(parts, outcomes, stream) if parts[0] != 2 else np.array([[1, 1], [1, 1]])

    monkeypatch.setattr(anatomy, "contingency", expected_table)
    alarm_budget.assert_rejects(p_value(noise.named("twin")), check)
