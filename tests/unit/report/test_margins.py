"""Margins by hand: exact ones, open ones, and the scores of estimates against the truth."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.estimates.answers import AnswerTable
from sfumato.estimates.estimates import Certainty, Estimates
from sfumato.report.document import Figure, Folded, Grid, Paragraph, Subheading
from sfumato.report.margins import (
    Margin,
    OpenMargin,
    TrueMargin,
    compared_section,
    estimated_section,
    exact_section,
)
from sfumato.schema import Attribute, Role

JOB = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))


def margin(values, variances, *, attribute=JOB, published=None, bounds=None, estimator="unbiased"):
    """A margin with given estimates."""
    certain = None if bounds is None else tuple(np.array(each, dtype=float) for each in bounds)
    # What has no error in these tests is claimed to be exact, unless its bounds say otherwise.
    is_exact = np.array(variances) == 0
    if certain is not None:
        is_exact &= certain[0] == certain[1]
    claims = np.where(is_exact, Certainty.EXACT, Certainty.ESTIMATED).astype(np.int8)
    estimates = Estimates(
        np.array(values, dtype=float), np.array(variances, dtype=float), bounds=certain, certainty=claims
    )
    codes = (tuple(range(attribute.size)),)
    answers = AnswerTable((attribute,), codes, estimates, 0.95, "method", "law", "table", estimator=estimator)
    return Margin(attribute, answers, published)


@pytest.fixture
def compared():
    """Three estimates: 2 standard errors too low, without error, 1.5 standard errors too high."""
    return TrueMargin(margin([10, 20, 33], [4, 0, 4]), np.array([14, 20, 30]))


def blocks_of(section, kind):
    """Blocks of one kind, folded ones included."""
    unfolded = [
        inner
        for block in section.blocks
        for inner in (block.blocks if isinstance(block, Folded) else [block])
    ]
    return [block for block in unfolded if isinstance(block, kind)]


def test_scores_are_errors_in_standard_errors(compared):
    """(10-14)/2 = -2, 0/0 is no number, (33-30)/2 = 1.5."""
    assert compared.scores.tolist()[::2] == [-2.0, 1.5]
    assert np.isnan(compared.scores[1])


def test_coverage_is_whether_the_interval_holds_the_truth(compared):
    """10 + 1.96*2 = 13.92 misses 14; 20 holds 20; 33 - 3.92 = 29.08 to 36.92 holds 30."""
    assert compared.is_covered.tolist() == [False, True, True]


def test_a_margin_without_any_error_is_exact():
    """One category with an error is enough for the margin to be an estimate."""
    assert margin([1, 2, 3], [0, 0, 0]).is_exact
    assert not margin([1, 2, 3], [0, 0, 1e-9]).is_exact


def test_a_margin_within_bounds_is_exact_only_when_they_meet():
    """No standard error, but the truth may lie anywhere from 0 to 3."""
    assert margin([1, 1, 1], [0, 0, 0], bounds=([1, 1, 1], [1, 1, 1])).is_exact
    assert not margin([1, 1, 1], [0, 0, 0], bounds=([0, 0, 0], [3, 3, 3])).is_exact


def test_certain_bounds_are_in_the_table_and_in_the_chart():
    """At least 0, at most 3."""
    (section,) = estimated_section([margin([1, 1, 1], [1, 1, 1], bounds=([0, 0, 0], [3, 3, 3]))])
    assert blocks_of(section, Grid)[0].columns[-2:] == ("At least", "At most")
    assert [row[-2:] for row in blocks_of(section, Grid)[0].rows] == [("0", "3")] * 3
    point = blocks_of(section, Figure)[0].spec["data"]["values"][0]
    assert (point["least"], point["most"]) == (0, 3)


def test_bounds_without_an_upper_end_are_not_drawn():
    """A chart has no room for infinity, and JSON no word for it."""
    open_ended = margin([1, 1, 1], [1, 1, 1], bounds=([0, 0, 0], [np.inf, 3, 3]))
    (section,) = estimated_section([open_ended])
    assert "most" not in blocks_of(section, Figure)[0].spec["data"]["values"][0]


def test_an_estimate_that_rests_on_an_assumption_says_so():
    """The law's own words stand above the chart, and nothing speaks of having no bias."""
    assumed = margin([1, 2, 3], [1, 1, 1], estimator="assumes that all are alike")
    (section,) = estimated_section([assumed])
    texts = [block.text for block in blocks_of(section, Paragraph)]
    assert "This estimate assumes that all are alike." in texts
    assert "bias" not in texts[0]
    assert "only if the assumption is" in texts[0]


