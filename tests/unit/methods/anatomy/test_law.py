"""The law of releases whose rows and sensitive values are joined by bucket."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from dependent_jobs import ROWS, SCHEMA, columns, private_table
from sfumato import publish, read_table
from sfumato.errors import (
    NotIdentifiableError,
    ParameterError,
    QueryError,
    ReleaseDamagedError,
    TooLargeError,
)
from sfumato.estimates.counts import CountTable
from sfumato.methods.anatomy import law as bucketed_rows
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.anatomy.law import BucketedRows
from sfumato.query.selection import Selection
from sfumato.schema import Attribute, Role

FOUR_JOBS = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c", "d"))


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Buckets of three, one of four."""
    return publish(private_table(), Anatomy(l_value=3), tmp_path_factory.mktemp("law") / "r", seed=5)


def test_counts_of_public_attributes_are_exact(release):
    """Among themselves, with any conditions, and said to be exact."""
    true = columns()
    answer = release.query("sex = 'F' AND age != 'old'")
    assert answer.estimate == np.count_nonzero((true["sex"] == 0) & (true["age"] != 2))
    assert answer.is_exact
    assert "Exactly" in answer.summary()
    table = release.counts(["age"], where="sex = 'M' AND age IN ('young', 'old')")
    expected = np.bincount(true["age"][true["sex"] == 1], minlength=3)[[0, 2]]
    assert np.array_equal(table.values, expected)
    assert not table.std_errors.any()


def test_counts_of_the_sensitive_attribute_alone_are_exact(release):
    """The second table holds every value."""
    table = release.counts(["job"])
    assert np.array_equal(table.values, np.bincount(columns()["job"]))
    assert not table.std_errors.any()
    assert release.query("job IN ('a', 'e')").is_exact


def test_joint_counts_have_errors_and_lie_near_the_truth(release):
    """Within five standard errors, in a fixed release."""
    true = np.zeros((2, 5))
    np.add.at(true, (columns()["sex"], columns()["job"]), 1)
    table = release.counts(["sex", "job"])
    assert (table.std_errors > 0).all()
    assert (np.abs(table.values - true) < 5 * table.std_errors).all()


def test_joint_counts_add_up_to_the_exact_margins(release):
    """Over the values to the public count, over the public cells to the value's count."""
    values = release.counts(["job", "sex"]).values
    assert np.allclose(values.sum(axis=0), release.counts(["sex"]).values)
    assert np.allclose(values.sum(axis=1), release.counts(["job"]).values)


def test_the_order_of_attributes_only_moves_the_axes(release):
    """The sensitive attribute may stand anywhere, conditions may restrict any axis."""
    one = release.counts(["sex", "age", "job"], where="job != 'c' AND age != 'old'")
    other = release.counts(["job", "age", "sex"], where="job != 'c' AND age != 'old'")
    assert one.values.shape == (2, 2, 4)
    assert np.allclose(one.values, other.values.transpose(2, 1, 0))
    assert np.allclose(one.std_errors, other.std_errors.transpose(2, 1, 0))


def test_a_query_agrees_with_its_cell_and_its_selection(release):
    """Three ways of asking for one number."""
    cell = release.counts(["sex", "job"])
    answer = release.query("sex = 'F' AND job = 'b'")
    assert answer.estimate == pytest.approx(cell.values[0, 1])
    assert answer.std_error == pytest.approx(cell.std_errors[0, 1])
    chosen = Selection.parse("sex = 'F' AND job = 'b'", release.schema)
    found = release.law.estimate_selections(release, (chosen,))
    assert found.values[0] == pytest.approx(answer.estimate)
    assert found.standard_errors[0] == pytest.approx(answer.std_error)


def test_selections_have_the_covariance_of_their_cells(release):
    """Disjoint cells: the same numbers by both ways, margins without error."""
    texts = ["sex = 'F' AND job = 'b'", "sex = 'M' AND job = 'b'", "sex = 'F'", "job = 'a'"]
    chosen = [Selection.parse(text, release.schema) for text in texts]
    found = release.law.estimate_selections(release, chosen)
    cells = release.counts(["sex", "job"]).estimates
    assert np.allclose(found.covariance[:2, :2], cells.covariance[np.ix_([1, 6], [1, 6])], rtol=1e-9)
    assert not found.covariance[2:].any()
    assert found.values[2:].tolist() == [
        np.count_nonzero(columns()["sex"] == 0),
        np.count_nonzero(columns()["job"] == 0),
    ]


