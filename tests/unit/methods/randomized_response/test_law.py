"""The law of perturbed rows on tables small enough to work by hand or by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from counted import Counted
from sfumato.errors import ParameterError, ReleaseDamagedError, TooLargeError
from sfumato.estimates.counts import CountTable
from sfumato.estimates.estimates import Certainty
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.distortion import DenseDistortion, UniformDistortion, contract, warner
from sfumato.schema import Attribute, Role, Schema


def attribute(name, size):
    """An attribute with the categories 0, 1, ..."""
    return Attribute(name=name, role=Role.SENSITIVE, categories=tuple(str(code) for code in range(size)))


G, H = attribute("G", 2), attribute("H", 2)
THESIS = Counted((G, H), np.array([[0.368, 0.097], [0.218, 0.316]]) * 5822)
LAW = PerturbedRows(distortions={"G": warner(0.9), "H": warner(0.9)})
BOTH = Tabulation(by=("G", "H"))


def test_estimates_of_the_thesis_are_reproduced():
    """Guo 2010, section 3.2: (.427, .031, .181, .362) printed; its proportions sum to .999."""
    values = LAW.estimate(THESIS, BOTH).values / 5822
    assert np.allclose(values, [0.427, 0.031, 0.181, 0.362], atol=1.1e-3)
    assert np.allclose(values, [0.4264, 0.0300, 0.1812, 0.3614], atol=1e-4)


def test_population_covariance_of_the_thesis_is_reproduced():
    """Guo 2010, section 3.2, times 100,000: within .02, what the rounding of lambda leaves."""
    covariance = LAW.estimate(THESIS, BOTH, target="population").covariance / 5822**2 * 1e5
    printed = {
        (0, 0): 7.113,
        (1, 1): 2.902,
        (2, 2): 5.667,
        (3, 3): 6.566,
        (0, 1): -1.668,
        (0, 2): -3.134,
        (0, 3): -2.311,
        (1, 2): 0.244,
        (1, 3): -1.478,
        (2, 3): -2.777,
    }
    for (row, column), value in printed.items():
        assert abs(covariance[row, column] - value) < 0.02
        assert abs(covariance[column, row] - value) < 0.02


def test_population_interval_of_the_thesis_is_reproduced():
    """Guo 2010: support of the pair between .346 and .378 at 95 %."""
    low, high = LAW.estimate(THESIS, BOTH, target="population").intervals(0.95)
    assert (low[3] / 5822).round(3) == 0.346
    # .3772; the thesis rounds its own estimate .362 first.
    assert abs(high[3] / 5822 - 0.378) < 1.1e-3


def test_table_covariance_is_population_covariance_without_the_draw():
    """S2 = (S1 + S2) - S1, up to the factor N/(N-1): S2[00] of 2.91e-5 at p = .9."""
    table = LAW.estimate(THESIS, BOTH).covariance / 5822**2
    assert abs(table[0, 0] - 2.91e-5) < 0.03e-5


def brute_force(true_rows, matrices):
    """Mean and covariance of published counts of every cell, over all outcomes of two rows."""
    sizes = [each.shape[0] for each in matrices]
    cells = list(itertools.product(*map(range, sizes)))
    outcomes = []
    for published in itertools.product(cells, repeat=len(true_rows)):
        probability = 1.0
        counts = np.zeros(sizes)
        for true, seen in zip(true_rows, published, strict=True):
            for axis, matrix in enumerate(matrices):
                probability *= matrix[true[axis], seen[axis]]
            counts[seen] += 1
        outcomes.append((probability, counts))
    return outcomes


MATRICES = {
    "a": UniformDistortion(retention=0.4, size=2),
    "b": DenseDistortion(rows=((0.7, 0.2, 0.1), (0.1, 0.8, 0.1), (0.3, 0.2, 0.5))),
}
TRUE_ROWS = [(0, 2), (1, 0)]


def outcomes_of_two_rows():
    """Every published table of two rows, with its probability."""
    return brute_force(TRUE_ROWS, [each.dense() for each in MATRICES.values()])


@pytest.mark.parametrize(
    "tabulation",
    [
        Tabulation(by=("a", "b")),
        Tabulation(by=("b",)),
        Tabulation(by=("b", "a"), where=Selection((("b", (0, 2)),))),
        Tabulation(by=("a",), where=Selection((("b", (1, 2)),))),
    ],
)
def test_estimates_and_covariance_are_unbiased_over_all_outcomes(tabulation):
    """Two rows, every outcome: mean estimate is the truth, mean covariance the covariance of the estimates."""
    law = PerturbedRows(distortions=MATRICES)
    attributes = (attribute("a", 2), attribute("b", 3))
    truth_counts = np.zeros((2, 3))
    for row in TRUE_ROWS:
        truth_counts[row] += 1
    truth_law = PerturbedRows(distortions={})
    truth = truth_law.estimate(Counted(attributes, truth_counts), tabulation).values
    mean, second, stated = 0.0, 0.0, 0.0
    for probability, counts in outcomes_of_two_rows():
        found = law.estimate(Counted(attributes, counts), tabulation)
        mean = mean + probability * found.values
        second = second + probability * np.outer(found.values, found.values)
        stated = stated + probability * found.covariance
    assert np.allclose(mean, truth, atol=1e-12)
    assert np.allclose(stated, second - np.outer(mean, mean), atol=1e-12)


def test_expected_standard_errors_are_those_over_all_outcomes():
    """What a plan states is the standard deviation that every outcome together has."""
    law = PerturbedRows(distortions=MATRICES)
    attributes = (attribute("a", 2), attribute("b", 3))
    truth = np.zeros((2, 3))
    for row in TRUE_ROWS:
        truth[row] += 1
    squares = 0.0
    for probability, counts in outcomes_of_two_rows():
        values = law.estimate(Counted(attributes, counts), Tabulation(by=("a", "b"))).values
        squares = squares + probability * (values.reshape(2, 3) - truth) ** 2
    assert np.allclose(law.expected_standard_errors(CountTable(attributes, truth)), np.sqrt(squares))


def test_variances_of_a_large_table_are_the_diagonal_of_the_covariance(monkeypatch):
    """The squared inverses give what the whole matrix has on its diagonal, for both targets."""
    for target in ("table", "population"):
        whole = LAW.estimate(THESIS, BOTH, target=target)
        monkeypatch.setattr("sfumato.laws.estimator.LARGEST_COVARIANCE", 3)
        diagonal = LAW.estimate(THESIS, BOTH, target=target)
        monkeypatch.undo()
        assert diagonal.covariance is None
        assert np.allclose(diagonal.variances, np.diagonal(whole.covariance), rtol=1e-12)


def test_selections_agree_with_cells_and_their_covariance():
    """Two overlapping selections are sums of cells, so their estimates follow from the cells'."""
    cells = LAW.estimate(THESIS, BOTH)
    selections = (Selection((("G", (1,)),)), Selection((("H", (0,)),)))
    found = LAW.estimate_selections(THESIS, selections)
    expected = cells.linear(np.array([[0, 0, 1, 1], [1, 0, 1, 0]]))
    assert np.allclose(found.values, expected.values)
    assert np.allclose(found.covariance, expected.covariance)


