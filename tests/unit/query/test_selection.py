"""Selections by hand: every operator, and the text they are written back as."""

from __future__ import annotations

import pytest

from query_schema import SCHEMA
from sfumato.errors import QueryError
from sfumato.query.selection import Selection, Tabulation
from sfumato.schema import Schema


def conditions(text):
    """Conditions of a query as a dictionary."""
    return dict(Selection.parse(text, SCHEMA).conditions)


@pytest.mark.parametrize("text", ["", " ", "\n\t  "])
def test_empty_text_selects_every_row(text):
    """Text without conditions restricts nothing."""
    assert Selection.parse(text, SCHEMA) == Selection()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sex = 'Female'", {"sex": (0,)}),
        ("sex='Male'", {"sex": (1,)}),
        ("sex != 'Female'", {"sex": (1,)}),
        ("job != 'Sales'", {"job": (1, 2, 3, 4, 5)}),
        ("job IN ('日本', 'Sales', 'Sales')", {"job": (0, 3)}),
        ("job IN ()", {"job": ()}),
        ("job NOT IN ('Sales', 39)", {"job": (1, 3, 4, 5)}),
        ("job NOT IN ()", {"job": (0, 1, 2, 3, 4, 5)}),
        ("job IS MISSING", {"job": (5,)}),
        ("job IS NOT MISSING", {"job": (0, 1, 2, 3, 4)}),
        ("job = '(missing)'", {"job": (5,)}),
        ("sex IS MISSING", {"sex": ()}),
        ("sex IS NOT MISSING", {"sex": (0, 1)}),
        ("job = 39", {"job": (2,)}),
        ("job = '39'", {"job": (2,)}),
        ("job = ' '", {"job": (4,)}),
        ("job = 'Côte d''Ivoire'", {"job": (1,)}),
        ("age = '[25,35)'", {"age": (1,)}),
        ("age != '[25,35)'", {"age": (0, 2, 3)}),
    ],
)
def test_categories_are_chosen_by_text(text, expected):
    """Equality, lists and missing values give the codes counted by hand."""
    assert conditions(text) == expected


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("age < 25", (0,)),
        ("age < 17", ()),
        ("age < -3", ()),
        ("age < 45", (0, 1, 2)),
        ("age < 200", (0, 1, 2)),
        ("age >= 25", (1, 2)),
        ("age >= 17", (0, 1, 2)),
        ("age >= 45", ()),
        ("age <= 24", (0,)),
        ("age <= 44", (0, 1, 2)),
        ("age <= 16", ()),
        ("age <= 2.5", ()),
        ("age <= 45", (0, 1, 2)),
        ("age > 24", (1, 2)),
        ("age > 16", (0, 1, 2)),
        ("age > 44", ()),
        ("age > 44e0", ()),
        ("age BETWEEN 17 AND 24", (0,)),
        ("age BETWEEN 25 AND 44", (1, 2)),
        ("age BETWEEN 0 AND 120", (0, 1, 2)),
        ("age BETWEEN 50 AND 60", ()),
        ("wage < .5", (0,)),
        ("wage < +0.5", (0,)),
        ("wage >= 5e-1", (1, 2)),
        ("wage > 1e16", ()),
        ("wage <= -1", ()),
    ],
)
def test_ranges_take_whole_bins_and_never_missing_values(text, codes):
    """Each range gives the bins counted by hand; code 3 of age, the missing one, is in none."""
    assert Selection.parse(text, SCHEMA).codes(text.split()[0]) == codes


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("sex = 'Male' and job is not missing", "sex = 'Male' AND job IS NOT MISSING"),
        ("job Not In ('Sales') aNd age BeTween 17 And 24", "job NOT IN ('Sales') AND age <= 24"),
        ('"sex"=\'Male\'\nAND\t"age">=25', "sex = 'Male' AND age >= 25"),
    ],
)
def test_keywords_have_any_case_and_spaces_any_width(text, plain):
    """Case of keywords and layout do not change what is selected."""
    assert Selection.parse(text, SCHEMA) == Selection.parse(plain, SCHEMA)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\"marital status\" = 'Single'", {"marital status": (0,)}),
        ('"say ""when""" = \'later\'', {'say "when"': (1,)}),
        ("\"missing\" = 'yes'", {"missing": (0,)}),
        ("income-2.5_k='high'", {"income-2.5_k": (1,)}),
    ],
)
def test_names_are_bare_words_or_in_double_quotes(text, expected):
    """Awkward names stand in double quotes, doubled to escape."""
    assert conditions(text) == expected


def test_conditions_on_one_attribute_intersect_in_the_order_of_first_mention():
    """Three conditions on two attributes make two entries, first mentioned first."""
    text = "age >= 25 AND sex = 'Male' AND age < 45 AND age != '[25,35)'"
    selection = Selection.parse(text, SCHEMA)
    assert selection.conditions == (("age", (2,)), ("sex", (1,)))
    assert selection.names == ("age", "sex")
    assert selection.codes("sex") == (1,)
    assert selection.codes("job") is None


def test_contradicting_conditions_select_no_row():
    """A contradiction is an empty list of codes, not an error."""
    assert conditions("age < 25 AND age >= 25") == {"age": ()}


