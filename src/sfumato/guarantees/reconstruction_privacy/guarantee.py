"""Reconstruction privacy: what is true of a person's own group cannot be reconstructed accurately."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from sfumato.errors import ParameterError
from sfumato.guarantees.base import Guarantee
from sfumato.guarantees.reconstruction_privacy.tails import (
    Tails,
    chernoff_cap,
    exact_caps,
    exact_tails,
    exact_uniform_cap,
    largest_relative_error,
    normal_cap,
)
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.bounds import LARGEST_ERROR, MOST_ROWS, SMALLEST_ERROR
from sfumato.values.number_text import counted, percent, percent_as_stated

Bound = Literal["chernoff", "exact", "normal"]
Cap = Literal["uniform", "group"]

PROBABILITIES: dict[Bound, str] = {
    "chernoff": "Chernoff's bound on the probability",
    "exact": "the probability",
    "normal": "the normal approximation of the probability",
}
"""What is at least the error probability."""


class ReconstructionPrivacy(Guarantee):
    """Nobody can show that a reconstruction of a personal group is off only rarely.

    Promise
        In every group of rows equal on the quasi-identifiers, and for every value of the sensitive
        attribute, the frequency reconstructed from the group is too low by more than ``relative_error``
        (lambda) with a probability whose bound is at least ``error_probability`` (delta).
        ``bound="chernoff"`` is the paper's promise: *Chernoff's bound* on that probability is at least
        delta. ``bound="exact"``: the probability itself is. ``bound="normal"``: its normal approximation is, which is no
        bound, and rough at the few rows that it allows.
    Against whom
        Someone who knows a person's quasi-identifiers and that the person is in the table, reconstructs
        the person's group from the release, and knows nothing else of how the attributes go together.
    Weaknesses
        Chernoff's bound is far above the true probability: at the cap for 0.3 and 0.3 a reconstruction
        is within 30 % with a probability of 88 % to nearly 100 %, by retention, categories and frequency. Unions of groups are meant to be
        reconstructed well; where groups are alike, a union tells about each of them. A relative error
        is a weak notion where nearly all of a group have the value.

    Notes
    -----
    The paper's definition names both tails. Chernoff's bound on the lower one is the smaller, so the paper
    tests that one alone, and so do we for the exact tail: the exact upper tail is 0 wherever the frequency
    cannot be overestimated by lambda at all, as with frequencies near 1.

    Tails are those of the rows used, relative to the frequency among them. A sample's frequency is its group's up
    to the rounding of one row, so relative to the group's own the tail may fall a little below delta.

    References
    ----------
    Han (2016), definition 8, corollaries 5 and 6, eq. 4.9.

    Examples
    --------
    >>> promise = ReconstructionPrivacy(
    ...     sensitive="job", groups=("age", "sex"), retention=0.5, size=10, relative_error=0.3, error_probability=0.3
    ... )
    >>> promise.uniform_cap
    58
    """

    guarantee: Literal["reconstruction-privacy"] = "reconstruction-privacy"
    sensitive: str
    groups: tuple[str, ...]
    retention: Annotated[float, Field(ge=SMALLEST_ERROR, lt=1)]
    size: Annotated[int, Field(ge=2, le=10_000_000)]
    relative_error: Annotated[float, Field(ge=SMALLEST_ERROR, le=LARGEST_ERROR)]
    error_probability: Annotated[float, Field(gt=0, lt=1)]
    bound: Bound = "chernoff"
    cap: Cap = "uniform"

    protected_unit: ClassVar[str] = "the sensitive value of one person, as told by the person's own group"
    neighbours: ClassVar[str] = (
        "none: the promise is about how inaccurate a reconstruction is, not about two tables"
    )
    attacker: ClassVar[str] = (
        "knows the person's quasi-identifiers and that the person is in the table; has no outside knowledge "
        "of how they go together with the sensitive attribute"
    )
    reference: ClassVar[str] = "Han (2016), definition 8 and corollary 6"

    @model_validator(mode="after")
    def _check(self) -> Self:
        require_achievable(**self._parameters, bound=self.bound)
        return self

    @property
    def _parameters(self) -> dict[str, Any]:
        return {
            "retention": self.retention,
            "size": self.size,
            "relative_error": self.relative_error,
            "error_probability": self.error_probability,
        }

    @property
    def uniform_limit(self) -> float:
        """Size up to which every group has the promise, whatever its composition; not rounded.

        Chernoff's cap and the normal one fall with the largest frequency, so their value at frequency 1 is below all others.
        """
        if self.bound == "exact":
            return float(exact_uniform_cap(**self._parameters))
        return float(self.caps_at(1.0))

    @property
    def uniform_cap(self) -> int:
        """Rows up to which every group has the promise, whatever its composition."""
        return int(min(self.uniform_limit, MOST_ROWS))

    def group_caps(self, counts: npt.NDArray[Any], group_starts: Integers) -> Floats:
        """Rows up to which each group has the promise, by its own composition (s_g); private.

        Parameters
        ----------
        counts
            ``(cells,)``, rows of each occupied value, group after group.
        group_starts
            ``(groups,)``, where each group's cells begin.
        """
        if self.bound == "exact":
            return exact_caps(counts, group_starts, **self._parameters).astype(np.float64)
        largest = np.maximum.reduceat(counts, group_starts)
        totals = np.add.reduceat(counts, group_starts)
        return self.caps_at(largest / totals)

    def caps_at(self, frequencies: npt.ArrayLike) -> Floats:
        """Chernoff's cap for groups of these largest frequencies (s_g), or the normal one, in their shape."""
        return (normal_cap if self.bound == "normal" else chernoff_cap)(frequencies, **self._parameters)

    def are_violated(self, counts: npt.NDArray[Any], group_starts: Integers) -> Booleans:
        """Which groups would break the promise if all their rows were perturbed and published, ``(groups,)``."""
        return np.asarray(np.add.reduceat(counts, group_starts) > self.group_caps(counts, group_starts))

    def true_tails(self, rows: int, frequency: float) -> Tails:
        """Exact tails of a group of that many rows, the count rounded to a whole number from 1 on."""
        count = min(rows, max(1, round(rows * frequency)))
        options = {key: value for key, value in self._parameters.items() if key != "error_probability"}
        return exact_tails(rows, count, **options)

    @property
    def sentence(self) -> str:
        """The promise with its numbers, and how much the numbers are worth."""
        tails = self.true_tails(self.uniform_cap, 1.0)
        kind = PROBABILITIES[self.bound]
        rows = counted(self.uniform_cap, "row")
        sizes = (
            f"at most {rows} of any group {'is' if self.uniform_cap == 1 else 'are'} used"
            if self.cap == "uniform"
            else f"each group is cut to a size of its own, {rows} or more"
        )
        return (
            f"({self.relative_error:.4g}, {self.error_probability:.4g})-reconstruction privacy of {self.sensitive} in "
            f"groups equal on {', '.join(self.groups) or 'nothing (all rows)'}: {kind} that a reconstructed frequency is more than "
            f"{percent(self.relative_error)} too low is at least {self.error_probability:.4g}; {sizes}. True probabilities at "
            f"{rows}, all with one value: too low {tails.lower:.3g}, too high {tails.upper:.3g}, "
            f"within {percent(self.relative_error)} {tails.within:.3g}."
        )

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        within = self.true_tails(self.uniform_cap, 1.0).within
        return (
            f"Who knows a person's {' and '.join(self.groups) or 'public values'} can estimate how common each {self.sensitive} is among the "
            f"people alike, but from no more than a limited number of randomly changed rows. Where all of them have the "
            f"same {self.sensitive}, that estimate still comes within {percent(self.relative_error)} of the truth with "
            f"probability {percent(within)}."
        )


