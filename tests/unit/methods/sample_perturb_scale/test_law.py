"""The law of sampled, perturbed and scaled rows."""

from __future__ import annotations

import numpy as np
import pytest

from array_tables import ArrayTable, published
from sampled_rows import DISTORTION, SCHEMA, law
from sfumato.errors import TooLargeError
from sfumato.estimates.counts import CountTable
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.methods.sample_perturb_scale.design import SamplePerturbScale
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute, Role, Schema

TABULATIONS = [
    Tabulation(),
    Tabulation(by=("job",)),
    Tabulation(by=("job", "place")),
    Tabulation(by=("place", "job", "sex"), where=Selection((("place", (1, 3)), ("job", (0, 2))))),
    Tabulation(by=("sex",), where=Selection((("job", (1,)),))),
    Tabulation(where=Selection((("sex", (0,)), ("job", (2, 3))))),
]


def rows(number=2_000, seed=1):
    """Published rows, at random."""
    draw = np.random.default_rng(seed)
    codes = {each.name: draw.integers(0, each.size, number).astype(np.uint8) for each in SCHEMA.attributes}
    return ArrayTable(SCHEMA, codes)


@pytest.mark.parametrize("target", ["table", "population"])
@pytest.mark.parametrize("tabulation", TABULATIONS)
def test_where_nothing_was_cut_it_is_the_law_of_plain_perturbation(tabulation, target):
    """Values and covariances alike."""
    release = rows()
    plain = PerturbedRows(distortions={"job": DISTORTION}).estimate(release, tabulation, target=target)
    sampled = law().estimate(release, tabulation, target=target)
    np.testing.assert_allclose(sampled.values, plain.values, atol=1e-9)
    # Plain perturbation corrects the population's variance by N/(N-1); the two differ by that at most.
    tolerance = 0 if target == "table" else 2e-3
    np.testing.assert_allclose(sampled.covariance, plain.covariance, rtol=tolerance, atol=1e-6 + tolerance)


def test_selections_that_overlap_agree_with_plain_perturbation_where_nothing_was_cut():
    """Values and the covariance between them."""
    selections = [
        Selection((("job", (0, 1)), ("sex", (0,)))),
        Selection((("job", (1, 2)),)),
        Selection((("place", (0, 1, 2)),)),
        Selection((("note", (1,)), ("job", (0,)))),
    ]
    release = rows()
    plain = PerturbedRows(distortions={"job": DISTORTION}).estimate_selections(release, selections)
    sampled = law().estimate_selections(release, selections)
    np.testing.assert_allclose(sampled.values, plain.values, atol=1e-9)
    np.testing.assert_allclose(sampled.covariance, plain.covariance, atol=1e-6)


@pytest.mark.parametrize("feasibility", ["projection", "clip", "em"])
@pytest.mark.parametrize("tabulation", TABULATIONS)
def test_consistent_counts_are_those_of_plain_perturbation(tabulation, feasibility):
    """Copies count like rows there."""
    release = rows(300)
    plain = PerturbedRows(distortions={"job": DISTORTION})
    expected = plain.consistent(release, tabulation, feasibility=feasibility)
    found = law(rows_per_group=5.0).consistent(release, tabulation, feasibility=feasibility)
    # Expectation-maximization stops at a tolerance on all cells together, which are not the same cells.
    np.testing.assert_allclose(found, expected, atol=0.05 if feasibility == "em" else 1e-9)


def test_tabulations_and_selections_tell_the_same_error():
    """A cell asked for in either way."""
    release = rows()
    where = Selection((("sex", (0,)), ("job", (2, 3))))
    for cut in (
        law(rows_per_group=50.0),
        law(rows_per_group=50.0, is_smallest=True),
        law(rows_per_group=20.0),
    ):
        cell = cut.estimate(release, Tabulation(where=where))
        selection = cut.estimate_selections(release, [where])
        np.testing.assert_allclose(cell.values, selection.values)
        np.testing.assert_allclose(cell.variances, selection.variances)


def test_the_covariance_of_a_table_gives_the_variance_of_its_sums():
    """Adding up cells of the sensitive attribute is asking for them together."""
    cut = law(rows_per_group=37.0)
    release = rows()
    whole = cut.estimate(release, Tabulation(by=("place", "job")))
    total = whole.linear(np.kron(np.ones(5), [1.0, 1.0, 0.0, 0.0])[None, :])
    direct = cut.estimate(release, Tabulation(where=Selection((("job", (0, 1)),))))
    assert total.values[0] == pytest.approx(direct.values[0])
    # The fixed totals of copies are taken off by place here and over all places there.
    assert total.variances[0] == pytest.approx(direct.variances[0], rel=0.02)


