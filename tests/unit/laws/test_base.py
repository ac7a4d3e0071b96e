"""What a law does that says nothing of its own, and shares of groups compared through it."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from sfumato.estimates.estimates import Certainty
from sfumato.laws.base import Law
from sfumato.laws.estimator import Formula
from sfumato.query.selection import Predicate, Selection
from sfumato.schema import Attribute, Role, Schema

SEX = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
JOB = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
COUNTS = np.array([[10.0, 20.0, 30.0], [40.0, 50.0, 50.0]])
"""By sex and job."""


class Independent(Formula):
    """Every question has an error of its own, of a variance of a tenth of its count, whatever else is asked."""

    number_of_rows = 200.0

    def __init__(self, claim, reach):
        self.claim, self.reach = claim, reach

    def values(self, asked):
        """Sums of the table's cells."""
        chosen = [asked.where.codes(name) for name in ("sex", "job")]
        rows = [range(size) if codes is None else codes for codes, size in zip(chosen, (2, 3), strict=True)]
        return np.array([COUNTS[np.ix_(*map(list, rows))].sum()])

    def variances(self, asked):
        """A tenth of the count."""
        return self.values(asked) / 10

    def covariance(self, one, other):
        """None, not even of the same question asked twice."""
        return self.variances(one)[:, None] if one is other else np.zeros((1, 1))

    def certainty(self, asked, number):
        """All alike."""
        del asked
        return np.full(number, self.claim, np.int8)

    def bounds(self, asked):
        """So many rows to either side, where any are said."""
        if self.reach is None:
            return None
        return self.values(asked) - self.reach, self.values(asked) + self.reach


class Plain(Law):
    """A law of nothing but its formula."""

    law: Literal["plain"] = "plain"
    claim: int = int(Certainty.ESTIMATED)
    reach: float | None = None

    def formula(self, published, asked):
        """The same whatever was published."""
        del published, asked
        return Independent(self.claim, self.reach)

    def consistent(self, published, tabulation, *, feasibility="projection"):
        """Not asked for here."""
        raise NotImplementedError

    def expected_standard_errors(self, true_counts):
        """Not asked for here."""
        raise NotImplementedError

    @property
    def sentence(self):
        """In words."""
        return "Nothing was changed."


class Published:
    """A release that is asked for nothing but its attributes."""

    schema = Schema(attributes=(SEX, JOB))


WOMEN, MEN = Selection((("sex", (0,)),)), Selection((("sex", (1,)),))
JOB_A, NOT_A = Selection((("job", (0,)),)), Selection((("job", (1, 2)),))


def test_a_law_claims_nothing_that_it_does_not_say():
    """Rows that are independent, changed one by one or withheld, categories that are treated alike: each is said, or not so."""
    law = Plain()
    assert (law.rows_are_independent, law.is_row_by_row, law.keeps_independence) == (False, False, False)
    assert law.is_withheld is False
    assert law.treats_alike("job") is False
    assert (law.unanswerable, law.estimate_is) == ("", "unbiased")
    assert (law.chosen_from_rows, law.accounted_choices, law.own_conditions) == ((), (), ())
    assert (law.changed_attributes, law.matrices(), law.trees(Published.schema)) == ((), {}, {})
    assert (law.withheld(), law.estimate_occupied(Published(), ("sex",))) == (None, None)
    assert law.grouped_rows(Published(), ("sex",), "job") is None
    assert law.question_schema(Published.schema) is Published.schema


class RowByRow(Plain):
    """A law that says one thing of itself."""

    is_row_by_row = True


def test_values_changed_one_by_one_stay_independent():
    """Each is drawn from its own true value and chance alone."""
    assert RowByRow().keeps_independence


@pytest.mark.parametrize("target", ["table", "population"])
def test_shares_of_two_groups_are_subtracted(target):
    """10 of 60 women and 40 of 140 men; each share's change is (da - r db) / b."""
    found = Plain().difference(Published(), JOB_A, WOMEN, MEN, target=target)
    shares = 10 / 60, 40 / 140
    assert found.values == pytest.approx([shares[0] - shares[1]])
    if target == "table":
        women, men = (
            (rows / 10 + share**2 * group / 10) / group**2
            for rows, group, share in zip((10, 40), (60, 140), shares, strict=True)
        )
        assert found.variances == pytest.approx([women + men])


def test_a_group_and_itself_do_not_differ():
    """Whatever share of it is asked for: neither is taken for all of the group."""
    assert Plain().difference(Published(), JOB_A, WOMEN, WOMEN).values == pytest.approx([0], abs=1e-12)
    # Women of job a are the same rows of women and of everybody, and all of neither.
    found = Plain().difference(Published(), JOB_A & WOMEN, WOMEN, Selection(()))
    assert found.values == pytest.approx([10 / 60 - 10 / 200])


@pytest.mark.parametrize("place", [0, 1])
def test_all_of_a_group_is_a_share_of_one_without_an_error(place):
    """Everybody of job a has job a, however uncertain both counts are; 10 of 60 women do."""
    groups = (JOB_A, WOMEN) if place == 0 else (WOMEN, JOB_A)
    found = Plain().difference(Published(), JOB_A, *groups)
    share = 10 / 60
    assert found.values == pytest.approx([1 - share if place == 0 else share - 1])
    assert found.variances == pytest.approx([(10 / 10 + share**2 * 60 / 10) / 60**2])


def test_shares_that_are_bounded_lie_between_none_and_all():
    """20 rows to either side of each count: 0 to 30 of 40 to 80 women, 20 to 60 of 120 to 160 men, and no share above one.

    Of everybody but job a 30 to 70 women of 40 to 80 would be up to 7/4; of men 80 to 120 of 120 to 160, at least one half.
    """
    law = Plain(claim=int(Certainty.BOUNDED), reach=20.0)
    found = law.difference(Published(), JOB_A, WOMEN, MEN)
    assert found.certainty.tolist() == [Certainty.BOUNDED]
    low, high = found.intervals(0.95)
    assert (low[0], high[0]) == pytest.approx((0 - 60 / 120, 30 / 40 - 20 / 160))
    low, high = law.difference(Published(), NOT_A, WOMEN, MEN).intervals(0.95)
    assert (low[0], high[0]) == pytest.approx((30 / 80 - 1, 1 - 80 / 160))


def test_joined_conditions_are_compared_like_single_ones():
    """Jobs a or b of women against men: 30 of 60 and 90 of 140; a single condition is the plain difference."""
    either = Predicate.parse(
        "job = 'a' OR job = 'b' AND sex = 'F' OR job = 'b' AND sex = 'M'", Published.schema
    )
    women, men = (Predicate.parse(f"sex = '{each}'", Published.schema) for each in "FM")
    found = Plain().compare(Published(), either, women, men)
    assert found.values == pytest.approx([30 / 60 - 90 / 140])
    single = Predicate.parse("job = 'a'", Published.schema)
    plain = Plain().difference(Published(), JOB_A, WOMEN, MEN)
    compared = Plain().compare(Published(), single, women, men)
    assert compared.values.tolist() == plain.values.tolist()
    assert compared.variances.tolist() == plain.variances.tolist()
