"""Declared queries beside marginals: which cells they answer, with what error, and what is left to the tables."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.data.chunks import CodedBatch
from sfumato.errors import NotIdentifiableError
from sfumato.methods.noisy_marginals.law import NoisyAnswer, NoisyCounts, NoisyMarginal
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.noise import DiscreteLaplace
from sfumato.schema import Attribute, Role, Schema

SEX = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
JOB = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
COUNTS = np.array([[10, 20, 30], [40, 50, 60]])
QUIET, LOUD = DiscreteLaplace(scale=2.0), DiscreteLaplace(scale=5.0)
TABLE = NoisyMarginal(table="marginal-1", attributes=("sex", "job"), sizes=(2, 3), noise=LOUD)


class Published:
    """One table over sex and job."""

    schema = Schema(attributes=(SEX, JOB))

    def scan(self, table, names):
        """Its cells, row by row."""
        assert table == "marginal-1"
        codes = dict(zip(("sex", "job"), np.indices(COUNTS.shape).reshape(2, -1), strict=True))
        yield CodedBatch({**codes, "count": COUNTS.ravel()}, 6)
        assert set(names) == {"sex", "job", "count"}


def law(*answers, marginals=(TABLE,)):
    """The table, if any, and answers given as question, count, noise."""
    declared = tuple(
        NoisyAnswer(question=question, count=count, noise=noise) for question, count, noise in answers
    )
    return NoisyCounts(marginals=marginals, answers=declared)


def test_a_declared_answer_takes_the_place_of_its_cell():
    """Women of job b, by sex and job and by job and sex: one place each, one variance, one interval."""
    found = law(("job = 'b' AND sex = 'F'", 23, QUIET))
    for by, place in ((("sex", "job"), 1), (("job", "sex"), 2)):
        table = found.estimate(Published(), Tabulation(by=by))
        expected = (COUNTS if by[0] == "sex" else COUNTS.T).ravel().astype(float)
        expected[place] = 23
        assert table.values.tolist() == expected.tolist()
        variances = np.full(6, LOUD.variance)
        variances[place] = QUIET.variance
        assert table.variances == pytest.approx(variances)
        low, high = table.intervals(0.95)
        # At scale 2 one cell's noise stays within 6 with 95 %, at scale 5 within 15.
        assert ((high - low) / 2).tolist() == [6.0 if each == place else 15.0 for each in range(6)]


def test_a_declared_answer_takes_its_place_among_the_codes_shown():
    """Jobs b and c alone are shown: job c is the second of them; job a is not shown, so its answer is unused."""
    found = law(("job = 'c'", 85, QUIET), ("job = 'a'", 55, QUIET))
    shown = found.estimate(Published(), Tabulation(("job",), Selection((("job", (1, 2)),))))
    assert shown.values.tolist() == [70, 85]
    assert shown.variances == pytest.approx([2 * LOUD.variance, QUIET.variance])


def test_a_condition_beside_the_axes_must_be_that_of_the_answer():
    """Among women, job b: the answer about women is used, the one about men and the one about everybody are not."""
    answers = (
        ("job = 'b' AND sex = 'F'", 23, QUIET),
        ("job = 'b'", 99, QUIET),
        ("job = 'c' AND sex = 'M'", 88, QUIET),
    )
    women = law(*answers).estimate(Published(), Tabulation(("job",), Selection((("sex", (0,)),))))
    assert women.values.tolist() == [10, 23, 30]
    everybody = law(*answers).estimate(Published(), Tabulation(("job",)))
    assert everybody.values.tolist() == [50, 99, 90]


def test_an_answer_about_several_categories_is_no_cell():
    """Jobs a and b together are answered as one question, and by no axis."""
    found = law(("job IN ('a', 'b')", 111, QUIET))
    assert found.estimate(Published(), Tabulation(by=("job",))).values.tolist() == [50, 70, 90]
    together = found.estimate_selections(Published(), (Selection((("job", (0, 1)),)),))
    assert (together.values[0], together.variances[0]) == (111, pytest.approx(QUIET.variance))


def test_of_two_answers_to_one_question_the_quieter_counts():
    """In whichever order they were declared."""
    both = (("job = 'b'", 71, QUIET), ("job = 'b'", 79, LOUD))
    for answers in (both, both[::-1]):
        assert law(*answers).estimate(Published(), Tabulation(by=("job",))).values.tolist() == [50, 71, 90]


def test_an_answer_noisier_than_the_cells_is_not_used():
    """One cell has the answer's own noise, so the answer is taken; of a louder answer the cell is better."""
    louder = DiscreteLaplace(scale=5.1)
    cell = Tabulation(where=Selection((("sex", (0,)), ("job", (1,)))))
    assert law(("sex = 'F' AND job = 'b'", 23, LOUD)).estimate(Published(), cell).values.tolist() == [23]
    assert law(("sex = 'F' AND job = 'b'", 23, louder)).estimate(Published(), cell).values.tolist() == [20]
    # Two cells have twice the variance: now the louder answer is the better one.
    pair = Tabulation(where=Selection((("job", (1,)),)))
    assert law(("job = 'b'", 71, louder)).estimate(Published(), pair).values.tolist() == [71]


