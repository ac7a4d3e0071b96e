"""Results on stdout, talk on stderr, progress on a terminal only."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import typer


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
        typer.echo(result.summary())


def show_json(content: Any) -> None:
    """Print plain data as JSON."""
    # ASCII, so that the text is valid JSON in whatever encoding stdout has.
    typer.echo(json.dumps(_without_nan(content), indent=2, allow_nan=False))


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
    typer.echo(sentence, err=True)


def warn(sentence: str) -> None:
    """Say something on stderr that must not be overlooked."""
    typer.secho(f"WARNING: {sentence}", err=True, bold=True, fg="red")


@contextmanager
def progress_bar(title: str, total: Callable[[], int | None]) -> Iterator[Callable[[int], None]]:
    """A bar on stderr while something runs; give the function it yields the rows done since last time.

    Parameters
    ----------
    title
        What runs.
    total
        Rows in all, or None where only counting them would tell; asked for at the first step.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} rows"),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)

        def advance(rows: int) -> None:
            if progress.tasks[0].completed == 0:
                progress.update(task, total=total())
            progress.advance(task, rows)

        yield advance