def test_selections_have_the_population_covariance_when_asked():
    """The same with the draw of the table on top."""
    cells = LAW.estimate(THESIS, BOTH, target="population")
    selections = (Selection((("G", (1,)),)), Selection((("H", (0,)),)))
    found = LAW.estimate_selections(THESIS, selections, target="population")
    expected = cells.linear(np.array([[0, 0, 1, 1], [1, 0, 1, 0]]))
    # The thesis's proportions sum to .999, and N is that of the whole table.
    assert np.allclose(found.covariance, expected.covariance, rtol=1e-9)


def test_an_unperturbed_table_is_returned_without_error():
    """Identity: counts as they are, variance zero."""
    found = PerturbedRows(distortions={}).estimate(THESIS, BOTH)
    assert np.allclose(found.values, THESIS.table.counts.ravel())
    assert not found.variances.any()


NEARLY_EMPTY = Counted((G, H), np.array([[5.0, 95.0], [70.0, 30.0]]))
ONE = PerturbedRows(distortions={"H": warner(0.9)})


@pytest.mark.parametrize("feasibility", ["projection", "clip", "em"])
def test_consistent_estimates_keep_the_totals_of_unperturbed_groups(feasibility):
    """G is published as it is: 100 rows each, whatever is done about the negative cell."""
    found = ONE.consistent(NEARLY_EMPTY, BOTH, feasibility=feasibility).reshape(2, 2)
    assert (found >= 0).all()
    assert np.allclose(found.sum(axis=1), 100)
    assert found[0, 0] < 0.01
    # The second group needs no cut: (70 - 10)/.8 = 75.
    assert np.allclose(found[1], [75, 25], atol=1e-3)


