"""The keys beyond categories and bins: what they mean, what contradicts them, and the files they name."""

from __future__ import annotations

import pytest

from sfumato.errors import QueryError, SchemaError
from sfumato.query.selection import Selection
from sfumato.schema import Attribute, Role, Schema


def problems(fields):
    """Problems of a schema whose only attribute, named x, has the given lines."""
    with pytest.raises(SchemaError) as caught:
        Schema.from_toml(f"[attributes.x]\n{fields}")
    return caught.value.problems


def other(fields):
    """A published attribute named x."""
    return Schema.from_toml(f'[attributes.x]\nrole = "other"\n{fields}')["x"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ('categories = ["a", "b"]\ntop_code = 3', "top_code is about numbers, so it needs bins"),
        ('categories = ["a", "b"]\ndecimal = ","', "decimal is about numbers, so it needs bins"),
        ("bins = [1, 2, 3]\nordered = true", "bins and dates have an order already"),
        ("bins = [1, 2, 3]\nprefix = 2", "prefix is about categories; it needs categories"),
        ("bins = [1, 2, 3]\ntop_code = 1\nbottom_code = 2", "bottom_code must be below top_code"),
        ('bins = [1, 2, 3]\nthousands = "."', "decimal and thousands are the same mark"),
        ('bins = [1, 2, 3]\ndecimal = "·"', "decimal should be '.' or ','"),
        ('recode = {A = ["a"], B = ["a"]}', "recode names the value 'a' more than once"),
        ('recode = {A = ["B"], B = ["b"]}', "'B' is a category and recode makes it 'A'"),
        (
            'categories = ["A", "B"]\nrecode = {C = ["c"]}',
            "recode makes 'C', which is not among the categories",
        ),
        ('recode = {A = ["?"], B = ["b"]}\nmissing_values = ["?"]', "'?' is a missing value, which recode"),
        (
            'categories = ["01", "021"]\nprefix = 2',
            "category '021' is longer than the 2 characters of prefix",
        ),
        ('recode = {A = ["a"], B = ["b"]}\nprefix = 1', "has both prefix and recode"),
        ('dates = {by = "year"}', "need first and last"),
        ('dates = {by = "year", first = 2020-01-01, last = 2019-01-01}', "first must not be after last"),
        ('dates = {by = "day", first = 1900-01-01, last = 2020-01-01}', "more than 5,000 categories"),
        ("dates = {edges = [2020-01-01, 2019-01-01]}", "edges of dates must increase"),
        ('dates = {by = "year", edges = [2020-01-01]}', "either by (a period) or edges"),
        ('dates = {by = "year", first = 2020-01-01, last = 2020-12-31}', "fewer than two categories"),
        ('dates = {by = "fortnight"}', "'quarter'"),
        (
            'categories = ["a", "b"]\nlearned = true\npublished_by = "us"',
            "learned from the data and published",
        ),
        ('categories = ["a", "b"]\nrows_per_unit = 2', "rows_per_unit is about a unit"),
        (
            'recode = "map.csv"',
            "recode = 'map.csv' names a file, and files are looked for beside a schema file",
        ),
        ('code_list = "list.csv"', "code_list names a file"),
        (
            'categories = ["a", "b"]\ndescripton = "x"',
            "did you mean 'description'? The keys are bins, bottom_code",
        ),
    ],
)
def test_keys_that_contradict_each_other_are_refused(fields, words):
    """Each contradiction has its own sentence."""
    found = problems(f'role = "other"\n{fields}')
    assert any(words in sentence for sentence in found), found


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ('role = "weight"\nbins = [1, 2, 3]', "is a weight, which is never published as it is"),
        ('role = "unit"\ncategories = ["a", "b"]', "has the role unit, which is never published"),
        ('role = "household"\nordered = true', "has the role household"),
        ('role = "stratum"\ncategories = ["1", "2"]', "has the role stratum"),
        ('role = "cluster"\nlearned = true\nbins = [1, 2]', "has the role cluster"),
    ],
)
def test_withheld_columns_have_no_categories(fields, words):
    """A weight, unit or household is never published, so nothing says how."""
    assert words in problems(fields)[0]


def test_a_table_has_one_unit():
    """Two units would leave open whose rows they are."""
    text = '[attributes.{}]\nrole = "unit"\n'
    with pytest.raises(SchemaError, match=r"'a' and 'b' all have the role unit; a table has one unit"):
        Schema.from_toml(text.format("a") + text.format("b") + '[attributes.x]\nrole="other"\nbins=[1,2,3]')


def test_a_release_never_carries_how_cells_were_read():
    """Mappings, marks, formats and prefixes stay with the custodian; what columns mean goes along."""
    schema = Schema.from_toml("""
[attributes.weight]
role = "weight"
[attributes.job]
role = "sensitive"
recode = {Work = ["secret-1", "secret-2"], None = ["3"]}
description = "Main activity"
[attributes.day]
role = "other"
dates = {by = "month", first = 2020-01-01, last = 2020-03-31, format = "%d.%m.%Y"}
[attributes.pay]
role = "other"
bins = [0, 1, 2]
decimal = ","
top_code = 1.5
measured_in = "thousand euros"
""")
    assert schema.publishable.to_dict()["attributes"] == {
        "job": {"role": "sensitive", "categories": ["Work", "None"], "description": "Main activity"},
        "day": {"role": "other", "categories": ["2020-01", "2020-02", "2020-03"], "ordered": True},
        "pay": {"role": "other", "bins": [0.0, 1.0, 2.0], "top_code": 1.5, "measured_in": "thousand euros"},
    }
    for each in schema.attributes:
        assert each.as_published.labels == each.labels