def test_selections_with_the_same_answer_share_its_noise_and_others_none():
    """Women from the table, job b twice, job a by its own answer."""
    found = law(("job = 'b'", 71, QUIET), ("job = 'a'", 55, QUIET))
    jobs = [Selection((("job", (code,)),)) for code in (1, 1, 0)]
    covariance = found.estimate_selections(Published(), [Selection((("sex", (0,)),)), *jobs]).covariance
    expected = QUIET.variance * np.array([[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]])
    expected[0, 0] = 3 * LOUD.variance
    assert covariance == pytest.approx(expected)
    other_way = found.estimate_selections(Published(), [*jobs, Selection((("sex", (0,)),))]).covariance
    assert other_way == pytest.approx(np.roll(expected, (-1, -1), axis=(0, 1)))


def test_selections_of_one_table_share_the_cells_they_share():
    """Women and job a or b: two cells in common."""
    chosen = [Selection((("sex", (0,)),)), Selection((("job", (0, 1)),))]
    covariance = law().estimate_selections(Published(), chosen).covariance
    assert covariance == pytest.approx(LOUD.variance * np.array([[3, 2], [2, 4]]))


def test_without_tables_a_question_needs_an_answer_for_every_cell():
    """All three jobs are declared, or the table of jobs is refused; so is what has no answer at all."""
    answers = (("job = 'a'", 50, QUIET), ("job = 'b'", 70, LOUD), ("job = 'c'", 90, QUIET))
    found = law(*answers, marginals=()).estimate(Published(), Tabulation(by=("job",)))
    assert found.values.tolist() == [50, 70, 90]
    assert found.variances == pytest.approx([QUIET.variance, LOUD.variance, QUIET.variance])
    low, high = found.intervals(0.95)
    assert ((high - low) / 2).tolist() == [6, 15, 6]
    with pytest.raises(NotIdentifiableError, match="no published table holds job; published are: answers"):
        law(*answers[:2], marginals=()).estimate(Published(), Tabulation(by=("job",)))
    with pytest.raises(NotIdentifiableError, match="no published table holds a total"):
        law(*answers, marginals=()).estimate(Published(), Tabulation())
    nothing = Tabulation(("job",), Selection((("job", ()),)))
    assert law(marginals=()).estimate(Published(), nothing).values.size == 0
    pair = law(*answers, marginals=()).estimate_selections(
        Published(), [Selection((("job", (0,)),)), Selection((("job", (2,)),))]
    )
    assert pair.covariance == pytest.approx(np.diag([QUIET.variance] * 2))


def test_the_table_whose_sums_are_quietest_answers_although_its_cells_are_louder():
    """Sex from three cells of variance 12.3 each rather than from six of 7.8."""
    wide = NoisyMarginal(table="other", attributes=("sex", "job", "area"), sizes=(2, 3, 2), noise=QUIET)
    narrow = TABLE.model_copy(update={"noise": DiscreteLaplace(scale=2.5)})
    for marginals in ((wide, narrow), (narrow, wide)):
        assert NoisyCounts(marginals=marginals).best(("sex",)) == narrow


def test_a_sentence_lists_a_dozen_tables_and_counts_the_others():
    """Fourteen marginals: twelve are named."""
    many = tuple(TABLE.model_copy(update={"attributes": (f"a{each}",), "sizes": (2,)}) for each in range(14))
    sentence = NoisyCounts(marginals=many).sentence
    assert "a11, 2 more" in sentence
    assert "a12" not in sentence


def test_the_tails_of_a_combined_estimate_are_no_heavier_than_those_of_one_noise():
    """One table combined with nothing: its cells have the fourth cumulant of the noise itself."""
    both = Tabulation(by=("sex", "job"))
    found = law().estimate_by("least-squares", Published(), both)
    np.testing.assert_allclose(found.variances, LOUD.variance)
    np.testing.assert_allclose(found.fourth_cumulants, LOUD.fourth_cumulant)


def test_of_two_combined_tables_the_noise_with_the_heavier_tails_counts():
    """Quiet noise has the larger fourth cumulant for its variance: 3 + 1 / v of its square, v being smaller."""
    quiet = TABLE.model_copy(update={"noise": QUIET})
    for marginals in ((TABLE, quiet), (quiet, TABLE)):
        found = law(marginals=marginals).estimate_by("least-squares", Published(), Tabulation(by=("job",)))
        np.testing.assert_allclose(found.variances, 2 / (1 / QUIET.variance + 1 / LOUD.variance))
        np.testing.assert_allclose(found.fourth_cumulants, (3 + 1 / QUIET.variance) * found.variances**2)


def test_least_squares_of_a_population_add_the_draw_of_all_rows():
    """One table of 210 rows combined with nothing: x - (x^2 - v) / N, times N / (N - 1), beside v."""
    found = law().estimate_by(
        "least-squares", Published(), Tabulation(by=("sex", "job")), target="population"
    )
    values, noise = COUNTS.ravel(), LOUD.variance
    np.testing.assert_allclose(found.values, values)
    np.testing.assert_allclose(found.variances, noise + (values - (values**2 - noise) / 210) * 210 / 209)
