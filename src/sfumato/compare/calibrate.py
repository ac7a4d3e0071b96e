"""Parameters for a goal on measured risk or error, or on expected standard errors."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.atomic_files import spill_folder
from sfumato.compare import trial
from sfumato.compare.frontier import Comparison, Point
from sfumato.compare.grid import RAW, Candidate, candidate, is_allowed_by
from sfumato.compare.run import compare_designs
from sfumato.compare.trial import Outcome
from sfumato.compare.workload import WorkloadName
from sfumato.custody.audit.result import CONTROL_SHARE
from sfumato.custody.audit.scores import LINKABLE
from sfumato.custody.calibrate import METHODS_WITH_GOALS, left_open, promised_parameters
from sfumato.custody.publish import in_memory
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError, nearest
from sfumato.methods.base import METHODS, Design
from sfumato.methods.planning import ExpectedErrors
from sfumato.randomness.streams import NoiseSource
from sfumato.results import ResultTable
from sfumato.schema import Schema
from sfumato.text import Cell

# --------------------------------------------------------------------------------------------------
# Parameters for a goal on measured risk or error, for every method: the design of a coarse grid that keeps it
# and loses least.


RISK = "risk"
GOALS = {
    RISK: RISK,
    "error": trial.ERROR,
    "relative-error": trial.RELATIVE,
    "absolute-error": trial.ABSOLUTE,
    "std-error": trial.STANDARD,
}
"""Names of measured goals, and what each bounds."""

RETENTIONS = (0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1)
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)

COARSE: Mapping[str, tuple[dict[str, Any], ...]] = {
    "randomized-response": tuple({"retention": each} for each in RETENTIONS),
    "sample-perturb-scale": tuple({"retention": each} for each in RETENTIONS),
    "splu-gen": tuple({"gamma": each} for each in (2, 3, 4, 5, 6, 8, 10)),
    "anatomy": tuple({"l_value": each} for each in (2, 3, 4, 5, 6, 8, 10)),
    "generalization": tuple({"k": each} for each in (2, 5, 10, 20, 50)),
    "noisy-marginals": tuple({"epsilon": each} for each in EPSILONS),
    "columnized-counts": tuple(
        {"k": k, "epsilon": epsilon, "delta": 1e-5} for k in (5, 20) for epsilon in (0.5, 1.0, 2.0, 5.0)
    ),
    "distribution-resampling": ({},),
}
"""By method, the only parameters that are chosen from private rows: retentions in steps of .05, epsilons 1, 2 or 5 times a power of
ten. More digits would tell about single people (decision 20)."""


@dataclass(frozen=True, eq=False)
class MeasuredChoice:
    """The design of a grid that keeps a goal and loses least, or why there is none.

    Parameters
    ----------
    method, goal
        Of what, for what.
    comparison
        What was measured of the grid, the table itself first.
    point
        The choice; None where nothing keeps the goal, or what keeps it protects nothing.
    sentence
        The choice in words.
    """

    method: str
    goal: Mapping[str, float]
    comparison: Comparison
    point: Point | None
    sentence: str

    @property
    def tables(self) -> tuple[ResultTable, ...]:
        """What was measured; private."""
        return (self.comparison.table(), self.comparison.uses(), self.comparison.learned())

    @property
    def design(self) -> Design:
        """The method with the parameters chosen; it says of itself that they were chosen from private rows.

        Raises
        ------
        ParameterError
            When no design keeps the goal, or none that protects anybody.
        """
        if self.point is None:
            raise ParameterError(self.sentence, parameter="goal")
        chosen = self.point.candidate
        how = f"the grid's best on the private rows for {_told(self.goal)}"
        # What the goal states by itself was not chosen by looking at anything.
        names = {name: how for name in _of_grid(self.method) if name != "delta"}
        return METHODS.make(chosen.method, {**chosen.parameters, "chosen_from_private_data": names or None})

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The choice, and what every design of the grid gives."""
        return "\n\n".join([self.sentence, *(each.to_text() for each in self.tables), self.comparison.note])

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "method": self.method,
            "goal": dict(self.goal),
            "design": None if self.point is None else self.design.to_dict(),
            "sentence": self.sentence,
            "tables": [each.to_dict() for each in self.tables],
            "note": self.comparison.note,
        }


