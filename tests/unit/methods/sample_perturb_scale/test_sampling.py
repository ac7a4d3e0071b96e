"""Moments of sampled, perturbed and copied rows: by hand, and by counting every outcome of a row."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from array_tables import ArrayTable
from sfumato.estimates.estimates import Certainty
from sfumato.guarantees.reconstruction_privacy import ReconstructionPrivacy
from sfumato.methods.sample_perturb_scale.law import SampledRows
from sfumato.methods.sample_perturb_scale.variances import GroupBlocks, Sampling, Sums
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.distortion import UniformDistortion
from sfumato.schema import Attribute, Role, Schema

RETENTION, SIZE = 0.5, 4
UNSEEN_ROWS = 2
"""Rows that may be there of which none was sampled: about half of the square of 1.96."""


def sampling(factor, *, has_exact_sizes=True, rows_per_group=10.0):
    """Groups that were cut to one row in so many."""
    return Sampling(
        distortion=UniformDistortion(retention=RETENTION, size=SIZE),
        scale_factors=lambda sizes: np.full(sizes.shape, float(factor)),
        rows_per_group=rows_per_group,
        is_smallest=False,
        has_estimated_factors=False,
        has_exact_sizes=has_exact_sizes,
    )


def test_the_moments_of_a_row_inside_a_sum():
    """One value of four: published inside with probability 5/8, worth 7/4 there and -1/4 elsewhere; two values: 3/4, 3/2, -1/2."""
    selector = np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    second, third = sampling(1).moments(selector)
    assert second.tolist() == pytest.approx([5 / 8 * 49 / 16 + 3 / 8 / 16, 3 / 4 * 9 / 4 + 1 / 4 / 4])
    assert third.tolist() == pytest.approx([5 / 8 * 343 / 64 - 3 / 8 / 64, 3 / 4 * 27 / 8 - 1 / 4 / 8])


@pytest.mark.parametrize("adds_drawing", [False, True])
@pytest.mark.parametrize("factor", [1.0, 3.0, 1.5, 2.25])
@pytest.mark.parametrize("chosen", [(0,), (0, 2), (1, 2, 3)])
def test_the_covariance_of_an_estimate_with_its_variance_by_counting(factor, adds_drawing, chosen):
    """A row is kept with probability 1/w where rows are drawn, perturbed, and published w times, rounded up or down.

    C copies add C h to the estimate and C (d h^2 - u h) to the estimated variance: u = 1 where rows are drawn and w elsewhere,
    d = w + v/w with v the variance of C.
    """
    formula = sampling(factor)
    matrix = RETENTION * np.eye(SIZE) + (1 - RETENTION) / SIZE
    selector = np.zeros((SIZE, 1))
    selector[list(chosen)] = 1
    kernel = np.linalg.inv(matrix) @ selector
    kept, each = (1 / factor, 1) if adds_drawing else (1.0, factor)
    more = factor % 1
    effect = factor + more * (1 - more) / factor
    outcomes = [(0, 1 - kept), (int(factor), kept * (1 - more)), (int(factor) + 1, kept * more)]
    for true in range(SIZE):
        stated = estimate = variance = product = 0.0
        for published, (copies, chance_of_copies) in itertools.product(range(SIZE), outcomes):
            chance = matrix[true, published] * chance_of_copies
            rows = np.zeros((1, SIZE))
            rows[0, published] = copies
            found = formula.covariances_with_variances(
                rows, np.array([100.0]), np.array([0]), 1, (selector, kernel), adds_drawing=adds_drawing
            )
            h = float(kernel[published, 0])
            own, spread = copies * h, copies * (effect * h**2 - each * h)
            stated += chance * found.item()
            estimate, variance = estimate + chance * own, variance + chance * spread
            product += chance * own * spread
        assert stated == pytest.approx(product - estimate * variance, abs=1e-9)


def test_a_group_that_was_cut_by_one_row_can_look_whole():
    """Eleven rows cut to ten keep more than ten less four, one for each value: seven may be a tenth too few, six were never cut."""
    sizes = np.array([6.0, 7.0, 10.0, 30.0])
    loose = sampling(1, has_exact_sizes=False).factors_at_most(sizes)
    assert loose.tolist() == pytest.approx([1.0, 1.1, 1.1, 1.1])
    assert sampling(3, has_exact_sizes=False).factors_at_most(sizes).tolist() == [3.0] * 4
    assert sampling(1).factors_at_most(sizes).tolist() == [1.0] * 4


SCHEMA = Schema(
    attributes=(
        Attribute(name="place", role=Role.QUASI_IDENTIFIER, categories=("a", "b")),
        Attribute(name="note", role=Role.OTHER, categories=("x", "y", "z")),
        Attribute(name="job", role=Role.SENSITIVE, categories=("s", "t", "u", "v")),
    )
)
CUT = SampledRows(
    sensitive="job",
    distortion=UniformDistortion(retention=RETENTION, size=SIZE),
    groups=("place",),
    rows_per_group=20.0,
)
"""Groups of a hundred rows are cut to one row in five."""


def hundred_rows(note, job):
    """One group."""
    codes = {"place": np.zeros(100), "note": np.asarray(note), "job": np.asarray(job)}
    return ArrayTable(SCHEMA, {name: each.astype(np.uint8) for name, each in codes.items()})


def test_what_may_be_unseen_adds_to_variances_and_slopes():
    """For each row that may be unseen a (d h^2 - h): 5 E[h^2] - 1 to the variance, 25 E[h^3] - 10 E[h^2] + 1 to the covariance."""
    release = hundred_rows([0] * 60 + [1] * 40, np.arange(100) % 4)
    asked = Tabulation(by=("note", "job"))
    formula = CUT.formula(release, [asked])
    plain = formula.variances(asked).reshape(3, 4)[:2]
    variances, slopes = (each.reshape(3, 4) for each in formula.spread(asked))
    second, third = 31 / 16, 107 / 32
    assert variances[:2] == pytest.approx(plain + UNSEEN_ROWS * (5 * second - 1))
    # Each of four jobs has 15 or 10 of the published rows, all copies of rows that were drawn: d = 5 and u = 1.
    for place, rows in enumerate((15.0, 10.0)):
        h = np.array([7 / 4, -1 / 4, -1 / 4, -1 / 4])
        estimate = rows * h.sum()
        own = rows * (25 * (h**3).sum() - 5 * (h**2).sum()) - 5 * estimate * second + estimate
        added = UNSEEN_ROWS * (25 * third - 2 * 5 * second + 1)
        assert slopes[place] == pytest.approx((own + added) / variances[place])
    assert (slopes[2] == 0).all()


def test_rows_of_one_job_were_seen():
    """That nobody with another job was sampled does not make a note unseen: public counts have the errors of their rows."""
    asked = Tabulation(by=("note",))
    one_job = hundred_rows(
        [1 if place % 4 == 0 and place < 40 else 0 for place in range(100)], np.arange(100) % 4
    )
    mixed = hundred_rows([1] * 10 + [0] * 90, np.arange(100) % 4)
    found = [CUT.formula(each, [asked]).variances(asked) for each in (one_job, mixed)]
    assert found[0] == pytest.approx(found[1])


def test_the_order_of_two_questions_is_no_matter():
    """One about what is outside the groups and one that is not."""
    release = hundred_rows([0] * 60 + [1] * 40, np.arange(100) % 4)
    outside = Tabulation(where=Selection((("note", (0,)), ("job", (1,)))))
    inside = Tabulation(where=Selection((("place", (0,)), ("job", (1, 2)))))
    formula = CUT.formula(release, [outside, inside])
    assert formula.covariance(outside, inside).item() == pytest.approx(
        formula.covariance(inside, outside).item()
    )


def test_rows_that_were_left_out_and_rows_that_were_copied_have_one_error_each():
    """Of 68 rows 66 were kept, of which two are published twice: a count that 10 of 68 rows belong to varies by 4 p q."""
    codes = {"place": np.zeros(68), "note": np.arange(68) < 10, "job": np.arange(68) % 4}
    release = ArrayTable(SCHEMA, {name: each.astype(np.uint8) for name, each in codes.items()})
    asked = Tabulation(by=("note",))
    law = CUT.model_copy(update={"rows_per_group": 66.0})
    variance = 4 * 10 / 68 * 58 / 68
    assert law.formula(release, [asked]).variances(asked)[:2] == pytest.approx([variance, variance])
    # Of all rows of the group nothing is unsure, so what is added to one note is taken from the other.
    assert law.formula(release, [asked]).covariance(asked, asked)[0, 1] == pytest.approx(-variance)


def test_what_nobody_can_have_is_exact_and_what_was_not_sampled_is_not():
    """No row of the place b is there with any job; of note z none was sampled, which leaves it open in a group that was cut."""
    release = hundred_rows([0] * 60 + [1] * 40, np.arange(100) % 4)
    by_place = CUT.estimate(release, Tabulation(by=("place", "job"))).certainty.reshape(2, 4)
    assert (by_place[1] == Certainty.EXACT).all()
    assert (by_place[0] == Certainty.ESTIMATED).all()
    by_note = CUT.estimate(release, Tabulation(by=("note", "job"))).certainty.reshape(3, 4)
    assert (by_note == Certainty.ESTIMATED).all()


@pytest.mark.parametrize(("is_smallest", "cap"), [(True, "group"), (False, "uniform")])
def test_the_promise_says_how_groups_were_cut(is_smallest, cap):
    """As the law has it, whatever was stated; none where more rows were kept than it allows."""
    stated = ReconstructionPrivacy(
        sensitive="other",
        groups=("x",),
        retention=0.9,
        size=9,
        relative_error=0.3,
        error_probability=0.3,
        cap="uniform" if is_smallest else "group",
    )
    (found,) = CUT.model_copy(update={"is_smallest": is_smallest}).promises(SCHEMA, stated)
    assert (found.cap, found.sensitive, found.groups) == (cap, "job", ("place",))
    assert (found.retention, found.size, found.relative_error) == (RETENTION, SIZE, 0.3)
    limit = found.uniform_limit
    assert CUT.model_copy(update={"rows_per_group": float(limit)}).promises(SCHEMA, stated)
    assert not CUT.model_copy(update={"rows_per_group": float(limit) + 1}).promises(SCHEMA, stated)


def test_the_least_variance_of_a_row_by_hand():
    """Of five values at p = 1/2 a row is shown inside one with 0.6 or 0.1: 0.09 / 0.25; inside four with 0.9 or 0.4: the same.

    At p = 0.9 with 0.92 or 0.02: 0.02 * 0.98 / 0.81.
    """
    selector = np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    for retention, expected in ((0.5, 0.09 / 0.25), (0.9, 0.02 * 0.98 / 0.81)):
        found = replace(sampling(1), distortion=UniformDistortion(retention=retention, size=5))
        assert found._least_variances(selector).tolist() == pytest.approx([expected, expected])


def part(**codes):
    """A question about rows outside the groups, or in them."""
    return Tabulation(where=Selection(tuple((name, (code,)) for name, code in codes.items())))


def test_how_the_variance_of_a_part_grows_by_hand():
    """Parts of 60 and of 40 of a hundred rows, one in five drawn: 4 x (1 - x/100), and 4 more for each row that may be unseen.

    Its slope is 4 (x - 3 x^2 / N + 2 x^3 / N^2 + 2) / (x - x^2 / N + 2): more than half of a group leans to the other side.
    """
    release = hundred_rows([0] * 60 + [1] * 40, np.arange(100) % 4)
    asked = Tabulation(by=("note",))
    variances, slopes = CUT.formula(release, [asked]).spread(asked)
    assert variances[:2] == pytest.approx([96 + 8, 96 + 8])
    assert slopes[:2] == pytest.approx([4 * (-4.8 + 2) / 26, 4 * (4.8 + 2) / 26])


def test_parts_of_a_sample_of_fixed_size_take_rows_from_each_other():
    """Sixty rows of one note, and ten that are estimated to have another note and a job: 4/100 of their product.

    Of two counts of jobs nothing is said; nor of what is not in parts of groups.
    """
    release = hundred_rows([0] * 60 + [1] * 40, np.arange(100) % 4)
    asked = [part(note=0), part(note=1, job=1), part(note=0, job=2), part(place=0, job=3)]
    formula = CUT.formula(release, asked)
    assert formula.values(asked[1]) == pytest.approx([10])
    assert formula.covariance(asked[0], asked[1]).item() == pytest.approx(-0.04 * 60 * 10)
    assert formula.covariance(asked[1], asked[0]).item() == pytest.approx(-0.04 * 60 * 10)
    assert formula.covariance(asked[1], asked[2]).item() == 0
    assert formula.variances(asked[0]) == pytest.approx([4 * 60 * 0.4])


def test_all_of_a_group_is_known_and_rounding_does_not_take_it_below():
    """One note of all rows, cut to any number of them."""
    release = hundred_rows([0] * 100, np.arange(100) % 3)
    asked = Tabulation(by=("note",))
    found = [
        CUT.model_copy(update={"rows_per_group": float(rows)}).formula(release, [asked]).variances(asked)[0]
        for rows in range(5, 100)
    ]
    assert min(found) >= 0
    assert max(found) < 1e-9


def test_what_is_known_has_no_slope_beyond_what_a_row_can_change():
    """All rows of two groups that were not cut have one note: rounding over rounding is no slope."""
    draw = np.random.default_rng(3)
    for _ in range(20):
        codes = {"place": np.arange(29) % 2, "note": np.zeros(29), "job": draw.integers(0, 4, 29)}
        release = ArrayTable(SCHEMA, {name: each.astype(np.uint8) for name, each in codes.items()})
        law = CUT.model_copy(update={"distortion": UniformDistortion(retention=0.3, size=SIZE)})
        asked = Tabulation(by=("note",))
        # What a row counts at most, twice.
        assert np.abs(law.formula(release, [asked]).spread(asked)[1]).max() <= 2 / 0.3


@pytest.mark.parametrize(
    ("factor", "of_copies"),
    [
        # Up to the square root of 2 the variance itself, 3 - w - 2/w, though 1/6 would be more.
        (1.2, 3 - 1.2 - 2 / 1.2),
        (1.6, 0.15),
        # Then no less than 1/6 over w, which is all that is known beyond 2.
        (1.8, 1 / 10.8),
        (3.0, 1 / 18),
        # A group that was not cut has no copies.
        (1.0, 0.0),
    ],
)
def test_copies_where_factors_are_estimated(factor, of_copies):
    """V/w by hand: of a factor that is about known it is that factor's, and on average of whole and broken ones."""
    some = replace(sampling(factor), is_smallest=True, has_estimated_factors=True)
    factors, found = some.effects(np.array([50.0]))
    assert factors.tolist() == [factor]
    assert found.tolist() == pytest.approx([of_copies])


