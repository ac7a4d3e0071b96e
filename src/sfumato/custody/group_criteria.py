"""What groups of rows equal on public attributes keep as they stand, by the criteria that others publish by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from sfumato.data.private_table import PrivateTable
from sfumato.values.arrays import Floats, Integers
from sfumato.values.schema import Attribute


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
    from sfumato.guarantees.class_counts import classes_of

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
    from sfumato.guarantees.beta_likeness import relative_gains
    from sfumato.guarantees.l_diversity import diversity
    from sfumato.guarantees.t_closeness import earth_mover_distances

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