def is_measured(method: str, goal: Mapping[str, Any]) -> bool:
    """Whether only measuring answers a goal: some of it is measured, or what it says of the promise leaves a parameter open.

    Raises
    ------
    ParameterError
        When there is no such goal, or the method takes no bound on its promise beside a measured one.
    """
    METHODS.get(method)
    if method in METHODS_WITH_GOALS and not (goal and set(goal) <= set(GOALS)):
        both = set(goal) & set(GOALS)
        if both:
            raise ParameterError(
                f"{', '.join(sorted(both))} is measured, and the other goals of {method} are not: it keeps one kind at a time. Leave one out.",
                parameter="goal",
            )
        return False
    measured, promised = _split(method, goal)
    return bool(measured) or bool(left_open(method, promised_parameters(method, promised)))


def choose_by_measuring(
    table: PrivateTable,
    method: str,
    goal: Mapping[str, Any],
    *,
    sensitive: str | None = None,
    workload: WorkloadName = "strata",
    questions: Sequence[str] | None = None,
    repeats: int = 3,
    queries: int = 150,
    seed: int | None = None,
    workers: int | None = None,
) -> MeasuredChoice:
    """Measure a method's grid on the private rows and choose by it.

    Parameters
    ----------
    table
        The private rows.
    method
        Public name of the method.
    goal
        ``risk``: what being in the table costs the most linkable, its interval included, at most this; of what keeps it the
        smallest error is chosen. ``error``, ``relative-error``, ``absolute-error``: of the workload, the mean over splits at
        most this; ``std-error``: the largest standard error that an answer states, in rows. The smallest risk is chosen. A risk and one
        error: both are kept, and the smallest error chosen. Bounds on the promise (``promise_goals`` of the method) may stand beside
        them, or alone where they leave a parameter open: the smallest error is then chosen.
    sensitive, workload, questions, repeats, queries, seed, workers
        As for :func:`~sfumato.compare.run.compare_designs`.

    Raises
    ------
    ParameterError
        When a goal is unknown or no number above 0.
    """
    METHODS.get(method)
    bounds, promised = _split(method, goal)
    if method not in COARSE:
        raise ParameterError(
            f"there is no coarse grid for {method!r}; {nearest(method, COARSE)} Compare designs of your own.",
            parameter="method",
        )
    held = in_memory(table if seed is None else table.drawn_by(NoiseSource.seeded(seed)))
    grid = _grid(method, promised)
    allowed = [each for each in grid if is_allowed_by(held, method, each)] or [grid[0]]
    candidates: list[Candidate] = [RAW, *(candidate(method, each) for each in allowed)]
    with spill_folder() as folder:
        comparison = compare_designs(
            held,
            folder / "comparison",
            candidates=candidates,
            sensitive=sensitive,
            workload=workload,
            questions=questions,
            queries=queries,
            repeats=repeats,
            seed=seed,
            workers=workers,
        )
    return choose_from(comparison, method, bounds, promised)


def choose_from(
    comparison: Comparison,
    method: str,
    measured: Mapping[str, float],
    promised: Mapping[str, float] | None = None,
) -> MeasuredChoice:
    """Choose by what was measured; the table itself must be among it, and every design keep what is promised."""
    points = [each for each in comparison.points if each.candidate.method == method]
    keeping = [each for each in points if _keeps(each, measured)]
    goal = {**(promised or {}), **measured}
    told = _told(goal)
    if not keeping:
        reached = "; ".join(_reached(points, name) for name in measured or (RISK,))
        return MeasuredChoice(
            method, goal, comparison, None, f"No design of the grid of {method} keeps {told}: {reached}."
        )
    # Where not even the table itself costs people anything that could be measured, nothing can be found less often.
    raw = next(each for each in comparison.points if not each.candidate.method).risk
    is_harmless = raw is None or raw.low <= 0
    protecting = [each for each in keeping if is_harmless or _protects(comparison, each)]
    if not protecting:
        return MeasuredChoice(
            method,
            goal,
            comparison,
            None,
            f"What keeps {told} protects nothing: people are found as often as in the table itself. Allow a larger error, or choose "
            "another method.",
        )
    by_error = RISK in measured or not measured
    best = min(protecting, key=lambda each: each.error if by_error else _risk(each))
    lost = f"error {best.error:.3g}" if by_error else f"risk {_risk(best):.3g}"
    told_of_table = (
        " Being in the table itself costs people nothing that could be measured here." * is_harmless
    )
    sentence = f"{best.candidate.label} keeps {told} and has the smallest {lost}.{told_of_table}"
    return MeasuredChoice(method, goal, comparison, best, sentence)


def _keeps(point: Point, goal: Mapping[str, float]) -> bool:
    if point.risk is None or not point.is_honest:
        return False
    measured = {
        name: point.risk.high if name == RISK else point.numbers.get(GOALS[name], float("nan"))
        for name in goal
    }
    return all(measured[name] <= bound for name, bound in goal.items())