def test_slopes_end_at_twice_what_a_row_is_worth(monkeypatch):
    """Rows that are kept with one half are worth 2 at most: no slope is above 4, however noisy, where nothing was cut."""
    town, job = (
        Attribute(name=name, role=role, categories=tuple("abcd"))
        for name, role in (("town", Role.QUASI_IDENTIFIER), ("job", Role.SENSITIVE))
    )
    kept = SampledRows(
        sensitive="job",
        distortion=UniformDistortion(retention=RETENTION, size=SIZE),
        groups=("town",),
        rows_per_group=1_000.0,
    )
    draw = np.random.default_rng(2)
    release = ArrayTable(
        Schema(attributes=(town, job)), {name: draw.integers(0, 4, 400) for name in ("town", "job")}
    )
    asked = Tabulation(by=("town", "job"))
    for sign in (1, -1):
        monkeypatch.setattr(
            Sampling,
            "covariances_with_variances",
            lambda *_given, sign=sign, **_more: np.full((4, 4), sign * 1e9),
        )
        _, slopes = kept.formula(release, (asked,)).spread(asked)
        assert slopes.tolist() == pytest.approx([sign * 4.0] * 16)


def test_no_blocks_are_rows_of_no_group():
    """An empty release has none."""
    nothing = GroupBlocks(
        {}, np.zeros((0, 3)), np.zeros(0), np.zeros(0, np.int64), np.zeros(0), has_outside=False
    )
    assert nothing.rows_of_groups().shape == (0, 3)


