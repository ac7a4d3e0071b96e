"""How much noise hides every group's sensitive values from the ratio attack: computed before publishing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.attacks.ratio.attack import GroupCounts, HidingNoise, hiding_noise
from sfumato.data.private_table import PrivateTable
from sfumato.errors import QueryError
from sfumato.values.number_text import percent, show_cell
from sfumato.values.public_grids import epsilon_on_grid

CHOSEN = (
    "Epsilon is rounded down to 1, 2 or 5 times a power of ten: it is published with the release, and a finer one would tell of the rows. "
    "It was chosen from them all the same, and noisy-marginals says so with --set chosen_from_private_data.epsilon='to hide groups'."
)
"""What the custodian must know of a number that comes from the rows."""


@dataclass(frozen=True)
class HidingPlan:
    """The least noise on counts of groups at which the ratio attack finds nothing. Private: it comes from the rows.

    Parameters
    ----------
    of, by
        The sensitive attribute, and those that make the groups.
    sensitivity
        How much one person changes everything that would be published, summed up.
    noise
        Its scale, its epsilon, and what it costs.
    unknown
        Labels that say nothing: their rows are in the groups, and nothing of them can be told.
    """

    of: str
    by: tuple[str, ...]
    sensitivity: float
    noise: HidingNoise
    unknown: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"HidingPlan({self.of} by {', '.join(self.by)}: epsilon {self.noise.epsilon:.4g})"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A few lines for the custodian."""
        title = (
            f"Noise that hides {self.of} in groups of {', '.join(self.by)}  [private: computed from the data]"
        )
        if self.unknown:
            title += f"\nRows with {', '.join(self.unknown)} are in the groups and have no value to be told."
        if self.noise.scale == 0:
            return f"{title}\nNothing is disclosed without noise either: no group is far above the overall share."
        if math.isinf(self.noise.scale):
            return f"{title}\nNo noise hides everything."
        scale = show_cell(self.sensitivity / self.epsilon_to_publish)
        more = self.noise.epsilon / self.epsilon_to_publish
        cost = f"It costs {percent(self.noise.relative_error * more)} of a count on average: accuracy and hiding pull apart."
        said = f"Laplace scale {scale}, which is epsilon {self.epsilon_to_publish:g} at sensitivity {self.sensitivity:g}"
        return f"{title}\n{said}\n{cost}\n{CHOSEN}"

    @property
    def _is_finite(self) -> bool:
        return 0 < self.noise.scale < math.inf

    @property
    def epsilon_to_publish(self) -> float:
        """The epsilon, lowered to the grid of 1, 2 and 5 times powers of ten: a finer one would tell of the rows."""
        return epsilon_on_grid(self.noise.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``hiding-noise --json`` prints it."""
        return {
            "of": self.of,
            "by": list(self.by),
            "sensitivity": self.sensitivity,
            "unknown": list(self.unknown),
            **vars(self.noise),
            "epsilon_to_publish": self.epsilon_to_publish if self._is_finite else None,
            "private": True,
        }


def plan_hiding(
    table: PrivateTable, of: str, by: Sequence[str], *, sensitivity: float = 2.0, unknown: Sequence[str] = ()
) -> HidingPlan:
    """The smallest Laplace noise at which no group's share of a sensitive value is told by a ratio of noisy counts.

    Parameters
    ----------
    table
        The private rows.
    of
        The sensitive attribute.
    by
        Attributes that make the groups.
    sensitivity
        2 where each person is in one group's count and in one of its parts.
    unknown
        Labels of the sensitive attribute that stand for no known value, such as the one for missing values.
    """
    if not by or of in by:
        raise QueryError(f"groups are made by one attribute or more, {of!r} not among them. Name others.")
    codes = [table.schema[of].code_of(label) for label in dict.fromkeys(unknown)]
    if codes and len(codes) == table.schema[of].size:
        raise QueryError(
            f"every label of {of!r} is called unknown, so there is nothing to hide. Leave one out."
        )
    counts = GroupCounts.of_tables([table.count_by((*by, of))], of, unknown=codes)
    noise = hiding_noise(counts, sensitivity, int(counts.groups.sum()))
    return HidingPlan(of, tuple(by), sensitivity, noise, tuple(dict.fromkeys(unknown)))
