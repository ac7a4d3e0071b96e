"""What is printed, and where."""

from __future__ import annotations

import io
import json
import sys
import time

import pytest

from sfumato.cli.output import progress_bar, show_json, shown_on_terminal, talk, tell, warn
from sfumato.cli.parameters import section_of, type_in_words
from sfumato.progress import steps


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
    monkeypatch.setattr("sfumato.cli.output.SECONDS_BEFORE_SHOWING", 0)
    with shown_on_terminal(), progress_bar("Working", lambda: 10) as advance:
        advance(5)
        advance(5)
    assert "Working" in terminal.getvalue()
    assert "100%" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def quick_terminal(monkeypatch):
    """A terminal on stderr on which everything is shown at once; no fixture, since pytest sets stderr after those."""
    found = Terminal()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("SECONDS_BEFORE_SHOWING", "SECONDS_OF_SILENCE"):
        monkeypatch.setattr(f"sfumato.cli.output.{name}", 0)
    monkeypatch.setattr("sfumato.cli.output.SECONDS_BETWEEN_LOOKS", 0.01)
    return found


def wait_for(terminal, text):
    """Work in one piece, until somebody else has shown something."""
    deadline = time.monotonic() + 30
    while text not in terminal.getvalue():
        assert time.monotonic() < deadline, f"{text} is not shown"
        time.sleep(0.01)


def test_work_that_says_nothing_of_itself_is_shown_too(monkeypatch):
    """Whoever waits sees that something goes on, and for how long."""
    terminal = quick_terminal(monkeypatch)
    with shown_on_terminal():
        wait_for(terminal, "Working")


def test_a_long_step_is_shown_before_it_is_over(monkeypatch):
    """Of three steps the first takes long; it is not told of again meanwhile."""
    terminal = quick_terminal(monkeypatch)
    with shown_on_terminal():
        for _ in steps("Fitting", range(3)):
            wait_for(terminal, "Fitting")
            wait_for(terminal, "left:")


def test_inner_phases_do_not_end_outer_ones(monkeypatch):
    """The outer line is there again with what it had, after an inner phase is over."""
    terminal = quick_terminal(monkeypatch)
    with shown_on_terminal():
        for number in steps("Outer", range(4)):
            for _ in steps("Inner", range(1)):
                pass
            if number == 2:
                wait_for(terminal, "50%")


@pytest.mark.parametrize("write", [talk, warn, tell, lambda text: show_json([text])])
def test_what_is_written_does_not_stand_in_a_line_of_progress(monkeypatch, write):
    """When it is written the line is gone and the cursor back."""
    terminal, before = quick_terminal(monkeypatch), []
    for name in ("echo", "secho"):
        monkeypatch.setattr(f"typer.{name}", lambda *_, **__: before.append(terminal.getvalue()))
    with shown_on_terminal():
        wait_for(terminal, "Working")
        write("a result")
    taken_away = before[0].rpartition("Working")[2]
    assert "\x1b[2K" in taken_away
    assert "\x1b[?25h" in taken_away


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
