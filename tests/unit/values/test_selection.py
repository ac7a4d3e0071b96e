"""Selections by hand: every operator, every refusal, and the text they are written back as."""

from __future__ import annotations

import pytest

from sfumato.errors import QueryError
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection, Tabulation

SCHEMA = Schema.from_toml("""
[attributes.passport]
role = "identifier"

[attributes.sex]
role = "quasi-identifier"
categories = ["Female", "Male"]

[attributes.age]
role = "quasi-identifier"
bins = [17, 25, 35, 45]
missing = "category"

[attributes.wage]
role = "other"
bins = [0, 0.5, 1.5, 1e16]

[attributes.job]
role = "sensitive"
categories = ["Sales", "Côte d'Ivoire", "39", "日本", " "]
missing = "category"
missing_values = ["?"]

[attributes."marital status"]
role = "other"
categories = ["Single", "Married"]

[attributes.'say "when"']
role = "other"
categories = ["now", "later"]

[attributes.missing]
role = "other"
categories = ["yes", "no"]

[attributes."income-2.5_k"]
role = "other"
categories = ["low", "high"]
""")


def conditions(text):
    """Conditions of a query as a dictionary."""
    return dict(Selection.parse(text, SCHEMA).conditions)


def refusal(text):
    """The error that a query is refused with."""
    with pytest.raises(QueryError) as caught:
        Selection.parse(text, SCHEMA)
    return caught.value


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
    assert "nearest to 17 are 17 and 25" in str(refusal(text))


def test_off_edge_number_is_refused_with_the_nearest_edges():
    """The refusal says where the attribute can be cut and what to write."""
    error = refusal("sex = 'Male' AND age < 20")
    assert error.position == 23
    assert str(error) == (
        "at character 24 of the query: age < 20 would cut through a bin; age can be cut at "
        "17, 25, 35, 45; nearest to 20 are 17 and 25. Write age < 17 or age < 25."
    )


@pytest.mark.parametrize(
    ("text", "position", "sentence"),
    [
        (
            "age <= 25",
            7,
            (
                "nearest to 25 are 25 and 35. Write age < 25 or age < 35 "
                "(<= and BETWEEN count in whole numbers: age <= 34 is age < 35)."
            ),
        ),
        (
            "age > 20",
            6,
            ("Write age >= 17 or age >= 25 (> and BETWEEN count in whole numbers: age > 24 is age >= 25)."),
        ),
        ("age <= 24.5", 7, "nearest to 24.5 are 17 and 25."),
        (
            "wage <= 0.5",
            8,
            ("Write wage < 0.5 or wage < 1.5 (<= and BETWEEN need edges that are all whole numbers)."),
        ),
        ("age BETWEEN 18 AND 24", 12, "age >= 18 would cut through a bin;"),
        ("age BETWEEN 17 AND 25", 19, "age <= 25 would cut through a bin;"),
    ],
)
def test_inclusive_ends_follow_the_whole_number_convention(text, position, sentence):
    """The refusal explains what <=, > and BETWEEN mean on half-open bins."""
    error = refusal(text)
    assert error.position == position
    assert sentence in str(error)


def test_many_edges_are_shortened_in_the_refusal():
    """A refusal lists the first edges and the last, and always the nearest two."""
    edges = ", ".join(str(edge) for edge in range(0, 200, 10))
    schema = Schema.from_toml(f'[attributes.x]\nrole = "other"\nbins = [{edges}]')
    with pytest.raises(QueryError, match="90, 100, …, 190; nearest to 155 are 150 and 160"):
        Selection.parse("x < 155", schema)


@pytest.mark.parametrize(
    ("text", "position", "sentence"),
    [
        ("sx = 'Male'", 0, "there is no attribute 'sx'; did you mean 'sex'?"),
        ("sex = 'Mal'", 6, "attribute 'sex' has no category 'Mal'; did you mean 'Male'?"),
        ("sex IN ('Male', 'Femal')", 16, "has no category 'Femal'; did you mean 'Female'?"),
        ("job = 40", 6, "attribute 'job' has no category '40'; known are"),
        ("job = '?'", 6, "'?' stands for a missing value of job. Write job IS MISSING."),
        ("age = 20", 6, "age is published in intervals, so 20 is not a category of it."),
        ("age = '20'", 6, "attribute 'age' has no category '20'"),
        ("passport = 'X'", 0, "'passport' is an identifier, which no release contains."),
        ("pasport = 'X'", 0, "there is no attribute 'pasport'; known are 'sex'"),
    ],
)
def test_what_does_not_exist_is_refused_with_a_suggestion(text, position, sentence):
    """Unknown attributes and categories name the nearest; identifiers are never suggested."""
    error = refusal(text)
    assert error.position == position
    assert sentence in str(error)


