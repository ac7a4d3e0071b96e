"""Parameters as they are typed: values, nesting, files, lists."""

from __future__ import annotations

import pytest

from sfumato.cli.parameters import design_from, member_from, parse_settings, parse_value
from sfumato.errors import ParameterError
from sfumato.methods.base import METHODS


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", 0.5),
        (".5", 0.5),
        ("-1.", -1.0),
        ("3", 3),
        ("true", True),
        ('["a", "b"]', ["a", "b"]),
        ("[[0.9, 0.1], [0.1, 0.9]]", [[0.9, 0.1], [0.1, 0.9]]),
        ("{ job = 0.5 }", {"job": 0.5}),
        ("discrete-laplace", "discrete-laplace"),
        ('"0.5"', "0.5"),
        ("", ""),
        ("1\nother = 2", "1\nother = 2"),
    ],
)
def test_values_are_toml_or_plain_text(text, value):
    """What TOML does not read is the text itself, and a line break smuggles nothing in."""
    assert parse_value(text) == value


def test_only_the_first_dot_nests():
    """Attributes may have dots in their names, and values may have equals signs."""
    assert parse_settings(["retention.a.b=0.5", "query=x = 1"]) == {
        "retention": {"a.b": 0.5},
        "query": "x = 1",
    }


@pytest.mark.parametrize(
    "settings",
    [
        ["retention"],
        ["=0.5"],
        ["retention.=0.5"],
        ["retention=0.5", "retention=0.6"],
        ["retention=0.5", "retention.job=0.5"],
        ["retention.job=0.5", "retention=0.5"],
        ["retention.job=0.5", "retention.job=0.6"],
    ],
)
def test_what_is_unclear_is_refused(settings):
    """A name without value, and a value given twice, are refused with the parameter's name."""
    with pytest.raises(ParameterError, match="--set"):
        parse_settings(settings)


@pytest.mark.parametrize(
    ("name", "content", "value"),
    [
        ("m.csv", "0.9,0.1\n0.1,0.9\n\n", [[0.9, 0.1], [0.1, 0.9]]),
        ("m.json", "[[1, 0], [0, 1]]", [[1, 0], [0, 1]]),
        ("m.toml", "job = 0.5", {"job": 0.5}),
    ],
)
def test_a_value_can_stand_in_a_file(tmp_path, name, content, value):
    """After @ comes a JSON, TOML or CSV file of numbers."""
    (tmp_path / name).write_text(content)
    assert parse_value(f"@{tmp_path / name}") == value


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.csv", b"a,b\n1,2\n", "line 1"),
        ("m.csv", b"\xff\xfe", "not UTF-8"),
        ("m.json", b"{\n  1}", "line 2, column 3"),
        ("m.toml", b"a = 1\nb = = 2", "line 2"),
        ("m.txt", b"1", "known are '.json', '.toml', '.csv'"),
        ("absent.csv", None, "No such file"),
    ],
)
def test_an_unreadable_value_says_where(tmp_path, name, content, message):
    """The message names the file and the line."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ParameterError, match=message):
        parse_value(f"@{tmp_path / name}")


@pytest.mark.parametrize(
    ("text", "expected"), [("job,pay", ("job", "pay")), ("job", ("job",)), ('["job"]', ("job",))]
)
def test_lists_are_words_with_commas(text, expected):
    """A parameter that takes a list takes plain words too."""
    design = member_from(METHODS, "randomized-response", ["retention=0.5", f"attributes={text}"])
    assert design.attributes == expected


def test_a_comma_inside_a_condition_divides_nothing():
    """A list of conditions has commas inside its items."""
    condition = "job IN ('a', 'b')"
    assert member_from(METHODS, "noisy-marginals", ["epsilon=1", f"queries={condition}"]).queries == (
        condition,
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("retention = 0.5", "names no method"),
        ('method = "randomised-response"', "did you mean 'randomized-response'"),
        ('method = "randomized-response"\nretention = \n', "line 2"),
        ('method = "randomized-response"\nretension = 0.5', "did you mean 'retention'"),
    ],
)
def test_a_wrong_design_file_is_refused(tmp_path, content, message):
    """Each mistake in a design file has its sentence."""
    (tmp_path / "design.toml").write_text(content)
    with pytest.raises(ParameterError, match=message):
        design_from(None, None, tmp_path / "design.toml")