@pytest.mark.parametrize(("factor", "has_outside"), [(2.5, False), (2.5, True), (1.0, False)])
def test_covariances_of_two_sets_of_sums_are_those_of_single_values_added_up(factor, has_outside):
    """Two sums beside three, over two cells: ``L' C R`` with C of all pairs of values."""
    formula = sampling(factor)
    rows = np.array([[30.0, 11.0, 5.0, 20.0], [3.0, 1.0, 40.0, 9.0], [12.0, 0.0, 7.0, 2.0]])
    sizes = rows.sum(axis=1)
    blocks = GroupBlocks({}, rows, sizes, np.arange(3), sizes, has_outside=has_outside)
    sums = formula.add_up(blocks, np.ones(3, bool), np.array([0, 1, 0]), 2, adds_drawing=has_outside)
    inverse = np.linalg.inv(RETENTION * np.eye(SIZE) + (1 - RETENTION) / SIZE)
    left = np.array([[1.0, 0], [1, 0], [0, 1], [0, 0]])
    right = np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 0]])
    singles = formula.covariances(sums, (np.eye(SIZE), np.eye(SIZE)), (inverse, inverse))
    found = formula.covariances(sums, (left, right), (inverse @ left, inverse @ right))
    assert found.shape == (2, 2, 3)
    np.testing.assert_allclose(found, left.T @ singles @ right, atol=1e-9)


