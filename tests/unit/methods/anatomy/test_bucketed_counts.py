"""Counts and errors of buckets against a second computation: bucket by bucket, from the published tables alone."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from sfumato import Anatomy
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import NotIdentifiableError, TooLargeError
from sfumato.estimates.estimates import Certainty
from sfumato.methods.anatomy import buckets as composition
from sfumato.methods.anatomy import law as bucketed_counts
from sfumato.query.selection import Selection, Tabulation
from sfumato.schema import Attribute, Role, Schema
from sfumato.testing import release_in_memory

SCHEMA = Schema(
    attributes=(
        Attribute(name="group", role=Role.QUASI_IDENTIFIER, categories=("one", "two", "nobody")),
        Attribute(name="place", role=Role.QUASI_IDENTIFIER, categories=("here", "there")),
        Attribute(
            name="value", role=Role.SENSITIVE, categories=("a", "b", "c", "d", "never", "once", "twice")
        ),
    )
)
# 147 rows in pairs, one of them with a third; a value that nobody has, one of two rows and one of a single row. Values go with groups.
VALUES = np.repeat([0, 1, 2, 3, 5, 6], [44, 40, 32, 28, 1, 2])
CODES = {
    "group": ((np.arange(147) % 16 == 0) ^ (VALUES < 2)).astype(np.uint8),
    "place": (np.arange(147) % 3 == 0).astype(np.uint8),
    "value": VALUES.astype(np.uint8),
}
MANY = "values beyond those laid out at once"


@pytest.fixture(params=["few values", MANY])
def release(request, monkeypatch):
    """Buckets that tell all values apart; solved once for all seven values, and sum by sum."""
    monkeypatch.setattr(composition, "LARGEST_DENSE", 6 if request.param == MANY else 7)
    made = _release()
    made.are_many = request.param == MANY
    return made


def _release(codes=CODES, l_value=2, seed=4):
    table = PrivateTable(CodedRows(SCHEMA, codes), SCHEMA, engine=ArrayEngine())
    return release_in_memory(table, Anatomy(l_value=l_value), seed=seed)


class ByBuckets:
    """Least squares and its errors with one line for each bucket, and covariances of the numbers in buckets."""

    def __init__(self, release):
        rows, values = ([*release.scan(*each)] for each in (ROWS, SENSITIVE))
        self.codes = {name: _joined(rows, name) for name in ("group", "place", "bucket")}
        self.incidence = np.zeros((self.codes["bucket"].max(), 7))
        np.add.at(self.incidence, (_joined(values, "bucket") - 1, _joined(values, "value")), 1)
        self.totals = self.incidence.sum(axis=0)
        weighted = self.incidence / self.incidence.sum(axis=1, keepdims=True)
        # Counts of values from rows that satisfy something in each bucket.
        self.solving = np.diag(self.totals) @ np.linalg.pinv(self.incidence.T @ weighted) @ weighted.T
        unit = np.array([each / (each - 1) if each > 1 else 0 for each in self.totals])
        errors = np.diagonal(self.solving @ self.dealt(unit) @ self.solving.T)
        # Of all of many values no errors are computed, and their association is believed as it is.
        self.kept = 1 / (1 + (0 if release.are_many else 4) * errors / np.maximum(self.totals, 1) ** 2)

    def dealt(self, spread):
        """Covariance of the numbers in buckets: places of a value are drawn without replacement."""
        found = np.zeros((len(self.incidence), len(self.incidence)))
        for value, total in enumerate(self.totals):
            if total:
                places = self.incidence[:, value]
                found += spread[value] * (np.diag(places) - np.outer(places, places) / total)
        return found

    def counted(self, **conditions):
        """Rows of each bucket that satisfy conditions."""
        holds = np.ones(len(self.codes["bucket"]), bool)
        for name, code in conditions.items():
            holds &= self.codes[name] == code
        return np.bincount(self.codes["bucket"][holds] - 1, minlength=len(self.incidence))

    def estimates(self, **conditions):
        """Of every value."""
        return self.solving @ self.counted(**conditions)

    def drawn_in(self, **conditions):
        """Where errors are worked out: toward no association, by what errors leave of it."""
        alone = self.counted(**conditions).sum() / self.incidence.sum() * self.totals
        return alone + self.kept * (self.estimates(**conditions) - alone)

    def plausible(self, **conditions):
        """No fewer than none and no more than all rows of a value."""
        return np.minimum(np.maximum(self.drawn_in(**conditions), 0), self.totals)

    def covariance(self, first, second, both):
        """Of the counts of all values by all values, at rows of each value in one, in the other and in both."""
        spread = [
            (both[value] * total - first[value] * second[value]) / (total * (total - 1)) if total > 1 else 0
            for value, total in enumerate(self.totals)
        ]
        return self.solving @ self.dealt(spread) @ self.solving.T


ROWS, SENSITIVE = ("rows", ["group", "place", "bucket"]), ("sensitive", ["bucket", "value"])


def _joined(batches, name):
    return np.concatenate([each.codes[name] for each in batches]).astype(np.int64)


def test_estimates_and_errors_of_single_cells(release):
    """Every value in every public cell; the sensitive attribute in the middle of the table."""
    reference = ByBuckets(release)
    found = release.counts(["place", "value", "group"])
    for place, group in itertools.product(range(2), range(2)):
        here = {"place": place, "group": group}
        np.testing.assert_allclose(found.values[place, :, group], reference.estimates(**here), atol=1e-7)
        inside = reference.plausible(**here)
        variances = np.diagonal(reference.covariance(inside, inside, inside)).copy()
        # A value of one row lies in one bucket: nothing was dealt, and less than a row is not claimed.
        variances[variances == 0] = 1
        variances[4] = 0
        np.testing.assert_allclose(found.std_errors[place, :, group] ** 2, variances, rtol=1e-6, atol=1e-9)


def test_nothing_is_exact_where_a_cell_is_not_empty(release):
    """No row of a public group, or nobody with a value: exactly none; anything else is an estimate."""
    found = release.counts(["group", "value"]).estimates
    claims = found.certainty.reshape(3, 7)
    assert (claims[2] == Certainty.EXACT).all()
    assert (claims[:, 4] == Certainty.EXACT).all()
    assert (claims[:2, [0, 1, 2, 3, 5, 6]] == Certainty.ESTIMATED).all()
    assert (found.values.reshape(3, 7)[claims == Certainty.EXACT] == 0).all()


@pytest.mark.parametrize("places", [(0, 1), (1,)])
def test_the_covariance_of_a_table_shares_out_the_rows_of_each_value(release, places):
    """Cells that together would hold more of a value's rows than there are hold them in proportion."""
    reference = ByBuckets(release)
    cells = [{"place": place, "group": group} for place, group in itertools.product(places, range(2))]
    inside = np.maximum([reference.drawn_in(**each) for each in cells], 0)
    most = inside.sum(axis=0)
    is_over = (most > reference.totals * (1 + 1e-9)) & (reference.totals > 0)
    # What the test is about: in all cells some values would; in some of the cells some would not.
    assert is_over.any() if len(places) == 2 else (~is_over[reference.totals > 0]).any()
    inside[:, is_over] *= reference.totals[is_over] / most[is_over]
    shown = "place IN ('here', 'there')" if len(places) == 2 else "place = 'there'"
    asked = f"group IN ('one', 'two') AND {shown}"
    number = len(cells)
    found = release.counts(["place", "group", "value"], where=asked).estimates.covariance
    found = found.reshape(number, 7, number, 7)
    for one, other in itertools.product(range(number), repeat=2):
        both = inside[one] if one == other else np.zeros(7)
        expected = reference.covariance(inside[one], inside[other], both)
        np.testing.assert_allclose(found[one, :, other], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"group": 0}, {"place": 1}),
        ({"group": 0}, {"group": 1}),
        ({"group": 1}, {"group": 1, "place": 0}),
        ({"place": 0}, {"place": 0}),
    ],
)
def test_the_covariance_of_two_questions_counts_the_rows_of_both(release, one, other):
    """Apart, overlapping, one inside the other, the same; two values of one question and one of the other."""
    reference = ByBuckets(release)
    first, second = reference.plausible(**one), reference.plausible(**other)
    is_empty = any(other.get(name, code) != code for name, code in one.items())
    both = np.zeros(7) if is_empty else reference.plausible(**{**one, **other})
    both = np.maximum(np.minimum(both, np.minimum(first, second)), first + second - reference.totals)
    both = np.maximum(both, 0)
    expected = reference.covariance(first, second, both)[:2].sum(axis=0)[2]
    chosen = [
        Selection((*((name, (code,)) for name, code in each.items()), ("value", values)))
        for each, values in ((one, (0, 1)), (other, (2,)))
    ]
    found = release.law.estimate_selections(release, chosen)
    assert found.covariance[0, 1] == pytest.approx(expected, rel=1e-6, abs=1e-8)
    assert found.values == pytest.approx(
        [reference.estimates(**one)[:2].sum(), reference.estimates(**other)[2]], abs=1e-7
    )


