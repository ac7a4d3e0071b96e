"""Generalized rows against going through all original categories that a published row can have had."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.errors import TooLargeError
from sfumato.estimates.counts import OccupiedCounts
from sfumato.methods.generalization.law import GeneralizedRows
from sfumato.query.selection import Selection, Tabulation
from sfumato.schema import Attribute, Role, Schema


def attribute(name, size):
    """Categories 0, 1, ..."""
    return Attribute(name=name, role=Role.QUASI_IDENTIFIER, categories=tuple(map(str, range(size))))


ATTRIBUTES = (attribute("age", 4), attribute("area", 3), attribute("job", 2))
COVERS = {"age": ((0, 1), (2, 3)), "area": ((0, 1, 2),)}
ROWS = [(0, 0), (0, 1), (0, 1), (1, 0), (1, 0)]
"""Published age and job of each row; the area of all is one value that stands for all three."""


class Published:
    """The rows as they were published: without the area, which is the same for all."""

    number_of_rows = len(ROWS)
    schema = Schema(attributes=ATTRIBUTES)

    def count_occupied(self, names):
        """Combinations that occur."""
        columns = {"age": [each[0] for each in ROWS], "job": [each[1] for each in ROWS]}
        found, counts = np.unique(np.array([columns[name] for name in names]), axis=1, return_counts=True)
        return OccupiedCounts(self.schema.select(names), tuple(found), counts)


def law(dropped=0):
    """What was published of them."""
    return GeneralizedRows(attributes=ATTRIBUTES, covers=COVERS, suppressed_rows=dropped)


def membership(question):
    """Chance that each row satisfies a question, ``(rows,)``, every original category as likely as another."""
    chances = []
    for age, job in ROWS:
        originals = list(itertools.product(COVERS["age"][age], COVERS["area"][0], [job]))
        codes = [dict(zip(("age", "area", "job"), each, strict=True)) for each in originals]
        chances.append(np.mean([all(each[name] in chosen for name, chosen in question) for each in codes]))
    return np.array(chances)


def together(one, other):
    """Both questions at once."""
    return (*one, *other)


QUESTIONS = [
    (("age", (0,)),),
    (("age", (0, 1, 2)), ("area", (0, 2))),
    (("area", (1,)), ("job", (0,))),
    (("age", (1, 3)), ("area", (0,)), ("job", (1,))),
    (("job", (1,)),),
]


def test_values_and_covariance_are_those_of_rows_spread_evenly():
    """Sums of w, and over pairs of questions the sums of w of both less the products."""
    found = law().estimate_selections(Published(), [Selection(each) for each in QUESTIONS])
    chances = [membership(each) for each in QUESTIONS]
    assert found.values == pytest.approx([each.sum() for each in chances])
    for i, j in itertools.product(range(len(QUESTIONS)), repeat=2):
        both = membership(together(QUESTIONS[i], QUESTIONS[j]))
        assert found.covariance[i, j] == pytest.approx((both - chances[i] * chances[j]).sum(), abs=1e-12)


def test_dropped_rows_are_like_the_others():
    """Three of them: so many more, and three draws of a row like the published ones."""
    found = law(3).estimate_selections(Published(), [Selection(each) for each in QUESTIONS])
    chances = [membership(each) for each in QUESTIONS]
    assert found.values == pytest.approx([each.sum() * 8 / 5 for each in chances])
    for i, j in itertools.product(range(len(QUESTIONS)), repeat=2):
        both = membership(together(QUESTIONS[i], QUESTIONS[j]))
        own = (both - chances[i] * chances[j]).sum()
        drawn = 3 * (both.mean() - chances[i].mean() * chances[j].mean())
        assert found.covariance[i, j] == pytest.approx(own + drawn, abs=1e-12)
    assert found.variances == pytest.approx(np.diagonal(found.covariance))


@pytest.mark.parametrize(
    "asked",
    [
        Tabulation(("age", "job"), Selection((("area", (0,)),))),
        Tabulation(("job",), Selection((("age", (0, 2)), ("job", (1,))))),
        Tabulation(("area", "age"), Selection((("age", (1, 2)),))),
        Tabulation(("job", "area")),
    ],
)
def test_a_table_is_its_cells(asked):
    """Values, covariance, bounds and claims, in the order asked for, with conditions on and off the axes."""
    sizes = {each.name: range(each.size) for each in ATTRIBUTES}
    shown = [asked.where.codes(name) or sizes[name] for name in asked.by]
    others = [each for each in asked.where.conditions if each[0] not in asked.by]
    cells = [
        Selection((*others, *((name, (code,)) for name, code in zip(asked.by, codes, strict=True))))
        for codes in itertools.product(*shown)
    ]
    table, alone = law(1).estimate(Published(), asked), law(1).estimate_selections(Published(), cells)
    assert table.values == pytest.approx(alone.values)
    assert table.covariance == pytest.approx(alone.covariance)
    assert [each.tolist() for each in table.bounds] == [each.tolist() for each in alone.bounds]
    assert table.certainty.tolist() == alone.certainty.tolist()
    assert law(1).consistent(Published(), asked) == pytest.approx(table.values)


def test_one_published_row_stands_for_all_that_were_dropped():
    """Its share of an age is 1/2, and two rows more are taken to be like it; the variance is 3/4, below one row."""

    class One(Published):
        number_of_rows = 1

        def count_occupied(self, names):
            return OccupiedCounts(self.schema.select(names), (np.array([1]),), np.array([1]))

    found = law(2).estimate(One(), Tabulation(where=Selection((("age", (3,)),))))
    assert (found.values[0], found.variances[0]) == (1.5, 0.75)


def test_published_values_form_a_tree_where_they_have_a_column():
    """The ages in pairs; the area is not published."""
    pairs = Attribute(name="age", role=Role.QUASI_IDENTIFIER, categories=("low", "high"))
    trees = law().trees(Schema(attributes=(pairs, ATTRIBUTES[2])))
    assert list(trees) == ["age"]
    assert trees["age"].levels == (("0", "1", "2", "3"), ("low", "low", "high", "high"), ("*",) * 4)


def test_a_table_too_large_for_memory_is_refused(monkeypatch):
    """By the values that were published, here 2 by 2."""
    monkeypatch.setattr("sfumato.laws.estimator.LARGEST_TABLE", 3)
    with pytest.raises(TooLargeError, match="age, job has 4 cells"):
        law().estimate(Published(), Tabulation(by=("age", "job")))


def test_no_category_is_told_apart_by_what_it_is():
    """Each is one of those that a published value stands for."""
    assert law().treats_alike("age")
