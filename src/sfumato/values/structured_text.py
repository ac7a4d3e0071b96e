"""TOML and JSON that somebody wrote: what cannot be read is one sentence, whatever is wrong with it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from typing import Any

TOO_DEEP = "its lists or tables are nested too deeply"
TOO_LONG = "a number in it has more digits than can be read"


def parse_toml(text: str) -> dict[str, Any]:
    """The content of a TOML text.

    Raises
    ------
    ValueError
        With the reason, which names line and column where they are known.

    Examples
    --------
    >>> parse_toml("a = 1")
    {'a': 1}
    """
    # The reader gives line and column, save where the text just ends.
    last = f"at the end, line {text.count(chr(10)) + 1}"
    found: dict[str, Any] = _parsed(
        tomllib.loads,
        text,
        tomllib.TOMLDecodeError,
        lambda error: str(error).replace("at end of document", last),
    )
    return found


def parse_json(text: str) -> Any:
    """The content of a JSON text.

    Raises
    ------
    ValueError
        With the reason.

    Examples
    --------
    >>> parse_json("[1, 2]")
    [1, 2]
    """
    return _parsed(
        json.loads,
        text,
        json.JSONDecodeError,
        lambda error: f"it is not valid JSON at line {error.lineno}, column {error.colno}",
    )


def _parsed(
    read: Callable[[str], Any], text: str, malformed: type[ValueError], reason: Callable[[Any], str]
) -> Any:
    try:
        return read(text)
    except malformed as error:
        said = reason(error)
    except RecursionError:
        said = TOO_DEEP
    except ValueError:
        said = TOO_LONG
    raise ValueError(said)