@pytest.mark.parametrize("feasibility", ["projection", "clip", "em"])
def test_consistent_estimates_under_a_condition_are_part_of_the_whole(feasibility):
    """A condition on a perturbed attribute takes the cells of the whole consistent table."""
    whole = ONE.consistent(NEARLY_EMPTY, BOTH, feasibility=feasibility).reshape(2, 2)
    tabulation = Tabulation(by=("G",), where=Selection((("H", (1,)),)))
    found = ONE.consistent(NEARLY_EMPTY, tabulation, feasibility=feasibility)
    assert np.allclose(found, whole[:, 1], atol=1e-6)


def test_an_unknown_way_to_feasibility_is_refused():
    """With the known ones."""
    with pytest.raises(ParameterError, match="projection, clip, em"):
        ONE.consistent(NEARLY_EMPTY, BOTH, feasibility="hope")


def test_a_joint_too_large_for_memory_is_refused_with_its_cells():
    """The number of cells, and how to ask for less."""
    from sfumato.estimates.counts import empty_counts

    with pytest.raises(TooLargeError, match=r"1,000,000,000 cells.*fewer attributes"):
        empty_counts([attribute(name, 1000) for name in ("a", "b", "c")])


def test_one_attribute_of_a_thousand_categories_has_its_whole_covariance():
    """The covariance is a product of matrices, not a table of pairs for each published category."""
    size = 1000
    release = Counted((attribute("a", size),), np.full(size, 50))
    law = PerturbedRows(distortions={"a": UniformDistortion(retention=0.5, size=size)})
    found = law.estimate(release, Tabulation(by=("a",)))
    # Rows of the covariance sum to zero: the total is known exactly.
    assert np.allclose(found.covariance.sum(axis=1), 0, atol=1e-6)


def odds_ratios(counts):
    """Of the first two binary attributes, in each slice of the third."""
    return counts[0, 0] * counts[1, 1] / (counts[0, 1] * counts[1, 0])


# Guo 2010, section 4.3 (Korn): A and B independent given C; P(C) = (.4, .6), P(A=0|C) = (.8, .3), P(B=0|C) = (.7, .2).
KORN = np.einsum("ac,bc,c->abc", [[0.8, 0.3], [0.2, 0.7]], [[0.7, 0.2], [0.3, 0.8]], [0.4, 0.6])
TRIPLE = tuple(attribute(name, 2) for name in "ABC")


def korn_release(law):
    """The published counts to expect of 10,000 rows."""
    matrices = [law.distortions[name].on_axis if name in law.distortions else None for name in "ABC"]
    return Counted(TRIPLE, contract(10_000 * KORN, matrices))


def test_independence_given_an_unperturbed_attribute_shows_in_the_published_rows():
    """Korn's theorem: A and B perturbed, the odds ratios of the slices stay 1."""
    law = PerturbedRows(distortions={"A": warner(0.8), "B": warner(0.7)})
    assert np.allclose(odds_ratios(korn_release(law).table.counts), 1)


