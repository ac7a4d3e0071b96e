"""Generalized rows: bounds by hand, estimates under the assumption, refusals."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from allowed_tables import generalized
from sfumato import publish, read_table
from sfumato.errors import NotIdentifiableError
from sfumato.estimates.estimates import Certainty
from sfumato.methods.generalization.design import Generalization
from sfumato.methods.generalization.law import GeneralizedRows
from sfumato.schema import Attribute, Role, Schema

SCHEMA = Schema.from_toml("""
[attributes.age]
role = "quasi-identifier"
bins = [0, 10, 20, 30, 40]
[attributes.sex]
role = "quasi-identifier"
categories = ["F", "M"]
[attributes.job]
role = "sensitive"
categories = ["a", "b"]
""")
AGES = [5, 5, 15, 15, 25, 35, 35, 35]
SEXES = ["F"] * 4 + ["M"] * 4
JOBS = ["a", "b", "a", "a", "b", "b", "b", "a"]


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Ages published as [0,20) and [20,40), everything else as it is."""
    table = read_table(pa.table({"age": AGES, "sex": SEXES, "job": JOBS}), SCHEMA)
    # k = 4 on age and sex: full-domain must raise age by one level, or sex; age by one level costs least.
    design = Generalization(k=4, search="full-domain", hierarchies={"age": {"fanout": 2}})
    return publish(table, design, tmp_path_factory.mktemp("law") / "r", seed=1)


def test_questions_are_asked_in_the_original_categories(release):
    """The files hold the coarser ones."""
    assert release.schema["age"].labels == ("[0,10)", "[10,20)", "[20,30)", "[30,40)")
    assert release.published_schema["age"].labels == ("[0,20)", "[20,40)")


def test_a_condition_inside_a_value_is_bounded_and_spread_evenly(release):
    """Four rows in [0,20): between 0 and 4 are under 10, 2 by assumption, variance 4 x 1/4."""
    answer = release.query("age < 10")
    assert (answer.estimate, answer.std_error) == (2.0, 1.0)
    assert answer.bounds == (0.0, 4.0)
    assert "equally frequent" in answer.estimator


def test_a_condition_at_published_edges_is_exact(release):
    """No assumption is needed."""
    answer = release.query("age < 20 AND sex = 'F'")
    assert answer.is_exact
    assert answer.bounds == (4.0, 4.0)


def test_a_table_has_bounds_for_every_cell(release):
    """Age by job: three jobs a and one b in the first published value."""
    table = release.counts(["age", "job"])
    assert table.values.tolist() == [[1.5, 0.5], [1.5, 0.5], [0.5, 1.5], [0.5, 1.5]]
    assert table.bounds() == [(0, 3), (0, 1), (0, 3), (0, 1), (0, 1), (0, 3), (0, 1), (0, 3)]
    assert "At most" in table.summary()
    assert table.to_dict()["rows"][0]["certain_high"] == 3


def test_intervals_do_not_leave_the_bounds(release):
    """A normal interval would."""
    low, high = release.counts(["age", "job"]).intervals()
    certain = np.array(release.counts(["age", "job"]).bounds())
    assert (low >= certain[:, 0]).all()
    assert (high <= certain[:, 1]).all()


def test_shares_use_the_covariance_of_both_counts(release):
    """Of 4 rows under 20, half are under 10 by assumption: variance 4 x 1/4 over 16."""
    answer = release.proportion("age < 10", given="age < 20")
    assert answer.estimate == 0.5
    assert answer.std_error == pytest.approx(0.25)


def test_errors_in_advance_are_refused_with_the_reason(release):
    """They are no chance errors."""
    with pytest.raises(NotIdentifiableError, match="no chance error"):
        release.law.expected_standard_errors(None)


AGE_IN_TENS = Attribute(name="age", role=Role.QUASI_IDENTIFIER, bins=(0, 10, 20, 30, 40))


class Rows:
    """A release of which only the number of rows is asked."""

    def __init__(self, rows):
        self.number_of_rows = rows
        self.schema = Schema(attributes=(AGE_IN_TENS,))


def law_with_nothing_left(suppressed):
    """Age generalized to one value that stands for everything."""
    return GeneralizedRows(
        attributes=(AGE_IN_TENS,), covers={"age": ((0, 1, 2, 3),)}, suppressed_rows=suppressed
    )


def test_dropped_rows_raise_the_upper_bound():
    """Two dropped rows could all satisfy a condition; by assumption they are like the others."""
    from sfumato.query.selection import Selection, Tabulation

    asked = Tabulation(where=Selection((("age", (0,)),)))
    estimate = law_with_nothing_left(2).estimate(Rows(8), asked)
    assert estimate.values.tolist() == [2.5]
    assert [each.tolist() for each in estimate.bounds] == [[0.0], [10.0]]
    # 8 rows of probability 1/4, and 2 dropped ones of the same share.
    assert estimate.variances.tolist() == [10 * 3 / 16]