def test_a_sum_of_cells_has_the_error_of_the_sum(release):
    """Linear combinations of a table agree with asking for the sum."""
    cells = release.counts(["sex", "age", "job"]).estimates
    picked = np.zeros((2, 3, 5))
    picked[1, :2, [0, 3]] = 1
    total = cells.linear(picked.reshape(1, -1))
    answer = release.query("sex = 'M' AND age != 'old' AND job IN ('a', 'd')")
    assert total.values[0] == pytest.approx(answer.estimate)
    # The table shares out a value's rows over six cells, the query over two: the plug-in differs a little.
    assert total.standard_errors[0] == pytest.approx(answer.std_error, rel=0.05)


def test_covariances_are_positive_semidefinite(release):
    """As covariances are."""
    covariance = release.counts(["sex", "age", "job"]).estimates.covariance
    assert np.linalg.eigvalsh(covariance).min() > -1e-8 * np.abs(covariance).max()


def test_large_tables_carry_variances_only(release, monkeypatch):
    """The same ones."""
    whole = release.counts(["sex", "job"]).estimates
    monkeypatch.setattr("sfumato.laws.estimator.LARGEST_COVARIANCE", 5)
    large = release.counts(["sex", "job"]).estimates
    assert large.covariance is None
    assert np.allclose(large.variances, whole.variances)
    assert (release.counts(["sex", "job"], target="population").estimates.variances > whole.variances).all()


def test_xiao_and_tao_count_by_shares_of_buckets(release):
    """Sum over buckets of the predicate's rows times the value's share of the bucket, by hand."""
    rows = list(release.scan("rows", ["sex", "bucket"]))
    values = list(release.scan("sensitive", ["bucket", "job"]))
    women, holding, sizes = ({}, {}, {})
    for batch in rows:
        for sex, bucket in zip(batch.codes["sex"], batch.codes["bucket"], strict=True):
            women[bucket] = women.get(bucket, 0) + (sex == 0)
            sizes[bucket] = sizes.get(bucket, 0) + 1
    for batch in values:
        for job, bucket in zip(batch.codes["job"], batch.codes["bucket"], strict=True):
            holding[bucket] = holding.get(bucket, 0) + (job == 0)
    expected = sum(women[b] * holding[b] / sizes[b] for b in sizes)
    answer = release.query("sex = 'F' AND job = 'a'", estimator="xiao-tao")
    assert answer.estimate == pytest.approx(expected)
    assert "biased toward independence" in answer.summary()
    # An error about its own mean would say nothing of the truth.
    assert np.isnan(answer.std_error)
    assert "xiao-tao" in release.counts(["sex", "job"], estimator="xiao-tao").summary()


def test_xiao_and_tao_pull_toward_independence(release):
    """The unbiased difference between men and women is larger."""

    def gap(table):
        return abs(table.values[0, 0] / table.values[0].sum() - table.values[1, 0] / table.values[1].sum())

    pulled = release.counts(["sex", "job"], estimator="xiao-tao")
    assert gap(pulled) < 0.7 * gap(release.counts(["sex", "job"]))


def test_an_unknown_estimator_is_refused_with_those_known(release):
    """By name."""
    with pytest.raises(ParameterError, match="known are 'xiao-tao'"):
        release.query("sex = 'F'", estimator="jackknife")


def test_the_population_is_less_certain_than_the_table(release):
    """Also where the table is exact."""
    for text in ("sex = 'F'", "sex = 'F' AND job = 'a'"):
        table, population = release.query(text), release.query(text, target="population")
        assert population.std_error > table.std_error
        assert not population.is_exact
    ratio = release.proportion("job = 'a'", given="sex = 'F'", target="population")
    assert ratio.std_error > release.proportion("job = 'a'", given="sex = 'F'").std_error