def test_perturbing_what_is_conditioned_on_makes_a_dependence_that_estimates_undo():
    """C kept with .8: slices show odds ratios of 2.476 and 1.911, estimated counts of 1."""
    law = PerturbedRows(distortions={"C": warner(0.8)})
    release = korn_release(law)
    assert np.allclose(odds_ratios(release.table.counts), [2.476, 1.911], atol=5e-4)
    estimated = law.estimate(release, Tabulation(by=("A", "B", "C"))).values.reshape(2, 2, 2)
    assert np.allclose(odds_ratios(estimated), 1)


@pytest.mark.parametrize(("names", "verb"), [(("G",), "G was"), (("G", "H"), "G and H were")])
def test_the_sentence_counts_what_was_distorted(names, verb):
    """One attribute was, several were."""
    law = PerturbedRows(distortions={name: warner(0.9) for name in names})
    assert f"Each row's {verb} distorted" in law.sentence


@pytest.mark.parametrize("target", ["table", "population"])
def test_a_release_without_rows_is_answered(target):
    """Zeros, and nothing is divided by zero."""
    job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
    law = PerturbedRows(distortions={"job": UniformDistortion(retention=0.5, size=3)})
    empty = Counted((job,), np.zeros(3))
    assert law.estimate(empty, Tabulation(by=("job",)), target=target).values.tolist() == [0, 0, 0]
    where = Selection((("job", (0,)),))
    assert law.estimate_selections(empty, (where,), target=target).values.tolist() == [0]


def test_a_perturbed_cell_is_exact_only_where_no_row_has_its_unperturbed_values():
    """Of three areas the second has no row and the third has one; on the first axis and on the second."""
    law = PerturbedRows(distortions={"H": warner(0.9)})
    area = attribute("area", 3)
    counts = np.array([[4.0, 2.0], [0.0, 0.0], [1.0, 0.0]])
    estimated, exact = Certainty.ESTIMATED, Certainty.EXACT
    rows = Counted((area, H), counts)
    found = law.estimate(rows, Tabulation(by=("area", "H")))
    assert found.certainty.tolist() == [estimated, estimated, exact, exact, estimated, estimated]
    turned = law.estimate(Counted((H, area), counts.T), Tabulation(by=("H", "area")))
    assert turned.certainty.tolist() == [estimated, exact, estimated] * 2
    assert law.estimate(rows, Tabulation(by=("area",))).certainty.tolist() == [exact] * 3
    pair = law.estimate_selections(rows, [Selection((("area", (0, 2)),)), Selection((("H", (0,)),))])
    assert pair.certainty.tolist() == [exact, estimated]
    both = Tabulation(("H",), Selection((("area", (1,)),)))
    assert law.estimate(rows, both).certainty.tolist() == [exact, exact]
    some = law.estimate(rows, Tabulation(("area", "H"), Selection((("area", (0, 1)),))))
    assert some.certainty.tolist() == [estimated, estimated, exact, exact]
    empty = Selection((("area", (1,)), ("H", (0,))))
    beside = law.estimate_selections(rows, [empty, Selection((("H", (0,)),))])
    assert beside.certainty.tolist() == [exact, estimated]


@pytest.mark.parametrize("feasibility", ["projection", "clip", "em"])
def test_conditions_on_several_perturbed_attributes_take_sums_of_the_whole(feasibility):
    """Two attributes that are not shown, each with two of three categories, and one that is."""
    names = ("a", "b", "c")
    law = PerturbedRows(distortions={name: UniformDistortion(retention=0.6, size=3) for name in names})
    counts = np.random.default_rng(5).integers(5, 60, (3, 3, 3)).astype(float)
    rows = Counted([attribute(name, 3) for name in names], counts)
    whole = law.consistent(rows, Tabulation(by=names), feasibility=feasibility).reshape(3, 3, 3)
    for shown, others in (("a", ("b", "c")), ("c", ("a", "b")), ("b", ("c", "a"))):
        where = Selection(tuple((name, (0, 2)) for name in others))
        found = law.consistent(rows, Tabulation((shown,), where), feasibility=feasibility)
        gone = tuple(names.index(name) for name in others)
        part = whole.take([0, 2], axis=gone[0]).take([0, 2], axis=gone[1])
        assert found == pytest.approx(part.sum(axis=gone), rel=1e-4, abs=1e-3)


