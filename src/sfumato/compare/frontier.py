"""Designs beside each other: what each risks, what each is good for, and which are beaten by none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.compare.answers import COVERED, ERROR, REFUSED, SIZES, STRICTER
from sfumato.compare.designs import Candidate
from sfumato.compare.distances import DISTANCES, UNCERTAINTY
from sfumato.compare.dominance import Series, beaten, error_at_risk, undominated_shares
from sfumato.compare.points import Point, difference, interval, mean, plain, shown
from sfumato.compare.task import RARE_WITH, RARE_WITHOUT, SURE_RARE_WITH, Outcome
from sfumato.custody.audit.measuring import LINKABLE, SURE, TOP
from sfumato.guarantees import Guarantee
from sfumato.values.number_text import Cell
from sfumato.values.result_tables import ResultTable
from sfumato.writing import write_whole

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
        with write_whole(path, parameter="out") as (temporary,):
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