def test_a_difference_between_values_has_the_error_of_its_weights(release):
    """Shares of two values' rows in a group: one sum, with weights of one over the totals."""
    reference = ByBuckets(release)
    weights = np.zeros(7)
    weights[[0, 3]] = 1 / 44, -1 / 28
    inside = reference.plausible(group=0)
    expected = np.sqrt(weights @ reference.covariance(inside, inside, inside) @ weights)
    found = release.difference("group = 'one'", given="value = 'a'", versus="value = 'd'")
    assert found.estimate == pytest.approx(weights @ reference.estimates(group=0), abs=1e-8)
    assert found.std_error == pytest.approx(expected, rel=1e-6)
    one, two = (Selection((("value", (code,)),)) for code in (0, 3))
    assert release.law.difference(release, Selection((("group", (0,)),)), one, two).values.shape == (1,)
    nobody = release.difference("group = 'nobody'", given="value = 'a'", versus="value = 'd'")
    assert (nobody.estimate, nobody.std_error, nobody.is_exact) == (0, 0, True)


def test_a_sum_without_an_error_is_known_to_one_of_its_rows():
    """Buckets that all hold the same values: of what all rows of a group hold nothing was dealt, which is no claim."""
    codes = {
        "group": np.array([0, 1] * 4, np.uint8),
        "place": np.zeros(8, np.uint8),
        "value": np.repeat([0, 1], 4).astype(np.uint8),
    }
    release = _release(codes, l_value=2)
    formula = release.law.formula(release, (Tabulation(where=Selection((("group", (0,)),))),))
    found = formula.weighted(
        Tabulation(where=Selection((("group", (0,)),))), np.array([[-0.5, -0.5, 0, 0, 0, 0, 0]])
    )
    assert found.values == pytest.approx([-2])
    assert found.variances == pytest.approx([0.25])
    assert (found.certainty == Certainty.ESTIMATED).all()