def test_perturbation_errors_grow_with_the_square_of_the_scale_factor():
    """Ten times the copies of every row: a standard error ten times as large, not the square root of ten."""
    few = ArrayTable(SCHEMA, {name: np.zeros(40, np.uint8) for name in SCHEMA.names})
    few.codes["job"][:] = np.arange(40) % 4
    many = ArrayTable(SCHEMA, {name: np.repeat(column, 10) for name, column in few.codes.items()})
    question = Tabulation(where=Selection((("job", (0,)),)))
    plain = law(rows_per_group=40.0).estimate(few, question)
    scaled = law(rows_per_group=40.0).estimate(many, question)
    # The rounding of the quotas adds a little to the scaled one.
    assert scaled.standard_errors[0] == pytest.approx(10 * plain.standard_errors[0], rel=0.02)
    naive = PerturbedRows(distortions={"job": DISTORTION}).estimate(many, question)
    assert naive.standard_errors[0] == pytest.approx(10**0.5 * plain.standard_errors[0], rel=0.02)


def test_public_counts_are_exact_only_where_groups_keep_their_sizes():
    """Queries on public attributes carry an error under the thesis's rounding, and none under exact sizes."""
    release = rows()
    question = Tabulation(where=Selection((("place", (1, 2)),)))
    exact = law(rows_per_group=37.0).estimate(release, question)
    rounded = law(rows_per_group=37.0, has_exact_sizes=False).estimate(release, question)
    assert exact.standard_errors[0] == pytest.approx(0, abs=1e-6)
    assert rounded.standard_errors[0] > 1
    # n frac(w) (1 - frac(w)) for each of the four groups.
    sizes = release.count_by(("place", "sex")).counts[1:3].ravel()
    fraction = sizes / 37 % 1
    assert rounded.variances[0] == pytest.approx((37 * fraction * (1 - fraction)).sum())


def test_a_group_that_lost_rows_in_every_quota_is_not_taken_for_whole():
    """A group of 41 rows cut to 40 keeps at least 40 - 4 + 1 of them when each of four quotas is rounded by itself.

    Published may then be 37 rows of 41: below n, and still not all there are. Of 36 published none can be missing.
    """
    rounded = law(rows_per_group=40.0, has_exact_sizes=False)._sampling
    assert rounded.distortion.size == 4
    assert (rounded.factors_at_most(np.array([37.0, 39.0, 40.0])) > 1).all()
    assert rounded.factors_at_most(np.array([1.0, 36.0])).tolist() == [1.0, 1.0]


def test_conditions_outside_the_groups_add_the_error_of_drawing_rows():
    """The sample was not stratified by them."""
    release = rows()
    cut = law(rows_per_group=20.0)
    note = cut.estimate(release, Tabulation(where=Selection((("note", (0,)),))))
    assert note.standard_errors[0] > 10


def test_few_rows_never_claim_less_noise_than_perturbation_has():
    """40 rows that stand for 2, none with the value: 40 * 20 * .125 * .875 / .25 = 350, not 250 as estimated."""
    release = ArrayTable(SCHEMA, {name: np.zeros(40, np.uint8) for name in SCHEMA.names})
    question = Tabulation(where=Selection((("job", (1,)),)))
    assert law(rows_per_group=2.0).estimate(release, question).variances[0] >= 350
    # Where nothing was cut the estimated variance stands: 40 * .125 * .625 / .25.
    assert law().estimate(release, question).variances[0] == pytest.approx(12.5)


def test_a_question_outside_the_groups_leaves_the_errors_of_the_others_alone():
    """A count of whole groups is exact, and one by job has its own error, whatever is asked beside them."""
    release = rows()
    cut = law(rows_per_group=20.0)
    alone = [Selection((("sex", (0,)),)), Selection((("place", (1, 2)), ("job", (0,))))]
    outside = Selection((("sex", (0,)), ("note", (0,))))
    together = cut.estimate_selections(release, [*alone, outside])
    np.testing.assert_allclose(
        together.variances,
        [cut.estimate_selections(release, [each]).variances[0] for each in [*alone, outside]],
    )
    assert together.variances[0] == 0
    # What is known exactly varies with nothing.
    np.testing.assert_allclose(together.covariance[0], 0, atol=1e-6)
    assert np.linalg.eigvalsh(together.covariance).min() > -1e-6


def test_unpublished_sample_sizes_give_larger_errors():
    """The smallest possible sample stands for the true one."""
    release = rows()
    question = Tabulation(by=("job",))
    known = law(rows_per_group=90.0).estimate(release, question)
    smallest = law(rows_per_group=40.0, is_smallest=True).estimate(release, question)
    assert (smallest.standard_errors > known.standard_errors).all()


def test_expected_errors_are_those_that_come_out():
    """The root mean square of stated errors over releases is near the planned one."""
    draw = np.random.default_rng(1)
    codes = {each.name: draw.integers(0, each.size, 3_000).astype(np.uint8) for each in SCHEMA.attributes}
    codes["job"] = draw.choice(4, 3_000, p=[0.6, 0.2, 0.15, 0.05]).astype(np.uint8)
    table = ArrayTable(SCHEMA, codes)
    design = SamplePerturbScale(retention=0.5)
    planned = design.law(design.promise(SCHEMA)).expected_standard_errors(
        table.count_by(("place", "sex", "job"))
    )
    stated = []
    for seed in range(30):
        publication = design.publish(table, NoiseSource.seeded(seed))
        release = published(publication, table, NoiseSource.seeded(seed))
        stated.append(publication.law.estimate(release, Tabulation(by=("place", "sex", "job"))).variances)
    np.testing.assert_allclose(np.sqrt(np.mean(stated, axis=0)), planned.ravel(), rtol=0.06)


