"""One design on the chart: risk, error, what is proved, and where it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.compare.answers import COVERED, ERROR
from sfumato.compare.designs import Candidate
from sfumato.compare.task import LINKABLE_WITH, LINKABLE_WITHOUT, Outcome
from sfumato.custody.audit.caps import CONTROL_SHARE, proved_cap
from sfumato.custody.audit.scores import Difference, over_releases
from sfumato.guarantees import Guarantee
from sfumato.values.number_text import Cell

HONEST = 0.9
"""Coverage of 95 % intervals below which a design is marked, and not recommended."""


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
    classifier
        The same of the most linkable by the classifier alone, on the splits where it was run.
    predicted
        Of everybody by the classifier alone: with the row, the share of people in the table whose value a model trained on the
        release predicts, which is called empirical privacy (Cormode et al. 2013; Fu et al. 2014, section 7).
    error_interval
        Ends of the 95 % interval of the error, over splits.
    numbers
        Means of what else was measured, by name.
    is_beaten
        Some other design has less risk and less error, beyond the uncertainty of both differences.
    undominated
        Share of resampled splits in which no other design has less of both.
    promises
        What is proved of it.
    """

    candidate: Candidate
    refusal: str
    risk: Difference | None
    everybody: Difference | None
    classifier: Difference | None
    predicted: Difference | None
    error_interval: tuple[float, float]
    numbers: dict[str, float]
    is_beaten: bool
    undominated: float
    promises: tuple[Guarantee, ...]

    @property
    def error(self) -> float:
        """Mean error of the workload over the splits."""
        return self.numbers.get(ERROR, float("nan"))

    @property
    def is_honest(self) -> bool:
        """Its intervals hold the truth about as often as they say; true where it answers nothing."""
        covered = self.numbers.get(COVERED, float("nan"))
        return not covered < HONEST

    @property
    def cap(self) -> float | None:
        """The largest share of right guesses among the most linkable that its promises allow; None where they cap nothing."""
        return None if self.risk is None else proved_cap(self.promises, self.risk.absent)

    @property
    def standing(self) -> str:
        """Where it stands, in a word."""
        if self.refusal:
            return "refused"
        if not self.candidate.method:
            return "anchor"
        return ("beaten" if self.is_beaten else "frontier") + (
            "" if self.is_honest else ", covers too little"
        )


def difference(found: Sequence[Outcome], read: Callable[[Outcome], tuple[float, float]]) -> Difference:
    """Of shares with and without the person in the table, over splits; as many people as the most linkable, or more."""
    pairs = np.array([read(each) for each in found])
    people = (
        mean([each.numbers.get(LINKABLE_WITH, 0.0) for each in found]),
        mean([each.numbers.get(LINKABLE_WITHOUT, 0.0) for each in found]),
    )
    return over_releases(pairs[:, 0], pairs[:, 1], CONTROL_SHARE, people=people if all(people) else None)


def interval(numbers: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean over splits that overlap, for something that lies between 0 and 1."""
    measured = np.array(numbers, np.float64)
    apart = over_releases(measured, np.zeros(len(measured)), CONTROL_SHARE)
    return max(apart.low, 0.0), min(apart.high, 1.0)


def mean(numbers: Sequence[float]) -> float:
    """Of those that are numbers: where no question is answered there is no coverage. One that has no bound leaves the mean without."""
    known = [each for each in numbers if not np.isnan(each)]
    return float(np.mean(known)) if known else float("nan")


def plain(point: Point, command: str) -> dict[str, Any]:
    """Plain data of a point, with the command that publishes it."""

    def ends(apart: Difference | None) -> dict[str, float | None] | None:
        if apart is None:
            return None
        return {
            "risk": _known(apart.excess),
            "low": _known(apart.low),
            "high": _known(apart.high),
            "with": _known(apart.present),
            "without": _known(apart.absent),
        }

    return {
        "design": point.candidate.label,
        "method": point.candidate.method,
        "command": command,
        "refusal": point.refusal,
        **(ends(point.risk) or {"risk": None, "low": None, "high": None, "with": None, "without": None}),
        "everybody": ends(point.everybody),
        "classifier": ends(point.classifier),
        "predicted": ends(point.predicted),
        "error": _known(point.error),
        "error_low": _known(point.error_interval[0]),
        "error_high": _known(point.error_interval[1]),
        "beaten": point.is_beaten,
        "undominated": point.undominated,
        "standing": point.standing,
        "promises": [each.statement for each in point.promises],
        "cap": point.cap,
        "numbers": {name: _known(number) for name, number in point.numbers.items()},
    }


def _known(number: float) -> float | None:
    """JSON has no word for a number that is none."""
    return number if np.isfinite(number) else None


def shown(number: float, otherwise: str) -> Cell:
    """In a table, where there may be no number."""
    return number if np.isfinite(number) else otherwise