@pytest.mark.parametrize("feasibility", ["projection", "clip", "em"])
def test_consistent_counts_fit_both_margins(release, feasibility):
    """Not negative, and adding up to public and to sensitive counts."""
    table = release.consistent_counts(["age", "job"], feasibility=feasibility)
    assert (table.values >= 0).all()
    # 1e-9 of the rows is where raking stops.
    assert np.allclose(table.values.sum(axis=1), release.counts(["age"]).values, atol=1e-4)
    assert np.allclose(table.values.sum(axis=0), release.counts(["job"]).values, atol=1e-4)


def test_consistent_counts_obey_conditions(release):
    """A condition gives the part of the whole table that it selects."""
    whole = release.consistent_counts(["sex", "age", "job"]).values
    part = release.consistent_counts(["job", "age"], where="sex = 'M' AND age != 'old' AND job != 'a'").values
    assert np.allclose(part, whole[1, :2, 1:].T, atol=1e-6)
    assert np.array_equal(release.consistent_counts(["age"]).values, release.counts(["age"]).values)


def test_consistent_counts_add_up_what_is_not_shown(release):
    """Two ages together, of every job."""
    whole = release.consistent_counts(["age", "job"]).values
    part = release.consistent_counts(["job"], where="age != 'old'").values
    assert np.allclose(part, whole[:2].sum(axis=0), atol=1e-6)


def test_what_buckets_leave_open_is_refused(tmp_path):
    """A value in every bucket: single joint counts are refused, margins and sums are answered."""
    job = np.repeat([0, 1, 2, 3], [40, 15, 15, 10])
    labels = {each.name: np.array(each.labels) for each in SCHEMA.attributes}
    sex = np.arange(80) % 2
    rows = {"sex": labels["sex"][sex], "age": labels["age"][sex], "job": labels["job"][job]}
    saturated = publish(
        read_table(pa.table(rows), SCHEMA), Anatomy(l_value=2), tmp_path / "saturated", seed=1
    )
    with pytest.raises(NotIdentifiableError, match="3 of its 4 values apart"):
        saturated.query("sex = 'F' AND job = 'b'")
    with pytest.raises(NotIdentifiableError):
        saturated.proportion("job = 'b'", given="sex = 'F'")
    assert saturated.query("sex = 'F' AND job IN ('a', 'b', 'c', 'd')").estimate == pytest.approx(40)
    everyone = saturated.query("sex = 'F' AND job IN ('a', 'b', 'c', 'd', 'e')")
    assert everyone.estimate == 40
    assert everyone.is_exact
    difference = saturated.difference("sex = 'F'", given="job = 'b'", versus="job = 'c'")
    assert abs(difference.estimate) < 4 * difference.std_error
    with pytest.raises(NotIdentifiableError):
        saturated.difference("sex = 'F'", given="job = 'a'", versus="job = 'c'")
    with pytest.raises(NotIdentifiableError, match="no row"):
        saturated.difference("sex = 'F'", given="job = 'e'", versus="job = 'c'")
    assert saturated.query("job = 'b'").estimate == 15
    assert saturated.query("sex = 'F' AND job = 'b'", estimator="xiao-tao").estimate > 0


def test_a_difference_of_shares_is_that_of_the_joint_counts(release):
    """Totals of values are exact, so value and error follow from the covariance of two joint counts."""
    codes = [Selection((("sex", (0,)), ("job", (job,)))) for job in (1, 3)]
    counts = release.law.estimate_selections(release, codes)
    totals = np.bincount(columns()["job"])
    expected = counts.linear(np.array([[1 / totals[1], -1 / totals[3]]]))
    found = release.difference("sex = 'F'", given="job = 'b'", versus="job = 'd'")
    assert found.estimate == pytest.approx(expected.values[0])
    assert found.std_error == pytest.approx(expected.standard_errors[0])


@pytest.mark.parametrize("target", ["table", "population"])
def test_other_differences_are_those_of_shares(release, target):
    """Between groups of public values, of a question about the sensitive one, and for a population."""
    share = partial(release.proportion, target=target)
    difference = partial(release.difference, target=target)
    found = difference("age = 'old'", given="sex = 'F'", versus="sex = 'M'")
    assert found.estimate == pytest.approx(
        share("age = 'old'", given="sex = 'F'").estimate - share("age = 'old'", given="sex = 'M'").estimate
    )
    found = difference("job = 'b'", given="sex = 'F'", versus="sex = 'M'")
    assert found.estimate == pytest.approx(
        share("job = 'b'", given="sex = 'F'").estimate - share("job = 'b'", given="sex = 'M'").estimate
    )
    assert difference("job = 'b'", given="job = 'b'", versus="job = 'c'").estimate == pytest.approx(1)
    assert difference("job = 'c'", given="job = 'b'", versus="job = 'c'").estimate == pytest.approx(-1)
    of_table = release.difference("sex = 'F'", given="job = 'b'", versus="job = 'd'")
    drawn = difference("sex = 'F'", given="job = 'b'", versus="job = 'd'")
    assert (drawn.std_error > of_table.std_error) is (target == "population")


