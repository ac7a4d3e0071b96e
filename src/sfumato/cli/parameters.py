"""Parameters from the command line: ``--set name=value``, ``@file`` values, design files."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sfumato.errors import ParameterError, nearest
from sfumato.values.structured_text import TOO_DEEP, TOO_LONG, parse_json, parse_toml

if TYPE_CHECKING:
    from sfumato.families import Family, Member
    from sfumato.methods.base import Design


def design_from(method: str | None, settings: list[str] | None, design_file: Path | None) -> Design:
    """The design that the options of a verb describe."""
    from sfumato.methods.base import METHODS

    if (method is None) == (design_file is None):
        raise typer.BadParameter("give either --method (with --set) or --design, one of them.")
    if design_file is None:
        assert method is not None
        return _with_files(method, given_parameters(METHODS, method, settings), Path())
    if settings:
        raise typer.BadParameter("--set goes with --method; a design file holds its parameters itself.")
    content = _read_toml(design_file)
    name = content.pop(METHODS.tag, None)
    if not isinstance(name, str):
        raise ParameterError(
            f'{design_file.name} names no method. Its first line is method = "...", one of '
            f"{', '.join(METHODS.members)}.",
            parameter=METHODS.tag,
        )
    return _with_files(name, content, design_file.parent)


def _with_files(method: str, parameters: Mapping[str, Any], folder: Path) -> Design:
    """A design, with the files that a custodian named beside its parameters."""
    from sfumato.methods.base import METHODS

    return METHODS.make(method, METHODS.get(method).resolve_files(parameters, folder))


def member_from(family: Family[Member], name: str, settings: list[str] | None) -> Member:
    """A member of a family with the parameters that ``--set`` gave."""
    return family.make(name, given_parameters(family, name, settings))


def given_parameters(family: Family[Member], name: str, settings: list[str] | None) -> dict[str, Any]:
    """The parameters that ``--set`` gave, as the member takes them."""
    member = family.get(name)
    parameters = parse_settings(settings or ())
    lists = {
        parameter for parameter, schema in _properties(member.model_json_schema()).items() if _is_list(schema)
    }
    for parameter in lists & parameters.keys():
        text = parameters[parameter]
        if isinstance(text, str):
            parameters[parameter] = _listed(text)
    return parameters


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Parameters from ``name=value`` texts; a dotted name is a parameter and an attribute.

    Only the first dot divides, since attributes may have dots in their names.

    Raises
    ------
    ParameterError
        When a text has no name, or a name is set twice.

    Examples
    --------
    >>> parse_settings(["retention.job=0.5", "retention.pay=0.4", "search=exact"])
    {'retention': {'job': 0.5, 'pay': 0.4}, 'search': 'exact'}
    """
    parameters: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        path = [part.strip() for part in name.split(".", 1)]
        if not equals or not all(path):
            raise ParameterError(
                f"--set takes NAME=VALUE, got {setting!r}. Write for example --set retention=0.5.",
                parameter="set",
            )
        *outer, last = path
        place = parameters.setdefault(outer[0], {}) if outer else parameters
        if not isinstance(place, dict) or last in place:
            raise ParameterError(
                f"--set gives {outer[0] if outer else last!r} more than one value. Set it once, "
                "for all attributes or for each.",
                parameter=path[0],
            )
        place[last] = parse_value(text.strip())
    return parameters


def parse_value(text: str) -> Any:
    """A value as TOML reads it, the content of a file after ``@``, or else the text itself.

    Examples
    --------
    >>> parse_value(".5"), parse_value('["a", "b"]'), parse_value("true"), parse_value("job")
    (0.5, ['a', 'b'], True, 'job')
    """
    if text.startswith("@"):
        return _read_value(Path(text[1:]))
    if re.fullmatch(r"[+-]?(\d+\.|\.\d+)", text):
        # TOML wants digits on both sides of the point, people do not.
        return float(text)
    try:
        content = parse_toml(f"value = {text}")
    except ValueError as error:
        if str(error) in (TOO_DEEP, TOO_LONG):
            raise ParameterError(f"--set: a value cannot be read: {error}. Write it shorter.") from None
        return text
    # A line break in the text could have smuggled in a second key.
    return content["value"] if len(content) == 1 else text


def _listed(text: str) -> list[Any]:
    """A list from plain words separated by commas: no quotes to fight with the shell about."""
    if any(mark in text for mark in "'\"()[]"):
        # A comma inside a query, say, divides nothing.
        return [text]
    return [parse_value(part.strip()) for part in text.split(",")]


def _read_value(path: Path) -> Any:
    readers = {".json": _read_json, ".toml": _read_toml, ".csv": _read_numbers}
    if path.suffix.lower() not in readers:
        raise ParameterError(
            f"cannot tell what {path.name!r} holds by its name; {nearest(path.suffix, readers)} "
            'A text that begins with @ is written in quotes: "@text".'
        )
    return readers[path.suffix.lower()](path)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError(f"{path.name} is not UTF-8 text. Save it as UTF-8.") from None
    except OSError as error:
        raise ParameterError(
            f"cannot read {str(path)!r}: {error.strerror}. Check the name, relative to this folder."
        ) from None


def _read_json(path: Path) -> Any:
    try:
        return parse_json(_read_text(path))
    except ValueError as error:
        raise ParameterError(f"{path.name} cannot be read: {error}. Mend it there.") from None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return parse_toml(_read_text(path))
    except ValueError as error:
        raise ParameterError(f"{path.name} is not valid TOML: {error}. Mend it there.") from None


def _read_numbers(path: Path) -> list[list[float]]:
    """Rows of numbers; a matrix."""
    rows = []
    for number, cells in enumerate(csv.reader(_read_text(path).splitlines()), start=1):
        if not cells:
            continue
        try:
            rows.append([float(cell) for cell in cells])
        except ValueError:
            raise ParameterError(
                f"{path.name} must hold numbers separated by commas and nothing else; line {number} does not. "
                "Remove headings and empty cells."
            ) from None
    return rows


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    return properties


def _is_list(schema: Mapping[str, Any]) -> bool:
    """The field takes a list, and no text."""
    kinds = {each.get("type") for each in schema.get("anyOf", (schema,))}
    return "array" in kinds and "string" not in kinds
