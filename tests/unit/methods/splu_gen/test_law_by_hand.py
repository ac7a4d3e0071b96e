"""The law of decoys at the corners where a term counts: worked by hand, or refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from published_rows import PublishedRows, category_attribute, selection
from sfumato.errors import NotIdentifiableError
from sfumato.estimates.counts import CountTable
from sfumato.methods.splu_gen.decoy_counts import left_out_variances
from sfumato.methods.splu_gen.decoy_model import DecoyModel, JointCells, decoy_model
from sfumato.methods.splu_gen.law import DecoyRows
from sfumato.query.selection import Tabulation
from sfumato.schema import Role

LAW = DecoyRows(gamma_by_attribute={"job": 3, "pay": 2})
LARGEST_FIRST = DecoyRows(gamma_by_attribute={"job": 3}, partition="largest-first")


def test_rows_left_out_add_their_mean_square():
    """Three rows at most, each in a cell of half or of a quarter of the rows: n p (1 - p) + (n p)^2."""
    found = left_out_variances(np.array([1.0, 0.0]), 2, 3)
    assert found.tolist() == pytest.approx([3 / 4 + 9 / 4, 9 / 16 + 9 / 16])


def test_public_counts_have_the_error_of_the_rows_left_out(published):
    """Of 6,000 rows in groups of 3 and of 2 at most five are missing; n p (1 - p) + (n p)^2 with p = (x + 1) / 6,002."""
    asked = Tabulation(by=("area",))
    share = (np.bincount(published.columns["area"], minlength=3) + 1) / 6_002
    expected = 5 * share * (1 - share) + (5 * share) ** 2
    assert LAW.formula(published, [asked]).variances(asked) == pytest.approx(expected)


def test_consistent_counts_of_public_attributes_are_those_published(published):
    """No drawn attribute is asked about."""
    counts = np.bincount(published.columns["area"], minlength=3)
    assert LAW.consistent(published, Tabulation(by=("area",))).tolist() == counts.tolist()


def test_consistent_counts_need_the_law_of_the_groups(published):
    """Largest-first groups leave open which values meet."""
    with pytest.raises(NotIdentifiableError, match="largest-first"):
        LARGEST_FIRST.consistent(published, Tabulation(by=("area", "job")))


def test_errors_need_the_law_of_the_groups_by_themselves(published):
    """An error is not stated where the estimate is refused, whoever asks for it first."""
    asked = Tabulation(by=("area", "job"))
    with pytest.raises(NotIdentifiableError, match="largest-first"):
        LARGEST_FIRST.formula(published, [asked]).variances(asked)


def test_covariances_need_the_law_of_the_groups_by_themselves(published):
    """Of a table with itself and of two selections."""
    asked = Tabulation(by=("area", "job"))
    one, other = (Tabulation(where=selection(area=(0,), job=(code,))) for code in (0, 1))
    for pair in ((asked, asked), (one, other)):
        with pytest.raises(NotIdentifiableError, match="largest-first"):
            LARGEST_FIRST.formula(published, pair).covariance(*pair)


@pytest.mark.parametrize("by", list(itertools.permutations(("job", "pay", "area"))))
def test_two_drawn_attributes_are_answered_in_the_order_asked_for(published, by):
    """Values, errors and covariances of every order of three attributes are those of one, turned."""
    first, sizes = ("area", "job", "pay"), (3, 8, 6)
    straight, turned = (LAW.estimate(published, Tabulation(by=each)) for each in (first, by))
    axes = [first.index(name) for name in by]
    place = np.arange(144).reshape(sizes).transpose(axes).ravel()
    np.testing.assert_allclose(turned.values, straight.values[place])
    np.testing.assert_allclose(turned.variances, straight.variances[place])
    scale = straight.variances.max()
    np.testing.assert_allclose(
        turned.covariance, straight.covariance[np.ix_(place, place)], atol=1e-9 * scale
    )


def test_a_sum_is_large_when_it_is_within_three_tenths_nineteen_times_in_twenty():
    """1.96 errors are three tenths of 98 for an error of 15: what a law says that was told nothing else."""
    kinds = {estimate: LAW._kind(estimate, 15.0).split(":")[0] for estimate in (10.0, 10.1, 97.9, 98.1)}
    assert kinds == {10.0: "small sum", 10.1: "grey", 97.9: "grey", 98.1: "large sum"}
    assert LAW._kind(1e3, 1.0) == "large sum: within 30 % of the truth with probability 0.95"


def test_public_counts_vary_with_drawn_ones_by_rows_left_out(published):
    """Of five rows left out some have both, as many as the published rows; as if they had nothing to do with each other where the law of the groups is not known."""
    public, drawn = Tabulation(where=selection(area=(0,))), Tabulation(where=selection(job=(1,)))
    formula = LAW.formula(published, [public, drawn])
    together = (
        formula.shares(Tabulation(by=("area",)))[0, 1] * published.count_by(("job",), selection()).counts[1]
    )
    area, job = (
        np.count_nonzero(published.columns[name] == code) for name, code in (("area", 0), ("job", 1))
    )
    rows = published.number_of_rows
    expected = 5 * together / rows + 5 * 4 * area * job / rows**2
    for pair in ((public, drawn), (drawn, public)):
        assert formula.covariance(*pair).item() == pytest.approx(expected)
    assert formula.covariance(public, public).tolist() == [[0.0]]
    apart = LARGEST_FIRST.formula(published, [public, drawn]).covariance(public, drawn)
    # Groups of three: two rows.
    assert apart.item() == pytest.approx(2 * 2 * area * job / rows**2)


@pytest.mark.parametrize("estimator", ["pairwise", "paper"])
@pytest.mark.parametrize("by", [("area", "job"), ("job", "area")])
def test_named_estimators_answer_a_table_as_its_cells(published, estimator, by):
    """Whichever axis comes first, each cell is the answer to its own question."""
    law = DecoyRows(gamma_by_attribute={"job": 3})
    table = law.estimate_by(estimator, published, Tabulation(by=by)).values
    shape = tuple({"area": 3, "job": 8}[name] for name in by)
    cells = np.reshape(table, shape)
    for area, job in [(0, 0), (1, 5), (2, 7)]:
        question = Tabulation(where=selection(area=(area,), job=(job,)))
        alone = law.estimate_by(estimator, published, question).values[0]
        place = (area, job) if by[0] == "area" else (job, area)
        assert cells[place] == pytest.approx(alone)


def test_the_margins_of_four_rows():
    """Values 0, 0, 1, 2 in two groups of two: each of four rows shows 0 with probability 1/2, each of two shows 1, and 2.

    Binomial(4, 1/2) has the variance 1 and Binomial(2, 1/2) has 1/2.
    """
    rows = PublishedRows(
        (category_attribute("area", 2, Role.OTHER), category_attribute("job", 3)),
        {"area": np.array([0, 1, 0, 1]), "job": np.array([0, 0, 1, 2])},
    )
    law = DecoyRows(gamma_by_attribute={"job": 2})
    expected = law.expected_standard_errors(rows.count_by(("job",), selection()))
    assert (expected**2).tolist() == pytest.approx([1, 0.5, 0.5])


@pytest.mark.parametrize(
    ("by", "where"),
    [
        (("job", "pay"), {}),
        (("pay", "job"), {}),
        (("job",), {"pay": (1, 3)}),
        (("pay",), {"job": (4,)}),
        ((), {"job": (1, 4), "pay": (0, 3)}),
        ((), {"job": (0,), "pay": (1,)}),
        ((), {"job": (0, 1, 2, 3), "pay": (1,)}),
    ],
)
def test_values_that_no_row_shows_add_up(by, where):
    """Of job and pay the last value is never published: n rows go unseen with probability 0.05 at ln 0.05 / ln (1 - s).

    A group of 3 shows one of its values with s = 1 - (2/3)^3, a group of 2 with s = 3/4. Sums without the value have its rows
    as often as they have any other, so that all others err as it does.
    """
    draw, sizes = np.random.default_rng(2), {"job": 5, "pay": 4}
    rows = PublishedRows(
        tuple(category_attribute(name, size) for name, size in sizes.items()),
        {name: draw.integers(0, size - 1, 900) for name, size in sizes.items()},
    )
    asked = Tabulation(by=by, where=selection(**where))
    found = LAW.formula(rows, [Tabulation(by=("job", "pay")), asked])._unseen(asked)
    z = 1.959963984540054
    unseen = {
        name: (np.log(0.05) / np.log(each) / z) ** 2 for name, each in (("job", (2 / 3) ** 3), ("pay", 1 / 4))
    }

    def worth(name, codes):
        shown = np.isin(rows.columns[name], codes).mean()
        return unseen[name] * ((sizes[name] - 1 in codes) - shown) ** 2

    choices = [[(code,) for code in range(sizes[name])] for name in by]
    by_hand = [
        sum(worth(name, dict(zip(by, cell, strict=True)).get(name, where.get(name))) for name in sizes)
        for cell in itertools.product(*choices)
    ]
    assert found.tolist() == pytest.approx(by_hand)


@pytest.mark.parametrize("gamma", [2, 3])
def test_no_more_values_than_a_group_has_rows_are_in_every_group(gamma):
    """The most frequent one has at least as many rows as there are groups, whatever their counts are."""
    for counts in itertools.product(range(6), repeat=gamma):
        if sum(counts):
            assert DecoyModel(np.array(counts, float), gamma).is_saturated
    # One value more, all of them frequent and alike: none is.
    assert not DecoyModel(np.full(gamma + 1, 1_000.0), gamma).is_saturated


def test_two_values_of_more_rows_than_groups_share_out_what_is_left():
    """Sixty of a hundred and fifty rows each in fifty groups of three: both nearly everywhere, 1 - 1/100, the others by 2 : 1."""
    found = DecoyModel(np.array([60.0, 60.0, 20.0, 10.0]), 3).inclusion
    left = 3 - 2 * 0.99
    np.testing.assert_allclose(found, [0.99, 0.99, left * 2 / 3, left / 3])


def test_expected_errors_of_two_drawn_attributes_share_out_the_rows_of_each():
    """Area by job by pay: rows of each job and of each pay within an area, added up one by one."""
    area, job, pay = (
        category_attribute("area", 2, Role.OTHER),
        category_attribute("job", 6),
        category_attribute("pay", 4),
    )
    counts = 20 + np.arange(48).reshape(2, 6, 4) % 7
    models = {
        "job": decoy_model(tuple(counts.sum(axis=(0, 2)).tolist()), 3),
        "pay": decoy_model(tuple(counts.sum(axis=(0, 1)).tolist()), 2),
    }
    totals = {
        "job": np.array([[sum(counts[a, j]) for j in range(6)] for a in range(2)], float),
        "pay": np.array([[sum(counts[a, :, p]) for p in range(4)] for a in range(2)], float),
    }
    cells = JointCells(models, counts.astype(float), totals, {"job": np.eye(6), "pay": np.eye(4)})
    found = LAW.expected_standard_errors(CountTable((area, job, pay), counts))
    np.testing.assert_allclose(found**2, cells.variances())
