"""Results on stdout, talk on stderr."""

from __future__ import annotations

import json
import math
from typing import Any, Protocol

import typer

from sfumato.values.plain_text import visible
from sfumato.watching import silence


class Result(Protocol):
    """Anything with a text for people and plain data for programs."""

    def summary(self) -> str:
        """Text for people."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""


def show(result: Result, *, as_json: bool) -> None:
    """Print a result."""
    if as_json:
        show_json(result.to_dict())
    else:
        tell(result.summary())


def show_json(content: Any) -> None:
    """Print plain data as JSON."""
    # ASCII, so that the text is valid JSON in whatever encoding stdout has.
    tell(json.dumps(_without_nan(content), indent=2, allow_nan=False))


def tell(text: str) -> None:
    """Print text on stdout."""
    with silence():
        typer.echo(visible(text))


def ask_password(question: str) -> str:
    """Ask for what must not be seen."""
    with silence():
        return str(typer.prompt(question, hide_input=True))


def _without_nan(content: Any) -> Any:
    """JSON has no word for infinite or undefined numbers; null is the nearest."""
    if isinstance(content, dict):
        return {key: _without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_without_nan(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content


def talk(sentence: str) -> None:
    """Say something on stderr."""
    with silence():
        typer.echo(visible(sentence), err=True)


def warn(sentence: str) -> None:
    """Say something on stderr that must not be overlooked."""
    with silence():
        typer.secho(f"WARNING: {visible(sentence)}", err=True, bold=True, fg="red")
