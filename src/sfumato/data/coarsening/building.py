"""Hierarchies built for numbers and categories, read from files, and the forms a design states them in."""

from __future__ import annotations

import csv
import heapq
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy.typing as npt
from pydantic import Field

from sfumato.data.coarsening.hierarchy import (
    ROOT,
    Hierarchy,
    hierarchy_from_paths,
    hierarchy_from_tree,
    members_of_labels,
)
from sfumato.errors import SchemaError
from sfumato.frozen import Frozen
from sfumato.values.bounds import MOST_CATEGORIES
from sfumato.values.schema import MISSING_LABEL, Attribute, Schema
from sfumato.values.schema.intervals import interval_label
from sfumato.values.structured_text import parse_json, parse_toml

LONGEST_LABEL = 48
"""Characters up to which a built group's label lists all its members."""

Fanout = Annotated[int, Field(strict=True, ge=2, le=MOST_CATEGORIES)]


class TreeForm(Frozen):
    """A hierarchy stated as a tree."""

    tree: dict[str, Any]

    def build(self, attribute: Attribute) -> Hierarchy:
        """The hierarchy of an attribute."""
        return hierarchy_from_tree(attribute, self.tree)


class PathsForm(Frozen):
    """A hierarchy stated by the labels above every category, as ARX's files do."""

    paths: dict[str, tuple[str, ...]]

    def build(self, attribute: Attribute) -> Hierarchy:
        """The hierarchy of an attribute."""
        return hierarchy_from_paths(attribute, self.paths)


class FanoutForm(Frozen):
    """Blocks of neighbouring categories, then blocks of blocks."""

    fanout: Fanout

    def build(self, attribute: Attribute) -> Hierarchy:
        """The hierarchy of an attribute."""
        return balanced_hierarchy(attribute, self.fanout)


class WidthsForm(Frozen):
    """Intervals of growing widths over a numeric attribute."""

    widths: Annotated[tuple[Annotated[float, Field(gt=0, le=1e300)], ...], Field(min_length=1)]

    def build(self, attribute: Attribute) -> Hierarchy:
        """The hierarchy of an attribute."""
        return interval_hierarchy(attribute, self.widths)


class FrequencyForm(Frozen):
    """Rare categories merged first, by the counts of the private table."""

    frequency_fanout: Fanout

    def build_from(self, attribute: Attribute, counts: Sequence[float] | npt.NDArray[Any]) -> Hierarchy:
        """The hierarchy of an attribute, from its counts."""
        return frequency_hierarchy(attribute, counts, self.frequency_fanout)


class OrderedForm(Frozen):
    """No tree: any run of neighbouring categories may stand for a value."""

    ordered: Literal[True]


HierarchyForm = TreeForm | PathsForm | FanoutForm | WidthsForm | FrequencyForm | OrderedForm
"""How a design may state the hierarchy of an attribute."""


def stated_hierarchies(forms: Mapping[str, HierarchyForm], schema: Schema) -> dict[str, Hierarchy]:
    """The hierarchies of attributes whose form needs no private counts and is a tree."""
    return {
        name: form.build(schema[name])
        for name, form in forms.items()
        if not isinstance(form, FrequencyForm | OrderedForm)
    }


def read_hierarchy_form(path: str | Path) -> TreeForm | PathsForm:
    """Read a hierarchy file: a tree as ``.toml`` or ``.json``, or ARX's form as ``.csv``.

    In ARX's form each line holds a category and the labels above it, from the finest to the coarsest,
    separated by semicolons (or commas, where the first line has no semicolon).

    Raises
    ------
    SchemaError
        When the file cannot be read as what its name says.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "sex.csv"
    ...     _ = file.write_text("F;*" + chr(10) + "M;*" + chr(10))
    ...     read_hierarchy_form(file)
    PathsForm(paths={'F': ('*',), 'M': ('*',)})
    """
    file = Path(path)
    if file.exists() and not file.is_file():
        raise SchemaError(f"the hierarchy file {file.name!r} is a folder, a pipe or a device. Name a file.")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SchemaError(f"cannot read the hierarchy file {file.name!r}: {reason}.") from None
    try:
        match file.suffix.lower():
            case ".toml":
                return TreeForm(tree=parse_toml(text))
            case ".json":
                return TreeForm(tree=parse_json(text))
            case ".csv":
                return _read_paths(text, file.name)
    except ValueError as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(
            f"the hierarchy file {file.name!r} is not valid {file.suffix[1:].upper()}."
        ) from None
    raise SchemaError(
        f"the hierarchy file {file.name!r} has an unknown kind. Use .csv for ARX's form, .toml or .json for a tree."
    )