def test_scores_of_an_estimate_with_an_assumption_are_qualified():
    """Its intervals need not hold the truth."""
    assumed = margin([1, 2, 3], [1, 1, 1], estimator="assumes that all are alike")
    section = compared_section([TrueMargin(assumed, np.array([1, 2, 3]))])
    assert "only where the assumption holds" in blocks_of(section, Paragraph)[0].text


def test_the_largest_categories_come_in_the_order_of_the_schema():
    """Largest are c and a; a is declared first."""
    assert margin([5, 1, 9], [1, 1, 1]).largest(2) == (0, 2)


def test_the_truth_section_says_how_many_intervals_hold_the_truth(compared):
    """Two of three."""
    section = compared_section([compared])
    assert section.is_private
    assert blocks_of(section, Paragraph)[0].text.startswith(
        "2 of 3 intervals contain the true count (66.7 %)"
    )


def test_the_truth_section_scores_every_category(compared):
    """A category whose standard error is zero has no score."""
    table = blocks_of(compared_section([compared]), Grid)[1]
    places = [table.columns.index(name) for name in ("job", "Truth", "z", "Inside")]
    assert [tuple(row[place] for place in places) for row in table.rows] == [
        ("a", "14", "-2.00", "no"),
        ("b", "20", "-", "yes"),
        ("c", "30", "1.50", "yes"),
    ]


def test_exact_counts_that_fit_the_truth_are_said_to_fit():
    """Published 1, 2, 3 and true 1, 2, 3."""
    exact = TrueMargin(margin([1, 2, 3], [0, 0, 0]), np.array([1, 2, 3]))
    assert "exactly the counts" in blocks_of(compared_section([exact]), Paragraph)[-1].text


def test_exact_counts_that_differ_from_the_truth_name_the_attribute():
    """Then it is another table; the sentence says which attribute shows it, and no count."""
    other = TrueMargin(margin([1, 2, 3], [0, 0, 0]), np.array([1, 2, 4]))
    text = blocks_of(compared_section([other]), Paragraph)[-1].text
    assert "published counts of job differ" in text
    assert "4" not in text


def test_many_categories_are_cut_to_thirty_and_the_rest_is_said():
    """Of 40 categories, the chart shows the 30 with the largest estimates, the table all of them."""
    many = Attribute(name="town", role=Role.SENSITIVE, categories=tuple(f"t{n}" for n in range(40)))
    (section,) = estimated_section([margin(range(40), [1] * 40, attribute=many)])
    (figure,) = blocks_of(section, Figure)
    shown = [point["category"] for point in figure.spec["data"]["values"]]
    assert shown == [f"t{n}" for n in range(10, 40)]
    assert "30 largest of 40 categories; the table has the other 10 too" in figure.caption
    assert len(blocks_of(section, Grid)[0].rows) == 40


def test_published_counts_stand_beside_the_estimates():
    """Where the release holds them."""
    (section,) = estimated_section([margin([1, 2, 3], [1, 1, 1], published=np.array([4, 5, 6]))])
    (figure,) = blocks_of(section, Figure)
    assert [point["reference"] for point in figure.spec["data"]["values"]] == [4, 5, 6]
    assert [row[-1] for row in blocks_of(section, Grid)[0].rows] == ["4", "5", "6"]


def test_estimates_stand_alone_where_no_counts_were_published():
    """No column and no point is made up."""
    (section,) = estimated_section([margin([1, 2, 3], [1, 1, 1])])
    (figure,) = blocks_of(section, Figure)
    assert "reference" not in figure.spec["data"]["values"][0]
    assert blocks_of(section, Grid)[0].columns[-1] == "High"


def test_an_open_margin_shows_its_reason_instead_of_a_chart():
    """The reason of the law, under the attribute's name."""
    (section,) = estimated_section([OpenMargin(JOB, "the law leaves it open.")])
    assert blocks_of(section, Subheading)[0].text == "job"
    assert "the law leaves it open." in blocks_of(section, Paragraph)[-1].text
    assert blocks_of(section, Figure) == []


def test_sections_without_content_are_left_out():
    """No estimated attribute, no section on estimates; and the same for exact ones."""
    assert estimated_section([margin([1, 2, 3], [0, 0, 0])]) == []
    assert exact_section([margin([1, 2, 3], [1, 1, 1])]) == []


def test_shares_of_exact_counts_are_of_the_total():
    """One, one and two of four rows; the longest bar is the largest count."""
    (section,) = exact_section([margin([1, 1, 2], [0, 0, 0])])
    (table,) = blocks_of(section, Grid)
    assert [row[1:] for row in table.rows] == [("1", "25.0 %"), ("1", "25.0 %"), ("2", "50.0 %")]
    assert table.shares == (0.5, 0.5, 1.0)
