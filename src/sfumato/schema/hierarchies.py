"""Generalization hierarchies: built for numbers and categories, or read from files."""

from __future__ import annotations

import csv
import heapq
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from sfumato.arrays import Integers
from sfumato.errors import ParameterError, SchemaError
from sfumato.immutable import MOST_CATEGORIES, Frozen
from sfumato.schema.attribute import MISSING_LABEL, Attribute, interval_label
from sfumato.schema.schema import Schema
from sfumato.text import listed, parse_json, parse_toml

# --------------------------------------------------------------------------------------------------
# Generalization hierarchies: which coarser values may stand for the categories of one attribute.
#
# A hierarchy is a tree. Its leaves are *all* categories of the attribute, in code order, so that every
# value that could appear can be generalized; its root stands for "any value". Built for numbers
# or categories in ``hierarchy_building``, or stated here as a tree or as paths from the leaves.


ROOT = "*"
"""Label of the node that stands for any value, unless a category is called so (:func:`root_beside`)."""

Tree = Mapping[str, Any]
"""A label to its children: a mapping of the same kind, or a list of leaves; empty for a leaf."""


class Hierarchy(Frozen):
    """A tree over the categories of one attribute, cut into levels.

    Parameters
    ----------
    attribute
        Name of the attribute.
    levels
        For each level, the label that stands for every category, in code order. The first level is the
        categories themselves; in the last, one label stands for all. A label that appears at several
        levels is one node.

    Examples
    --------
    >>> from sfumato.schema import Role
    >>> work = Attribute(name="work", role=Role.QUASI_IDENTIFIER, categories=("state", "city", "own"))
    >>> hierarchy = hierarchy_from_tree(work, {"government": ["state", "city"], "own": []})
    >>> hierarchy.levels[1]
    ('government', 'government', 'own')
    >>> print(hierarchy.to_text_tree())
    *
    ├── government
    │   ├── state
    │   └── city
    └── own
    """

    attribute: str
    levels: Annotated[tuple[tuple[str, ...], ...], Field(min_length=2)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        name = repr(self.attribute)
        if any(len(level) != self.size for level in self.levels):
            raise ValueError(f"every level of the hierarchy of {name} needs a label for each category.")
        if len(set(self.levels[0])) != self.size or len(set(self.levels[-1])) != 1:
            raise ValueError(
                f"the hierarchy of {name} must begin with all categories and end with one label."
            )
        covers: dict[str, tuple[int, ...]] = {}
        for level in self.levels:
            for label, codes in members_of_labels(level).items():
                if covers.setdefault(label, codes) != codes:
                    raise ValueError(f"a label of the hierarchy of {name} stands for different categories.")
        for finer, coarser in itertools.pairwise(self.levels):
            if len(set(zip(finer, coarser, strict=True))) != len(set(finer)):
                raise ValueError(f"a node of the hierarchy of {name} has two parents.")
        return self

    @property
    def size(self) -> int:
        """Number of leaves: the categories of the attribute."""
        return len(self.levels[0])

    @property
    def height(self) -> int:
        """Number of the last level, at which every value is the root."""
        return len(self.levels) - 1

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Texts of all nodes: first the leaves in code order, the root last."""
        return tuple(dict.fromkeys(itertools.chain.from_iterable(self.levels)))

    @property
    def root(self) -> int:
        """Position of the root among the nodes."""
        return len(self.labels) - 1

    def level(self, number: int) -> Integers:
        """Node that stands for every category at a level, from 0 to :attr:`height`, ``(size,)``."""
        if not 0 <= number <= self.height:
            raise ParameterError(
                f"the hierarchy of {self.attribute!r} has levels 0 to {self.height}, got {number}. "
                "Choose one of them.",
                parameter=f"levels.{self.attribute}",
            )
        position = {label: place for place, label in enumerate(self.labels)}
        return np.array([position[label] for label in self.levels[number]], dtype=np.int64)

    @cached_property
    def covers(self) -> tuple[tuple[int, ...], ...]:
        """Codes of the categories below every node, increasing."""
        found: dict[str, tuple[int, ...]] = {}
        for level in self.levels:
            found.update(members_of_labels(level))
        return tuple(found[label] for label in self.labels)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Children of every node, by the first category they cover; empty for leaves."""
        position = {label: place for place, label in enumerate(self.labels)}
        found: list[set[int]] = [set() for _ in self.labels]
        for finer, coarser in itertools.pairwise(self.levels):
            for below, above in zip(finer, coarser, strict=True):
                if below != above:
                    found[position[above]].add(position[below])
        return tuple(tuple(sorted(each, key=lambda node: self.covers[node][0])) for each in found)

    def to_tree(self) -> dict[str, Any]:
        """The hierarchy as nested mappings, which :func:`hierarchy_from_tree` reads."""
        return {self.labels[self.root]: self._branch(self.root)}

    def _branch(self, node: int) -> Any:
        below = self.children[node]
        if all(not self.children[each] for each in below):
            return [self.labels[each] for each in below]
        return {self.labels[each]: self._branch(each) for each in below}

    def to_text_tree(self) -> str:
        """The hierarchy drawn with lines, one node on each."""
        return "\n".join([self.labels[self.root], *self._lines(self.root, "")])

    def _lines(self, node: int, indent: str) -> Iterator[str]:
        below = self.children[node]
        for place, each in enumerate(below):
            is_last = place == len(below) - 1
            yield f"{indent}{'└── ' if is_last else '├── '}{self.labels[each]}"
            yield from self._lines(each, indent + ("    " if is_last else "│   "))


def root_beside(labels: Iterable[str]) -> str:
    """Label of a root that is none of the labels: as many ``*`` as that takes.

    Examples
    --------
    >>> root_beside(["F", "M"]), root_beside(["*", "M"])
    ('*', '**')
    """
    root, taken = ROOT, set(labels)
    while root in taken:
        root += ROOT
    return root


def members_of_labels(level: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Codes that share each label of a level."""
    found: dict[str, list[int]] = {}
    for code, label in enumerate(level):
        found.setdefault(label, []).append(code)
    return {label: tuple(codes) for label, codes in found.items()}


def hierarchy_from_tree(attribute: Attribute, tree: Tree) -> Hierarchy:
    """A hierarchy from nested mappings, checked to hold every category exactly once.

    Parameters
    ----------
    attribute
        Whose categories the leaves are. A category of missing values that the tree does not name is put
        below the root.
    tree
        Labels to their children. A single label at the top is the root; several get the root ``*``.

    Raises
    ------
    SchemaError
        With every problem: categories missing, unknown leaves, labels with two parents. Where the
        categories were learned from private data they are listed by position, not by value.
    """
    top = dict(tree)
    if len(top) != 1 or not _children(next(iter(top.values()))):
        top = {root_beside(attribute.labels): top}
    root_label, branches = next(iter(top.items()))
    paths = list(_walk(branches, (root_label,)))
    problems = list(_problems(attribute, root_label, paths))
    if problems:
        raise SchemaError(problems)
    if attribute.missing_code is not None and MISSING_LABEL not in {path[-1] for path, _ in paths}:
        paths.append(((root_label, MISSING_LABEL), True))
    leaves = {path[-1]: path for path, is_leaf in paths if is_leaf}
    height = max(len(path) for path in leaves.values()) - 1
    # Counted from the root, so that each level is a partition: a leaf nearer to the root than others
    # stays as it is until their common level.
    levels = tuple(
        tuple(leaves[label][min(depth, len(leaves[label]) - 1)] for label in attribute.labels)
        for depth in range(height, -1, -1)
    )
    return Hierarchy(attribute=attribute.name, levels=levels)


def hierarchy_from_paths(attribute: Attribute, paths: Mapping[str, Sequence[str]]) -> Hierarchy:
    """A hierarchy from every category's labels at levels 1, 2, ...: the form of ARX's files.

    Raises
    ------
    SchemaError
        As :func:`hierarchy_from_tree`, and when categories have different numbers of levels.

    Examples
    --------
    >>> from sfumato.schema import Role
    >>> sex = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M"))
    >>> hierarchy_from_paths(sex, {"F": ["*"], "M": ["*"]}).height
    1
    """
    height = max((len(path) for path in paths.values()), default=0)
    uneven = [
        code for code, label in enumerate(attribute.labels) if label in paths and len(paths[label]) != height
    ]
    if not height:
        raise SchemaError(
            f"the hierarchy of {attribute.name!r} states no label above any category. Give every category the labels "
            "above it, from the finest to the coarsest."
        )
    if uneven:
        raise SchemaError(
            f"the hierarchy of {attribute.name!r} has fewer levels for {len(uneven)} categories than for others: "
            f"{_listed(attribute, uneven)}. Repeat a label where nothing changes."
        )
    known = dict(paths)
    top = next(iter(known.values()))[-1]
    if attribute.missing_code is not None and MISSING_LABEL not in known:
        known[MISSING_LABEL] = [*[MISSING_LABEL] * (height - 1), top]
    tree: dict[str, Any] = {}
    for label, above in known.items():
        branch = tree
        # From the top down; a label repeated from one level to the next is one node.
        for each, _ in itertools.groupby(reversed([label, *above])):
            branch = branch.setdefault(each, {})
    checked = hierarchy_from_tree(attribute, tree)
    levels = [[label, *known[label]] for label in attribute.labels]
    if len({level[-1] for level in levels}) > 1:
        levels = [[*level, checked.levels[-1][0]] for level in levels]
    return Hierarchy(attribute=attribute.name, levels=tuple(zip(*levels, strict=True)))


def hierarchy_from_covers(
    attribute: Attribute, labels: Sequence[str], covers: Sequence[Sequence[int]]
) -> Hierarchy | None:
    """The tree that some published values form over the categories; None where they form none.

    They form a tree when of any two values that share a category one stands for all that the other does.
    Intervals that were cut in different places overlap, and form none.

    Parameters
    ----------
    attribute
        Whose categories the leaves are.
    labels, covers
        Text of every value, and the codes of the categories that it stands for.

    Examples
    --------
    >>> from sfumato.schema import Role
    >>> work = Attribute(name="work", role=Role.QUASI_IDENTIFIER, categories=("state", "city", "own"))
    >>> print(hierarchy_from_covers(work, ["government", "own"], [(0, 1), (2,)]).to_text_tree())
    *
    ├── government
    │   ├── state
    │   └── city
    └── own
    >>> hierarchy_from_covers(work, ["first two", "last two"], [(0, 1), (1, 2)]) is None
    True
    """
    groups = {
        frozenset(cover): label
        for label, cover in zip(labels, covers, strict=True)
        # A value for one category that is named like it is the category itself.
        if len(cover) > 1 or label != attribute.labels[cover[0]]
    }
    whole = frozenset(range(attribute.size))
    root = groups.pop(whole, root_beside(attribute.labels))
    are_nested = all(a.isdisjoint(b) or a < b or b < a for a, b in itertools.combinations(groups, 2))
    texts = [root, *groups.values(), *attribute.labels]
    if not are_nested or len(set(texts)) < len(texts):
        return None
    return hierarchy_from_tree(attribute, {root: _nested(attribute, whole, groups)})


def _nested(
    attribute: Attribute, codes: frozenset[int], groups: Mapping[frozenset[int], str]
) -> dict[str, Any]:
    """Branches of a node: its largest groups, and the categories in none of them, in code order."""
    inside = {each: label for each, label in groups.items() if each < codes}
    largest = [each for each in inside if not any(each < other for other in inside)]
    loose = codes.difference(*largest)
    children = sorted([*largest, *(frozenset((code,)) for code in loose)], key=min)
    return {
        inside[each] if each in inside else attribute.labels[min(each)]: _nested(attribute, each, inside)
        if each in inside
        else {}
        for each in children
    }


def _children(branch: Any) -> list[tuple[str, Any]]:
    if isinstance(branch, Mapping):
        return list(branch.items())
    if isinstance(branch, Sequence) and not isinstance(branch, str):
        return [(str(leaf), ()) for leaf in branch]
    raise SchemaError("a branch of a hierarchy is a list of categories or a table of branches.")


def _walk(branch: Any, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Paths from the root to every node, and whether it is a leaf."""
    for label, below in _children(branch):
        path = (*above, label)
        yield path, not _children(below)
        yield from _walk(below, path)


def _problems(attribute: Attribute, root: str, paths: list[tuple[tuple[str, ...], bool]]) -> Iterator[str]:
    name = repr(attribute.name)
    uses = Counter([root, *(path[-1] for path, _ in paths)])
    leaves = {path[-1] for path, is_leaf in paths if is_leaf}
    labels = frozenset(attribute.labels)
    absent = [
        code
        for code, label in enumerate(attribute.labels)
        if label not in leaves and code != attribute.missing_code
    ]
    if absent:
        yield (
            f"the hierarchy of {name} misses {len(absent)} of {attribute.size} categories: "
            f"{_listed(attribute, absent)}. Every category needs a place; add them."
        )
    unknown = len(leaves - labels)
    if unknown:
        yield (
            f"the hierarchy of {name} has {unknown} leaves that are no category of the attribute. "
            "Remove them, or add them to the schema."
        )
    double = [code for code, label in enumerate(attribute.labels) if uses[label] > 1]
    if double:
        yield (
            f"the hierarchy of {name} has two parents for {len(double)} categories: "
            f"{_listed(attribute, double)}. Give each one parent."
        )
    groups = [label for label, times in uses.items() if times > 1 and label not in labels]
    if groups:
        shown = "" if attribute.learned else f": {listed([repr(each) for each in groups])}"
        yield (
            f"the hierarchy of {name} uses {len(groups)} group labels in two places{shown}. "
            "Give each group one parent, or different labels."
        )


def _listed(attribute: Attribute, codes: Sequence[int]) -> str:
    """Public categories by name, learned ones by their position (1 is the first)."""
    if attribute.learned:
        return f"positions {listed([str(code + 1) for code in codes])}"
    return listed([repr(attribute.labels[code]) for code in codes])


# --------------------------------------------------------------------------------------------------
# Hierarchies built for numbers and categories, read from files, and the forms a design states them in.


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
    >>> from sfumato.schema import Role
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
    >>> from sfumato.schema import Role
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
    >>> from sfumato.schema import Role
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
    >>> from sfumato.schema import Role
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
        attribute,
        {
            root_beside(attribute.labels): {
                group_label(attribute, codes): tree[codes] for codes in sorted(tree)
            }
        },
    )


def group_label(attribute: Attribute, codes: Sequence[int]) -> str:
    """Text for some categories together.

    Examples
    --------
    >>> from sfumato.schema import Role
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
    root = root_beside(attribute.labels)
    taken[root] = tuple(range(attribute.size))
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
    return Hierarchy(attribute=attribute.name, levels=(*made, (root,) * attribute.size))