def _read_paths(text: str, name: str) -> PathsForm:
    first = text.partition("\n")[0]
    lines = csv.reader(text.splitlines(), delimiter=";" if ";" in first else ",")
    rows = [row for row in lines if any(cell.strip() for cell in row)]
    twice = len(rows) - len({row[0] for row in rows})
    if twice:
        raise SchemaError(
            f"the hierarchy file {name!r} has {twice} categories on more than one line. "
            "A category has one line, and so one parent; remove the others."
        )
    return PathsForm(paths={row[0]: tuple(row[1:]) for row in rows})


def flat_hierarchy(attribute: Attribute) -> Hierarchy:
    """Every category right below the root: keep a value, or say nothing of it.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> sex = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M"))
    >>> flat_hierarchy(sex).to_tree()
    {'*': ['F', 'M']}
    """
    return _from_levels(attribute, [])


def balanced_hierarchy(attribute: Attribute, fanout: int) -> Hierarchy:
    """Blocks of ``fanout`` neighbours in code order, then blocks of blocks, up to the root.

    Missing values of an ordered attribute stay apart until the root.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> age = Attribute(name="age", role=Role.QUASI_IDENTIFIER, bins=(0, 5, 10, 15, 20, 25))
    >>> balanced_hierarchy(age, 2).to_tree()
    {'*': {'[0,20)': {'[0,10)': ['[0,5)', '[5,10)'], '[10,20)': ['[10,15)', '[15,20)']}, '[20,25)': []}}
    """
    _require_fanout(attribute, fanout)
    inside = attribute.size - (attribute.is_ordered and attribute.missing_code is not None)
    levels = []
    width = fanout
    while width < inside:
        groups: list[int | None] = [code // width for code in range(inside)]
        levels.append(groups + [None] * (attribute.size - inside))
        width *= fanout
    return _from_levels(attribute, levels)


def interval_hierarchy(attribute: Attribute, widths: Sequence[float]) -> Hierarchy:
    """Intervals of growing widths, aligned to 0, for a numeric attribute; open-ended bins stay apart until the root.

    Parameters
    ----------
    attribute
        With bins, or with categories that are numbers.
    widths
        Of the levels above the categories, each a multiple of the one before.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> age = Attribute(name="age", role=Role.QUASI_IDENTIFIER, categories=("18", "19", "20"))
    >>> interval_hierarchy(age, [5, 10]).to_tree()
    {'*': {'[10,20)': {'[15,20)': ['18', '19']}, '[20,30)': {'[20,25)': ['20']}}}
    """
    ends = _ends(attribute)
    problems = [
        f"widths of {attribute.name!r} must grow, each a multiple of the one before, got {narrow:.15g} "
        f"then {wide:.15g}. Use widths such as 5, 10, 20."
        for narrow, wide in itertools.pairwise([0.0, *widths])
        if wide <= narrow or (narrow > 0 and not math.isclose(wide / narrow, round(wide / narrow)))
    ]
    problems += [
        f"an interval of width {width:.15g} cuts through {sum(_is_cut(low, high, width) for low, high in ends)} "
        f"bins of {attribute.name!r}. Use a multiple of the bins' widths, or bins that end at its multiples."
        for width in widths
        if not problems and any(_is_cut(low, high, width) for low, high in ends)
    ]
    if problems:
        raise SchemaError(problems)
    missing: list[int | None] = [None] * (attribute.size - len(ends))
    levels = [
        [math.floor(low / width) if math.isfinite(high - low) else None for low, high in ends] + missing
        for width in widths
    ]

    def label(level: int, codes: Sequence[int]) -> str:
        start = math.floor(ends[codes[0]][0] / widths[level]) * widths[level]
        return f"[{start:.15g},{start + widths[level]:.15g})"

    return _from_levels(attribute, levels, label)


def frequency_hierarchy(
    attribute: Attribute, counts: Sequence[float] | npt.NDArray[Any], fanout: int
) -> Hierarchy:
    """Rare categories are merged first, so that frequent ones stay apart longest (a Huffman tree).

    Counts that come from private rows make the hierarchy depend on them; a manifest must say so.

    Parameters
    ----------
    attribute
        Whose categories to group.
    counts
        ``(size,)`` how frequent each category is.
    fanout
        Largest number of children of a node.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> job = Attribute(name="job", role=Role.QUASI_IDENTIFIER, categories=("a", "b", "c", "d"))
    >>> frequency_hierarchy(job, [100, 2, 30, 1], 2).to_tree()
    {'*': {'a': [], 'b or c or d': {'b or d': ['b', 'd'], 'c': []}}}
    """
    _require_fanout(attribute, fanout)
    if len(counts) != attribute.size:
        raise SchemaError(f"attribute {attribute.name!r} needs {attribute.size} counts, got {len(counts)}.")
    waiting: list[tuple[float, int, tuple[int, ...]]] = [
        (float(count), code, (code,)) for code, count in enumerate(counts)
    ]
    heapq.heapify(waiting)
    tree: dict[tuple[int, ...], Any] = {(code,): {} for code in range(attribute.size)}
    # The first merge takes just as many as make all later ones, the root's too, full.
    take = (attribute.size - 2) % (fanout - 1) + 2
    while len(waiting) > take:
        parts = [heapq.heappop(waiting) for _ in range(take)]
        codes = tuple(sorted(code for part in parts for code in part[2]))
        heapq.heappush(waiting, (sum(part[0] for part in parts), codes[0], codes))
        tree[codes] = {
            group_label(attribute, part[2]): tree.pop(part[2])
            for part in sorted(parts, key=lambda part: part[2])
        }
        take = fanout
    return hierarchy_from_tree(
        attribute, {ROOT: {group_label(attribute, codes): tree[codes] for codes in sorted(tree)}}
    )


def group_label(attribute: Attribute, codes: Sequence[int]) -> str:
    """Text for some categories together.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> age = Attribute(name="age", role=Role.QUASI_IDENTIFIER, bins=(0, 5, 10, 15), missing="category")
    >>> group_label(age, [0, 1]), group_label(age, [2, 3])
    ('[0,10)', '[10,15) or (missing)')
    """
    stated = [code for code in codes if code != attribute.missing_code]
    suffix = f" or {MISSING_LABEL}" if len(stated) < len(codes) and stated else ""
    if len(codes) == 1:
        return attribute.labels[codes[0]]
    edges = attribute.edges
    if edges is not None and stated[-1] - stated[0] + 1 == len(stated):
        return f"{interval_label(edges[stated[0]], edges[stated[-1] + 1])}{suffix}"
    whole = " or ".join(attribute.labels[code] for code in codes)
    if len(whole) <= LONGEST_LABEL:
        return whole
    return f"{attribute.labels[codes[0]]} to {attribute.labels[codes[-1]]} ({len(codes)} categories)"


def _require_fanout(attribute: Attribute, fanout: int) -> None:
    if fanout < 2:
        raise SchemaError(
            f"the fanout of the hierarchy of {attribute.name!r} must be 2 or more, got {fanout}. Try 2 or 4."
        )


def _ends(attribute: Attribute) -> list[tuple[float, float]]:
    """Ends of every bin, or the number twice where a category is one; missing values left out."""
    if attribute.edges is not None:
        return list(itertools.pairwise(attribute.edges))
    stated = attribute.labels[: attribute.size - (attribute.missing_code is not None)]
    try:
        numbers = [float(label) for label in stated]
    except ValueError:
        raise SchemaError(
            f"attribute {attribute.name!r} has categories that are not numbers, so widths mean nothing. "
            "State a tree, or a fanout."
        ) from None
    return [(number, number) for number in numbers]


def _is_cut(low: float, high: float, width: float) -> bool:
    """Whether a bin reaches beyond the interval that its lower end is in."""
    return math.isfinite(high - low) and high > low and high > (math.floor(low / width) + 1) * width


def _from_levels(
    attribute: Attribute,
    levels: Sequence[Sequence[int | None]],
    label: Callable[[int, Sequence[int]], str] | None = None,
) -> Hierarchy:
    """A hierarchy from group numbers of every category at each level; None is in no group before the root."""
    made = [attribute.labels]
    taken: dict[str, tuple[int, ...]] = {text: (code,) for code, text in enumerate(attribute.labels)}
    taken[ROOT] = tuple(range(attribute.size))
    for number, level in enumerate(levels):
        texts = list(attribute.labels)
        for group, codes in members_of_labels([str(group) for group in level]).items():
            if group == str(None):
                continue
            text = label(number, codes) if label else group_label(attribute, codes)
            # A group's text may happen to be that of something else; its level keeps them apart.
            if taken.setdefault(text, codes) != codes:
                text = f"{text} (level {number + 1})"
            for code in codes:
                texts[code] = text
        made.append(tuple(texts))
    return Hierarchy(attribute=attribute.name, levels=(*made, (ROOT,) * attribute.size))