def test_expected_errors_without_the_groups_are_upper_bounds():
    """One group of all rows is cut more than its parts."""
    cut = law(rows_per_group=40.0)
    release = rows()
    parts = cut.expected_standard_errors(release.count_by(("place", "sex", "job")))
    whole = cut.expected_standard_errors(release.count_by(("job",)))
    assert (whole >= np.sqrt((parts**2).sum(axis=(0, 1)))).all()
    assert (cut.expected_standard_errors(release.count_by(("sex",))) == 0).all()


def test_a_large_table_has_variances_without_covariances():
    """The same variances as the cells one by one."""
    big = Attribute(name="place", role=Role.QUASI_IDENTIFIER, categories=tuple(map(str, range(300))))
    schema = Schema(attributes=(big, *SCHEMA.attributes[1:]))
    draw = np.random.default_rng(1)
    codes = {each.name: draw.integers(0, each.size, 9_000).astype(np.uint16) for each in schema.attributes}
    release = ArrayTable(schema, codes)
    cut = law(rows_per_group=9.0)
    for target in ("table", "population"):
        table = cut.estimate(release, Tabulation(by=("job", "place")), target=target)
        assert table.covariance is None
        where = Selection((("job", (2,)), ("place", (17,))))
        cell = cut.estimate(release, Tabulation(where=where), target=target)
        assert table.values[2 * 300 + 17] == pytest.approx(cell.values[0])
        assert table.variances[2 * 300 + 17] == pytest.approx(cell.variances[0])


def test_a_table_that_does_not_fit_is_refused():
    """Before anything is counted."""
    attributes = tuple(
        Attribute(name=f"q{place}", role=Role.QUASI_IDENTIFIER, categories=tuple(map(str, range(200))))
        for place in range(4)
    )
    schema = Schema(attributes=(*attributes, SCHEMA["job"]))
    release = ArrayTable(schema, {name: np.zeros(1, np.uint8) for name in schema.names})
    names = tuple(each.name for each in attributes)
    with pytest.raises(TooLargeError):
        law(groups=names).estimate(release, Tabulation(by=names))


def test_one_group_of_all_rows_is_allowed():
    """Where every public value was merged away."""
    schema = Schema(attributes=(SCHEMA["job"],))
    release = ArrayTable(schema, {"job": np.repeat(np.arange(4), 25).astype(np.uint8)})
    found = law(groups=(), rows_per_group=20.0).estimate(release, Tabulation(by=("job",)))
    np.testing.assert_allclose(found.values, [25, 25, 25, 25])
    assert "nothing (all rows)" in law(groups=()).sentence


def test_the_sentence_hides_the_sizes_of_samples_cut_by_group():
    """It names the smallest."""
    assert (
        "an unpublished number of rows, 58 rows or more"
        in law(rows_per_group=58.0, is_smallest=True).sentence
    )
    assert isinstance(law().expected_standard_errors(CountTable((SCHEMA["job"],), np.ones(4))), np.ndarray)


def test_selections_about_a_population_agree_with_plain_perturbation_where_nothing_was_cut():
    """Overlapping ones too: the rows in both are drawn together."""
    selections = [
        Selection((("job", (0, 1)), ("sex", (0,)))),
        Selection((("job", (1, 2)),)),
        Selection((("place", (0, 1, 2)), ("job", (1,)))),
    ]
    release = rows()
    plain = PerturbedRows(distortions={"job": DISTORTION})
    expected = plain.estimate_selections(release, selections, target="population")
    found = law().estimate_selections(release, selections, target="population")
    # The one corrects by N/(N-1), the other does not.
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=2e-3, atol=1)


def test_selections_about_a_population_have_the_errors_of_the_same_cells():
    """Where groups were cut, the product of two estimates exceeds that of the counts by their covariance."""
    release = rows(400)
    where = [Selection((("sex", (0,)), ("job", (each,)))) for each in range(4)]
    for rows_per_group in (10_000.0, 5.0):
        some = law(rows_per_group=rows_per_group)
        tabulated = some.estimate(
            release, Tabulation(by=("job",), where=Selection((("sex", (0,)),))), target="population"
        )
        asked = some.estimate_selections(release, where, target="population")
        np.testing.assert_allclose(asked.covariance, tabulated.covariance, rtol=1e-9, atol=1e-6)


def test_whole_groups_keep_their_errors_beside_a_question_about_a_part():
    """Every attribute that makes a group, and the sensitive one: cut groups, and a note that is none of them beside them."""
    draw = np.random.default_rng(4)
    release = ArrayTable(SCHEMA, {each.name: draw.integers(0, each.size, 900) for each in SCHEMA.attributes})
    whole, part = Tabulation(by=("place", "sex", "job")), Tabulation(by=("note", "job"))
    cut = law(rows_per_group=20.0)
    alone, beside = (cut.formula(release, asked).variances(whole) for asked in ((whole,), (whole, part)))
    np.testing.assert_allclose(beside, alone)
