"""The risk before anything is published: sample uniques, and criteria of equivalence classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.arrays import Floats, Integers
from sfumato.custody.checks import MOST_SINGLED_OUT
from sfumato.data.private_table import PrivateTable
from sfumato.data.sample_uniques import SampleUniques, count_persons
from sfumato.release.manifest import SINGLED_OUT
from sfumato.results import ResultTable
from sfumato.schema import Attribute, Role
from sfumato.text import Cell, capital, percent

# --------------------------------------------------------------------------------------------------
# What groups of rows equal on public attributes keep as they stand, by the criteria that others publish by.


@dataclass(frozen=True)
class GroupCriteria:
    """What the worst group keeps, each criterion by itself. Private; its ``repr`` shows nothing of it.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    k
        Rows of the smallest group.
    l_distinct
        Different values of the least diverse group.
    l_entropy
        Exponential of the smallest entropy.
    l_share
        One over the largest share of a value in any group.
    t_equal, t_ordered
        Largest distance of a group's distribution from the table's: all values equally far from each other, or as far as their places.
    beta
        Largest gain ``(r - q) / q`` of a value's share in a group over that in the table.
    delta
        Largest ``|ln(r / q)|`` over the values that a group holds; by the definition it is infinite wherever a group lacks one.
    lacks_a_value
        Some group does not hold every value of the table.
    alike_groups, alike_rows
        Groups all of whose rows have one value, and rows in them: finding the group tells it.
    groups, rows
        All of them.
    """

    attribute: str
    k: int
    l_distinct: int
    l_entropy: float
    l_share: float
    t_equal: float
    t_ordered: float
    beta: float
    delta: float
    lacks_a_value: bool
    alike_groups: int
    alike_rows: int
    groups: int
    rows: int

    def __repr__(self) -> str:
        return f"GroupCriteria({self.attribute}; private)"

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return asdict(self)


def group_criteria(table: PrivateTable, names: Sequence[str], attribute: Attribute) -> GroupCriteria:
    """Measure the groups of rows that are equal on some attributes.

    One pass over the rows; groups are worked on some at a time.

    Examples
    --------
    >>> from sfumato.testing import sample_table
    >>> table = sample_table(600)
    >>> found = group_criteria(table, ["sex"], table.schema["job"])
    >>> found.k >= found.l_distinct, found.lacks_a_value
    (True, False)
    """
    from sfumato.guarantees.class_criteria import classes_of

    by = [name for name in names if name != attribute.name]
    columns = [*by, attribute.name]
    found = classes_of(
        table.scan,
        columns,
        [table.schema[name].size for name in columns],
        watched=attribute.size,
        rows=table.number_of_rows,
    )
    worst = [
        _of_part(part, overall)
        for counts, overall in found
        for part in counts.parts()
        # Groups are numbered within a pass, and every number is a group.
        if len(part)
    ]
    by_measure = list(zip(*worst, strict=True))
    least = [float(min(each)) for each in by_measure[:4]]
    most = [float(max(each)) for each in by_measure[4:9]]
    number = [round(sum(each)) for each in by_measure[9:]]
    return GroupCriteria(
        attribute=attribute.name,
        k=round(least[0]),
        l_distinct=round(least[1]),
        l_entropy=least[2],
        l_share=least[3],
        t_equal=most[0],
        t_ordered=most[1],
        beta=most[2],
        delta=most[3],
        lacks_a_value=bool(most[4]),
        alike_groups=number[0],
        alike_rows=number[1],
        groups=number[2],
        rows=number[3],
    )


def _of_part(counts: Integers, overall: Integers) -> tuple[float, ...]:
    """Of some groups: k and the three kinds of l, which the least group decides; distances, gain, ratio and lack, the largest; then numbers."""
    from sfumato.guarantees.k_anonymity import diversity, earth_mover_distances, relative_gains

    shares: Floats = counts / counts.sum(axis=1, keepdims=True)
    expected = np.where(overall > 0, overall, 1) / overall.sum()
    logarithms = np.log(shares / expected, out=np.zeros_like(shares), where=shares > 0)
    sizes, different = counts.sum(axis=1), diversity(counts, "distinct")
    return (
        float(sizes.min()),
        float(different.min()),
        float(diversity(counts, "entropy").min()),
        float(diversity(counts).min()),
        float(earth_mover_distances(counts, overall).max()),
        float(earth_mover_distances(counts, overall, "ordered").max()),
        float(relative_gains(counts, overall).max()),
        float(np.abs(logarithms).max()),
        float(((counts == 0) & (overall > 0)).any()),
        float((different == 1).sum()),
        float(sizes[different == 1].sum()),
        float(len(sizes)),
        float(sizes.sum()),
    )


# --------------------------------------------------------------------------------------------------
# The risk before anything is done: how far the quasi-identifiers alone single people out.


QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Quantiles of group sizes that an inspection shows."""

SMALL_GROUPS = (2, 3, 5, 10, 20)
"""Limits below which an inspection counts rows in small groups."""