def test_and_of_selections_intersects():
    """The operator & keeps codes that both have, and conditions that one has."""
    first = Selection((("sex", (0,)), ("age", (0, 1))))
    second = Selection((("job", (2,)), ("age", (1, 2))))
    assert (first & second).conditions == (("sex", (0,)), ("age", (1,)), ("job", (2,)))
    assert first & Selection() == first


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ({}, ""),
        ({"sex": (0,)}, "sex = 'Female'"),
        ({"sex": ()}, "sex IN ()"),
        ({"sex": (0, 1)}, "sex IS NOT MISSING"),
        ({"job": (5,)}, "job IS MISSING"),
        ({"job": (0, 1, 2, 3, 4)}, "job IS NOT MISSING"),
        ({"job": (0, 1, 2, 3, 4, 5)}, "job NOT IN ()"),
        ({"job": (1,)}, "job = 'Côte d''Ivoire'"),
        ({"job": (0, 2, 3, 4, 5)}, "job != 'Côte d''Ivoire'"),
        ({"job": (0, 2)}, "job IN ('Sales', '39')"),
        ({"job": (0, 2, 4, 5)}, "job NOT IN ('Côte d''Ivoire', '日本')"),
        ({"age": (0, 1)}, "age < 35"),
        ({"age": (1,)}, "age >= 25 AND age < 35"),
        ({"age": (1, 2)}, "age >= 25"),
        ({"age": (0, 2)}, "age IN ('[17,25)', '[35,45)')"),
        ({"age": (2, 3)}, "age IN ('[35,45)', '(missing)')"),
        ({"wage": (0,), "sex": (1,)}, "wage < 0.5 AND sex = 'Male'"),
        ({"missing": (1,)}, "\"missing\" = 'no'"),
        ({'say "when"': (0,)}, '"say ""when""" = \'now\''),
    ],
)
def test_description_is_the_shortest_plain_form_and_parses_back(codes, text):
    """Descriptions are as a person would write them, and select the same rows."""
    selection = Selection(tuple(codes.items()))
    assert selection.describe(SCHEMA) == text
    assert Selection.parse(text, SCHEMA) == selection


def test_missing_label_listed_as_a_missing_value_is_still_the_missing_category():
    """A file may spell missing values as their label; the label then names the category."""
    schema = Schema.from_toml("""
    [attributes.job]
    role = "other"
    categories = ["a", "b", "c"]
    missing = "category"
    missing_values = ["(missing)"]
    """)
    assert Selection.parse("job IN ('a', '(missing)')", schema).codes("job") == (0, 3)


def test_whole_number_convention_is_exact_beyond_the_precision_of_floats():
    """Where number + 1 rounds back to the number, the edge itself is not taken for it."""
    edges = "bins = [0, 9007199254740992, 18014398509481984]"
    schema = Schema.from_toml(f'[attributes.x]\nrole = "other"\n{edges}')
    with pytest.raises(QueryError, match="would cut through a bin"):
        Selection.parse("x <= 9007199254740992", schema)
    assert Selection.parse("x <= 9007199254740991", schema).codes("x") == (0,)


@pytest.mark.parametrize("text", ["x <= 1", "x > 1", "x BETWEEN 0 AND 1", "x <= 0"])
def test_one_fractional_edge_ends_the_whole_number_convention(text):
    """With an edge at 0.5 the values are not whole, so 1 is not the last one below 2."""
    schema = Schema.from_toml('[attributes.x]\nrole = "other"\nbins = [0, 0.5, 2, 3]')
    with pytest.raises(QueryError, match="need edges that are all whole numbers"):
        Selection.parse(text, schema)


@pytest.mark.parametrize("text", ["age <= 17", "age > 17", "age BETWEEN 0 AND 17"])
def test_first_edge_itself_lies_in_the_first_bin(text):
    """Up to and including 17 is a part of [17,25), not nothing."""
    with pytest.raises(QueryError, match="nearest to 17 are 17 and 25"):
        Selection.parse(text, SCHEMA)


@pytest.mark.parametrize(
    "conditions",
    [
        (("sex", (1, 0)),),
        (("sex", (0, 0)),),
        (("sex", (-1,)),),
        (("sex", (0,)), ("sex", (0,))),
    ],
)
def test_selection_that_exists_is_valid(conditions):
    """Codes out of order, repeated or negative, and an attribute named twice are refused."""
    with pytest.raises(QueryError):
        Selection(conditions)


def test_description_refuses_a_schema_without_the_code():
    """A selection made for another schema is not described."""
    with pytest.raises(QueryError, match="'sex' has codes 0 to 1, got 2"):
        Selection((("sex", (2,)),)).describe(SCHEMA)


def test_description_refuses_a_schema_without_the_attribute():
    """A selection on an attribute that is not there is not described."""
    with pytest.raises(QueryError, match="there is no attribute 'height'"):
        Selection((("height", (0,)),)).describe(SCHEMA)


def test_tabulation_without_arguments_asks_for_the_number_of_rows():
    """The default question has one cell over every row, and equal questions are one key."""
    assert Tabulation() == Tabulation(by=(), where=Selection())
    assert hash(Tabulation(by=("sex",))) == hash(Tabulation(by=("sex",)))


def test_tabulation_refuses_an_attribute_twice():
    """A table has one axis for each attribute."""
    with pytest.raises(QueryError, match="'sex' is tabulated more than once"):
        Tabulation(by=("sex", "age", "sex"))
