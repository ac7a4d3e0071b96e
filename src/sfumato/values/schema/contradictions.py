"""What contradicts what among the keys of an attribute."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sfumato.errors import nearest
from sfumato.values.schema.roles import Role

if TYPE_CHECKING:
    from sfumato.values.schema.attribute import Attribute

MISSING_LABEL = "(missing)"
"""The published label of the category that stands for a missing value."""

_DOMAIN_KEYS = (
    "categories",
    "bins",
    "dates",
    "recode",
    "prefix",
    "ordered",
    "top_code",
    "bottom_code",
    "published_by",
)


def contradictions(attribute: Attribute) -> Iterable[str]:
    """A sentence for everything in an attribute that contradicts something else in it."""
    name = repr(attribute.name)
    if attribute.rows_per_unit is not None and attribute.role is not Role.UNIT:
        yield f"attribute {name}: rows_per_unit bounds the rows of a unit; the role is {attribute.role}."
    if not attribute.role.is_published:
        yield from _problems_of_withheld(attribute)
        return
    if sum(each is not None for each in (attribute.categories, attribute.bins, attribute.dates)) != 1:
        yield f"attribute {name} needs either categories or bins or dates, one of them."
        return
    yield from _problems_of_bins(attribute) if attribute.bins is not None else _problems_of_numbers(attribute)
    yield from (
        _problems_of_categories(attribute)
        if attribute.categories is not None
        else _problems_of_texts(attribute)
    )
    if attribute.learned and attribute.published_by is not None:
        yield (
            f"attribute {name} is said to be learned from the data and published by others. "
            "Remove the line that is not true."
        )
    if attribute.size < 2:
        yield (
            f"attribute {name} has fewer than two categories; it carries no information. "
            "Leave it out, or give it the categories it could have."
        )


def _problems_of_withheld(attribute: Attribute) -> Iterable[str]:
    if attribute.role is Role.IDENTIFIER:
        return
    stated = [key for key in _DOMAIN_KEYS if getattr(attribute, key) not in (None, False)]
    if stated and attribute.role is Role.WEIGHT:
        yield (
            f"attribute {attribute.name!r} is a weight, which is never published as it is: it tells the group a row was "
            f"sampled from. Take {stated[0]} out; or decide to publish it coarsened, as a quasi-identifier with bins."
        )
    elif stated:
        yield (
            f"attribute {attribute.name!r} has the role {attribute.role}, which is never published. "
            f"Take {stated[0]} out, or give it another role."
        )


def _problems_of_bins(attribute: Attribute) -> Iterable[str]:
    assert attribute.bins is not None
    if any(low >= high for low, high in itertools.pairwise(attribute.bins)):
        yield f"attribute {attribute.name!r}: bins must increase."
    if (
        attribute.top_code is not None
        and attribute.bottom_code is not None
        and not attribute.bottom_code < attribute.top_code
    ):
        yield f"attribute {attribute.name!r}: bottom_code must be below top_code."
    if attribute.thousands is not None and attribute.thousands == (attribute.decimal or "."):
        yield f"attribute {attribute.name!r}: decimal and thousands are the same mark. Give two different ones."


def _problems_of_numbers(attribute: Attribute) -> Iterable[str]:
    stated = [key for key in ("top_code", "bottom_code", "decimal", "thousands") if getattr(attribute, key)]
    if stated:
        yield f"attribute {attribute.name!r}: {stated[0]} is about numbers, so it needs bins."


def _problems_of_texts(attribute: Attribute) -> Iterable[str]:
    stated = [key for key in ("recode", "prefix", "ordered", "published_by") if getattr(attribute, key)]
    if stated == ["published_by"] or not stated:
        return
    instead = "bins and dates have an order already" if stated[0] == "ordered" else "it needs categories"
    yield f"attribute {attribute.name!r}: {stated[0]} is about categories; {instead}."


def _problems_of_categories(attribute: Attribute) -> Iterable[str]:
    name, listed = repr(attribute.name), attribute.categories or ()
    different = set(listed)
    if len(different) < len(listed):
        repeated = sorted(each for each, number in Counter(listed).items() if number > 1)
        yield f"attribute {name}: category {repeated[0]!r} is listed more than once."
    if MISSING_LABEL in different:
        yield (
            f"attribute {name}: {MISSING_LABEL!r} is the label of missing values; "
            'use missing = "category" instead of listing it.'
        )
    both = sorted({"", *attribute.missing_values} & different)
    if both:
        yield f"attribute {name}: {both[0]!r} is both a category and a missing value."
    if attribute.prefix is not None:
        if attribute.recode is not None:
            yield f"attribute {name} has both prefix and recode; give one of them."
        longer = [each for each in listed if len(each) > attribute.prefix]
        if longer:
            yield (
                f"attribute {name}: category {longer[0]!r} is longer than the {attribute.prefix} characters of prefix, "
                "so no row can have it."
            )
    yield from _problems_of_recode(attribute)


def _problems_of_recode(attribute: Attribute) -> Iterable[str]:
    if not attribute.recode:
        return
    name, listed, recode = repr(attribute.name), set(attribute.categories or ()), attribute.recode
    targets: dict[str, list[str]] = {}
    for target, values in recode.items():
        for value in values:
            targets.setdefault(value, []).append(target)
    for value, named in targets.items():
        if len(named) > 1:
            yield f"attribute {name}: recode names the value {value!r} more than once. Name it once."
        elif value in listed and value != named[0]:
            yield (
                f"attribute {name}: {value!r} is a category and recode makes it {named[0]!r}. "
                "Take it out of the categories, or out of recode."
            )
        elif value in ("", *attribute.missing_values):
            yield f"attribute {name}: {value!r} is a missing value, which recode does not see. Take it out of recode."
    unknown = [target for target in recode if target not in listed]
    if unknown:
        hint = nearest(unknown[0], attribute.categories or ())
        yield f"attribute {name}: recode makes {unknown[0]!r}, which is not among the categories; {hint}"