def test_an_unknown_number_of_dropped_rows_leaves_no_upper_bound():
    """A fixed recoding does not say how many it dropped."""
    from sfumato.query.selection import Selection, Tabulation

    estimate = law_with_nothing_left(None).estimate(Rows(8), Tabulation(where=Selection((("age", (0,)),))))
    assert estimate.bounds[1].tolist() == [math.inf]
    assert estimate.values.tolist() == [2.0]


def test_the_population_has_no_certain_bounds():
    """Only the table's own rows are bounded; the error of drawing comes on top."""
    from sfumato.query.selection import Selection, Tabulation

    asked = Tabulation(where=Selection((("age", (0,)),)))
    estimate = law_with_nothing_left(0).estimate(Rows(8), asked, target="population")
    assert estimate.bounds is None
    # Spread: 8 rows of share 1/4. Drawing: (x - (x^2 - spread) / N) N / (N - 1).
    assert estimate.variances.tolist() == pytest.approx([1.5 + (2 - (4 - 1.5) / 8) * 8 / 7])


@pytest.mark.parametrize("covers", [{"sex": ((0,),)}, {"age": ((0, 1), ())}, {"age": ((0, 9), (1,))}])
def test_covers_that_fit_no_attribute_are_refused(covers):
    """A law that exists is valid."""
    age = Attribute(name="age", role=Role.QUASI_IDENTIFIER, bins=(0, 10, 20))
    with pytest.raises(ValueError, match="cover"):
        GeneralizedRows(attributes=(age,), covers=covers, suppressed_rows=0)


@pytest.mark.parametrize("target", ["table", "population"])
def test_a_release_without_rows_is_answered(target):
    """All five rows were dropped: nothing is known of them, and nothing is divided by zero."""
    from sfumato.query.selection import Selection, Tabulation

    asked = Tabulation(where=Selection((("age", (0,)),)))
    estimate = law_with_nothing_left(5).estimate(Rows(0), asked, target=target)
    assert estimate.values.tolist() == [0.0]
    if target == "table":
        assert [each.tolist() for each in estimate.bounds] == [[0.0], [5.0]]


def test_selections_that_share_rows_share_the_dropped_ones_too():
    """Eight rows over four ages and two dropped: under 10 and under 20 share all of the smaller, 2.5 rows of 10."""
    from sfumato.query.selection import Selection

    asked = (Selection((("age", (0,)),)), Selection((("age", (0, 1)),)))
    found = law_with_nothing_left(2).estimate_selections(Rows(8), asked)
    assert found.values.tolist() == [2.5, 5.0]
    # Ten rows, each in the first with 1/4 and in the second with 1/2: 10 (1/4 - 1/8) together.
    assert found.covariance == pytest.approx(10 * np.array([[3 / 16, 1 / 8], [1 / 8, 1 / 4]]))


def test_a_share_keeps_the_bounds_of_its_counts(tmp_path):
    """Levels that were fixed beforehand drop an unknown number of rows: a share is bounded, never exact."""
    schema = Schema.from_toml(
        """
        [attributes.age]
        role = "quasi-identifier"
        bins = [0, 10, 20, 30, 40]
        [attributes.job]
        role = "sensitive"
        categories = ["a", "b"]
        """
    )
    draw = np.random.default_rng(2)
    age = draw.choice([5, 15, 25, 35], 400, p=[0.47, 0.47, 0.03, 0.03])
    rows = pa.table({"age": age, "job": np.where(age < 20, "a", "b")})
    table = read_table(rows, schema)
    design = Generalization(k=40, search="fixed", levels={"age": 0})
    release = publish(table, design, tmp_path / "r", seed=1)
    share = release.proportion("job = 'b'")
    truth = table.count_by(["job"]).counts[1] / 400
    assert share.estimate == 0 < truth
    assert share.certainty is Certainty.BOUNDED
    assert (share.low, share.high) == (0.0, 1.0)
    count = release.query("job = 'b'")
    assert (count.low, count.high) == (0.0, math.inf)
    assert count.to_dict()["high"] is None
    assert count.to_dict()["certainty"] == "bounded"


def test_the_number_of_all_rows_is_known_where_that_of_dropped_ones_is():
    """Six rows published and one dropped are seven; a cell may have the dropped one or not."""
    rows = [*[(0, 0, 1)] * 3, *[(2, 1, 0)] * 3, (1, 0, 0)]
    found = generalized(rows, k=3, search="full-domain", suppression=0.2)
    assert found.query().is_exact
    assert found.query().estimate == 7
    assert found.query("ill = 'yes'").bounds == (3, 4)
    untold = generalized(rows, k=3, search="fixed", levels={"age": 0, "sex": 0})
    assert untold.query().bounds == (6, math.inf)
