"""Schemas that are refused: every sentence, and all problems at once."""

from __future__ import annotations

import pytest

from sfumato.errors import SchemaError
from sfumato.schema import Attribute, Role, Schema

KEYS = (
    "The keys are bins, bottom_code, categories, code_list, dates, decimal, description, excess_rows, learned, measured_in, missing, "
    "missing_values, ordered, prefix, published_by, recode, role, rows_per_unit, thousands, top_code."
)


def problems(text):
    """Problems that a schema text is refused with."""
    with pytest.raises(SchemaError) as caught:
        Schema.from_toml(text)
    return caught.value.problems


def attribute_problems(fields):
    """Problems of a schema whose only attribute, named x, has the given lines."""
    return problems(f"[attributes.x]\n{fields}")


def test_broken_toml_is_refused_with_its_line():
    """The third line lacks its value, and the refusal says so."""
    (sentence,) = problems('[attributes.x]\nrole = "other"\ncategories =\n')
    assert sentence.startswith("the schema is not valid TOML: ")
    assert "line 3" in sentence


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[attributes.x]\nrole = "other"\nrole = "sensitive"\ncategories = ["a", "b"]', 3),
        ('[attributes.x]\nrole = "other"\n\n[attributes.x]\nrole = "sensitive"', 4),
    ],
)
def test_two_roles_for_a_column_are_refused_with_the_line(text, line):
    """A second role, in the same table or in a second one, is refused where it stands."""
    (sentence,) = problems(text)
    assert f"line {line}" in sentence


def test_list_of_roles_is_refused():
    """A column has one role, not a list of them."""
    (sentence,) = attribute_problems('role = ["other", "sensitive"]\ncategories = ["a", "b"]')
    assert sentence == (
        "attribute 'x': role should be 'identifier', 'quasi-identifier', 'sensitive', 'other', 'weight', 'unit', 'household', 'stratum' or 'cluster', "
        "got ('other', 'sensitive')."
    )


@pytest.mark.parametrize("text", ["", "attributes = 3", "attributes = [1]", "[attributes]"])
def test_schema_without_attributes_is_refused(text):
    """A schema declares something."""
    assert problems(text) == ("a schema needs at least one [attributes.NAME] table.",)


def test_misspelt_top_table_is_refused_with_a_suggestion():
    """The nearest known table is named, and that there is no attribute yet."""
    assert problems('[atributes.x]\nrole = "other"') == (
        "[atributes] is not a table of a schema; did you mean 'attributes'?",
        "a schema needs at least one [attributes.NAME] table.",
    )


def test_attribute_that_is_no_table_is_refused():
    """A bare value under attributes is not a declaration."""
    assert problems("[attributes]\nx = 3") == (
        "attributes.x must be a table with a role and categories or bins.",
    )


def test_schema_of_identifiers_alone_is_refused():
    """Nothing of it could be published."""
    assert attribute_problems('role = "identifier"') == (
        (
            "no attribute has a role that is published, so nothing could be published. "
            "Give one the role quasi-identifier, sensitive or other."
        ),
    )


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ('categories = ["a", "b"]', "attribute 'x': role is required."),
        (
            'role = "secret"\ncategories = ["a", "b"]',
            (
                "attribute 'x': role should be 'identifier', 'quasi-identifier', 'sensitive', "
                "'other', 'weight', 'unit', 'household', 'stratum' or 'cluster', got 'secret'."
            ),
        ),
        (
            'role = "other"',
            "attribute 'x' needs either categories or bins or dates, one of them.",
        ),
        (
            'role = "other"\ncategories = ["a", "b"]\nbins = [1, 2, 3]',
            "attribute 'x' needs either categories or bins or dates, one of them.",
        ),
        ('role = "other"\nbins = [1, 3, 2]', "attribute 'x': bins must increase."),
        ('role = "other"\nbins = [1, 2, 2]', "attribute 'x': bins must increase."),
        (
            'role = "other"\nbins = [1, true, 3]',
            "attribute 'x': bins.1 should be a valid number, got True.",
        ),
        (
            'role = "other"\nbins = [1, 2, inf]',
            "attribute 'x': bins.2 should be a finite number, got inf.",
        ),
        (
            'role = "other"\ncategories = ["b", "a", "b"]',
            "attribute 'x': category 'b' is listed more than once.",
        ),
        (
            'role = "other"\ncategories = ["a", 3]',
            "attribute 'x': categories.1 should be a valid string, got 3.",
        ),
        (
            'role = "other"\ncategories = ["a", "b", "(missing)"]',
            (
                "attribute 'x': '(missing)' is the label of missing values; use missing = "
                '"category" instead of listing it.'
            ),
        ),
        (
            'role = "other"\ncategories = ["a", "b"]\nmissing_values = ["b"]',
            "attribute 'x': 'b' is both a category and a missing value.",
        ),
        (
            'role = "other"\ncategories = ["a", "b"]\nmissing = "drop"',
            "attribute 'x': missing should be 'error' or 'category', got 'drop'.",
        ),
        (
            'role = "other"\ncategories = ["a", "b"]\ncategory = ["c"]',
            f"attribute 'x': 'category' is not a key of an attribute; did you mean 'categories'? {KEYS}",
        ),
    ],
)
def test_contradicting_attribute_is_refused_in_one_sentence(fields, sentence):
    """Each fault of an attribute has its own sentence, which names the attribute."""
    assert attribute_problems(fields) == (sentence,)