@pytest.mark.parametrize(
    ("text", "position", "sentence"),
    [
        ("sex = 'Male' OR", 15, "expected an attribute, found the end of the query."),
        ("NOT", 3, "expected an attribute, found the end of the query."),
        ("sex NOT = 'Male'", 8, "to negate a condition write NOT before it."),
        (
            "(sex = 'Male'",
            13,
            "expected ), found the end of the query. The parenthesis at character 1 is never closed.",
        ),
        ("sex = 'Male')", 12, "expected AND, OR or the end, found )."),
        ("()", 1, "expected an attribute, found )."),
        ("(" * 51 + "sex = 'Male'" + ")" * 51, 50, "parentheses are more than 50 deep."),
        ("lower(sex) = 'male'", 5, "expected a comparison after lower, found (."),
        ("lower(sex) = 'male'", 5, "there are no functions."),
        ("sex = job", 6, "attributes are not compared with each other."),
        ('sex = "Male"', 6, "Text stands in single quotes: 'Male'"),
        ("job = OR", 6, "Text stands in single quotes: 'OR'"),
        ("sex = \u2018Male\u2019", 6, "Text stands in straight single quotes, as in 'Female'."),
        ("sex == 'Male'", 4, "Write a single ="),
        ("sex <> 'Male'", 4, "Write != for"),
        ("sex LIKE 'M%'", 4, "expected a comparison after sex, found LIKE. A query is conditions"),
        ("sex IS NULL", 7, "expected MISSING, found NULL. Write IS MISSING"),
        ("sex = NULL", 6, "Write IS MISSING"),
        ("sex IS 'Male'", 7, "After IS stands MISSING or NOT MISSING"),
        ("sex NOT MISSING", 8, "expected IN, found MISSING."),
        ("age NOT BETWEEN 35 AND 24", 23, "the ends of BETWEEN are in the wrong order."),
        ("sex IN 'Male'", 7, "expected (, found 'Male'. A list is categories"),
        ("sex IN ('Male' 'Female')", 15, "expected ), found 'Female'. A list is categories"),
        ("sex IN ('Male',)", 15, "expected a category of sex, found )."),
        ("sex IN ('Male'", 14, "expected ), found the end of the query."),
        ("sex < 'Male'", 4, "< needs an order, and sex has categories without one"),
        ("job BETWEEN 1 AND 2", 4, "BETWEEN needs an order, and job has categories without one"),
        ("age < '25'", 6, "expected a number, found '25'."),
        ("age < 25AND sex = 'Male'", 6, "expected a number, found 25AND."),
        ("age BETWEEN 17, 24", 14, "A range between two values is BETWEEN low AND high."),
        ("age BETWEEN 35 AND 24", 19, "the ends of BETWEEN are in the wrong order."),
        ("sex", 3, "expected a comparison after sex, found the end of the query."),
        ("sex =", 5, "expected a category of sex, found the end of the query."),
        ("sex = 'Male' AND", 16, "expected an attribute, found the end of the query."),
        ("AND sex = 'Male'", 0, 'An attribute of that name is written "AND", in double quotes.'),
        ("sex = 'Male' AND AND", 17, "expected an attribute, found AND."),
        (
            "sex = 'Male'; job = 39",
            12,
            "expected AND, OR or the end, found ;. A query is conditions joined by",
        ),
        ("'sex' = 'Male'", 0, "expected an attribute, found 'sex'."),
        ("missing = 'yes'", 0, 'An attribute of that name is written "missing"'),
        ("naïve = 'x'", 0, "expected an attribute, found naïve. Names that are not plain words"),
        ("sex = 'Male", 6, "The quote that opens here is never closed"),
        ("\"sex = 'Male'", 0, "The quote that opens here is never closed"),
        (f"sex = 'Male' {'x' * 99}", 13, f"expected AND, OR or the end, found {'x' * 29}…."),
    ],
)
def test_what_is_not_a_query_is_refused_with_its_position(text, position, sentence):
    """Everything outside the language is refused where it stands, saying what is allowed."""
    error = refusal(text)
    assert error.position == position
    assert str(error).startswith(f"at character {position + 1} of the query: ")
    assert sentence in str(error)


def test_refusal_hides_the_error_it_was_made_from():
    """The schema's own complaint is in the sentence and not shown a second time."""
    assert refusal("sx = 'Male'").__suppress_context__


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
