"""Generalization hierarchies: which coarser values may stand for the categories of one attribute.

A hierarchy is a tree. Its leaves are *all* categories of the attribute, in code order, so that every
value that could appear can be generalized; its root stands for "any value". Built for numbers
or categories in ``hierarchy_building``, or stated here as a tree or as paths from the leaves.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, model_validator

from sfumato.errors import ParameterError, SchemaError
from sfumato.frozen import Frozen
from sfumato.values.arrays import Integers
from sfumato.values.number_text import listed
from sfumato.values.schema import MISSING_LABEL, Attribute

ROOT = "*"
"""Label of the node that stands for any value."""

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
    >>> from sfumato.values.schema import Role
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
        top = {ROOT: top}
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
    >>> from sfumato.values.schema import Role
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
    >>> from sfumato.values.schema import Role
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
    root = groups.pop(whole, ROOT)
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