def _risk(point: Point) -> float:
    assert point.risk is not None
    return point.risk.excess


def _reached(points: Sequence[Point], name: str) -> str:
    numbers = [
        each.risk.high if name == RISK else each.numbers[GOALS[name]]
        for each in points
        if each.risk is not None
    ]
    known = [each for each in numbers if np.isfinite(each)]
    if known:
        return f"{name} reaches {min(known):.3g} at best"
    return f"no design answers all questions with a {name}" if numbers else "none of them could be published"


def _protects(comparison: Comparison, point: Point) -> bool:
    """People are found less often than in the table itself, on the same splits, beyond uncertainty."""
    from scipy.special import stdtrit

    raw, mine = (
        [each for each in comparison.outcomes if each.label == label]
        for label in (RAW.label, point.candidate.label)
    )
    apart = _excess(raw) - _excess(mine)
    half = stdtrit(len(apart) - 1, 0.975) * np.sqrt((1 / len(apart) + CONTROL_SHARE) * apart.var(ddof=1))
    return bool(apart.mean() > half)


def _excess(outcomes: Sequence[Outcome]) -> Any:
    ordered = sorted(outcomes, key=lambda each: each.repeat)
    return np.array([each.present[LINKABLE] - each.absent[LINKABLE] for each in ordered])


def _of_grid(method: str) -> tuple[str, ...]:
    """Parameters that a grid chooses."""
    return tuple(COARSE[method][0])


def _grid(method: str, promised: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The part of a method's grid that keeps bounds on its promise, and what just keeps them.

    Raises
    ------
    ParameterError
        When nothing of it does.
    """
    needed = promised_parameters(method, promised)
    kinds = {each.parameter: each for each in METHODS.get(method).promise_goals.values()}
    grid: list[dict[str, Any]] = []
    for each in COARSE[method]:
        bounded = [name for name in needed if name in each and kinds[name].kind != "exactly"]
        if all(kinds[name].is_kept_by(needed[name], each[name]) for name in bounded):
            grid.append(
                {**needed, **each, **{name: value for name, value in needed.items() if name not in bounded}}
            )
    loosest = {**(grid[0] if grid else COARSE[method][0]), **needed}
    if loosest not in grid and _can_be_chosen(method, loosest):
        grid.insert(0, loosest)
    if not grid:
        raise ParameterError(
            f"nothing in the grid of {method} keeps {_told(promised)}, from which alone parameters are chosen by looking at rows. Ask for less, "
            "or state every parameter.",
            parameter="goal",
        )
    return grid


def _can_be_chosen(method: str, parameters: Mapping[str, Any]) -> bool:
    """Whether a release could say of these parameters that they were chosen from the rows: some have too many digits."""
    try:
        METHODS.make(
            method, {**parameters, "chosen_from_private_data": dict.fromkeys(_of_grid(method), "measured")}
        )
    except ParameterError:
        return False
    return True


def _split(method: str, goal: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
    """Bounds on what is measured, and on what a method promises."""
    promises = METHODS.get(method).promise_goals
    promised = {name: value for name, value in goal.items() if name in promises}
    return _bounds({name: value for name, value in goal.items() if name not in promised}, promises), promised


def _bounds(goal: Mapping[str, Any], promises: Collection[str]) -> dict[str, float]:
    found = {}
    for name, value in goal.items():
        if name not in GOALS:
            raise ParameterError(
                f"there is no goal {name!r} of this method; {nearest(name, (*GOALS, *promises))}",
                parameter="goal",
            )
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
            raise ParameterError(
                f"{name} must be a number above 0, got {value!r}. Write for example {name}=0.05.",
                parameter="goal",
            )
        found[name] = float(value)
    return found


def _told(goal: Mapping[str, float]) -> str:
    """Bounds in words; what a promise asks for may be a least number as well as a largest."""
    return " and ".join(
        f"{name} of at most {bound:g}" if name in GOALS else f"{name} = {bound:g}"
        for name, bound in goal.items()
    )


# --------------------------------------------------------------------------------------------------
# Parameters for a bound on standard errors by the formulas that plans state them by; no row is looked at.


GOAL = "std-error"
"""The only goal that formulas answer without rows."""


@dataclass(frozen=True)
class ExpectedChoice:
    """The design of a grid that hides most while its expected errors keep a bound, or why there is none.

    Parameters
    ----------
    bound, rows
        The largest standard error, in rows, of a table of so many.
    expected
        Every design of the grid with its largest expected errors of counts among all rows, and among a part of them; no number where
        it does not fit, or does not answer.
    chosen
        The choice; None where nothing keeps the bound.
    """

    bound: float
    rows: int
    expected: tuple[tuple[Candidate, tuple[float, float]], ...]
    chosen: Candidate | None

    @property
    def sentence(self) -> str:
        """The choice in words."""
        if self.chosen is not None:
            _, among = {each.label: errors for each, errors in self.expected}[self.chosen.label]
            parts = "it does not answer" if math.isnan(among) else "included"
            return (
                f"{self.chosen.label} keeps {GOAL} of at most {self.bound:g} for counts of a category in a table of {self.rows:,} rows, those "
                f"among a random part of the rows {parts}, and hides most of what keeps it."
            )
        known = [error for _, errors in self.expected if not math.isnan(error := _larger(errors))]
        reached = f"{min(known):.3g} can be reached" if known else "none of them fits the schema"
        return f"No design of the grid keeps {GOAL} of at most {self.bound:g} in a table of {self.rows:,} rows: {reached}."

    @property
    def design(self) -> Design:
        """The method with the parameters chosen.

        Raises
        ------
        ParameterError
            When nothing keeps the bound.
        """
        if self.chosen is None:
            raise ParameterError(self.sentence, parameter="goal")
        return self.chosen.design()

    @property
    def tables(self) -> tuple[ResultTable, ...]:
        """What every design of the grid lets expect."""

        def told(error: float) -> Cell:
            return "not determined" if math.isnan(error) else error

        rows = tuple((each.label, *map(told, errors)) for each, errors in self.expected)
        return (
            ResultTable(
                f"Largest expected standard error in {self.rows:,} rows of a category's count",
                ("design", "among all", "among a part"),
                rows,
            ),
        )

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The choice, and what every design of the grid lets expect."""
        return "\n\n".join([self.sentence, *(each.to_text() for each in self.tables)])

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "goal": {GOAL: self.bound},
            "rows": self.rows,
            "design": None if self.chosen is None else self.design.to_dict(),
            "sentence": self.sentence,
            "tables": [each.to_dict() for each in self.tables],
        }


