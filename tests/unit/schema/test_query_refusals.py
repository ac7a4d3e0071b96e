"""Queries that are refused: the sentence and the place in the text."""

from __future__ import annotations

import pytest

from query_schema import SCHEMA
from sfumato.errors import QueryError
from sfumato.query.selection import Selection
from sfumato.schema import Schema


def refusal(text):
    """The error that a query is refused with."""
    with pytest.raises(QueryError) as caught:
        Selection.parse(text, SCHEMA)
    return caught.value


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