@dataclass(frozen=True)
class GroupSizes:
    """How many groups of rows there are of each size. Private; its ``repr`` shows nothing of it.

    Parameters
    ----------
    groups_by_size
        Size to number of groups.

    Examples
    --------
    >>> sizes = GroupSizes({1: 3, 2: 1, 5: 2})
    >>> sizes.number_of_groups, sizes.number_of_rows, sizes.rows_in_groups_below(3)
    (6, 15, 5)
    >>> sizes.quantile_of_groups(0.5), sizes.quantile_of_rows(0.5)
    (1, 5)
    """

    groups_by_size: Mapping[int, int]

    def __repr__(self) -> str:
        return "GroupSizes(private)"

    @property
    def number_of_groups(self) -> int:
        """Groups in all."""
        return sum(self.groups_by_size.values())

    @property
    def number_of_rows(self) -> int:
        """Rows in all groups together."""
        return sum(size * groups for size, groups in self.groups_by_size.items())

    @property
    def smallest(self) -> int:
        """Rows of the smallest group."""
        return min(self.groups_by_size)

    @property
    def largest(self) -> int:
        """Rows of the largest group."""
        return max(self.groups_by_size)

    def rows_in_groups_below(self, limit: int) -> int:
        """Rows whose group has fewer rows than the limit."""
        return sum(size * groups for size, groups in self.groups_by_size.items() if size < limit)

    def quantile_of_groups(self, share: float) -> int:
        """The smallest size such that at least this share of the groups are no larger."""
        return _quantile(dict(self.groups_by_size), share)

    def quantile_of_rows(self, share: float) -> int:
        """The smallest size such that at least this share of the rows are in groups no larger."""
        return _quantile({size: size * groups for size, groups in self.groups_by_size.items()}, share)


def _quantile(weight_of: dict[int, int], share: float) -> int:
    sizes = sorted(weight_of)
    reached = np.cumsum([weight_of[size] for size in sizes])
    return sizes[int(np.searchsorted(reached, share * reached[-1]))]


ROWS_TAKEN_FOR_PERSONS = (
    "Each row is taken for a person, because the schema declares no unit. Can a person have several rows? Then give the column "
    'that says whose they are role = "unit".'
)


