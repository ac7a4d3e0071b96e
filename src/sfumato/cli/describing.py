"""Members of a family in words: what they do, and every parameter with type, bounds, default, help."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

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
