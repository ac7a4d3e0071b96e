"""An attribute edited by hand: what a form says becomes the keys of its table in the schema file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.errors import SchemaError
from sfumato.values.schema import Attribute, Schema

MOST_EDITED = 1000
"""Categories that a page lists one by one; longer lists are edited in the schema file."""


def source_values(attribute: Attribute) -> tuple[tuple[str, str], ...]:
    """Values of the data and the category that each becomes, in the order of the categories.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> job = Attribute(name="job", role=Role.OTHER, categories=("a", "b"), recode={"a": ("1", "2")})
    >>> source_values(job)
    (('1', 'a'), ('2', 'a'), ('b', 'b'))
    """
    recode = attribute.recode or {}
    return tuple(
        (value, label) for label in attribute.categories or () for value in recode.get(label, (label,))
    )


def edited(attribute: Attribute, sent: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The keys of the attribute's table that a form states.

    Raises
    ------
    SchemaError
        When edges are no numbers. What contradicts itself is found when a schema is made of them.
    """
    fields = attribute.to_fields()
    if "role" in sent:
        fields["role"] = sent["role"][0]
    if "bins" in sent:
        _take_bins(fields, sent)
    if "dates-shown" in sent:
        fields["dates"] = _dates(sent)
    if "becomes" in sent:
        known, typed = source_values(attribute), sent["becomes"]
        if len(known) != len(typed):
            raise SchemaError(
                "becomes: the form names another number of values than the schema has. Draw it anew."
            )
        becomes = [
            # Browsers take line breaks out of what they show: what nobody changed is what it was.
            label if _one_line(text) == _one_line(label) else text.strip() or value
            for (value, label), text in zip(known, typed, strict=True)
        ]
        fields |= categories_of([value for value, _ in known], becomes, sent.get("place", ()))
    _take_words(fields, sent)
    return {name: value for name, value in fields.items() if value not in (None, False, {})}


def _take_words(fields: dict[str, Any], sent: Mapping[str, Sequence[str]]) -> None:
    """Categories that are added, switches, and texts for readers."""
    added = [line.strip() for line in "\n".join(sent.get("added", ())).splitlines() if line.strip()]
    if added:
        fields["categories"] = [*fields.get("categories", ()), *added]
    for switch in ("ordered", "learned"):
        if f"{switch}-shown" in sent:
            fields[switch] = switch in sent
    for name in ("missing", "description", "measured_in"):
        if name in sent:
            fields[name] = sent[name][0].strip() or None


def _take_bins(fields: dict[str, Any], sent: Mapping[str, Sequence[str]]) -> None:
    texts = sent["bins"][0].replace(";", ",").split(",")
    fields["bins"] = [_number(text, "bins") for text in texts if text.strip()]
    for name in ("top_code", "bottom_code"):
        text = (sent.get(name) or [""])[0].strip()
        fields[name] = _number(text, name) if text else None


def _dates(sent: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Periods or edges of a column of dates, whichever was chosen."""
    told = {
        name: (sent.get(f"dates.{name}") or [""])[0].strip() for name in ("by", "first", "last", "format")
    }
    edges = [text.strip() for text in (sent.get("dates.edges") or [""])[0].replace(";", ",").split(",")]
    if told["by"]:
        return {name: text for name, text in told.items() if text}
    stated: dict[str, Any] = {"edges": [text for text in edges if text]}
    return {**stated, "format": told["format"]} if told["format"] else stated


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SchemaError(
            f"{name}: edges are numbers separated by commas, such as 17, 25, 35. Correct them."
        ) from None


def categories_of(values: Sequence[str], becomes: Sequence[str], places: Sequence[str]) -> dict[str, Any]:
    """Categories and mapping from a list of values, what each becomes, and its place in the order.

    Examples
    --------
    >>> categories_of(["a", "b", "c"], ["a", "other", "other"], ["2", "1", "1"])
    {'categories': ['other', 'a'], 'recode': {'other': ['b', 'c']}}
    """
    rows = [(_place(places, number), value, becomes[number]) for number, value in enumerate(values)]
    groups: dict[str, list[str]] = {}
    for _, value, label in sorted(rows, key=lambda row: row[0]):
        groups.setdefault(label, []).append(value)
    recode = {label: members for label, members in groups.items() if members != [label]}
    return {"categories": list(groups), "recode": recode}


def _one_line(text: str) -> str:
    return text.replace("\r", "").replace("\n", "")


def _place(places: Sequence[str], number: int) -> float:
    try:
        return float(places[number])
    except (ValueError, IndexError):
        return float(number)


def with_attribute(schema: Schema, name: str, fields: Mapping[str, Any]) -> Schema:
    """The schema with another table for one attribute.

    Raises
    ------
    SchemaError
        When it contradicts itself.
    """
    content = schema.to_dict()
    content["attributes"] = {**content["attributes"], name: dict(fields)}
    return Schema.from_dict(content)