@pytest.mark.parametrize("has_free_totals", [True, False])
def test_covariances_of_sums_that_are_given_are_those_of_single_values_and_have_their_variances(
    has_free_totals,
):
    """Between any two sums ``left' C right``, C between single values; its diagonal has the variances of each."""
    formula = replace(sampling(1.5), distortion=UniformDistortion(retention=RETENTION, size=SIZE))
    generator = np.random.default_rng(2)
    rows = generator.integers(5, 40, (3, SIZE)).astype(float)
    sums = Sums(
        rows=rows,
        effective=1.7 * rows,
        subtracted=1.2 * rows,
        copies=0.2 * rows,
        squared_factors=np.array([2.25, 4.5, 0.0]),
        cut=np.zeros(3),
        quotas=np.array([1 / 6, 0.1, 0.15, 1 / 6]),
        has_free_totals=has_free_totals,
    )
    inverse = np.linalg.inv(RETENTION * np.eye(SIZE) + (1 - RETENTION) / SIZE)
    single = formula.covariances(sums, (np.eye(SIZE), np.eye(SIZE)), (inverse, inverse))
    left, right = np.array([[1.0, 0], [1, 0], [0, 1], [0, 0]]), np.array([[0, 1.0], [1, 1], [1, 0], [0, 1]])
    found = formula.covariances(sums, (left, right), (inverse @ left, inverse @ right))
    np.testing.assert_allclose(found, left.T @ single @ right, rtol=1e-9)
    variances = formula.variances(sums, np.eye(SIZE), inverse)
    np.testing.assert_allclose(np.diagonal(single, axis1=1, axis2=2), variances, rtol=1e-9)


def test_what_rounding_leaves_of_a_large_group_is_nothing():
    """A billion rows with any value: all terms cancel, and what is left of them grows with the rows."""
    rows = np.array([[3e8 + 7, 2e8 + 1, 1e8 + 3, 4e8 + 9]])
    sizes = rows.sum(axis=1)
    blocks = GroupBlocks({}, rows, sizes, np.zeros(1, np.int64), sizes, has_outside=False)
    selector = np.ones((SIZE, 1))
    for factor in (1.0, 1.7, 30.0):
        formula = replace(sampling(factor), distortion=UniformDistortion(retention=0.3, size=SIZE))
        sums = formula.add_up(blocks, np.ones(1, bool), np.zeros(1, np.int64), 1, adds_drawing=False)
        kernel = formula.distortion.inverse() @ selector
        assert formula.variances(sums, selector, kernel).item() == 0
        assert formula.covariances(sums, (selector, selector), (kernel, kernel)).item() == 0
