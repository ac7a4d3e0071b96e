"""The count phase: from distinct private rows to a recoding; attributes suppressed in wide tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import LARGEST_KEY, Booleans, Integers, MixedRadix
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.methods.generalization.kernels import (
    BoxRecoding,
    CountClasses,
    CountCombinations,
    CountWideRows,
    Criterion,
    DistinctRows,
    LevelRecoding,
    Recoding,
    WideRows,
)
from sfumato.methods.generalization.search import (
    Domain,
    InformationLoss,
    Nested,
    cut_boxes,
    information_loss,
    search_full_domain,
    tighten,
)
from sfumato.results import ResultTable
from sfumato.schema import Attribute, Schema
from sfumato.schema.hierarchies import FrequencyForm, Hierarchy, HierarchyForm, group_label
from sfumato.schema.recoding import coarser_attribute

# --------------------------------------------------------------------------------------------------
# Tables too wide for a search: which attributes to leave out.


MOST_NODES = 10_000_000
"""Combinations of levels that a full-domain search can hold bounds for."""


def require_countable(sizes: Mapping[str, int], search: str, *, watched: int = 1) -> None:
    """Refuse attributes whose combinations cannot be told apart by one number.

    Parameters
    ----------
    sizes
        Attribute to the number of its values.
    search
        Which search is asked for.
    watched
        Combinations of the sensitive values that a criterion looks at.

    Raises
    ------
    ParameterError
        Naming the fewest attributes without which it could.

    Examples
    --------
    >>> require_countable(dict.fromkeys("abcdefghijklmnopqrs", 10), "full-domain")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the 19 attributes have 1e+19 combinations of values, and search = 'full-domain' can tell
    4.61e+18 apart. Leave out or coarsen 'a', or use search = 'mondrian', which has no such limit.
    """
    excess = _largest_first(sizes, LARGEST_KEY // watched)
    if excess:
        raise ParameterError(
            f"the {len(sizes)} attributes have {watched * math.prod(sizes.values()):.3g} combinations of values, and "
            f"search = {search!r} can tell {LARGEST_KEY:.3g} apart. Leave out or coarsen {_listed(excess)}, or use "
            "search = 'mondrian', which has no such limit.",
            parameter="search",
        )


def require_searchable(levels: Mapping[str, int]) -> None:
    """Refuse attributes whose levels have too many combinations to be searched.

    Raises
    ------
    ParameterError
        Naming the fewest attributes without which they could be.

    Examples
    --------
    >>> require_searchable(dict.fromkeys("abcdefghijklmnopqrs", 2))
    >>> require_searchable(dict.fromkeys("abcdefghijklmnopqrs", 3))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the 19 attributes have 1.16e+09 combinations of levels, and a full-domain search looks
    through 1e+07. Leave out 'a', 'b', 'c', 'd', 'e', or give them fewer levels, or use search = 'mondrian'.
    """
    excess = _largest_first(levels, MOST_NODES)
    if excess:
        raise ParameterError(
            f"the {len(levels)} attributes have {math.prod(levels.values()):.3g} combinations of levels, and a "
            f"full-domain search looks through {MOST_NODES:.3g}. Leave out {_listed(excess)}, or give them fewer levels, or "
            "use search = 'mondrian'.",
            parameter="search",
        )


def _largest_first(sizes: Mapping[str, int], most: int) -> list[str]:
    """The fewest attributes without which the product is at most so much: those with the largest sizes."""
    product = math.prod(sizes.values())
    excess: list[str] = []
    for name in sorted(sizes, key=lambda each: -sizes[each]):
        if product <= most:
            break
        excess.append(name)
        product //= sizes[name]
    return excess


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))


# --------------------------------------------------------------------------------------------------
# From private rows to a recoding: count what is distinct, search, and name what is published.


Covers = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Column:
    """A published attribute: None when one value is left, which carries nothing and gets no column."""

    attribute: Attribute | None
    covers: Covers
    codes: Integers


@dataclass(frozen=True, eq=False)
class Recoded:
    """A recoding of a private table, and what is to be known of it.

    Parameters
    ----------
    recoding
        Recodes rows.
    columns
        The recoded attributes: what is published of each, and what stands behind it.
    suppressed
        Rows that are dropped.
    sizes
        ``(classes,)`` rows of every class that is published.
    loss
        What the recoding costs.
    levels
        The level of every attribute, where they are the same for all rows.
    """

    recoding: Recoding
    columns: dict[str, Column]
    suppressed: int
    sizes: Integers
    loss: InformationLoss
    levels: dict[str, int] | None = None

    def published_schema(self, schema: Schema) -> Schema:
        """What stands in the file: recoded attributes, the others as they are."""
        kept = [
            each if each.name not in self.columns else self.columns[each.name].attribute
            for each in schema.publishable.attributes
        ]
        shown = tuple(each for each in kept if each is not None)
        if not shown:
            raise ParameterError(
                "every attribute was generalized until it says nothing, so nothing is left to publish. "
                "Lower k, allow suppression, or publish further attributes.",
                parameter="k",
            )
        return Schema(attributes=shown)

    @property
    def covers(self) -> dict[str, Covers]:
        """For each recoded attribute, the original codes behind every published one."""
        return {name: each.covers for name, each in self.columns.items()}

    def cost_table(self) -> ResultTable:
        """What the recoding costs, for the custodian alone."""
        total = int(self.sizes.sum()) + self.suppressed
        return ResultTable(
            "What the recoding costs, from the private table",
            ("measure", "value"),
            (
                ("classes", len(self.sizes)),
                ("smallest class", int(self.sizes.min(initial=total))),
                ("rows dropped", self.suppressed),
                ("normalized certainty penalty", self.loss.normalized_certainty_penalty),
                ("granularity (higher is better)", self.loss.granularity),
                ("discernibility", self.loss.discernibility),
                ("average class size, in k", self.loss.average_class_size),
            ),
            is_private=True,
        )


def count_rows(
    table: PrivateTable, names: Sequence[str], sensitive: Sequence[str]
) -> DistinctRows | WideRows:
    """Distinct combinations of some attributes and the sensitive ones. Private."""
    read = (*names, *sensitive)
    sizes = [each.size for each in table.schema.select(read)]
    if math.prod(sizes) > LARGEST_KEY:
        known, values = tuple(sizes[: len(names)]), tuple(sizes[len(names) :])
        portions = table.map_portions(read, CountWideRows(read, known, values))
        return WideRows.added_up(known, values, portions)
    whole = MixedRadix(sizes)
    number = MixedRadix(whole.sizes[len(names) :]).combinations
    portions = table.map_portions(read, CountCombinations(read, whole))
    return DistinctRows.added_up(MixedRadix(whole.sizes[: len(names)]), number, portions)


def recode_by_boxes(
    schema: Schema,
    names: Sequence[str],
    rows: DistinctRows | WideRows,
    domains: Sequence[Domain],
    criterion: Criterion,
    *,
    is_tight: bool,
) -> Recoded | None:
    """Multidimensional local recoding; None when no class can satisfy the criterion."""
    boxes = cut_boxes(rows, domains, criterion)
    if boxes is None:
        return None
    if is_tight:
        boxes = tighten(boxes, rows, domains)
    # Combinations are published by quasi-identifiers alone: a box holds all sensitive values of one.
    combinations = rows.combinations
    starts = np.flatnonzero(np.diff(combinations, prepend=-1))
    columns: dict[str, Column] = {}
    covered = np.empty(boxes.values.shape, dtype=np.int64)
    for place, (name, domain) in enumerate(zip(names, domains, strict=True)):
        used, codes = np.unique(boxes.values[:, place], return_inverse=True)
        covers = tuple(domain.cover(int(value)) for value in used)
        covered[:, place] = np.array([len(each) for each in covers])[codes]
        labels = [
            domain.hierarchy.labels[value] if isinstance(domain, Nested) else group_label(schema[name], cover)
            for value, cover in zip(used.tolist(), covers, strict=True)
        ]
        columns[name] = _column(schema[name], labels, covers, codes[boxes.box[starts]])
    loss = information_loss(
        covered,
        boxes.sizes,
        np.array(rows.sizes),
        np.array([not isinstance(domain, Nested) for domain in domains]),
        k=criterion.k,
    )
    published = {name: each.codes for name, each in columns.items() if each.attribute is not None}
    recoding = BoxRecoding(rows.numbering, tuple(names), combinations[starts], published)
    return Recoded(recoding, columns, 0, boxes.sizes, loss)


def search_levels(
    names: Sequence[str],
    rows: DistinctRows,
    hierarchies: Mapping[str, Hierarchy],
    criterion: Criterion,
    most_suppressed: int,
) -> dict[str, int] | None:
    """The best level of every attribute; None when no class can satisfy the criterion."""
    levels = [
        [_first_codes(hierarchies[name], number) for number in range(hierarchies[name].height + 1)]
        for name in names
    ]
    found = search_full_domain(rows, levels, criterion, most_suppressed=most_suppressed)
    return None if found is None else dict(zip(names, found.levels, strict=True))


def recode_by_levels(
    table: PrivateTable,
    names: Sequence[str],
    sensitive: Sequence[str],
    levels: Mapping[str, int],
    hierarchies: Mapping[str, Hierarchy],
    criterion: Criterion,
) -> Recoded:
    """One level for each attribute; classes over ``names`` that fail the criterion are dropped."""
    columns: dict[str, Column] = {}
    for name, level in levels.items():
        if level:
            hierarchy = hierarchies[name]
            used, codes = np.unique(hierarchy.level(level), return_inverse=True)
            covers = tuple(hierarchy.covers[node] for node in used)
            columns[name] = _column(
                table.schema[name], [hierarchy.labels[node] for node in used], covers, codes
            )
    maps = {name: each.codes for name, each in columns.items() if each.attribute is not None}
    shown = tuple(name for name in names if name in maps or name not in columns)
    sizes_shown = [len(columns[name].covers) if name in maps else table.schema[name].size for name in shown]
    watched = math.prod(table.schema[name].size for name in sensitive) if criterion.needs_sensitive else 1
    require_countable(dict(zip(shown, sizes_shown, strict=True)), "fixed", watched=watched)
    radix = MixedRadix(sizes_shown)
    recoding = LevelRecoding(maps, radix, shown, np.empty(0, np.int64))
    classes, sizes, passed = _classes(table, recoding, sensitive, criterion)
    kept = classes[passed]
    covered = np.ones((len(kept), len(names)), dtype=np.int64)
    for place, name in enumerate(names):
        if name in columns:
            lengths = np.array([len(each) for each in columns[name].covers])
            covered[:, place] = lengths[radix.digit(kept, shown.index(name))] if name in maps else lengths[0]
    suppressed = int(sizes[~passed].sum())
    loss = information_loss(
        covered,
        sizes[passed],
        np.array([each.size for each in table.schema.select(names)]),
        np.zeros(len(names), dtype=np.bool_),
        k=criterion.k,
        suppressed=suppressed,
    )
    dropping = LevelRecoding(maps, radix, shown, classes[~passed])
    return Recoded(dropping, columns, suppressed, sizes[passed], loss, dict(levels))


def require_few_dropped(recoded: Recoded, rows: int, suppression: float | None, k: int) -> None:
    """Refuse a recoding by stated levels that drops more rows than allowed, or all of them.

    Raises
    ------
    ParameterError
        Saying what could be met.
    """
    if recoded.suppressed == rows:
        raise ParameterError(
            f"no row has k = {k} equals at these levels, so nothing would be published. "
            "Lower k, or raise the levels.",
            parameter="levels",
        )
    share = recoded.suppressed / rows
    if suppression is not None and share > suppression:
        enough = np.ceil(share * 1e4) / 1e4
        # Some row is kept, so a limit below 1 would do; rounded up it may not be one.
        raised = f"Raise suppression to {enough:.4f}, lower k" if enough < 1 else "Lower k"
        raise ParameterError(
            f"the fixed recoding drops {recoded.suppressed:,} of {rows:,} rows, more than suppression = "
            f"{suppression:.4g} allows. {raised}, or raise the levels.",
            parameter="suppression",
        )


def found_in_rows(search: str, hierarchies: Mapping[str, HierarchyForm]) -> dict[str, str]:
    """What a manifest says was chosen by looking at the private rows: the recoding, and trees built by counts."""
    built = [name for name, form in hierarchies.items() if isinstance(form, FrequencyForm)]
    return {
        "recoding": f"found by {search} search",
        **{f"hierarchy of {name}": "built from how frequent its categories are" for name in built},
    }


def _classes(
    table: PrivateTable, recoding: LevelRecoding, sensitive: Sequence[str], criterion: Criterion
) -> tuple[Integers, Integers, Booleans]:
    """Keys and sizes of the classes of a recoding, and which pass."""
    watched = tuple(sensitive) if criterion.needs_sensitive else ()
    values = [each.size for each in table.schema.select(watched)]
    whole = MixedRadix([recoding.radix.combinations, *values])
    number = MixedRadix(values).combinations
    read = tuple(dict.fromkeys((*recoding.class_names, *watched))) or table.schema.publishable.names[:1]
    portions = table.map_portions(read, CountClasses(recoding, watched, whole))
    rows = DistinctRows.added_up(recoding.radix, number, portions)
    classes, place = np.unique(rows.combinations, return_inverse=True)
    sizes = np.bincount(place, weights=rows.counts).astype(np.int64)
    if not criterion.needs_sensitive:
        return classes, sizes, criterion.passes(sizes, None)
    counts = MixedRadix([len(classes), number]).tabulate([place, rows.sensitive], rows.counts)
    return classes, sizes, criterion.passes(sizes, counts.astype(np.int64))


def _first_codes(hierarchy: Hierarchy, level: int) -> Integers:
    """For every category, the first category of its group at a level."""
    return np.array([hierarchy.covers[node][0] for node in hierarchy.level(level)], dtype=np.int64)


def _column(original: Attribute, labels: Sequence[str], covers: Covers, codes: Integers) -> Column:
    """The published attribute of some labels, with the codes that rows have in it."""
    if len(labels) == 1:
        return Column(None, covers, codes)
    attribute, code_of = coarser_attribute(original, labels, covers)
    return Column(attribute, tuple(covers[place] for place in np.argsort(code_of)), code_of[codes])
