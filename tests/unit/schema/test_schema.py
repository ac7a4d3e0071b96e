"""Schemas by hand: what they hold, how they read and write."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from pydantic import ValidationError

from sfumato.errors import ParameterError, QueryError, SchemaError
from sfumato.schema import MISSING_LABEL, Attribute, Role, Schema
from strategies import schemas

CENSUS = """
[attributes.passport]
role = "identifier"

[attributes.age]
role = "quasi-identifier"
bins = [17, 25, 35.5]

[attributes.job]
role = "sensitive"
categories = ["Sales", "Tech"]
missing = "category"
missing_values = ["?"]
learned = true
"""


def test_toml_is_read_field_by_field():
    """Each table becomes an attribute, in the order of the file."""
    schema = Schema.from_toml(CENSUS)
    assert schema.names == ("passport", "age", "job")
    assert schema["age"].bins == (17.0, 25.0, 35.5)
    assert schema["job"] == Attribute(
        name="job",
        role=Role.SENSITIVE,
        categories=("Sales", "Tech"),
        missing="category",
        missing_values=("?",),
        learned=True,
    )


def test_toml_is_written_as_a_person_would():
    """Defaults are left out, whole edges have no point, comments stand above the table."""
    written = Schema.from_toml(CENSUS).to_toml({"age": ["check the edges", "of age"]})
    assert written == (
        "[attributes.passport]\n"
        'role = "identifier"\n'
        "\n"
        "# check the edges\n"
        "# of age\n"
        "[attributes.age]\n"
        'role = "quasi-identifier"\n'
        "bins = [17, 25, 35.5]\n"
        "\n"
        "[attributes.job]\n"
        'role = "sensitive"\n'
        'categories = ["Sales", "Tech"]\n'
        'missing = "category"\n'
        'missing_values = ["?"]\n'
        "learned = true\n"
    )


@given(schemas(with_identifiers=True))
def test_toml_round_trip_is_identity(schema):
    """Whatever the names and categories, writing and reading gives the same schema."""
    assert Schema.from_toml(schema.to_toml()) == schema
    assert Schema.from_dict(schema.to_dict()) == schema


@pytest.mark.parametrize("text", ["\x00", "\x7f", "\x85", "\r\n", "\u2028", '"', "\\", "#", "😀"])
def test_toml_round_trip_keeps_awkward_characters(text):
    """Control characters, quotes and comment signs survive in names and categories."""
    attribute = Attribute(name=text, role=Role.OTHER, categories=(text, "plain"))
    schema = Schema(attributes=(attribute,))
    assert Schema.from_toml(schema.to_toml()) == schema


def test_toml_round_trip_keeps_edges_exactly():
    """Edges come back as the very same floats, however large or fine."""
    edges = (-1e300, -0.1, 1 / 3, 1e15, 1e16, 1e300)
    schema = Schema(attributes=(Attribute(name="x", role=Role.OTHER, bins=edges),))
    assert Schema.from_toml(schema.to_toml())["x"].bins == edges


def test_file_with_a_byte_order_mark_is_read(tmp_path):
    """The mark that some editors put first is not part of the text."""
    path = tmp_path / "schema.toml"
    path.write_text(CENSUS, encoding="utf-8-sig")
    assert Schema.read(path) == Schema.from_toml(CENSUS)


def test_file_that_is_absent_is_refused(tmp_path):
    """The refusal names the file and the reason."""
    with pytest.raises(SchemaError, match=r"cannot read the schema file .*none.toml'.*: No such"):
        Schema.read(tmp_path / "none.toml")


def test_file_that_is_not_utf_8_is_refused(tmp_path):
    """Bytes that are no text are refused without showing them."""
    path = tmp_path / "schema.toml"
    path.write_bytes(b'[attributes."caf\xe9"]')
    with pytest.raises(SchemaError, match=r"schema.toml': it is not UTF-8 text\.$"):
        Schema.read(path)


def test_missing_category_counts_as_the_second():
    """One stated category and missing values are two categories."""
    schema = Schema.from_toml('[attributes.x]\nrole = "other"\ncategories = ["a"]\nmissing = "category"')
    assert schema["x"].labels == ("a", "(missing)")


def test_values_are_frozen():
    """A schema that exists does not change."""
    schema = Schema.from_toml(CENSUS)
    with pytest.raises(ValidationError, match="frozen"):
        schema["job"].missing = "error"


def test_labels_come_in_code_order_with_the_missing_one_last():
    """Codes are positions in the labels, for intervals and for listed categories."""
    age = Attribute(name="age", role=Role.OTHER, bins=(0, 0.5, 90), missing="category")
    assert age.labels == ("[0,0.5)", "[0.5,90)", MISSING_LABEL)
    assert [age.code_of(label) for label in age.labels] == [0, 1, 2]
    assert (age.size, age.missing_code) == (3, 2)
    sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
    assert (sex.labels, sex.size, sex.missing_code) == (("F", "M"), 2, None)


def test_unknown_category_is_refused_with_a_suggestion():
    """The nearest label is named."""
    with pytest.raises(QueryError, match=r"^attribute 'job' has no category 'Sale'; did you mean 'Sales'\?$"):
        Schema.from_toml(CENSUS)["job"].code_of("Sale")


def test_unknown_attribute_is_refused_with_a_suggestion():
    """The nearest attribute is named."""
    with pytest.raises(QueryError, match=r"^there is no attribute 'jobs'; did you mean 'job'\?$"):
        Schema.from_toml(CENSUS)["jobs"]


@pytest.mark.parametrize(
    ("size", "expected"), [(2, np.uint8), (256, np.uint8), (257, np.uint16), (65_537, np.uint32)]
)
def test_codes_have_the_smallest_type_that_holds_them(size, expected):
    """The largest code is one less than the number of categories."""
    categories = tuple(str(number) for number in range(size - 1))
    # The missing category makes up the size, and duplicates are looked for in quadratic time.
    bins = tuple(range(size)) if size > 1000 else None
    attribute = Attribute(
        name="x",
        role=Role.OTHER,
        categories=None if bins else categories,
        bins=bins,
        missing="category",
    )
    assert attribute.size == size
    assert attribute.code_type == expected


def test_publishable_schema_leaves_identifiers_out():
    """What a release may contain has no identifier."""
    schema = Schema.from_toml(CENSUS)
    assert schema.publishable.names == ("age", "job")
    assert "passport" in schema
    assert "passport" not in schema.publishable


def test_attributes_are_selected_by_role_and_by_name():
    """Roles keep the order of the schema, names the order asked for."""
    schema = Schema.from_toml(CENSUS)
    chosen = schema.with_role(Role.SENSITIVE, Role.IDENTIFIER)
    assert [each.name for each in chosen] == ["passport", "job"]
    assert [each.name for each in schema.select(["job", "age"])] == ["job", "age"]
    assert schema.learned == ("job",)


def test_labels_of_close_edges_are_distinct_or_refused():
    """Two bins never have the same label, or their codes could not be told apart."""
    try:
        attribute = Attribute(name="x", role=Role.OTHER, bins=(1, 1 + 2**-52, 1 + 2**-51, 2))
    except ValidationError:
        return
    assert len(set(attribute.labels)) == attribute.size


def test_comment_of_several_lines_stays_a_comment():
    """A line break inside a comment does not make TOML of its rest."""
    schema = Schema.from_toml(CENSUS)
    assert Schema.from_toml(schema.to_toml({"age": ["first\nsecond"]})) == schema


LONG = """
[long]
unit = "user"
item = "movie"
value = "stars"

