"""Every number that somebody may state has a lower and an upper end where it is declared."""

from __future__ import annotations

import pytest

from sfumato import METHODS
from sfumato.attacks import ATTACKS
from sfumato.guarantees import GUARANTEES
from sfumato.laws import LAWS

FAMILIES = {"methods": METHODS, "attacks": ATTACKS, "laws": LAWS, "guarantees": GUARANTEES}
MEMBERS = [(family, name) for family, members in FAMILIES.items() for name in members.members]

CHECKED_ELSEWHERE = {
    "matrix": "a distortion matrix's rows must be probabilities",
    "distortions": "a distortion matrix's rows must be probabilities",
    "distortion": "a distortion matrix's rows must be probabilities",
    "column_budget": "at most the number of columns of the table",
    "attributes": "edges of bins may be any numbers, and codes are of the lists beside them",
    "covers": "codes must be of the attribute",
    "epsilon": "follows from a law; what is stated beside a law is recomputed from it",
    "epsilon_by_attribute": "follows from a law; what is stated beside a law is recomputed from it",
    "gamma_by_attribute": "follows from a law; what is stated beside a law is recomputed from it",
}
"""Fields whose numbers are held against something else than two numbers."""


def open_ended(schema, defined, place=()):
    """Places of numbers without a lower or an upper end."""
    if "$ref" in schema:
        schema = defined[schema["$ref"].rsplit("/", 1)[-1]]
    if schema.get("type") in ("integer", "number") and "const" not in schema and "enum" not in schema:
        has_low = {"minimum", "exclusiveMinimum"} & schema.keys()
        has_high = {"maximum", "exclusiveMaximum"} & schema.keys()
        if not (has_low and has_high):
            yield place
    for name, inner in schema.get("properties", {}).items():
        yield from open_ended(inner, defined, (*place, name))
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from open_ended(schema[key], defined, (*place, key))
    for inner in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("prefixItems", ())):
        yield from open_ended(inner, defined, place)


@pytest.mark.parametrize(("family", "name"), MEMBERS, ids=str)
def test_numbers_have_two_ends(family, name):
    """Beyond them arithmetic or memory would end, and the fault would be ours."""
    schema = FAMILIES[family].get(name).model_json_schema()
    found = set(open_ended(schema, schema.get("$defs", {})))
    unforeseen = {each for each in found if each[0] not in CHECKED_ELSEWHERE}
    assert not unforeseen
    if family in ("methods", "attacks"):
        assert not {each for each in found if "epsilon" in each[0] or "gamma" in each[0]}


def test_an_open_end_is_seen():
    """The test's own eyes."""
    assert list(open_ended({"properties": {"k": {"type": "integer", "minimum": 1}}}, {})) == [("k",)]
