"""Designs beside each other: which are beaten on risk and on error beyond their uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.compare.designs import Candidate
from sfumato.compare.task import Outcome
from sfumato.custody.audit.measuring import LINKABLE, NINE, TOP
from sfumato.custody.audit.scores import Difference, over_releases
from sfumato.values.arrays import Floats
from sfumato.values.number_text import Cell
from sfumato.values.result_tables import ResultTable
from sfumato.writing import write_whole

CONTROL_SHARE = 0.25
"""Control people for each member, where a fifth is held out."""

FOR_EACH = 0.975
"""Confidence, on one side, with which a design must be better on risk, and again on error."""

MEASURED = "Measured against these attackers on this table; a better attacker would find more. Private: computed from the rows."


@dataclass(frozen=True, eq=False)
class Point:
    """One design on the chart.

    Parameters
    ----------
    candidate
        The design.
    refusal
        Why it could not be published; empty where it was.
    risk, everybody
        What being in the table costs the most linkable, and everybody on average.
    error
        Mean error of the workload over the splits.
    numbers
        Means of what else was measured, by name.
    is_beaten
        Some other design has less risk and less error, beyond the uncertainty of both differences.
    """

    candidate: Candidate
    refusal: str
    risk: Difference | None
    everybody: Difference | None
    error: float
    numbers: dict[str, float]
    is_beaten: bool


@dataclass(frozen=True, eq=False)
class Comparison:
    """Designs on the same splits of one table.

    Parameters
    ----------
    candidates, outcomes
        The designs, and what was measured of each on every split.
    sensitive
        The attribute attacked.
    repeats, seed
        Splits, and what repeats them.
    """

    candidates: tuple[Candidate, ...]
    outcomes: tuple[Outcome, ...]
    sensitive: str
    repeats: int
    seed: int

    def __repr__(self) -> str:
        return f"Comparison({len(self.candidates)} designs, {self.repeats} splits; {self.sensitive})"

    def __str__(self) -> str:
        return self.summary()

    @cached_property
    def _by_label(self) -> dict[str, list[Outcome]]:
        found: dict[str, list[Outcome]] = {each.label: [] for each in self.candidates}
        for each in sorted(self.outcomes, key=lambda one: one.repeat):
            found[each.label].append(each)
        return found

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """All designs, in the order given."""
        return tuple(self._point(each) for each in self.candidates)

    def _series(self, label: str) -> tuple[Floats, Floats] | None:
        """Excess among the most linkable, and error, by split; None where some split was refused."""
        found = self._by_label[label]
        if any(each.refusal for each in found):
            return None
        risks = np.array([each.present[LINKABLE] - each.absent[LINKABLE] for each in found])
        return risks, np.array([each.error for each in found])

    def _point(self, candidate: Candidate) -> Point:
        found = self._by_label[candidate.label]
        refusal = next((each.refusal for each in found if each.refusal), "")
        mine = self._series(candidate.label)
        if mine is None:
            return Point(candidate, refusal, None, None, float("nan"), {}, is_beaten=False)
        beaten = candidate.method != "" and any(
            _is_better(other, mine)
            for each in self.candidates
            if each.method and each.label != candidate.label
            for other in (self._series(each.label),)
            if other is not None
        )

        def mean(read: Callable[[Outcome], float]) -> float:
            return float(np.mean([read(each) for each in found]))

        numbers = {
            "refused": mean(lambda each: each.refused),
            "covered": mean(lambda each: each.covered),
            "stated with 90 % and right": mean(lambda each: each.present[NINE]),
            "rare found, with": mean(lambda each: each.rare_present),
            "rare found, without": mean(lambda each: each.rare_absent),
            "seconds": mean(lambda each: each.seconds),
        }
        return Point(
            candidate,
            "",
            self._difference(found, LINKABLE),
            self._difference(found, TOP),
            float(mine[1].mean()),
            numbers,
            beaten,
        )

    def _difference(self, found: Sequence[Outcome], score: str) -> Difference:
        present = np.array([each.present[score] for each in found])
        absent = np.array([each.absent[score] for each in found])
        return over_releases(present, absent, CONTROL_SHARE)

    def cheapest(self, largest_risk: float) -> Point | None:
        """The design of the smallest error whose risk is below a bound, its interval included; None where there is none."""
        allowed = [
            each
            for each in self.points
            if each.candidate.method and each.risk is not None and each.risk.high <= largest_risk
        ]
        return min(allowed, key=lambda each: each.error, default=None)

    def table(self) -> ResultTable:
        """A row for each design."""
        rows: list[tuple[Cell, ...]] = []
        for each in self.points:
            if each.risk is None or each.everybody is None:
                rows.append((each.candidate.label, *([""] * 9), f"refused: {each.refusal}"))
                continue
            mark = "beaten" if each.is_beaten else "frontier" if each.candidate.method else "anchor"
            rows.append(
                (
                    each.candidate.label,
                    each.risk.excess,
                    each.risk.low,
                    each.risk.high,
                    each.everybody.excess,
                    *(_shown(each.numbers[f"rare found, {side}"]) for side in ("with", "without")),
                    each.error,
                    each.numbers["refused"],
                    each.numbers["covered"],
                    mark,
                )
            )
        return ResultTable(
            f"Designs on {self.repeats} splits: what being in the table costs ({self.sensitive}), and the error of answers",
            (
                "design",
                "risk",
                "low",
                "high",
                "on average",
                "rare with",
                "rare without",
                "error",
                "refused",
                "covered",
                "",
            ),
            tuple(rows),
            is_private=True,
        )

    def summary(self) -> str:
        """The table and how to read it."""
        return "\n\n".join([self.table().to_text(), MEASURED])

    def to_dict(self, data: str = "DATA", schema: str = "SCHEMA") -> dict[str, Any]:
        """Plain data, with the command that publishes each design."""
        return {
            "sensitive": self.sensitive,
            "repeats": self.repeats,
            "seed": self.seed,
            "designs": [
                {
                    "design": each.candidate.label,
                    "command": each.candidate.command(data, schema),
                    "refusal": each.refusal,
                    "risk": None if each.risk is None else _known(each.risk.excess),
                    "low": None if each.risk is None else _known(each.risk.low),
                    "high": None if each.risk is None else _known(each.risk.high),
                    "error": _known(each.error),
                    "beaten": each.is_beaten,
                    **{name: _known(number) for name, number in each.numbers.items()},
                }
                for each in self.points
            ],
            "note": MEASURED,
        }

    def write_parquet(self, path: Path) -> None:
        """One row for each design and split, as measured."""
        import pyarrow as pa
        from pyarrow import parquet

        rows = [
            {
                **{name: value for name, value in each.to_dict().items() if not isinstance(value, dict)},
                **{f"{name}, with": value for name, value in each.present.items()},
                **{f"{name}, without": value for name, value in each.absent.items()},
            }
            for each in sorted(self.outcomes, key=lambda one: (one.repeat, one.label))
        ]
        names = list(dict.fromkeys(name for row in rows for name in row))
        with write_whole(path, parameter="out") as (temporary,):
            parquet.write_table(
                pa.table({name: [row.get(name) for row in rows] for name in names}), temporary
            )


def _known(number: float) -> float | None:
    """JSON has no word for a number that is none."""
    return number if np.isfinite(number) else None


def _shown(number: float) -> Cell:
    """In a table, where there are no rare values to find."""
    return number if np.isfinite(number) else "none rare"


def _is_better(other: tuple[Floats, Floats], mine: tuple[Floats, Floats]) -> bool:
    """Less risk and less error on the same splits, each beyond its uncertainty."""
    return all(_is_less(theirs - ours) for theirs, ours in zip(other, mine, strict=True))


def _is_less(apart: Floats) -> bool:
    """A mean of paired differences below zero with the stated confidence; splits overlap, which widens it."""
    from scipy.stats import t

    number = len(apart)
    spread = float(np.sqrt((1 / number + CONTROL_SHARE) * apart.var(ddof=1)))
    return float(apart.mean()) + float(t.ppf(FOR_EACH, number - 1)) * spread < 0
