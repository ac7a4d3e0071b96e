"""Linking with outside records, by hand on tiny tables."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato import publish, read_table
from sfumato.attacks.base import read_knowledge
from sfumato.attacks.linking import OutsideLinking, journalist_risk, marketer_risk, prosecutor_risk
from sfumato.errors import ParameterError
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.generalization.design import Generalization
from sfumato.methods.randomized_response.design import RandomizedResponse
from sfumato.schema import Schema

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
PRIVATE = pa.table(
    {
        "age": [5, 5, 15, 15, 25, 35, 35, 35],
        "sex": ["F", "F", "F", "F", "M", "M", "M", "M"],
        "job": ["a", "b", "a", "a", "b", "b", "b", "b"],
    }
)
# Everybody of the table, and eight more people.
POPULATION = pa.table(
    {"age": [5, 5, 15, 15, 25, 35, 35, 35] * 2, "sex": ["F"] * 4 + ["M"] * 4 + ["F"] * 4 + ["M"] * 3 + ["F"]}
)

ACCEPTED = {"accept": ("singled-out",), "say": lambda _: None}
"""That rows are unique is what these tests are about."""


@pytest.fixture(scope="module")
def release_by(tmp_path_factory):
    """A release of the eight people by a design."""
    folder = tmp_path_factory.mktemp("linking")

    def made(design, name):
        return publish(read_table(PRIVATE, SCHEMA), design, folder / name, seed=1, **ACCEPTED)

    return made


def test_prosecutor_risk_is_one_over_the_class_size():
    """Classes of 2, 2, 1 and 3 rows: highest 1, four right picks of eight, one row above a half."""
    risk = prosecutor_risk(np.array([2, 2, 1, 3]), 0.5)
    assert (risk.highest, risk.success_rate, risk.records_at_risk) == (1.0, 0.5, 0.125)


def test_journalist_risk_counts_people_outside():
    """F = (2, 3), F = (4, 10): highest 1/4; max(2/14, (2/4 + 3/10)/5 = .16); 2 of 5 rows above .2."""
    risk = journalist_risk(np.array([2, 3]), np.array([4, 10]), 0.2)
    assert (risk.highest, risk.success_rate, risk.records_at_risk) == (0.25, pytest.approx(0.16), 0.4)


def test_a_journalist_who_starts_outside_can_do_better():
    """F = (1, 1), F = (1, 100): 2/101 from outside, .505 from the rows; f = (9, 1), F = (10, 1): 2/11 and .19."""
    assert journalist_risk(np.array([1, 1]), np.array([1, 100]), 0.5).success_rate == pytest.approx(0.505)
    assert journalist_risk(np.array([9, 1]), np.array([10, 1]), 0.5).success_rate == pytest.approx(0.19)


def test_marketer_risk_is_the_mean_of_rows_over_people():
    """Equal to the prosecutor's success rate when the table is the population."""
    sizes = np.array([2, 2, 1, 3])
    assert marketer_risk(sizes, sizes) == prosecutor_risk(sizes, 0.5).success_rate
    assert marketer_risk(np.array([2, 3]), np.array([4, 10])) == pytest.approx(0.16)


def test_raw_quasi_identifiers_are_classes_as_they_stand(release_by):
    """Randomized response on the job leaves age and sex: classes of 2, 2, 1 and 3."""
    result = OutsideLinking(threshold=0.5).run(release_by(RandomizedResponse(retention=0.5), "raw"))
    assert result.findings["classes"] == 4
    assert result.findings["prosecutor: highest risk"] == 1.0
    assert result.findings["prosecutor: success rate"] == 0.5
    assert result.findings["prosecutor: share of rows above 0.5"] == 0.125


@pytest.mark.parametrize(
    "parameters", [{"boxes": "tight"}, {"search": "full-domain"}], ids=["tight", "full-domain"]
)
def test_generalized_rows_hide_in_their_class(release_by, parameters):
    """K = 4: two classes; the men all have job b, so their class gives it away."""
    release = release_by(Generalization(k=4, **parameters), "-".join(parameters.values()))
    knowledge = read_knowledge(POPULATION, release.schema)
    found = OutsideLinking(threshold=0.2).run(release, knowledge).findings
    assert found["prosecutor: highest risk"] == 0.25
    # Outside, 8 women are under 20 and 7 men are 20 or older.
    assert found["journalist: highest risk"] == pytest.approx(1 / 7)
    assert found["marketer: success rate"] == pytest.approx((4 / 8 + 4 / 7) / 8)
    assert found["journalist: success rate"] == pytest.approx((4 / 8 + 4 / 7) / 8)
    assert found["job: share of rows whose class gives it away"] == 0.5
    assert found["job: expected right, names the likeliest value"] == pytest.approx((3 + 4) / 8)
    assert found["job: expected right without linking"] == pytest.approx(5 / 8)


def test_bucketed_rows_are_found_but_do_not_say_which_value_is_theirs(release_by):
    """Quasi-identifiers are raw; a bucket of l = 1.6 mixes both jobs as the whole table does."""
    table = pa.table({"age": [5, 15, 25, 35], "sex": ["F"] * 4, "job": ["a", "b", "a", "b"]})
    folder = release_by(Generalization(k=4), "for-folder").folder.parent
    release = publish(read_table(table, SCHEMA), Anatomy(l_value=2), folder / "bucketed", seed=1, **ACCEPTED)
    found = OutsideLinking().run(release).findings
    assert found["prosecutor: highest risk"] == 1.0
    assert found["job: expected right, names the likeliest value"] == pytest.approx(0.5)
    assert found["job: share of rows whose class gives it away"] == 0.0


def test_perturbed_quasi_identifiers_make_a_match_doubtful(release_by):
    """A matching row is the target's only if it kept its values: sex kept with .5 + .5/2 = .75."""
    release = release_by(RandomizedResponse(retention=0.5, attributes=("sex",)), "perturbed")
    found = OutsideLinking(quasi_identifiers=("sex",)).run(release).findings
    sizes = release.count_by(["sex"]).counts
    assert found["prosecutor: highest risk"] == pytest.approx(0.75 / sizes[sizes > 0].min())


def test_outside_records_that_lack_people_are_remarked(release_by):
    """Journalist and marketer figures mean little then."""
    release = release_by(Generalization(k=4), "few")
    knowledge = read_knowledge(POPULATION.slice(0, 2), release.schema)
    result = OutsideLinking().run(release, knowledge)
    assert result.findings["share of rows that fit no outside record"] == 0.5
    assert any("do not hold everybody" in each for each in result.caveats)


def test_nothing_to_link_on_is_refused(release_by):
    """The only attribute named is not a published one."""
    release = release_by(Generalization(k=8), "whole")
    with pytest.raises(ParameterError, match="nothing to link on"):
        OutsideLinking().run(release)
