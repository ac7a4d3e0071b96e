"""Counts of sampled rows where groups differ, where nothing was cut, and where nobody was sampled: by hand."""

from __future__ import annotations

import numpy as np
import pytest

from array_tables import ArrayTable
from sfumato.methods.sample_perturb_scale.law import SampledRows
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.distortion import UniformDistortion
from sfumato.schema import Attribute, Role, Schema

SCHEMA = Schema(
    attributes=(
        Attribute(name="place", role=Role.QUASI_IDENTIFIER, categories=("a", "b", "c")),
        Attribute(name="note", role=Role.OTHER, categories=("x", "y", "z")),
        Attribute(name="job", role=Role.SENSITIVE, categories=("s", "t", "u", "v")),
    )
)
CUT = SampledRows(
    sensitive="job",
    distortion=UniformDistortion(retention=0.5, size=4),
    groups=("place",),
    rows_per_group=20.0,
)
SECOND, THIRD = 31 / 16, 107 / 32
"""Moments of a row inside one of four values at p = 1/2: 5/8 of 7/4 and 3/8 of -1/4, squared and cubed."""


def release(**rows_by_place):
    """So many rows of each place, with all jobs in turn; three in five have the first note, the others the second."""
    sizes = [rows_by_place.get(place, 0) for place in "abc"]
    number = np.concatenate([np.arange(each) for each in sizes])
    codes = {"place": np.repeat(np.arange(3), sizes), "note": number // 4 % 5 > 2, "job": number % 4}
    return ArrayTable(SCHEMA, {name: each.astype(np.uint8) for name, each in codes.items()})


def asked(**codes):
    """One number."""
    return Tabulation(where=Selection(tuple((name, (code,)) for name, code in codes.items())))


def test_rows_that_may_be_unseen_are_cut_as_those_of_their_groups_are_on_average():
    """100 rows of which one in five was kept, and 40 of which one in two was: d is 29/7 on average, its square 19."""
    rows, by = release(a=100, b=40), Tabulation(by=("note", "job"))
    formula = CUT.formula(rows, [by])
    mean, square = (100 * 5 + 40 * 2) / 140, (100 * 25 + 40 * 4) / 140
    variances, slopes = (each.reshape(3, 4)[:2] for each in formula.spread(by))
    plain = formula.variances(by).reshape(3, 4)[:2]
    np.testing.assert_allclose(variances, plain + 2 * (mean * SECOND - 1))
    h = np.array([7 / 4, -1 / 4, -1 / 4, -1 / 4])
    for note, (first, second) in enumerate(((15.0, 6.0), (10.0, 4.0))):
        own = sum(
            count * (d**2 * (h**3).sum() - d * (h**2).sum() - d * h.sum() * SECOND + h.sum())
            for count, d in ((first, 5), (second, 2))
        )
        added = 2 * (square * THIRD - 2 * mean * SECOND + 1)
        np.testing.assert_allclose(slopes[note], (own + added) / variances[note])


def test_where_no_group_was_cut_what_is_unseen_was_only_perturbed():
    """Public counts are known, with neither a variance nor a slope; of a job a row more or less is E[h^2] - 1."""
    whole = CUT.model_copy(update={"rows_per_group": 200.0})
    rows, public, with_job = release(a=100), Tabulation(by=("note",)), Tabulation(by=("note", "job"))
    variances, slopes = whole.formula(rows, [public]).spread(public)
    assert variances.tolist() == [0, 0, 0]
    assert slopes.tolist() == [0, 0, 0]
    formula = whole.formula(rows, [with_job])
    more = formula.spread(with_job)[0] - formula.variances(with_job)
    np.testing.assert_allclose(more.reshape(3, 4)[:2], 2 * (SECOND - 1))


def test_a_variance_below_a_row_has_its_slope():
    """Of ten rows 0.98 keep their value: the variance is a line in the count, of slope (1 - p - 2 q) / p."""
    nearly = CUT.model_copy(update={"distortion": UniformDistortion(retention=0.98, size=4)})
    by = Tabulation(by=("place", "job"))
    variances, slopes = (each.reshape(3, 4)[0] for each in nearly.formula(release(a=10), [by]).spread(by))
    assert 0 < variances.max() < 1
    np.testing.assert_allclose(slopes, (1 - 0.98 - 2 * 0.005) / 0.98)


def test_errors_of_rows_of_which_none_was_sampled():
    """Of 100 rows one in five was kept: log(.05) / log(.8) rows of the third note all go unseen once in twenty times.

    No row is of the third place, whose size is known, and nobody there can have a job.
    """
    rows, by_note, by_place = release(a=100), Tabulation(by=("note",)), Tabulation(by=("place", "job"))
    found = CUT.formula(rows, [by_note]).variances(by_note)
    assert found[2] == pytest.approx((np.log(0.05) / np.log(0.8) / 1.959964) ** 2, rel=1e-6)
    assert found[:2] == pytest.approx([96, 96])
    assert CUT.formula(rows, [by_place]).variances(by_place).reshape(3, 4)[2].tolist() == [0] * 4


def test_the_size_of_a_group_goes_with_no_part_of_it():
    """It is known, whichever of the two is asked about first; parts of two groups share no row either."""
    rows = release(a=100, b=40)
    part, size, elsewhere = asked(note=0), asked(place=0), asked(place=1, note=0)
    formula = CUT.formula(rows, [part, size, elsewhere])
    assert formula.covariance(part, size).item() == pytest.approx(0, abs=1e-9)
    assert formula.covariance(size, part).item() == pytest.approx(0, abs=1e-9)
    assert formula.covariance(asked(place=0, note=0), elsewhere).item() == pytest.approx(0, abs=1e-9)


def test_slopes_of_groups_that_were_cut_end_at_what_the_largest_factor_allows(monkeypatch):
    """A row is worth 2 at p = 1/2, and five rows where one in five was kept: no slope is beyond 20."""
    rows, by = release(a=100, b=40), Tabulation(by=("place", "job"))
    for sign in (1, -1):
        monkeypatch.setattr(
            "sfumato.methods.sample_perturb_scale.variances.Sampling.covariances_with_variances",
            lambda *_given, sign=sign, **_more: np.full((3, 4), sign * 1e9),
        )
        slopes = CUT.formula(rows, [by]).spread(by)[1].reshape(3, 4)
        assert slopes[:2].tolist() == [[sign * 20.0] * 4] * 2


def test_counts_of_groups_that_were_not_cut_are_judged_by_all_that_may_be_seen():
    """Twelve rows of one place, three of each job, kept with 5/8 and gained with 1/8; of a hundred that were cut nothing of the kind is known."""
    from sfumato.estimates.exact_intervals import FewSteps
    from sfumato.laws.estimator import answer

    rows, by = release(a=12, b=100), Tabulation(by=("place", "job"))
    limits = CUT.formula(rows, [by]).limits(by, "table")
    low, high = (each.reshape(3, 4) for each in limits(0.95))
    expected = FewSteps(*(np.array([each]) for each in (3.0, 12.0, 0.625, 0.125)))(0.95)
    assert low[0].tolist() == [expected[0][0]] * 4
    assert high[0].tolist() == [expected[1][0]] * 4
    assert np.isnan(low[1]).all()
    found = answer(CUT.formula(rows, [by]), (by,), "table").intervals(0.95)
    assert found[0].reshape(3, 4)[0].tolist() == [expected[0][0]] * 4
    assert CUT.formula(rows, [by]).limits(by, "population") is None
    assert CUT.formula(rows, [by]).limits(Tabulation(by=("place",)), "table") is None
