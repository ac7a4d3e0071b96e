"""Writing TOML: the standard library reads it and does not write it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_key(name: str) -> str:
    """A key, in quotes where TOML wants them.

    Examples
    --------
    >>> toml_key("age"), toml_key("hours per week")
    ('age', '"hours per week"')
    """
    return name if _BARE_KEY.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    """A text, number, truth value, list or mapping on one line.

    Examples
    --------
    >>> toml_value({"job": 0.5, "bins": [17.0, 25.5]})
    '{job = 0.5, bins = [17, 25.5]}'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(key)} = {toml_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(each) for each in value) + "]"
    # JSON's escapes are a subset of TOML's, save that TOML also wants DEL escaped.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number; whole numbers without a point."""
    if isinstance(value, int):
        # Whole numbers may be larger than any fraction.
        return repr(value)
    return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