def test_so_many_sums_of_many_values_are_refused(monkeypatch):
    """At most as many as fit: of 7 values and 73 buckets, 5 sums take 365 numbers."""
    monkeypatch.setattr(composition, "LARGEST_DENSE", 6)
    monkeypatch.setattr(bucketed_counts, "LARGEST_OUTPUTS", 365)
    release = _release()
    assert len(release.law.composition(release).places) == 73
    kept = "value IN ('a', 'b', 'c', 'd', 'never')"
    assert release.counts(["group", "value"], where=kept).values.shape == (3, 5)
    with pytest.raises(TooLargeError, match="at most 5 of them can be asked for at once; here 7 are"):
        release.counts(["group", "value"])
    # Beside few values the room is not looked at.
    monkeypatch.setattr(composition, "LARGEST_DENSE", 7)
    assert _release().counts(["group", "value"]).values.shape == (3, 7)


@pytest.mark.parametrize("largest_dense", [6, 7])
def test_one_open_sum_among_determined_ones_is_refused(monkeypatch, largest_dense):
    """Two values that only meet each other; nobody has the others, so that these are known to be none."""
    monkeypatch.setattr(composition, "LARGEST_DENSE", largest_dense)
    codes = {
        "group": np.array([0, 1] * 4, np.uint8),
        "place": np.zeros(8, np.uint8),
        "value": np.repeat([0, 1], 4).astype(np.uint8),
    }
    release = _release(codes, l_value=2)
    told = (
        "undetermined: they tell 1 of its 2 values apart" if largest_dense == 7 else "undetermined\\. Counts"
    )
    with pytest.raises(NotIdentifiableError, match=f"2 of the 7 sums of value asked for {told}"):
        release.counts(["group", "value"])
    assert release.query("group = 'one' AND value IN ('a', 'b')").estimate == pytest.approx(4)
    assert release.query("group = 'one' AND value = 'never'").estimate == 0