@dataclass(frozen=True, eq=False)
class Inspection:
    """What private rows give away as they stand. All of it is private.

    Parameters
    ----------
    number_of_rows
        Of the table.
    quasi_identifiers
        The attributes that the groups are about.
    group_sizes
        Groups of rows equal on all quasi-identifiers; None when there are no quasi-identifiers.
    tables
        Columns, groups and sensitive attributes, for reading.
    uniques
        Persons who are unique on all quasi-identifiers.
    criteria
        By sensitive attribute, which k, l, t, beta and delta the groups keep as they stand.
    has_unit
        Whether a column is declared that says whose the rows are.
    """

    number_of_rows: int
    quasi_identifiers: tuple[str, ...]
    group_sizes: GroupSizes | None
    tables: tuple[ResultTable, ...]
    uniques: SampleUniques
    criteria: tuple[GroupCriteria, ...] = ()
    has_unit: bool = True

    def __repr__(self) -> str:
        return f"Inspection({', '.join(self.quasi_identifiers) or 'no quasi-identifiers'}; private)"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """All tables as text, and how to read them."""
        reading = (
            "A row that is alone in its group can be found by whoever knows the quasi-identifiers of that person."
            if self.group_sizes is not None
            else "The schema declares no quasi-identifier, so there are no groups to look at."
        )
        asked = () if self.has_unit else (ROWS_TAKEN_FOR_PERSONS,)
        return "\n\n".join([*self.singled_out, *asked, *(each.to_text() for each in self.tables), reading])

    @property
    def singled_out(self) -> tuple[str, ...]:
        """What publishing would count: persons unique on the quasi-identifiers; nothing where there are none."""
        if not self.quasi_identifiers:
            return ()
        said = capital(self.uniques.told("that are quasi-identifiers"))
        refused = f"; publish refuses to leave them unchanged (check {SINGLED_OUT})"
        return (f"{said}{refused if self.uniques.share > MOST_SINGLED_OUT else ''}.",)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``inspect --json`` prints it."""
        sizes = self.group_sizes
        groups = None if sizes is None else {name: value for name, _, value in _group_measures(sizes)}
        return {
            "private": True,
            "number_of_rows": self.number_of_rows,
            "quasi_identifiers": list(self.quasi_identifiers),
            "groups": groups,
            "criteria": [each.to_dict() for each in self.criteria],
            "singled_out": {**self.uniques.to_dict(), "sentences": list(self.singled_out)},
            "tables": [each.to_dict() for each in self.tables],
        }


def inspect_table(table: PrivateTable) -> Inspection:
    r"""Columns, group sizes and uniqueness of private rows, before anything is done to them.

    Two passes over the rows, and one more for each sensitive attribute; groups are counted by the
    engine, so the number of possible combinations does not matter.

    Raises
    ------
    DataError
        When the table is empty or does not fit its schema.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sfumato import Schema, read_table
    >>> schema = Schema.from_toml('''
    ... [attributes.sex]
    ... role = "quasi-identifier"
    ... categories = ["F", "M"]
    ... [attributes.job]
    ... role = "sensitive"
    ... categories = ["a", "b"]
    ... ''')
    >>> found = inspect_table(read_table(pa.table({"sex": ["F", "F", "M"], "job": ["a", "b", "b"]}), schema))
    >>> found.to_dict()["groups"]["unique_rows"]
    1
    """
    rows = table.number_of_rows
    names = tuple(each.name for each in table.schema.with_role(Role.QUASI_IDENTIFIER))
    has_unit = table.unit_column is not None
    columns, unique = _columns_table(table, names)
    tables = [columns]
    if not names:
        return Inspection(rows, names, None, tuple(tables), unique, has_unit=has_unit)
    sizes = GroupSizes(table.group_sizes(names))
    measures = tuple((title, value) for _, title, value in _group_measures(sizes))
    tables += [
        _private(f"Groups of rows equal on {', '.join(names)}", ("measure", "value"), measures),
        _quantiles_table(sizes),
        _small_groups_table(sizes),
    ]
    sensitive = table.schema.with_role(Role.SENSITIVE)
    criteria = tuple(group_criteria(table, names, each) for each in sensitive)
    if criteria:
        tables += [_homogeneity_table(criteria), _criteria_table(criteria)]
    return Inspection(rows, names, sizes, tuple(tables), unique, criteria, has_unit)


def _private(title: str, columns: tuple[str, ...], rows: tuple[tuple[Cell, ...], ...]) -> ResultTable:
    return ResultTable(title, columns, rows, is_private=True)


def _columns_table(table: PrivateTable, names: Sequence[str]) -> tuple[ResultTable, SampleUniques]:
    """Every column, and sample uniques on some of them, from one pass."""
    attributes = table.schema.publishable.attributes
    found = count_persons(table, [names], names=[each.name for each in attributes])
    columns = _private(
        "Columns",
        ("column", "role", "categories", "present", "missing share", "largest share"),
        tuple(_column_row(each, found.rows(each.name)) for each in attributes),
    )
    return columns, found.uniques()


def _column_row(attribute: Attribute, counts: Integers) -> tuple[Cell, ...]:
    total = int(counts.sum())
    missing = 0 if attribute.missing_code is None else int(counts[attribute.missing_code])
    return (
        attribute.name,
        str(attribute.role),
        attribute.size,
        int(np.count_nonzero(counts)),
        missing / total,
        int(counts.max()) / total,
    )


def _group_measures(sizes: GroupSizes) -> tuple[tuple[str, str, Cell], ...]:
    """Name for programs, words for people, value."""
    unique = sizes.rows_in_groups_below(2)
    return (
        ("number", "groups", sizes.number_of_groups),
        ("unique_rows", "rows unique on them", unique),
        ("unique_share", "share of rows unique on them", unique / sizes.number_of_rows),
        ("smallest", "rows in the smallest group", sizes.smallest),
        ("largest", "rows in the largest group", sizes.largest),
        # Whoever picks a row of the right group at random is right once per group.
        (
            "linked_share",
            "share of rows linked rightly by one who knows them of everybody",
            sizes.number_of_groups / sizes.number_of_rows,
        ),
    )


def _quantiles_table(sizes: GroupSizes) -> ResultTable:
    return _private(
        "Group sizes: this share of groups (of rows) has at most so many rows in its group",
        ("share", "of groups", "of rows"),
        tuple(
            (percent(share), sizes.quantile_of_groups(share), sizes.quantile_of_rows(share))
            for share in QUANTILES
        ),
    )


def _small_groups_table(sizes: GroupSizes) -> ResultTable:
    return _private(
        "Rows in small groups",
        ("group smaller than", "rows", "share of rows"),
        tuple(
            (limit, below := sizes.rows_in_groups_below(limit), below / sizes.number_of_rows)
            for limit in SMALL_GROUPS
        ),
    )


def _homogeneity_table(criteria: Sequence[GroupCriteria]) -> ResultTable:
    return _private(
        "Groups whose rows all have the same sensitive category: finding the group tells it",
        ("attribute", "groups", "share of groups", "rows", "share of rows"),
        tuple(
            (
                each.attribute,
                each.alike_groups,
                each.alike_groups / each.groups,
                each.alike_rows,
                each.alike_rows / each.rows,
            )
            for each in criteria
        ),
    )


def _criteria_table(criteria: Sequence[GroupCriteria]) -> ResultTable:
    return _private(
        "What these groups keep as they stand: the worst group by each criterion",
        ("attribute", "k", "l distinct", "l entropy", "l share", "t", "t ordered", "beta", "delta"),
        tuple(
            (
                each.attribute,
                each.k,
                each.l_distinct,
                each.l_entropy,
                each.l_share,
                each.t_equal,
                each.t_ordered,
                each.beta,
                # The definition asks every group for every value.
                f"{each.delta:.4g} of values held" if each.lacks_a_value else each.delta,
            )
            for each in criteria
        ),
    )