@pytest.mark.parametrize("joined", [0, 1, 2])
def test_a_difference_may_join_conditions_anywhere(release, joined):
    """By OR in the question or in one of the groups: the shares are those of the rows that satisfy it."""
    texts = ["age = 'old'", "sex = 'F'", "sex = 'M'"]
    others = ["age = 'old' OR age = 'young'", "sex = 'F' OR age = 'young'", "sex = 'M' OR age = 'old'"]
    texts[joined] = others[joined]
    true = columns()
    old, young, woman = true["age"] == 2, true["age"] == 0, true["sex"] == 0
    masks = [old, woman, ~woman]
    masks[joined] = [old | young, woman | young, ~woman | old][joined]
    asked, first, second = masks
    found = release.difference(texts[0], given=texts[1], versus=texts[2])
    assert found.estimate == pytest.approx(
        (asked & first).sum() / first.sum() - (asked & second).sum() / second.sum()
    )


def test_published_rows_do_not_hold_the_sensitive_attribute(release):
    """Counting them as they stand refuses it; the schema of the release knows it."""
    assert release.schema.names == ("sex", "age", "job")
    with pytest.raises(QueryError, match="no attribute 'job'"):
        release.count_by(["job"])
    with pytest.raises(ReleaseDamagedError, match="no table 'values'"):
        release.scan("values", ["job"])


def test_expected_errors_agree_with_a_real_release(release):
    """Before publishing and after, within the noise of one release's estimated errors."""
    expected = release.law.expected_standard_errors(private_table().count_by(["sex", "job"]))
    assert np.allclose(expected, release.counts(["sex", "job"]).std_errors, rtol=0.25)
    assert not release.law.expected_standard_errors(private_table().count_by(["sex"])).any()


def test_expected_errors_of_many_rows_grow_as_their_square_root(release):
    """A hundred times the rows, ten times the error."""
    small = private_table().count_by(["sex", "job"])
    large = type(small)(small.attributes, small.counts * 100)
    errors = [release.law.expected_standard_errors(each) for each in (small, large)]
    assert np.allclose(errors[1] / errors[0], 10, rtol=0.15)


def test_csv_releases_give_the_same_answers(release, tmp_path):
    """Bucket numbers are read from text as from Parquet."""
    text = publish(private_table(), Anatomy(l_value=3), tmp_path / "csv", format="csv", seed=5)
    for by in itertools.permutations(("sex", "job")):
        assert np.allclose(text.counts(list(by)).values, release.counts(list(by)).values)


def test_what_is_exact_of_the_table_is_a_draw_of_the_population(release):
    """The multinomial's x (1 - x/N), estimated with N - 1: by sex, by job, and for one question of either."""
    for name in ("sex", "job"):
        counts = np.bincount(columns()[name]).astype(float)
        expected = (np.diag(counts) - np.outer(counts, counts) / ROWS) * ROWS / (ROWS - 1)
        found = release.counts([name], target="population").estimates
        assert np.allclose(found.covariance, expected)
        query = release.query(f"{name} = '{SCHEMA[name].labels[1]}'", target="population")
        assert query.std_error**2 == pytest.approx(expected[1, 1])


def test_the_population_s_error_comes_on_top_of_the_table_s(release):
    """(v + x - x^2/N) N/(N-1) for a joint count, in either form of the question."""
    table = release.counts(["sex", "job"]).estimates
    population = release.counts(["sex", "job"], target="population").estimates
    x, v = table.values, table.variances
    assert population.variances == pytest.approx((v + x - x**2 / ROWS) * ROWS / (ROWS - 1))
    one = release.query("sex = 'F' AND job = 'b'", target="population")
    assert one.std_error**2 == pytest.approx(population.variances[1])