def test_every_key_survives_writing_and_reading():
    """What is written as TOML is read as the same schema, dates and mappings included."""
    text = """
[attributes.person]
role = "unit"
rows_per_unit = 3
[attributes.a]
role = "other"
dates = {by = "week", first = 2020-01-01, last = 2020-03-31}
[attributes.b]
role = "other"
dates = {edges = [2020-01-01, 2020-06-01T12:00:00, 2021-01-01]}
[attributes.c]
role = "other"
recode = {"x y" = ["1"], z = ["2", "3"]}
ordered = true
[attributes.d]
role = "other"
bins = [0, 10, 20]
decimal = ","
thousands = "."
bottom_code = 5
"""
    schema = Schema.from_toml(text)
    assert Schema.from_toml(schema.to_toml()) == schema


EDUCATION = other('categories = ["none", "Bachelor", "Master"]\nordered = true\nmissing = "category"')
AGE = other('categories = ["17", "18", "25", "40"]\nordered = true')
OPEN = other("bins = [0, 20, 40]\ntop_code = 40\nbottom_code = 0")


@pytest.mark.parametrize(
    ("attribute", "query", "expected"),
    [
        (EDUCATION, "x >= 'Bachelor'", (1, 2)),
        (EDUCATION, "x > 'Bachelor'", (2,)),
        (EDUCATION, "x < 'Bachelor'", (0,)),
        (EDUCATION, "x <= 'Bachelor'", (0, 1)),
        (EDUCATION, "x BETWEEN 'none' AND 'Bachelor'", (0, 1)),
        (AGE, "x < 25", (0, 1)),
        (AGE, "x <= 25", (0, 1, 2)),
        (AGE, "x > 17.5", (1, 2, 3)),
        (AGE, "x BETWEEN 18 AND 39", (1, 2)),
        (AGE, "x >= '25'", (2, 3)),
        (OPEN, "x >= 40", (3,)),
        (OPEN, "x < 0", (0,)),
        (OPEN, "x <= 39", (0, 1, 2)),
    ],
)
def test_ordered_categories_are_compared_in_their_order(attribute, query, expected):
    """Ranges take the categories on their side of the cut, never the missing one, and read back as written."""
    schema = Schema(attributes=(attribute,))
    chosen = Selection.parse(query, schema)
    assert chosen.codes("x") == expected
    assert Selection.parse(chosen.describe(schema), schema) == chosen


@pytest.mark.parametrize(
    ("attribute", "query", "words"),
    [
        (EDUCATION, "x >= 'Bachlor'", "did you mean 'Bachelor'?"),
        (EDUCATION, "x < '(missing)'", "neither low nor high"),
        (EDUCATION, "x BETWEEN 'Master' AND 'none'", "wrong order"),
        (OPEN, "x >= 50", "nearest to 50 is 40. Write x >= 40."),
        (OPEN, "x < -3", "nearest to -3 is 0. Write x < 0."),
        (other('categories = ["a", "b"]'), "x < 'b'", "only binned and ordered attributes have ranges"),
    ],
)
def test_cuts_that_do_not_exist_are_refused(attribute, query, words):
    """The refusal names what could be asked instead."""
    with pytest.raises(QueryError, match="at character") as caught:
        Selection.parse(query, Schema(attributes=(attribute,)))
    assert words in str(caught.value)


def written(folder, fields, **files):
    """A schema file beside some others."""
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    path = folder / "schema.toml"
    path.write_text(f'[attributes.x]\nrole = "other"\n{fields}', encoding="utf-8")
    return path


def test_files_become_lists_where_the_schema_file_is_read(tmp_path):
    """The schema holds the lists; no path is left in it."""
    path = written(
        tmp_path,
        'code_list = "nace.csv"\npublished_by = "Eurostat"\n[attributes.y]\nrole = "other"\nrecode = "map.csv"',
        nace="code;label\nA;Agriculture\nB;Mining\n",
        map="value,category\n1,Work\n2,Work\n3,Other\n",
    )
    schema = Schema.read(path)
    assert schema["x"] == Attribute(name="x", role=Role.OTHER, categories=("A", "B"), published_by="Eurostat")
    assert schema["y"].recode == {"Work": ("1", "2"), "Other": ("3",)}
    assert ".csv" not in schema.to_toml()


@pytest.mark.parametrize(
    ("fields", "content", "words"),
    [
        ('code_list = "list.csv"', "code\na\n", "code_list needs published_by"),
        ('code_list = "no.csv"\npublished_by = "us"', "", "cannot read no.csv: No such file"),
        ('code_list = "list.csv"\npublished_by = "us"', "", "list.csv is empty"),
        (
            'code_list = "list.csv"\npublished_by = "us"',
            "a,b\n1,2\n",
            "list.csv has no column 'code'; it has 'a', 'b'",
        ),
        ('code_list = "list.csv"\npublished_by = "us"', "code\na\na\n", "lists a code more than once"),
        (
            'code_list = "list.csv"\npublished_by = "us"',
            "code,b\na\nb,c\n",
            "1 lines without the header's number",
        ),
        (
            'code_list = "list.csv"\npublished_by = "us"\ncategories = ["a"]',
            "code\na\n",
            "both list the categories",
        ),
        ("code_list = 3", "", "must be the name of a CSV file"),
        ('recode = "list.csv"', "from,to\na,b\n", "has no column 'value'"),
    ],
)
def test_files_that_are_not_what_they_should_be_are_refused(tmp_path, fields, content, words):
    """The refusal names the file and the attribute."""
    with pytest.raises(SchemaError, match="attribute 'x': ") as caught:
        Schema.read(written(tmp_path, fields, list=content))
    assert words in str(caught.value)