def test_errors_without_association_are_those_of_dealing():
    """A cell of 6 of 12 rows; buckets of 2 of 3 values, 4 rows of each value.

    By hand: without association half of a value's 4 rows are in the cell, which spreads by 1/2 * 1/2 * 4/3 = 1/3 a place.
    That of ``x (f - x) / (f (f - 1))`` at x = 2 is 2 * 2 / 12 = 1/3 too, so that both ways agree on the variance.
    """
    schema = Schema(
        attributes=(
            Attribute(name="group", role=Role.QUASI_IDENTIFIER, categories=("one", "two")),
            Attribute(name="value", role=Role.SENSITIVE, categories=("a", "b", "c")),
        )
    )
    codes = {"group": np.arange(12, dtype=np.uint8) % 2, "value": np.repeat(np.arange(3), 4).astype(np.uint8)}
    table = PrivateTable(CodedRows(schema, codes), schema, engine=ArrayEngine())
    for seed in range(20):
        release = release_in_memory(table, Anatomy(l_value=2), seed=seed)
        asked = Tabulation(("group", "value"))
        formula = release.law.formula(release, (asked,))
        if formula.buckets.rank < 3:
            continue
        unbiased = formula.weighted_counts(asked) @ formula.buckets.solution.T
        by_dealing = formula.buckets.variances(np.full((1, 3), 1 / 3), formula.buckets.solution)[0]
        # The error of a whole value is four times that of half of it; beside four rows squared, four times.
        expected = 2.0 + (unbiased - 2.0) / (1 + 4 * 4 * by_dealing / 16)
        np.testing.assert_allclose(formula._estimated(asked), expected, atol=1e-9)
        # Two cells that are all rows still hold all rows of every value.
        np.testing.assert_allclose(formula._estimated(asked).sum(axis=0), 4)
        return
    raise AssertionError("no release told the values apart")


@pytest.mark.parametrize(("values", "buckets"), [(10, 4), (4, 10)])
def test_sums_of_many_values_take_room_for_all_values_or_all_buckets(monkeypatch, values, buckets):
    """Whichever are more: three sums of ten numbers fit into thirty and not into twenty-nine."""
    many = SimpleNamespace(number_of_values=values, places=np.zeros((buckets, 2)), are_values_many=True)
    asked = SimpleNamespace(buckets=many, sensitive="job")
    monkeypatch.setattr(bucketed_counts, "LARGEST_OUTPUTS", 30)
    bucketed_counts.BucketedCounts._refuse_too_many(asked, 3)
    monkeypatch.setattr(bucketed_counts, "LARGEST_OUTPUTS", 29)
    with pytest.raises(TooLargeError, match="at most 2 of them can be asked for at once; here 3 are"):
        bucketed_counts.BucketedCounts._refuse_too_many(asked, 3)
