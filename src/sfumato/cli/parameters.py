"""Parameters of designs and attacks from the command line, and their description."""

from __future__ import annotations

import csv
import inspect
import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sfumato.errors import ParameterError, nearest
from sfumato.text import TOO_DEEP, TOO_LONG, parse_json, parse_toml

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from sfumato.methods.base import Design
    from sfumato.registry import Family, Member

# --------------------------------------------------------------------------------------------------
# Parameters from the command line: ``--set name=value``, ``@file`` values, design files.


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


# --------------------------------------------------------------------------------------------------
# Members of a family in words: what they do, and every parameter with type, bounds, default, help.


_BOUNDS = {
    "exclusiveMinimum": "above",
    "minimum": "at least",
    "exclusiveMaximum": "below",
    "maximum": "at most",
    "minLength": "of length at least",
    "minItems": "of at least",
    "maxItems": "of at most",
}
_KINDS = {"number": "number", "integer": "whole number", "string": "text", "boolean": "true or false"}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a member: its name, type with bounds, default and help, all in words."""

    name: str
    type: str
    default: str
    help: str

    def summary(self) -> str:
        """Two lines or more."""
        return f"  {self.name} ({self.type}; {self.default})\n{wrapped(self.help, indent=6)}"


@dataclass(frozen=True)
class Description:
    """Facts about a member, under headings.

    Parameters
    ----------
    name, title
        Of the member.
    texts
        Heading to sentences.
    parameters
        In the order of the fields.
    """

    name: str
    title: str
    texts: Mapping[str, tuple[str, ...]]
    parameters: tuple[Parameter, ...]

    def summary(self) -> str:
        """All of it as text."""
        blocks = [
            "\n".join([heading, *(wrapped(each, indent=2) for each in sentences)])
            for heading, sentences in self.texts.items()
            if any(sentences)
        ]
        settings = "\n".join(["Parameters (--set NAME=VALUE)", *(each.summary() for each in self.parameters)])
        return "\n\n".join([f"{self.name}: {self.title}", *blocks, *([settings] if self.parameters else [])])

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "title": self.title,
            **{heading.lower().replace(" ", "_"): list(texts) for heading, texts in self.texts.items()},
            "parameters": [asdict(each) for each in self.parameters],
        }


def parameters_of(member: type[BaseModel], tag: str) -> tuple[Parameter, ...]:
    """Every parameter of a member, from its fields.

    Examples
    --------
    >>> from sfumato import RandomizedResponse
    >>> parameters_of(RandomizedResponse, "method")[0].type
    'number above 0 and below 1, or one for each name'
    """
    schema = member.model_json_schema()
    # Its own first: what every member has besides comes from its family.
    family = getattr(member.__mro__[1], "model_fields", {})
    names = sorted(member.model_fields, key=lambda name: name in family)
    return tuple(
        Parameter(
            name,
            type_in_words(schema["properties"][name], schema.get("$defs", {})),
            _default(member.model_fields[name]),
            member.model_fields[name].description or "",
        )
        for name in names
        if name != tag
    )


def type_in_words(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """A type of a JSON schema, in words.

    Examples
    --------
    >>> type_in_words({"type": "integer", "minimum": 2}, {})
    'whole number at least 2'
    """
    if "$ref" in schema:
        return type_in_words(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        parts = [type_in_words(each, definitions) for each in schema["anyOf"] if each.get("type") != "null"]
        return ", or ".join(
            "one for each name" if part == f"for each name: {parts[0]}" else part for part in parts
        )
    if "enum" in schema or "const" in schema:
        return f"one of {', '.join(str(each) for each in schema.get('enum', [schema.get('const')]))}"
    if schema.get("type") == "array":
        items = schema.get("items")
        kind = f"list of: {type_in_words(items, definitions)}" if items else "list"
    elif schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        kind = (
            f"for each name: {type_in_words(inner, definitions)}" if isinstance(inner, Mapping) else "table"
        )
    else:
        kind = _KINDS.get(str(schema.get("type")), "any value")
    bounds = " and ".join(f"{word} {schema[key]:g}" for key, word in _BOUNDS.items() if key in schema)
    return f"{kind} {bounds}".strip()


def section_of(member: type, heading: str) -> str:
    r"""The text under a heading of a class's docstring, on one line.

    Examples
    --------
    >>> section_of(type("M", (), {"__doc__": "M.\n\nPromise\n    Much\n    more.\nWeaknesses\n    None."}), "Promise")
    'Much more.'
    """
    lines = inspect.cleandoc(member.__doc__ or "").splitlines()
    if heading not in lines:
        return ""
    text = []
    for line in lines[lines.index(heading) + 1 :]:
        if line and not line.startswith(" "):
            break
        text.append(line.strip())
    return " ".join(text).strip()


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(default, tuple):
        default = list(default)
    return "optional" if default is None else f"default {default}"


def wrapped(text: str, *, indent: int) -> str:
    """Text in lines of at most a hundred letters, moved to the right."""
    return textwrap.fill(text, 100, initial_indent=" " * indent, subsequent_indent=" " * indent)