@pytest.mark.parametrize(
    "fields",
    [
        "categories = []",
        'categories = ["a"]',
        "bins = []",
        "bins = [1]",
        "bins = [1, 2]",
        'bins = [1]\nmissing = "category"',
        'categories = []\nmissing = "category"',
    ],
)
def test_attribute_with_one_category_is_refused(fields):
    """An attribute that has one value for everybody says nothing."""
    assert attribute_problems(f'role = "other"\n{fields}') == (
        (
            "attribute 'x' has fewer than two categories; it carries no information. "
            "Leave it out, or give it the categories it could have."
        ),
    )


def test_problems_of_all_attributes_are_collected():
    """One reading reports what is wrong with every table, in the order of the file."""
    text = """
    [tables]
    [attributes]
    number = 3
    [attributes.first]
    role = "othr"
    bin = [1, 2]
    [attributes.second]
    role = "other"
    categories = ["a", "a", "b"]
    [attributes.third]
    role = "other"
    categories = ["a", "b"]
    """
    found = problems(text)
    assert found == (
        "[tables] is not a table of a schema; known are 'attributes', 'long'.",
        "attributes.number must be a table with a role and categories or bins.",
        f"attribute 'first': 'bin' is not a key of an attribute; did you mean 'bins'? {KEYS}",
        (
            "attribute 'first': role should be 'identifier', 'quasi-identifier', 'sensitive', "
            "'other', 'weight', 'unit', 'household', 'stratum' or 'cluster', got 'othr'."
        ),
        "attribute 'second': category 'a' is listed more than once.",
    )
    with pytest.raises(SchemaError) as caught:
        Schema.from_toml(text)
    assert str(caught.value) == "\n".join(found)


def test_attribute_declared_twice_is_refused():
    """Attributes handed over in Python have distinct names too."""
    sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
    with pytest.raises(SchemaError, match="attribute 'sex' is declared more than once"):
        Schema(attributes=(sex, sex))


def test_name_inside_a_table_is_refused():
    """The table's own key is the name; a second one contradicts it."""
    fields = 'role = "other"\nname = "y"\ncategories = ["a", "b"]'
    assert attribute_problems(fields) == (
        "attribute 'x' is named by its table; take the line name = ... out.",
    )


def test_attribute_named_like_a_role_is_named_in_its_problem():
    """The sentence says which attribute it is about, whatever that is called."""
    (sentence,) = problems('[attributes.other]\nrole = "secret"\ncategories = ["a", "b"]')
    assert sentence.startswith("attribute 'other': ")


def test_each_problem_of_one_attribute_is_its_own():
    """Two faults of one attribute are two problems."""
    fields = 'role = "other"\ncategories = ["a", "b", "b", "(missing)"]'
    assert len(attribute_problems(fields)) == 2


def test_deeply_nested_toml_is_refused():
    """Text made to exhaust the reader is refused like any other broken file."""
    assert len(attribute_problems(f"categories = {'[' * 100_000}")) == 1