def repeated(promises: Sequence[ReconstructionPrivacy]) -> str:
    """How often a group that all share a value is reconstructed well from one release and from several.

    Draws are fresh in each, so that m alike are as many perturbed rows as one of a group of m times the size. Of releases
    that are not alike an attacker can take those that tell most and leave the others: what they give is an upper end.
    """
    alike = [
        (each, sum(each.under(other.given) == other.under(each.given) for other in promises))
        for each in promises
    ]
    found = [
        (1 - each.true_tails(each.uniform_cap * number, 1.0).within, each, number) for each, number in alike
    ]
    together, best, number = min(found, key=lambda each: each[0])
    once = 1 - best.true_tails(best.uniform_cap, 1.0).within
    is_all = number == len(promises)
    return (
        f"Of a group of {best.uniform_cap} rows that all share a value, one release gives a frequency that is more than "
        f"{percent_as_stated(best.relative_error)} off with probability {once:.2g}, and the mean over {len(promises)} with "
        f"{'' if is_all else 'probability at most '}{together:.2g}."
    )


def require_achievable(
    *, retention: float, size: int, relative_error: float, error_probability: float, bound: Bound
) -> None:
    """Refuse numbers for which no cap exists.

    Raises
    ------
    ParameterError
        When the relative error is beyond the range of Corollary 6, or not even one row may be published.
    """
    largest = largest_relative_error(retention, size)
    if relative_error > largest:
        raise ParameterError(
            f"relative_error must lie above 0 and at most 1 + (1 - retention) / (categories * retention) = "
            f"{largest:.6g} for retention {retention:.4g} and {size} categories (corollary 6), got {relative_error:.6g}. "
            "A reconstruction is never that much too low; choose a smaller one, such as 0.3.",
            parameter="relative_error",
        )
    numbers: dict[str, Any] = {
        "retention": retention,
        "size": size,
        "relative_error": relative_error,
        "error_probability": error_probability,
    }
    caps: dict[Bound, Callable[..., Any]] = {
        "chernoff": partial(chernoff_cap, 1.0),
        "exact": exact_uniform_cap,
        "normal": partial(normal_cap, 1.0),
    }
    cap = float(caps[bound](**numbers))
    if cap < 1:
        raise ParameterError(
            f"the cap for a group is below one row ({cap:.3g}) at retention {retention:.4g}, {size} categories, "
            f"relative_error {relative_error:.4g}, error_probability {error_probability:.4g} and bound {bound!r}; it must be "
            "at least 1. Lower the retention, the relative_error or the error_probability.",
            parameter="error_probability",
        )
