"""The risk-error frontier: points, dominance beyond uncertainty, tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.arrays import Floats
from sfumato.atomic_files import write_whole
from sfumato.compare.grid import Candidate
from sfumato.compare.trial import (
    COVERED,
    DISTANCES,
    ERROR,
    LINKABLE_WITH,
    LINKABLE_WITHOUT,
    RARE_WITH,
    RARE_WITHOUT,
    REFUSED,
    SIZES,
    STRICTER,
    SURE_RARE_WITH,
    UNCERTAINTY,
    Outcome,
)
from sfumato.custody.audit.result import CONTROL_SHARE, proved_cap
from sfumato.custody.audit.scores import LINKABLE, SURE, TOP, Difference, over_releases
from sfumato.guarantees import Guarantee
from sfumato.results import ResultTable
from sfumato.text import Cell

# --------------------------------------------------------------------------------------------------
# One design on the chart: risk, error, what is proved, and where it stands.


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


# --------------------------------------------------------------------------------------------------
# Which designs are beaten on risk and error beyond their uncertainty, and what each method's error is at
# equal risk.


FOR_EACH = 0.975
"""Confidence, on one side, with which a design must be better on risk, and again on error."""

RESAMPLES = 400
"""Resamples of the splits behind shares and intervals."""

Series = tuple[Floats, Floats]
"""Risk and error of a design on every split."""


def is_better(other: Series, mine: Series) -> bool:
    """Less risk and less error on the same splits, each beyond its uncertainty."""
    return all(_is_less(theirs - ours) for theirs, ours in zip(other, mine, strict=True))


def _is_less(apart: Floats) -> bool:
    """A mean of paired differences below zero with the stated confidence; splits overlap, which widens it."""
    from scipy.special import stdtrit

    number = len(apart)
    spread = float(np.sqrt((1 / number + CONTROL_SHARE) * apart.var(ddof=1)))
    return float(apart.mean()) + float(stdtrit(number - 1, FOR_EACH)) * spread < 0


def beaten(series: Mapping[str, Series]) -> dict[str, bool]:
    """By design, whether some other one is better on both."""
    return {
        name: any(is_better(other, mine) for label, other in series.items() if label != name)
        for name, mine in series.items()
    }


def undominated_shares(series: Mapping[str, Series], *, seed: int) -> dict[str, float]:
    """By design, in which share of resamples of the splits no other design has less mean risk and less mean error.

    Examples
    --------
    >>> worse, better = (np.array([0.3, 0.4]), np.array([0.5, 0.5])), (np.array([0.1, 0.2]), np.array([0.1, 0.1]))
    >>> undominated_shares({"worse": worse, "better": better}, seed=1)
    {'worse': 0.0, 'better': 1.0}
    """
    if not series:
        return {}
    stacked = np.array([np.stack(each) for each in series.values()])
    generator = np.random.default_rng(seed)
    kept = np.zeros(len(stacked))
    for _ in range(RESAMPLES):
        drawn = generator.integers(stacked.shape[2], size=stacked.shape[2])
        risk, error = stacked[:, :, drawn].mean(axis=2).T
        is_less = (risk[:, None] < risk) & (error[:, None] < error)
        kept += ~is_less.any(axis=0)
    return dict(zip(series, (kept / RESAMPLES).tolist(), strict=True))


def error_at_risk(grid: Sequence[Series], level: float, *, seed: int) -> tuple[float, float, float] | None:
    """Error of a method where its risk is at a level, with a 95 % interval; None where its grid does not reach it.

    Error falls as risk rises along a method's parameter: both are made monotone over the grid, and the error is read between
    its points, never beyond them. The interval is that of resampled splits.

    Parameters
    ----------
    grid
        The designs of one method, each ``(splits,)`` of risk and of error.
    level
        The risk.
    seed
        Of the resamples.

    Examples
    --------
    >>> grid = [(np.full(3, 0.02), np.full(3, 0.3)), (np.full(3, 0.10), np.full(3, 0.1))]
    >>> [round(each, 3) for each in error_at_risk(grid, 0.06, seed=1)]
    [0.2, 0.2, 0.2]
    >>> error_at_risk(grid, 0.2, seed=1) is None
    True
    """
    if not grid:
        return None
    stacked = np.array([np.stack(each) for each in grid])
    middle = _read(stacked.mean(axis=2), level)
    if middle is None:
        return None
    generator = np.random.default_rng(seed)
    number = stacked.shape[2]
    found = [
        each
        for _ in range(RESAMPLES)
        if (each := _read(stacked[:, :, generator.integers(number, size=number)].mean(axis=2), level))
        is not None
    ]
    low, high = np.quantile(found, [0.025, 0.975]) if found else (middle, middle)
    return middle, float(min(low, middle)), float(max(high, middle))


def _read(points: Floats, level: float) -> float | None:
    """Error at a level of risk, from ``(designs, 2)`` mean risks and errors."""
    order = np.argsort(points[:, 0], kind="stable")
    risk, error = points[order, 0], -rising_means(-points[order, 1])
    if not risk[0] <= level <= risk[-1]:
        return None
    return float(np.interp(level, risk, error))


def rising_means(numbers: Floats) -> Floats:
    """The nearest numbers that never fall, by pooling neighbours that do.

    Examples
    --------
    >>> rising_means(np.array([1.0, 3.0, 2.0, 4.0])).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    pools: list[list[float]] = []
    for number in numbers.tolist():
        pools.append([number])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    return np.array([float(np.mean(each)) for each in pools for _ in each])