def test_expected_errors_of_a_large_table_grow_with_its_square_root():
    """Buckets are previewed up to a number; sixteen times the rows have four times the errors."""
    law = BucketedRows(sensitive="job", l_value=2)
    counts = np.array([[9, 3, 4, 0], [3, 7, 6, 0]])
    errors = [
        law.expected_standard_errors(CountTable((SCHEMA["sex"], FOUR_JOBS), counts * times))
        for times in (1_000, 16_000)
    ]
    np.testing.assert_allclose(errors[1], 4 * errors[0], rtol=0.02)
    assert (errors[0][:, :3] > 0).all()
    assert not errors[0][:, 3].any()


def test_expected_errors_follow_the_attributes_wherever_the_sensitive_one_stands():
    """Sex by age by job, and the same table with job first or in the middle."""
    law = BucketedRows(sensitive="job", l_value=2)
    counts = np.random.default_rng(2).integers(5, 20, (2, 3, 4))
    attributes = (SCHEMA["sex"], SCHEMA["age"], FOUR_JOBS)
    last = law.expected_standard_errors(CountTable(attributes, counts))
    for order in ((2, 0, 1), (0, 2, 1), (1, 2, 0)):
        moved = CountTable(tuple(attributes[axis] for axis in order), counts.transpose(order))
        np.testing.assert_allclose(law.expected_standard_errors(moved), last.transpose(order))


def test_expected_errors_of_six_pairs_by_hand():
    """Three values of four rows, half of them in a cell: however rows are dealt each two values meet in two pairs.

    Values share C = [[2, 1, 1], ...] of a bucket. A place of a value varies by s = 2 * 2 / (4 * 3) = 1/3; sums of places have
    s (C - C^2 / 4), which is 3/4 s across values, and estimates 4 C^-1 of them: 16 * 3/4 s * 2/3 = 8/3.
    """
    law = BucketedRows(sensitive="job", l_value=2)
    job = Attribute(name="job", role=Role.SENSITIVE, categories=tuple("abcd"))
    counts = np.array([[2, 2, 2, 0], [2, 2, 2, 0]])
    found = law.expected_standard_errors(CountTable((SCHEMA["sex"], job), counts))
    np.testing.assert_allclose(found, np.sqrt([[8 / 3, 8 / 3, 8 / 3, 0]] * 2))
    for of_women in (0, 4):
        # Nobody's rows, or everybody's: whose they are is known.
        counts = np.array([[of_women] * 3 + [0], [0] * 4])
        assert not law.expected_standard_errors(CountTable((SCHEMA["sex"], job), counts)).any()


def test_a_thousand_million_rows_are_previewed_by_some_of_them():
    """Ten thousand times the rows of another table, a hundred times its errors; a rare value has one too."""
    law = BucketedRows(sensitive="job", l_value=2)
    counts = np.array([[9, 3, 4, 5], [3, 7, 6, 5]])
    small, large = (
        law.expected_standard_errors(CountTable((SCHEMA["sex"], FOUR_JOBS), counts * times))
        for times in (5_000, 50_000_000)
    )
    np.testing.assert_allclose(large, 100 * small, rtol=0.02)
    rare = np.array([[9e8, 3e8, 4e8, 1], [3e8, 7e8, 6e8, 2]])
    assert (law.expected_standard_errors(CountTable((SCHEMA["sex"], FOUR_JOBS), rare)) > 0).all()


def test_errors_of_more_values_than_are_laid_out_together_are_refused(monkeypatch):
    """As many as are laid out are not; values that nobody has do not count."""
    law = BucketedRows(sensitive="job", l_value=2)
    counts = CountTable((SCHEMA["sex"], SCHEMA["job"]), np.array([[9, 3, 4, 5, 0], [3, 7, 6, 5, 0]]))
    monkeypatch.setattr(bucketed_rows, "LARGEST_DENSE", 4)
    assert law.expected_standard_errors(counts).shape == (2, 5)
    monkeypatch.setattr(bucketed_rows, "LARGEST_DENSE", 3)
    with pytest.raises(TooLargeError, match=r"the errors of counts of 4 values .* at most 3 are"):
        law.expected_standard_errors(counts)
