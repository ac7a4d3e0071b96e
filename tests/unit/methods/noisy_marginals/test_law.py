"""The law of noisy counts on tables small enough to work by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.data.chunks import CodedBatch
from sfumato.errors import NotIdentifiableError, ParameterError, ReleaseDamagedError
from sfumato.estimates.counts import CountTable
from sfumato.methods.noisy_marginals.law import NoisyAnswer, NoisyCounts, NoisyMarginal
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.noise import DiscreteLaplace
from sfumato.schema import Attribute, Role, Schema

SEX = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M"))
AGE = Attribute(name="age", role=Role.QUASI_IDENTIFIER, categories=("young", "mid", "old"))
JOB = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b"))
SCHEMA = Schema(attributes=(SEX, AGE, JOB))
COUNTS = {
    "marginal-1": (("sex", "age"), np.array([[10, 20, 30], [40, 50, -6]])),
    "marginal-2": (("age", "sex", "job"), np.arange(12).reshape(3, 2, 2) * 3),
}
QUIET, LOUD = DiscreteLaplace(scale=2.0), DiscreteLaplace(scale=5.0)


def test_tables_over_other_categories_than_are_published_are_refused():
    """A law that was changed, or belongs to another release."""
    law = NoisyCounts(
        marginals=(NoisyMarginal(attributes=("sex", "age"), sizes=(2, 3), table="marginal-1", noise=QUIET),)
    )
    assert law.question_schema(SCHEMA) is SCHEMA
    for other in (
        Schema(attributes=(SEX, JOB)),
        Schema(attributes=(AGE.model_copy(update={"name": "sex"}), AGE)),
    ):
        with pytest.raises(ReleaseDamagedError, match="other categories"):
            law.question_schema(other)


def test_a_table_over_an_attribute_that_is_not_published_is_refused():
    """Even where it has a single category, which would change nothing."""
    law = NoisyCounts(
        marginals=(NoisyMarginal(attributes=("sex", "area"), sizes=(2, 1), table="marginal-1", noise=QUIET),)
    )
    with pytest.raises(ReleaseDamagedError, match="'marginal-1' over other categories"):
        law.question_schema(SCHEMA)


class PublishedCounts:
    """A release as the law sees it; rows come in any order."""

    schema = SCHEMA

    def scan(self, table, names):
        """Every cell of a table, shuffled."""
        attributes, counts = COUNTS[table]
        places = np.indices(counts.shape).reshape(counts.ndim, -1)
        order = np.random.default_rng(0).permutation(counts.size)
        columns = dict(zip(attributes, places[:, order], strict=True), count=counts.ravel()[order])
        yield CodedBatch({name: columns[name] for name in names}, counts.size)


def law_of(*scales, answers=()):
    """Both marginals with given noise."""
    marginals = tuple(
        NoisyMarginal(
            table=name, attributes=names, sizes=tuple(SCHEMA[each].size for each in names), noise=noise
        )
        for (name, (names, _)), noise in zip(COUNTS.items(), scales, strict=True)
    )
    return NoisyCounts(marginals=marginals, answers=answers)


LAW = law_of(QUIET, LOUD)
PUBLISHED = PublishedCounts()


def test_cells_of_a_marginal_are_its_published_counts():
    """In the order of the tabulation, not of the published table."""
    estimates = LAW.estimate(PUBLISHED, Tabulation(by=("age", "sex")))
    assert estimates.values.tolist() == [10, 40, 20, 50, 30, -6]
    assert estimates.variances == pytest.approx(np.full(6, QUIET.variance))


def test_sums_of_cells_add_variances():
    """The number of men is three cells of the first table."""
    estimates = LAW.estimate(PUBLISHED, Tabulation(by=("sex",)))
    assert estimates.values.tolist() == [60, 84]
    assert estimates.variances == pytest.approx(np.full(2, 3 * QUIET.variance))


def test_conditions_choose_cells():
    """Young and old women and men: two cells each; shown categories are restricted too."""
    where = Selection((("age", (0, 2)),))
    assert LAW.estimate(PUBLISHED, Tabulation(("sex",), where)).values.tolist() == [40, 34]
    assert LAW.estimate(PUBLISHED, Tabulation(("age",), where)).values.tolist() == [50, 24]


def test_the_marginal_with_the_smallest_variance_answers():
    """Six cells of a quiet table against two of a loud one, both ways round."""
    only_job = law_of(QUIET, LOUD).estimate(PUBLISHED, Tabulation(by=("age", "job")))
    assert only_job.variances == pytest.approx(np.full(6, 2 * LOUD.variance))
    other_way = law_of(LOUD, QUIET).estimate(PUBLISHED, Tabulation(by=("sex",)))
    assert other_way.values.tolist() == [0 + 3 + 12 + 15 + 24 + 27, 6 + 9 + 18 + 21 + 30 + 33]
    assert other_way.variances == pytest.approx(np.full(2, 6 * QUIET.variance))


def test_a_declared_answer_is_used_when_it_is_better():
    """Recognised whatever the order of its conditions."""
    answer = NoisyAnswer(question="job = 'a' AND sex = 'F'", count=77, noise=QUIET)
    law = law_of(QUIET, LOUD, answers=(answer,))
    asked = Selection((("sex", (0,)), ("job", (0,))))
    estimates = law.estimate_selections(PUBLISHED, (asked,))
    assert (estimates.values[0], estimates.variances[0]) == (77, pytest.approx(QUIET.variance))


def test_what_no_marginal_holds_is_refused_and_what_is_held_is_named():
    """Not guessed from a margin."""
    alone = NoisyCounts(marginals=LAW.marginals[:1])
    with pytest.raises(
        NotIdentifiableError, match=r"no published table holds sex and job together.*sex by age"
    ):
        alone.estimate(PUBLISHED, Tabulation(by=("sex", "job")))
    with pytest.raises(NotIdentifiableError):
        alone.estimate_selections(PUBLISHED, (Selection((("job", (0,)),)),))
    with pytest.raises(NotIdentifiableError):
        alone.estimate_by("least-squares", PUBLISHED, Tabulation(by=("job",)))


def test_selections_from_one_table_share_the_noise_of_shared_cells():
    """Women, and young women: one cell in common."""
    women, young_women = Selection((("sex", (0,)),)), Selection((("sex", (0,)), ("age", (0,))))
    estimates = LAW.estimate_selections(PUBLISHED, (women, young_women))
    assert estimates.values.tolist() == [60, 10]
    assert estimates.covariance == pytest.approx(QUIET.variance * np.array([[3, 1], [1, 1]]))


def test_selections_from_different_tables_share_none():
    """Women of job a come from the second table, women from the first."""
    pair = (Selection((("sex", (0,)), ("job", (0,)))), Selection((("sex", (0,)),)))
    covariance = LAW.estimate_selections(PUBLISHED, pair).covariance
    assert covariance == pytest.approx(np.diag([3 * LOUD.variance, 3 * QUIET.variance]))


def test_the_number_of_rows_is_a_noisy_total():
    """The sum over the table whose total is least noisy."""
    estimates = LAW.estimate(PUBLISHED, Tabulation())
    assert (estimates.values[0], estimates.variances[0]) == (144, pytest.approx(6 * QUIET.variance))


def test_a_population_adds_the_variance_of_drawing():
    """X (1 - x/N) N/(N-1), with the noise taken out of the square."""
    estimates = LAW.estimate(PUBLISHED, Tabulation(by=("sex",)), target="population")
    noise = 3 * QUIET.variance
    for value, variance in zip(estimates.values, estimates.variances, strict=True):
        assert variance == pytest.approx(noise + (value - (value**2 - noise) / 144) * 144 / 143)
    one = LAW.estimate(PUBLISHED, Tabulation(where=Selection((("sex", (0,)),))), target="population")
    assert one.variances[0] == pytest.approx(estimates.variances[0])


def test_least_squares_has_smaller_variances_than_one_table():
    """And never larger ones than the same for a population, where noise made a count negative too."""
    tabulation = Tabulation(by=("sex", "age"))
    alone = LAW.estimate(PUBLISHED, tabulation)
    together = LAW.estimate_by("least-squares", PUBLISHED, tabulation)
    assert (together.variances < alone.variances).all()
    population = LAW.estimate_by("least-squares", PUBLISHED, tabulation, target="population")
    assert (population.variances >= together.variances).all()


def test_an_unknown_estimator_is_refused():
    """The message names the one there is."""
    with pytest.raises(ParameterError, match="least-squares"):
        LAW.estimate_by("least-square", PUBLISHED, Tabulation(by=("sex",)))


@pytest.mark.parametrize("feasibility", ["projection", "clip"])
def test_consistent_counts_are_feasible_and_keep_the_total(feasibility):
    """Not negative; tables over different attributes have one total."""
    total = LAW.estimate_by("least-squares", PUBLISHED, Tabulation()).values[0]
    for by in (("sex", "age"), ("job",), ("sex", "job")):
        values = LAW.consistent(PUBLISHED, Tabulation(by=by), feasibility=feasibility)
        assert (values >= 0).all()
        assert values.sum() == pytest.approx(total)
    restricted = LAW.consistent(PUBLISHED, Tabulation(("sex",), Selection((("age", (2,)),))))
    assert restricted.shape == (2,)


def test_least_squares_and_consistent_counts_obey_conditions_on_attributes_not_shown():
    """Young and old together, by sex: the sums of their cells in the whole table."""
    where = Selection((("age", (0, 2)),))
    whole = LAW.estimate_by("least-squares", PUBLISHED, Tabulation(by=("sex", "age"))).values.reshape(2, 3)
    part = LAW.estimate_by("least-squares", PUBLISHED, Tabulation(("sex",), where))
    assert part.values == pytest.approx(whole[:, [0, 2]].sum(axis=1))
    made = LAW.consistent(PUBLISHED, Tabulation(by=("sex", "age"))).reshape(2, 3)
    assert LAW.consistent(PUBLISHED, Tabulation(("sex",), where)) == pytest.approx(
        made[:, [0, 2]].sum(axis=1)
    )
    ages = LAW.consistent(PUBLISHED, Tabulation(by=("age",)))
    assert LAW.consistent(PUBLISHED, Tabulation(("age",), where)) == pytest.approx(ages[[0, 2]])


def test_a_table_that_noise_made_negative_is_empty():
    """Its total is below nobody, so that nobody is left."""

    class Negative(PublishedCounts):
        def scan(self, table, names):
            for batch in super().scan(table, names):
                yield CodedBatch(
                    {**batch.codes, "count": -1 - batch.codes["count"] % 3}, batch.number_of_rows
                )

    for feasibility in ("projection", "clip"):
        assert not LAW.consistent(Negative(), Tabulation(by=("sex",)), feasibility=feasibility).any()


def test_expectation_maximization_does_not_apply():
    """It is about distorted rows."""
    with pytest.raises(ParameterError, match="feasibility"):
        LAW.consistent(PUBLISHED, Tabulation(by=("sex",)), feasibility="em")


def test_expected_standard_errors_do_not_depend_on_the_counts():
    """The same for every cell, known beforehand."""
    errors = LAW.expected_standard_errors(CountTable((SEX,), np.array([5, 100_000])))
    assert errors == pytest.approx([math.sqrt(3 * QUIET.variance)] * 2)


def test_the_sentence_says_what_got_noise():
    """Marginals, answers and the spread of standard deviations."""
    answer = NoisyAnswer(question="job = 'a'", count=7, noise=QUIET)
    sentence = law_of(QUIET, LOUD, answers=(answer,)).sentence
    assert "sex by age, age by sex by job and to the answers to 1 declared queries" in sentence
    assert "2.8 to 7.1" in sentence


@pytest.mark.parametrize(("level", "half"), [(0.95, 6), (0.99, 9)])
def test_the_interval_of_one_cell_is_that_of_laplace_noise(level, half):
    """At scale 2, 2 q^(h+1) / (1+q) first falls below 5 % at h = 6 and below 1 % at h = 9; normal: 5.5 and 7.2."""
    low, high = LAW.estimate(PUBLISHED, Tabulation(by=("sex", "age"))).intervals(level)
    assert (high - low).tolist() == [2 * half] * 6
    selections = (Selection((("sex", (0,)), ("age", (1,)))),)
    low, high = LAW.estimate_selections(PUBLISHED, selections).intervals(level)
    assert (low[0], high[0]) == (20 - half, 20 + half)


def test_the_interval_of_a_sum_is_that_of_the_sum_of_noise():
    """Three cells, whose noise is convolved here by brute force."""
    support = np.arange(-200, 201)
    single = np.exp(-np.abs(support) / 2.0)
    single /= single.sum()
    law_of_sum = np.convolve(np.convolve(single, single), single)
    distances = np.abs(np.arange(law_of_sum.size) - law_of_sum.size // 2)
    half = next(h for h in range(100) if law_of_sum[distances <= h].sum() >= 0.95)
    low, high = LAW.estimate(PUBLISHED, Tabulation(by=("sex",))).intervals(0.95)
    assert (high - low).tolist() == [2 * half] * 2


def test_noise_that_is_surely_zero_gives_intervals_of_no_width():
    """A scale so small that the variance underflows."""
    exact = law_of(DiscreteLaplace(scale=1e-3), DiscreteLaplace(scale=1e-3))
    low, high = exact.estimate(PUBLISHED, Tabulation(by=("sex",))).intervals(0.95)
    assert (high - low).tolist() == [0, 0]


@pytest.mark.parametrize("target", ["table", "population"])
def test_a_large_table_has_the_errors_of_its_cells(target):
    """40 by 30 cells, too many for a covariance; drawing the rows anew adds x - (x^2 - v) / N."""
    sizes = {"one": 40, "two": 30}
    attributes = tuple(
        Attribute(name=name, role=Role.OTHER, categories=tuple(map(str, range(size))))
        for name, size in sizes.items()
    )
    counts = np.arange(1_200).reshape(40, 30) - 3

    class Large:
        schema = Schema(attributes=attributes)

        def scan(self, table, names):
            del table
            places = dict(
                zip(sizes, np.indices(counts.shape).reshape(2, -1), strict=True), count=counts.ravel()
            )
            yield CodedBatch({name: places[name] for name in names}, counts.size)

    marginal = NoisyMarginal(table="m", attributes=("one", "two"), sizes=(40, 30), noise=QUIET)
    found = NoisyCounts(marginals=(marginal,)).estimate(Large(), Tabulation(by=("one", "two")), target=target)
    assert found.covariance is None
    values, variance, rows = counts.ravel().astype(float), QUIET.variance, counts.sum()
    drawing = 0.0
    if target == "population":
        drawing = np.clip(values - (values**2 - variance) / rows, 0, None) * rows / (rows - 1)
    np.testing.assert_allclose(found.values, values)
    np.testing.assert_allclose(found.variances, variance + drawing)
