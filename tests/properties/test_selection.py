"""Laws of selections that hold for every schema and every query."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato.errors import QueryError
from sfumato.query.selection import Predicate, Selection, boxes_of
from sfumato.query.text import Condition, Joined, Negated
from sfumato.schema import Attribute, Role, Schema
from strategies import AWKWARD_TEXTS, KEYWORDS, attributes, schemas, selections

CENSUS = Schema(
    attributes=(
        Attribute(name="name", role=Role.IDENTIFIER),
        Attribute(name="sex", role=Role.OTHER, categories=("Female", "Male")),
        Attribute(name="age", role=Role.OTHER, bins=(17, 25, 35), missing="category"),
    )
)


def quoted(text, mark):
    """Text between quotation marks, inner ones doubled."""
    return mark + text.replace(mark, mark * 2) + mark


@given(st.data())
def test_description_parses_back_to_the_selection(data):
    """Describing and parsing are inverse for every selection of every schema."""
    schema = data.draw(schemas(with_identifiers=data.draw(st.booleans())))
    selection = data.draw(selections(schema))
    assert Selection.parse(selection.describe(schema), schema) == selection


@given(st.data())
def test_a_category_and_its_negation_partition_the_codes(data):
    """Conditions x = a and x != a share no code and together have all, missing included."""
    attribute = data.draw(attributes())
    label = data.draw(st.sampled_from(attribute.labels))
    schema = Schema(attributes=(attribute,))
    name, text = quoted(attribute.name, '"'), quoted(label, "'")
    equal = Selection.parse(f"{name} = {text}", schema).codes(attribute.name)
    different = Selection.parse(f"{name} != {text}", schema).codes(attribute.name)
    assert sorted(equal + different) == list(range(attribute.size))
    assert equal == (attribute.labels.index(label),)


@given(st.data())
def test_a_list_and_its_negation_partition_the_codes(data):
    """IN and NOT IN with the same list share no code and together have all of them."""
    attribute = data.draw(attributes())
    listed = data.draw(st.lists(st.sampled_from(attribute.labels)))
    schema = Schema(attributes=(attribute,))
    inside = f"({', '.join(quoted(label, chr(39)) for label in listed)})"
    name = quoted(attribute.name, '"')
    within = Selection.parse(f"{name} IN {inside}", schema).codes(attribute.name)
    outside = Selection.parse(f"{name} NOT IN {inside}", schema).codes(attribute.name)
    assert sorted(within + outside) == list(range(attribute.size))
    assert within == tuple(sorted({attribute.labels.index(label) for label in listed}))


@given(st.data())
def test_below_and_from_an_edge_partition_the_intervals(data):
    """At every edge, x < e has the bins that end by e, x >= e those that begin from e on."""
    attribute = data.draw(attributes(binned=True))
    edge = data.draw(st.sampled_from([each for each in attribute.edges if math.isfinite(each)]))
    schema = Schema(attributes=(attribute,))
    name = quoted(attribute.name, '"')
    below = Selection.parse(f"{name} < {edge!r}", schema).codes(attribute.name)
    above = Selection.parse(f"{name} >= {edge!r}", schema).codes(attribute.name)
    intervals = list(enumerate(itertools.pairwise(attribute.edges)))
    assert below == tuple(code for code, (_, high) in intervals if high <= edge)
    assert above == tuple(code for code, (low, _) in intervals if low >= edge)


@given(st.data())
def test_whole_number_ranges_agree_with_the_integers_in_each_bin(data):
    """With whole edges, an answered range takes each bin whole, judged integer by integer."""
    edges = data.draw(st.lists(st.integers(-20, 20), min_size=3, max_size=6, unique=True))
    attribute = Attribute(name="x", role=Role.OTHER, bins=tuple(sorted(edges)))
    number = data.draw(st.sampled_from(edges)) + data.draw(st.integers(-2, 2))
    operator = data.draw(st.sampled_from(("<", "<=", ">", ">=")))
    holds = {
        "<": lambda value: value < number,
        "<=": lambda value: value <= number,
        ">": lambda value: value > number,
        ">=": lambda value: value >= number,
    }[operator]
    verdicts = [
        {holds(value) for value in range(int(low), int(high))}
        for low, high in itertools.pairwise(attribute.bins)
    ]
    try:
        codes = Selection.parse(f"x {operator} {number}", Schema(attributes=(attribute,))).codes("x")
    except QueryError:
        assert {True, False} in verdicts
    else:
        assert codes == tuple(code for code, verdict in enumerate(verdicts) if verdict == {True})
        assert {True, False} not in verdicts


@given(st.data())
def test_conjunction_of_selections_is_conjunction_of_texts(data):
    """Joining two descriptions by AND selects what & of the selections does."""
    schema = data.draw(schemas())
    first = data.draw(selections(schema))
    second = data.draw(selections(schema))
    texts = [text for text in (first.describe(schema), second.describe(schema)) if text]
    assert Selection.parse(" AND ".join(texts), schema) == first & second


def parse_or_refuse(text, schema):
    """Parse, let a QueryError with a position inside the text pass, and nothing else."""
    position = 0
    try:
        Selection.parse(text, schema)
    except QueryError as error:
        position = error.position
    assert position is not None
    assert 0 <= position <= len(text)


@given(st.text())
@example("'''")
@example("age < 1e999")
@example("age <= 1e308 AND age BETWEEN -1e999 AND 1e999")
def test_arbitrary_text_is_parsed_or_refused(text):
    """Any text at all gives a selection or a QueryError that says where."""
    parse_or_refuse(text, CENSUS)


FRAGMENTS = (
    *KEYWORDS,
    *AWKWARD_TEXTS,
    *("sex", "age", "name", "'Male'", "'[17,25)'", "17", "24", "25", "24.5", "-1e5", "1e999"),
    *(
        "=",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "<>",
        "==",
        "(",
        ")",
        ",",
        ";",
        "\u2018Male\u2019",
        '"age"',
        "\0",
    ),
)


@given(st.lists(st.sampled_from(FRAGMENTS)).map(" ".join))
def test_text_made_of_query_words_is_parsed_or_refused(text):
    """Text that is nearly a query reaches every branch and still only a QueryError comes out."""
    parse_or_refuse(text, CENSUS)


@pytest.mark.parametrize("opening", ["'", '"', "(", "sex IN (", "1", "-", "=", "sex = 'Male' AND "])
def test_long_hostile_text_is_read_in_one_pass(opening):
    """A hundred thousand openings are refused without recursion or backtracking."""
    parse_or_refuse(opening * 100_000, CENSUS)


def expressions(schema):
    """Conditions of a schema joined in any way."""
    conditions = st.sampled_from(schema.attributes).flatmap(
        lambda each: st.sets(st.integers(0, each.size - 1)).map(
            lambda codes: Condition(each.name, frozenset(codes))
        )
    )
    return st.recursive(
        conditions,
        lambda parts: st.one_of(
            parts.map(Negated),
            st.builds(
                Joined, st.sampled_from(["AND", "OR"]), st.lists(parts, min_size=1, max_size=3).map(tuple)
            ),
        ),
        max_leaves=6,
    )


def holds(expression, row):
    """Whether an expression is true of a row, by what its words mean."""
    match expression:
        case Condition(name, codes):
            return row[name] in codes
        case Joined("AND", parts):
            return all(holds(each, row) for each in parts)
        case Joined("OR", parts):
            return any(holds(each, row) for each in parts)
        case Negated(part):
            return not holds(part, row)


@given(st.data())
def test_every_row_that_satisfies_an_expression_is_in_one_of_its_boxes(data):
    """Brute force over all rows: in exactly one box when the expression holds, in none when it does not."""
    schema = data.draw(schemas(max_attributes=3, max_categories=4))
    expression = data.draw(expressions(schema))
    boxes = boxes_of(expression, schema)
    for codes in itertools.product(*(range(each.size) for each in schema.attributes)):
        row = dict(zip(schema.names, codes, strict=True))
        inside = [all(row[name] in chosen for name, chosen in box.items()) for box in boxes]
        assert sum(inside) == holds(expression, row)


@given(st.data())
def test_a_predicate_written_back_has_the_same_rows(data):
    """Describing and parsing keep the rows, though not always the parts."""
    schema = data.draw(schemas(max_attributes=3, max_categories=4))
    parts = [
        Selection(tuple((name, tuple(sorted(codes))) for name, codes in box.items()))
        for box in boxes_of(data.draw(expressions(schema)), schema)
    ]
    again = Predicate.parse(Predicate(tuple(parts)).describe(schema), schema)

    def rows(chosen):
        return {
            codes
            for codes in itertools.product(*(range(each.size) for each in schema.attributes))
            for part in chosen
            if all(codes[schema.names.index(name)] in allowed for name, allowed in part.conditions)
        }

    assert rows(again.parts) == rows(parts)