def test_most_likely_counts_of_a_table_without_negative_estimates_are_the_estimates():
    """Inside the feasible counts the likelihood has its top where the expected table is the published one."""
    law = PerturbedRows(distortions={"H": DenseDistortion(rows=((0.9, 0.1), (0.3, 0.7)))})
    counts = contract(np.array([[30.0, 10.0], [50.0, 70.0]]), [None, np.array([[0.9, 0.1], [0.3, 0.7]])])
    found = law.consistent(Counted((G, H), counts), BOTH, feasibility="em")
    assert found == pytest.approx([30, 10, 50, 70], rel=1e-3)


def test_errors_to_expect_of_what_is_published_as_it_is_are_none():
    """Beside a perturbed attribute too, where its cells have no row."""
    law = PerturbedRows(distortions={"H": warner(0.9)})
    assert law.expected_standard_errors(CountTable((G,), np.array([3, 7]))).tolist() == [0, 0]
    beside = law.expected_standard_errors(CountTable((G, H), np.array([[0, 0], [4, 5]])))
    assert beside[0].tolist() == [0, 0]
    # Nine rows, each of variance .9 .1 / .8^2.
    assert beside[1] == pytest.approx([(9 * 0.09 / 0.64) ** 0.5] * 2)


@pytest.mark.parametrize("name", ["G", "other"])
def test_a_matrix_that_fits_no_attribute_is_refused(name):
    """One of another size, or of an attribute that is not there."""
    law = PerturbedRows(distortions={"H": warner(0.9), name: UniformDistortion(retention=0.5, size=3)})
    with pytest.raises(ReleaseDamagedError, match=f"matrix of '{name}' that fits no attribute"):
        law.question_schema(Schema(attributes=(G, H)))
    assert LAW.question_schema(Schema(attributes=(G, H))).names == ("G", "H")


def test_what_a_row_is_promised_by_hand():
    """Warner's 0.9 shows a truth nine times as often as a lie; nothing is promised of H, and of J that it may be ruled out."""
    sure = DenseDistortion(rows=((1.0, 0.0), (0.5, 0.5)))
    law = PerturbedRows(distortions={"G": warner(0.9), "J": sure})
    local, amplification = law.promises(Schema(attributes=(G, H, attribute("J", 2))), None)
    assert local.epsilon_by_attribute == pytest.approx({"G": np.log(9)})
    assert (local.unprotected, local.unbounded) == (("H",), ("J",))
    assert amplification.gamma_by_attribute == pytest.approx({"G": 9})
    assert amplification.unbounded == ("J",)


def test_every_row_was_drawn_by_itself_from_its_own_true_value():
    """So rows can be resampled and redrawn one by one; without the matrices they still were drawn so."""
    assert LAW.rows_are_independent
    assert LAW.is_row_by_row
    assert LAW.withheld().is_row_by_row


def test_categories_are_alike_unless_a_matrix_of_its_own_tells_them_apart():
    """Published as it is, or replaced evenly, an attribute treats all alike."""
    law = PerturbedRows(distortions=MATRICES)
    assert [law.treats_alike(name) for name in ("a", "b", "c")] == [True, False, True]


def test_errors_to_expect_of_hardly_any_noise_are_hardly_any():
    """One row in 2^53 is changed: what rounding leaves of a variance is nothing, and no less than that."""
    law = PerturbedRows(distortions={"G": UniformDistortion(retention=1 - 2.0**-52, size=2)})
    found = law.expected_standard_errors(CountTable((G,), np.array([1000, 0])))
    assert (found >= 0).all()
    assert (found < 1e-5).all()