# --------------------------------------------------------------------------------------------------
# Designs beside each other: what each risks, what each is good for, and which are beaten by none.


RISK_LEVELS = (0.01, 0.02, 0.05, 0.1)
"""Risks at which methods are compared."""

RARE_RISK = "rare values found at nine tenths"
RISKS = (LINKABLE, RARE_RISK, SURE)
"""Risks that each have a frontier; the first is the chart's."""

MEASURED = "Measured against these attackers on this table; a better attacker would find more. Private: computed from the rows."


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
    workload
        What was asked.
    promises
        By design, what is proved of it.
    caveats
        What must be said of the splits besides.
    """

    candidates: tuple[Candidate, ...]
    outcomes: tuple[Outcome, ...]
    sensitive: str
    repeats: int
    seed: int
    workload: str = "strata"
    promises: tuple[tuple[Guarantee, ...], ...] = ()
    caveats: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What must be said of everything that was measured."""
        return " ".join([MEASURED, *self.caveats])

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

    def series(self, risk: str = LINKABLE) -> dict[str, Series]:
        """By design that was published on every split, one kind of risk, and error, by split; the table itself is none."""
        found = {}
        for each in self.candidates:
            outcomes = self._by_label[each.label]
            if each.method and not any(one.refusal for one in outcomes):
                risks = np.array([_risk(one, risk) for one in outcomes])
                found[each.label] = (risks, np.array([one.numbers[ERROR] for one in outcomes]))
        return found

    @cached_property
    def _beaten(self) -> dict[str, bool]:
        return beaten(self.series())

    @cached_property
    def _shares(self) -> dict[str, float]:
        return undominated_shares(self.series(), seed=self.seed)

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """All designs, in the order given."""
        promises = self.promises or ((),) * len(self.candidates)
        return tuple(self._point(*each) for each in zip(self.candidates, promises, strict=True))

    def _point(self, candidate: Candidate, promises: tuple[Guarantee, ...]) -> Point:
        found = self._by_label[candidate.label]
        refusal = next((each.refusal for each in found if each.refusal), "")
        if refusal:
            nowhere = (float("nan"), float("nan"))
            return Point(candidate, refusal, None, None, None, None, nowhere, {}, False, 0.0, promises)
        names = dict.fromkeys(name for each in found for name in each.numbers)
        judged = [each for each in found if each.classifier]
        return Point(
            candidate,
            "",
            difference(found, lambda each: (each.present[LINKABLE], each.absent[LINKABLE])),
            difference(found, lambda each: (each.present[TOP], each.absent[TOP])),
            difference(judged, partial(_classified, score=LINKABLE)) if judged else None,
            difference(judged, partial(_classified, score=TOP)) if judged else None,
            interval([each.numbers[ERROR] for each in found]),
            {name: mean([each.numbers[name] for each in found]) for name in names},
            self._beaten.get(candidate.label, False),
            self._shares.get(candidate.label, 1.0),
            promises,
        )

    def cheapest(self, largest_risk: float) -> Point | None:
        """The design of the smallest error whose risk is below a bound, its interval included; None where there is none.

        A design whose intervals hold the truth too seldom is not among them.
        """
        allowed = [
            each
            for each in self.points
            if each.candidate.method
            and each.risk is not None
            and each.risk.high <= largest_risk
            and each.is_honest
        ]
        return min(allowed, key=lambda each: each.error, default=None)

    def refuted(self) -> tuple[str, ...]:
        """Designs of which more is found than their promise allows, beyond the interval of the risk."""
        return tuple(
            each.candidate.label
            for each in self.points
            if each.risk is not None and each.cap is not None and each.risk.low > each.cap - each.risk.absent
        )

    def weak_attackers(self) -> tuple[str, ...]:
        """Designs on whose most linkable members the classifier, which knows no law, does better than every attacker who does.

        On each of the splits where it was run: on one of them it may do so by luck.
        """
        return tuple(
            each.label
            for each in self.candidates
            if (judged := [one for one in self._by_label[each.label] if one.classifier])
            and all(_classified(one, score=LINKABLE)[0] > one.present[LINKABLE] for one in judged)
        )

    def table(self) -> ResultTable:
        """A row for each design."""
        rows: list[tuple[Cell, ...]] = []
        for each in self.points:
            if each.risk is None or each.everybody is None:
                rows.append((each.candidate.label, *([""] * 10), f"refused: {each.refusal}"))
                continue
            rows.append(
                (
                    each.candidate.label,
                    each.risk.excess,
                    each.risk.low,
                    each.risk.high,
                    "-" if each.cap is None else each.cap - each.risk.absent,
                    each.everybody.excess,
                    *(shown(each.numbers[name], "none rare") for name in (RARE_WITH, RARE_WITHOUT)),
                    each.error,
                    each.numbers[REFUSED],
                    shown(each.numbers[COVERED], "no answers"),
                    each.standing,
                )
            )
        return ResultTable(
            f"Designs on {self.repeats} splits: what being in the table costs ({self.sensitive}), and the error of answers "
            f"({self.workload})",
            (
                "design",
                "risk",
                "low",
                "high",
                "proved",
                "on average",
                "rare with",
                "rare without",
                "error",
                "refused",
                "covered",
                "standing",
            ),
            tuple(rows),
            is_private=True,
        )

    def uses(self) -> ResultTable:
        """What answers of each design are worth."""
        named = {
            "relative error": "relative",
            "absolute error": "off by" if self.workload == "differences" else "rows off",
            "interval score": "interval score",
            "width": "width",
        }
        rows = [
            (each.candidate.label, *each.error_interval, *self._shown(each, named))
            for each in self.points
            if not each.refusal
        ]
        return ResultTable(
            "Answers: 95 % interval of the error, other errors, and their intervals",
            ("design", "error from", "to", *named.values()),
            tuple(rows),
            is_private=True,
        )

    def learned(self) -> ResultTable:
        """How far tables of each design lie from the true ones, and what models trained on it predict."""
        named = {
            "total variation, 1-way": "TV 1",
            "total variation, 2-way": "TV 2",
            "total variation, 3-way": "TV 3",
            "tree right": "tree right",
            "naive Bayes right": "naive Bayes right",
        }
        rows = [
            (
                each.candidate.label,
                *self._shown(each, named),
                "-" if each.predicted is None else each.predicted.present,
            )
            for each in self.points
            if not each.refusal
        ]
        return ResultTable(
            "Distance of tables; people outside predicted, and by a classifier people in the table (empirical privacy)",
            ("design", *named.values(), "in the table"),
            tuple(rows),
            is_private=True,
        )

    def _shown(self, point: Point, names: Iterable[str]) -> Iterator[Cell]:
        return (shown(point.numbers.get(name, float("nan")), "-") for name in names)

    def named_tables(self) -> ResultTable:
        """Distances of tables that somebody named, and how much one of two attributes tells of the other; no rows where none was."""
        named = f"{DISTANCES[0]} of "
        rows = []
        for each in self.points:
            for table in (name.removeprefix(named) for name in each.numbers if name.startswith(named)):
                first, *others = table.split(", ")
                told = each.numbers.get(f"{UNCERTAINTY} of {', '.join(others)} by {first}", float("nan"))
                distances = [each.numbers[f"{distance} of {table}"] for distance in DISTANCES]
                rows.append((each.candidate.label, table, *distances, shown(told, "-")))
        return ResultTable(
            "Tables: distance from the true one, and the share of the second attribute's entropy that the first takes away",
            ("design", "table", *DISTANCES, UNCERTAINTY),
            tuple(rows),
            is_private=True,
        )

    def sizes(self) -> ResultTable:
        """Error by the true share of the rows that a question is about."""
        rows = [
            (
                each.candidate.label,
                *(shown(each.numbers.get(f"{ERROR}, {size}", float("nan")), "none asked") for size in SIZES),
                shown(each.numbers.get(STRICTER, float("nan")), "-"),
            )
            for each in self.points
            if not each.refusal
        ]
        return ResultTable(
            "Error by size of the truth, as a share of the rows; last, with a bound of .1 % in place of .5 %",
            ("design", *SIZES, "stricter"),
            tuple(rows),
            is_private=True,
        )

    def equal_risk(self) -> ResultTable:
        """Error of each method at the same risks, read between the points of its grid."""
        series = self.series()
        by_method: dict[str, list[Series]] = {}
        for each in self.candidates:
            if each.label in series:
                by_method.setdefault(each.method, []).append(series[each.label])
        rows = []
        for method, grid in by_method.items():
            cells: list[Cell] = []
            least = min(float(risks.mean()) for risks, _ in grid)
            for level in RISK_LEVELS:
                found = error_at_risk(grid, level, seed=self.seed)
                beyond = "cannot reach" if level < least else "always less risk"
                cells.append(beyond if found is None else "{:.3f} ({:.3f} to {:.3f})".format(*found))
            rows.append((method, *cells))
        return ResultTable(
            "Error of each method at equal risk (95 % interval over splits)",
            ("method", *(f"risk {level:.0%}" for level in RISK_LEVELS)),
            tuple(rows),
            is_private=True,
        )

    def disagreements(self) -> tuple[str, ...]:
        """Designs that no other beats by one kind of risk, and some other does by another."""
        found = [beaten(self.series(risk)) for risk in RISKS]
        sentences = []
        for label in found[0]:
            by = [name for name, each in zip(RISKS, found, strict=True) if each[label]]
            if by and len(by) < len(RISKS):
                sentences.append(f"{label} is beaten where risk is {' or '.join(by)}, and not elsewhere.")
        return tuple(sentences)

    def summary(self) -> str:
        """The tables and how to read them."""
        weak = [
            f"The classifier finds more than the law's attacker in {label}: the risk shown there is too small."
            for label in self.weak_attackers()
        ]
        weak += [
            f"{label} lets more be found than its promise allows: look at it by sfumato falsify."
            for label in self.refuted()
        ]
        told = [
            each.to_text()
            for each in (self.table(), self.uses(), self.learned(), self.named_tables(), self.equal_risk())
            if each.rows
        ]
        return "\n\n".join([*told, *self.disagreements(), *weak, self.note])

    def to_dict(self, data: str = "DATA", schema: str = "SCHEMA") -> dict[str, Any]:
        """Plain data, with the command that publishes each design."""
        return {
            "sensitive": self.sensitive,
            "workload": self.workload,
            "repeats": self.repeats,
            "seed": self.seed,
            "designs": [plain(each, each.candidate.command(data, schema)) for each in self.points],
            "equal_risk": self.equal_risk().to_dict()["rows"],
            "disagreements": list(self.disagreements()),
            "weak_attackers": list(self.weak_attackers()),
            "refuted": list(self.refuted()),
            "note": self.note,
        }

    def write_parquet(self, path: Path) -> None:
        """One row for each design and split, as measured."""
        import pyarrow as pa
        from pyarrow import parquet

        rows = [
            {
                "design": each.label,
                "split": each.repeat,
                "refusal": each.refusal,
                **{f"{name}, with": value for name, value in each.present.items()},
                **{f"{name}, without": value for name, value in each.absent.items()},
                **{f"classifier: {name}": value for name, value in each.classifier.items()},
                **each.numbers,
            }
            for each in sorted(self.outcomes, key=lambda one: (one.repeat, one.label))
        ]
        names = list(dict.fromkeys(name for row in rows for name in row))
        with write_whole(path, parameter="out", is_private=True) as (temporary,):
            parquet.write_table(
                pa.table({name: [row.get(name) for row in rows] for name in names}), temporary
            )


def _classified(outcome: Outcome, *, score: str) -> tuple[float, float]:
    return outcome.classifier[f"{score}, with"], outcome.classifier[f"{score}, without"]


def _risk(outcome: Outcome, name: str) -> float:
    if name == RARE_RISK:
        # Absolute: the others of a small circle betray a person as well.
        return float(np.nan_to_num(outcome.numbers[SURE_RARE_WITH]))
    return outcome.present[name] - outcome.absent[name]
