"""Conditions joined in any way: by hand, and as boxes that share no row."""

from __future__ import annotations

import pytest

from sfumato.errors import QueryError
from sfumato.query.selection import LARGEST_NUMBER_OF_BOXES, Predicate, Selection
from sfumato.schema import Attribute, Role, Schema

SCHEMA = Schema.from_toml("""
[attributes.sex]
role = "other"
categories = ["F", "M"]

[attributes.age]
role = "other"
bins = [0, 20, 40, 60]
missing = "category"

[attributes.job]
role = "sensitive"
categories = ["Sales", "Tech", "Other"]
""")


def described(text):
    """A query as it is written back."""
    return Predicate.parse(text, SCHEMA).describe(SCHEMA)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sex = 'F' OR sex = 'M'", ""),
        ("job = 'Sales' OR job = 'Tech'", "job != 'Other'"),
        ("NOT sex = 'F'", "sex = 'M'"),
        ("NOT NOT sex = 'F'", "sex = 'F'"),
        ("((sex = 'F'))", "sex = 'F'"),
        ("age NOT BETWEEN 20 AND 39", "age != '[20,40)'"),
        ("NOT age >= 20", "age IN ('[0,20)', '(missing)')"),
        ("sex = 'F' OR age < 20", "(sex = 'F') OR (age < 20 AND sex = 'M')"),
        ("sex = 'F' AND job = 'Tech' OR sex = 'F'", "sex = 'F'"),
        ("sex = 'F' OR sex = 'F' AND job = 'Tech'", "sex = 'F'"),
        # AND binds closer than OR, NOT closer than both.
        (
            "sex = 'F' AND age < 20 OR job = 'Tech' AND sex = 'M'",
            "(sex = 'F' AND age < 20) OR (job = 'Tech' AND sex = 'M')",
        ),
        ("NOT sex = 'F' AND age < 20", "sex = 'M' AND age < 20"),
        ("NOT (sex = 'F' AND age < 20)", "(sex = 'M') OR (age != '[0,20)' AND sex = 'F')"),
        ("NOT (sex = 'F' OR age < 20)", "sex = 'M' AND age != '[0,20)'"),
    ],
)
def test_joined_conditions_are_written_back_in_few_parts(text, expected):
    """De Morgan, precedence and merging by hand; missing ages are neither young nor old, and are not young."""
    assert described(text) == expected


def test_a_missing_value_satisfies_the_negation_of_a_range():
    """What holds of a row and what does not make all rows."""
    (part,) = Predicate.parse("NOT age < 20", SCHEMA).parts
    assert part.codes("age") == (1, 2, 3)


def test_what_nobody_satisfies_is_one_empty_part():
    """An impossible query asks about no row, and says so of the attribute that it mentions first."""
    assert Predicate.parse("NOT (sex = 'F' OR sex = 'M')", SCHEMA).parts == (Selection((("sex", ()),)),)
    impossible = Predicate.parse("sex = 'F' OR age < 20", SCHEMA) & Predicate.parse(
        "sex = 'M' AND age >= 20", SCHEMA
    )
    assert len(impossible.parts) == 1
    assert not all(codes for _, codes in impossible.parts[0].conditions)


def test_intersections_keep_the_parts_that_are_possible():
    """Two parts against one that excludes the first."""
    both = Predicate.parse("sex = 'F' OR job = 'Tech'", SCHEMA) & Predicate.parse("sex = 'M'", SCHEMA)
    assert both.describe(SCHEMA) == "job = 'Tech' AND sex = 'M'"


def test_a_place_for_one_selection_refuses_several():
    """Where codes by attribute are needed, OR over two attributes has none; OR over one has."""
    assert Selection.parse("job = 'Sales' OR job = 'Tech'", SCHEMA).codes("job") == (0, 1)
    for refused in (Selection.parse, lambda *given: Predicate.parse(*given).single()):
        with pytest.raises(QueryError, match="joined by AND, and the query says that one or another"):
            refused("sex = 'F' OR job = 'Tech'", SCHEMA)


def test_too_many_parts_are_refused_at_once():
    """Alternatives multiply: whoever asks does not decide how long it takes."""
    names = [f"a{number}" for number in range(30)]
    schema = Schema(
        attributes=tuple(Attribute(name=each, role=Role.OTHER, categories=("x", "y")) for each in names)
    )
    pairs = zip(names[::2], names[1::2], strict=True)
    text = " AND ".join(f"({one} = 'x' OR {other} = 'x')" for one, other in pairs)
    with pytest.raises(QueryError, match=f"more than {LARGEST_NUMBER_OF_BOXES} separate groups"):
        Predicate.parse(text, schema)
    assert len(Predicate.parse(" OR ".join(f"{each} = 'x'" for each in names), schema).parts) == len(names)


def test_many_questions_are_refused_by_number():
    """As with one, and one text is not many."""
    with pytest.raises(QueryError, match="question 2: at character 1"):
        Predicate.parse_all(["sex = 'F'", "sx = 'F'"], SCHEMA)
    with pytest.raises(QueryError, match="a list of texts"):
        Predicate.parse_all("sex = 'F'", SCHEMA)


@pytest.mark.parametrize(
    "text", ["sex = 'F' AND sex = 'M'", "job = 'Tech' AND sex = 'F' AND sex = 'M'", "sex IN ()"]
)
def test_what_no_value_meets_is_said(text):
    """The rows are none, and the text that is written back has them; why there are none is noted."""
    found = Predicate.parse(text, SCHEMA)
    assert found.notes == ("no value of sex meets all that is asked of it: no row is chosen",)
    assert "sex IN ()" in found.describe(SCHEMA)


@pytest.mark.parametrize(
    "text", ["sex = 'F' AND sex = 'M' OR job = 'Tech'", "NOT (sex = 'F' AND sex = 'M')", ""]
)
def test_what_some_value_meets_is_not(text):
    """A part that nobody can meet says nothing beside one that somebody can."""
    assert Predicate.parse(text, SCHEMA).notes == ()
