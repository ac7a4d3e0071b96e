"""What is printed, and where."""

from __future__ import annotations

import io
import json
import sys

import pytest

from sfumato.cli.describing import section_of, type_in_words
from sfumato.cli.progress import progress_bar, shown_on_terminal
from sfumato.cli.showing import show_json


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


def test_json_has_null_for_numbers_it_cannot_write(capsys):
    """Infinite errors must not make the document invalid."""
    show_json({"a": [float("inf"), float("nan"), 1.5], "é": (1,)})
    assert json.loads(capsys.readouterr().out) == {"a": [None, None, 1.5], "é": [1]}


def test_progress_is_silent_where_there_is_no_terminal(capsys):
    """Logs of scripts stay clean, and the total is not even asked for."""
    with progress_bar("Working", lambda: 1 // 0) as advance:
        advance(5)
    assert capsys.readouterr() == ("", "")


def test_progress_is_shown_on_a_terminal_s_stderr(monkeypatch, capsys):
    """The bar has the title and the share done; stdout stays clean."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sfumato.cli.progress.SECONDS_BEFORE_SHOWING", 0)
    with shown_on_terminal(), progress_bar("Working", lambda: 10) as advance:
        advance(5)
        advance(5)
    assert "Working" in terminal.getvalue()
    assert "100%" in terminal.getvalue()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, "number above 0 and below 1"),
        ({"type": "integer", "minimum": 2, "maximum": 9}, "whole number at least 2 and at most 9"),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, "true or false"),
        ({"enum": ["a", "b"], "type": "string"}, "one of a, b"),
        ({"const": "a"}, "one of a"),
        ({"type": "array", "items": {"type": "string"}}, "list of: text"),
        ({"type": "array"}, "list"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "for each name: whole number"),
        ({"type": "object"}, "table"),
        ({"$ref": "#/$defs/Inner"}, "number"),
        ({}, "any value"),
        (
            {"anyOf": [{"type": "number"}, {"type": "object", "additionalProperties": {"type": "number"}}]},
            "number, or one for each name",
        ),
    ],
)
def test_types_are_said_in_words(schema, words):
    """Bounds included, as the help of a parameter shows them."""
    assert type_in_words(schema, {"Inner": {"type": "number"}}) == words


def test_a_class_without_the_section_has_no_text():
    """Nothing is made up."""
    assert section_of(int, "Promise") == ""
