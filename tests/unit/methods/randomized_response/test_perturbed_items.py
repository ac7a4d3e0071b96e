"""The law of items on four units: numbers of units by hand, inverted by the matrix written out."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.data.long_format import LongTable
from sfumato.errors import ReleaseDamagedError, TooLargeError
from sfumato.estimates.counts import CountTable
from sfumato.methods.randomized_response.law import PerturbedItems, WideUnits, promises_of_items
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.distortion import DenseDistortion, UniformDistortion, warner
from sfumato.schema import Attribute, Role, Schema

MATRIX = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
INVERSE = np.linalg.inv(MATRIX)
STARS = LongTable(table="items", item="film", value="stars", number_of_units=4)
FILM = Attribute(name="film", role=Role.SENSITIVE, categories=("x", "y"))
LAW = PerturbedItems(distortion=DenseDistortion(rows=tuple(map(tuple, MATRIX.tolist()))), long=STARS)
LONG = Schema(attributes=(FILM, Attribute(name="stars", role=Role.SENSITIVE, categories=("few", "many"))))
RATINGS = np.array([[0, 1], [1, 1], [0, 0], [1, 0]])
"""What each unit shows of both films: nothing, few stars, or many, which nobody gave."""
BOTH = np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 0]])
"""Units by what they show of the one and of the other."""


class Films:
    """What a law asks of a release in long form; everything else is told as it was asked."""

    schema = LAW.question_schema(LONG)

    def items(self, long):
        """The columns of the wide table."""
        assert long == STARS
        return self

    def counts(self):
        """Units by film and rating."""
        return np.array([np.bincount(column, minlength=3) for column in RATINGS.T])

    def codes(self, places):
        """Ratings of some films."""
        return tuple(RATINGS[:, place] for place in places)

    def count_occupied(self, names, *, weight=None):
        """As it was asked."""
        return names, weight

    def scan(self, table, names):
        """As it was asked."""
        return table, names


def test_counts_of_one_film_are_those_of_its_column():
    """``y P^-1`` with the variance ``sum h^2`` less the estimate, where that is more than nothing."""
    for name, shown in (("x", [2, 2, 0]), ("y", [2, 2, 0])):
        found = LAW.estimate(Films(), Tabulation(by=(name,)))
        assert found.values == pytest.approx(np.array(shown) @ INVERSE)
        squares = np.array(shown) @ INVERSE**2
        assert np.diagonal(found.covariance) == pytest.approx(squares - found.values)
    some = LAW.estimate(Films(), Tabulation(where=Selection((("y", (1, 2)),))))
    assert some.values == pytest.approx([[2, 2, 0] @ INVERSE[:, 1:].sum(axis=1)])


def test_counts_of_both_films_are_those_of_units():
    """In either order; the units that nothing is asked of are four."""
    expected = INVERSE.T @ BOTH @ INVERSE
    for names in (("x", "y"), ("y", "x")):
        found = LAW.estimate(Films(), Tabulation(by=names)).values.reshape(3, 3)
        assert found == pytest.approx(expected)
    assert LAW.estimate(Films(), Tabulation()).values.tolist() == [4]


def test_units_that_differ_in_both_films_are_told_apart():
    """Of one film with nothing and of the other with few stars there is one unit; turned round, one too, and no more."""
    wide = WideUnits(Films(), STARS)
    assert wide.count_by(("x", "y"), Selection()).counts.tolist() == BOTH.tolist()
    assert wide.count_by(("y",), Selection()).counts.tolist() == [2, 2, 0]
    assert wide.count_by((), Selection()).counts == 4
    assert wide.number_of_rows == 4


def test_consistent_counts_are_units():
    """None is below nothing, and they add up to four."""
    found = LAW.consistent(Films(), Tabulation(by=("x", "y")))
    assert found.min() >= 0
    assert found.sum() == pytest.approx(4)


def test_errors_to_expect_of_a_basket_by_hand():
    """Ten units, each of variance .9 .1 / .8^2."""
    basket = PerturbedItems(
        distortion=warner(0.9), long=LongTable(table="items", item="film", number_of_units=10)
    )
    item = Attribute(name="x", role=Role.SENSITIVE, categories=("no", "yes"))
    found = basket.expected_standard_errors(CountTable((item,), np.array([7, 3])))
    assert found == pytest.approx([(10 * 0.09 / 0.64) ** 0.5] * 2)
    even = basket.model_copy(update={"distortion": UniformDistortion(retention=0.8, size=2)})
    assert even.treats_alike("x")
    assert not LAW.treats_alike("x")
    assert (LAW.changed_attributes, basket.changed_attributes) == (("film", "stars"), ("film",))
    assert basket.rows_are_independent


def test_too_many_cells_are_refused(monkeypatch):
    """Two films of three ratings each are nine."""
    monkeypatch.setattr("sfumato.laws.estimator.LARGEST_TABLE", 8)
    with pytest.raises(TooLargeError, match="9 cells"):
        LAW.estimate(Films(), Tabulation(by=("x", "y")))
    monkeypatch.setattr("sfumato.laws.estimator.LARGEST_TABLE", 9)
    assert LAW.estimate(Films(), Tabulation(by=("x", "y"))).values.size == 9


def test_a_matrix_is_as_large_as_what_a_unit_can_have():
    """A basket has two categories, ratings one more than there are values."""
    basket = LongTable(table="items", item="film", number_of_units=4)
    with pytest.raises(ValueError, match="two rows and columns"):
        PerturbedItems(distortion=UniformDistortion(retention=0.5, size=3), long=basket)
    films = Schema(attributes=(FILM,))
    assert PerturbedItems(distortion=warner(0.9), long=basket).question_schema(films).names == ("x", "y")
    with pytest.raises(ReleaseDamagedError, match="does not fit what a unit can have"):
        PerturbedItems(distortion=warner(0.9), long=STARS).question_schema(LONG)


def test_what_is_asked_besides_is_asked_of_the_release():
    """Tables and columns in this order."""
    wide = WideUnits(Films(), STARS)
    assert wide.scan("items", ("film",)) == ("items", ("film",))
    assert wide.count_occupied(("film",), weight="w") == (("film",), "w")
    assert isinstance(wide.items(STARS), Films)


def test_items_that_a_unit_has_twice_are_refused_by_their_columns():
    """Whoever counts them sees it."""

    class Twice(Films):
        def counts(self):
            raise ReleaseDamagedError("units that have an item twice. Get the release again.")

    with pytest.raises(ReleaseDamagedError, match="twice"):
        LAW.refuse_unfit_tables(Twice())


def test_the_promise_of_one_item_by_hand():
    """Nine to one is log 9; a matrix that rules something out promises no number."""
    assert promises_of_items(warner(0.9))[0].epsilon == pytest.approx(np.log(9))
    assert promises_of_items(DenseDistortion(rows=((1.0, 0.0), (0.5, 0.5))))[0].epsilon is None