[attributes.user]
role = "identifier"

[attributes.movie]
role = "other"
categories = ["m1", "m2"]

[attributes.stars]
role = "sensitive"
categories = ["1", "2"]
"""


def test_long_data_survive_the_file():
    """Which column is unit, item and value is written and read back."""
    schema = Schema.from_toml(LONG)
    assert schema.long.names == ("movie", "stars")
    assert Schema.from_toml(schema.to_toml()) == schema
    assert Schema.from_dict(schema.to_dict()) == schema
    assert schema.publishable.long is None


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('unit = "user"', 'unit = "usr"', "[long] unit = 'usr' is not an attribute; did you mean 'user'?"),
        ('role = "identifier"', 'role = "other"\ncategories = ["a", "b"]', "must have the role identifier"),
        ('item = "movie"', 'item = "stars"', "must name three different columns"),
        ('role = "other"', 'role = "identifier"', "must have a role that is published"),
        (
            'categories = ["m1", "m2"]',
            'categories = ["m1", "m2"]\nmissing = "category"',
            "which no row may lack",
        ),
        ('unit = "user"', 'unt = "user"', "[long] unit is required."),
    ],
)
def test_a_wrong_long_table_is_refused(old, new, words):
    """Each part must be an attribute of the right role."""
    with pytest.raises(SchemaError) as caught:
        Schema.from_toml(LONG.replace(old, new, 1))
    assert any(words in problem for problem in caught.value.problems)


def test_twenty_thousand_categories_are_checked_quickly():
    """A repeated one is found without comparing all pairs."""
    names = [f"item {number}" for number in range(20_000)]
    assert Attribute(name="item", role=Role.OTHER, categories=tuple(names)).size == 20_000
    with pytest.raises(SchemaError, match="listed more than once"):
        Attribute(name="item", role=Role.OTHER, categories=(*names, "item 7"))


def test_the_sensitive_attribute_is_the_one_named_or_the_only_one():
    """Whoever cannot do with another number says in the refusal what to do."""
    roles = {"sex": Role.OTHER, "job": Role.SENSITIVE, "pay": Role.SENSITIVE}
    a, b, c = (Attribute(name=name, role=role, categories=("x", "y")) for name, role in roles.items())
    assert Schema(attributes=(a, b)).sensitive(parameter="p", advice="Name one.").name == "job"
    assert Schema(attributes=(a, b, c)).sensitive("pay", parameter="p", advice="Name one.").name == "pay"
    for attributes, found in (((a, b, c), "'job', 'pay'"), ((a,), "none")):
        with pytest.raises(ParameterError, match=f"has {found}. Name one.") as refusal:
            Schema(attributes=attributes).sensitive(parameter="p", advice="Name one.")
        assert refusal.value.parameter == "p"


def test_a_copy_with_other_categories_has_their_codes():
    """What an attribute has computed of its categories does not go with it into a copy that has others."""
    first = Attribute(name="job", role="sensitive", categories=("a", "b"))
    assert first.code_of("b") == 1
    assert first.model_copy(update={"categories": ("b", "a")}).code_of("b") == 0


def test_codes_of_many_labels_take_no_longer_each():
    """Each label of 100,000 was searched for from the first: half a minute for a condition that names every second."""
    town = Attribute(
        name="town", role="sensitive", categories=tuple(f"town {number}" for number in range(100_000))
    )
    started = time.process_time()
    assert [town.code_of(label) for label in town.labels] == list(range(100_000))
    assert time.process_time() - started < 5


def test_an_edge_that_no_float_is_is_refused():
    """It became the number below it, and rows of that number fell into the next bin."""
    with pytest.raises(SchemaError, match="Use 9007199254740992"):
        Schema.from_toml('[attributes.x]\nrole = "other"\nbins = [0, 10, 9007199254740993]\n')
    assert Attribute(name="x", role="other", bins=(0, 2**53, 2**60)).size == 2