def choose_by_formula(method: str, goal: Mapping[str, Any], schema: Schema, rows: int) -> ExpectedChoice:
    """The design of a method's grid that hides most while no count is expected to have a larger standard error.

    Parameters
    ----------
    method
        Public name of the method.
    goal
        ``std-error`` alone, in rows.
    schema, rows
        Of the table to be published.

    Raises
    ------
    ParameterError
        When the goal is another one, or the method's errors follow from the private rows alone.

    Examples
    --------
    >>> schema = Schema.from_toml('''
    ... [attributes.job]
    ... role = "sensitive"
    ... categories = ["Sales", "Tech"]
    ... ''')

    Two categories kept with probability p have a standard error of at most sqrt(n (1 / p^2 - 1)) / 2: 86.6 at .5, 134 at .35.

    >>> choose_by_formula("randomized-response", {"std-error": 100}, schema, 10_000).design.retention
    0.5
    """
    bound = goal.get(GOAL)
    if set(goal) != {GOAL} or not isinstance(bound, int | float) or isinstance(bound, bool) or not bound > 0:
        raise ParameterError(
            f"without DATA, rows are for the goal {GOAL} alone, a number above 0. Write {GOAL}=200, or give DATA.",
            parameter="goal",
        )
    METHODS.get(method)
    expected: list[tuple[Candidate, tuple[float, float]]] = []
    for each in (candidate(method, dict(parameters)) for parameters in COARSE.get(method, ())):
        design = each.design()
        try:
            law = design.planned_law(schema)
        except ParameterError:
            expected.append((each, (float("nan"), float("nan"))))
            continue
        if law is None:
            expected.clear()
            break
        expected.append((each, ExpectedErrors(law, schema, rows, design.can_publish).largest()))
    if not expected:
        raise ParameterError(
            f"errors of {method} follow from the private rows, and no formula gives them before. Give DATA: they are measured.",
            parameter="goal",
        )
    kept = [(error, each) for each, errors in expected if (error := _larger(errors)) <= bound]
    chosen = max(kept, key=lambda one: one[0])[1] if kept else None
    return ExpectedChoice(float(bound), rows, tuple(expected), chosen)


def _larger(errors: tuple[float, float]) -> float:
    """The larger of those that are known."""
    return max((each for each in errors if not math.isnan(each)), default=float("nan"))
