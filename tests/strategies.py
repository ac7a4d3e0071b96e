"""Hypothesis strategies for the values that flow: attributes, schemas, selections, counts.

The pytest setting ``pythonpath`` lets any test write ``from strategies import schemas``.
"""

from __future__ import annotations

import string
from collections.abc import Collection

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as array_strategies

from sfumato.estimates.counts import CountTable
from sfumato.query.selection import Selection
from sfumato.schema import MISSING_LABEL, Attribute, Role, Schema

PUBLISHABLE_ROLES = tuple(role for role in Role if role.is_published)
"""Roles whose attributes may stand in a release."""

KEYWORDS = ("and", "OR", "Not", "in", "IS", "missing", "Between", "null")
AWKWARD_TEXTS = (
    "",
    " ",
    "'",
    "''",
    '"',
    '""',
    "a'b",
    "39",
    "-1.50",
    "Straße",
    "日本",
    "\n",
    "\\",
    "?",
)
"""Texts that a careless quoting, trimming or number reading would change."""


def names() -> st.SearchStrategy[str]:
    """Attribute names: plain words, words of the query language, and any other text."""
    plain = st.text(string.ascii_letters + string.digits + "_.-", min_size=1, max_size=8)
    anything = st.text(min_size=1, max_size=8)
    return st.one_of(plain, st.sampled_from(KEYWORDS), anything)


def labels() -> st.SearchStrategy[str]:
    """Category texts; never empty, which means missing, nor the label kept for it."""
    return st.one_of(st.sampled_from(AWKWARD_TEXTS), st.text(max_size=8)).filter(
        lambda text: text not in ("", MISSING_LABEL)
    )


def bin_edges(*, max_bins: int = 6) -> st.SearchStrategy[tuple[float, ...]]:
    """Increasing edges, whole numbers or sixteenths, few digits so that labels stay distinct."""
    scale = st.sampled_from((1.0, 16.0))
    edges = st.lists(st.integers(-2000, 2000), min_size=3, max_size=max_bins + 1, unique=True)
    return st.builds(lambda divisor, drawn: tuple(edge / divisor for edge in sorted(drawn)), scale, edges)


@st.composite
def attributes(
    draw: st.DrawFn,
    *,
    roles: Collection[Role] = PUBLISHABLE_ROLES,
    max_categories: int = 6,
    binned: bool | None = None,
) -> Attribute:
    """One attribute; ``binned`` asks for intervals (True), listed categories (False) or either."""
    role = draw(st.sampled_from(sorted(roles)))
    name = draw(names())
    if role is Role.IDENTIFIER:
        return Attribute(name=name, role=role)
    missing = draw(st.sampled_from(("error", "category")))
    if draw(st.booleans()) if binned is None else binned:
        bins = draw(bin_edges(max_bins=max_categories - 2))
        top = draw(st.none() | st.just(bins[-1]) | st.just(bins[-2]))
        bottom = draw(st.none() | st.just(bins[0]) | st.just(bins[0] - 1))
        return Attribute(name=name, role=role, bins=bins, missing=missing, top_code=top, bottom_code=bottom)
    categories = draw(st.lists(labels(), min_size=2, max_size=max_categories, unique=True))
    empty_texts = draw(st.lists(labels() | st.just(MISSING_LABEL), max_size=2, unique=True))
    return Attribute(
        name=name,
        role=role,
        categories=tuple(categories),
        missing=missing,
        ordered=draw(st.booleans()),
        missing_values=tuple(text for text in empty_texts if text not in categories),
    )


@st.composite
def schemas(
    draw: st.DrawFn,
    *,
    min_attributes: int = 1,
    max_attributes: int = 4,
    max_categories: int = 6,
    with_identifiers: bool = False,
) -> Schema:
    """A schema of publishable attributes, and one more identifier when asked for."""
    drawn = draw(
        st.lists(
            attributes(max_categories=max_categories),
            min_size=min_attributes,
            max_size=max_attributes,
            unique_by=lambda attribute: attribute.name,
        )
    )
    if with_identifiers:
        taken = {attribute.name for attribute in drawn}
        name = draw(names().filter(lambda text: text not in taken))
        place = draw(st.integers(0, len(drawn)))
        drawn.insert(place, Attribute(name=name, role=Role.IDENTIFIER))
    return Schema(attributes=tuple(drawn))


@st.composite
def selections(draw: st.DrawFn, schema: Schema) -> Selection:
    """Any selection over a schema, conditions with no code and with every code included."""
    known = schema.publishable.attributes
    mentioned = draw(st.lists(st.sampled_from(known), unique_by=lambda attribute: attribute.name))
    return Selection(
        tuple(
            (attribute.name, tuple(sorted(draw(st.sets(st.integers(0, attribute.size - 1))))))
            for attribute in mentioned
        )
    )


@st.composite
def count_tables(
    draw: st.DrawFn, schema: Schema, *, max_axes: int = 3, max_count: int = 1_000_000
) -> CountTable:
    """Counts over some attributes of a schema, in any order; one cell when none is drawn."""
    known = schema.publishable.attributes
    axes = draw(
        st.lists(st.sampled_from(known), max_size=max_axes, unique_by=lambda attribute: attribute.name)
    )
    shape = tuple(attribute.size for attribute in axes)
    cells = st.integers(0, max_count)
    return CountTable(tuple(axes), draw(array_strategies.arrays(np.int64, shape, elements=cells)))
