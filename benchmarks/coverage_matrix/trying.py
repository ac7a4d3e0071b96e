"""Many releases of redrawn tables, and what came of every kind of answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from coverage_matrix.entries import Entry, Key, entry_of
from coverage_matrix.questions import CELLS_OF_A_SUM, CLASSES, Sized, questions_for, size_class
from coverage_matrix.settings import Setting
from coverage_matrix.tables import Skew, population
from sfumato.arrays import Floats
from sfumato.data.private_table import PrivateTable
from sfumato.errors import SfumatoError
from sfumato.estimates.estimates import Certainty
from sfumato.laws.estimator import Target
from sfumato.randomness.streams import NoiseSource
from sfumato.release import Release
from sfumato.testing import redrawn, release_in_memory
from sfumato.testing.queries import Answers, Asked

ROUNDING = 1e-6
"""How far a number may be from the truth, as a share of it, and still be called the truth."""

TRIED = 4
"""Releases after which a question is left alone that never had an answer, or only ones that state no error."""

RELEASES_OF_WIDTHS = 2
"""Releases by whose widths it is known whether intervals are still the same."""

NEVER_TOO_WIDE = math.sqrt(CELLS_OF_A_SUM)
"""Rows: a release that cannot call a whole number exact states an error of about a row for each cell of a sum."""

TARGETS: tuple[Target, ...] = ("table", "population")


@dataclass(eq=False)
class Held:
    """Answers of one block about one target, ``(releases, questions)`` each; no number where there was none.

    Parameters
    ----------
    places
        Size class of the true count.
    errors, variances
        Estimates less the truth, and what was stated of it.
    misses
        -1 where the truth was below the interval, 1 where it was above it, 0 where the interval held it. Only of
        estimates with an interval.
    certain, wrong
        Whether a number was called exact or bounded; whether it was wrong, or had no error without being exact.
    is_cut
        Whether an end of the interval is a certain bound, or was moved out by one.
    """

    places: Floats
    errors: Floats
    variances: Floats
    misses: Floats
    certain: Floats
    wrong: Floats
    is_cut: Floats
    refusal: str = ""

    @property
    def is_silent(self) -> bool:
        """Whether no answer had an interval or claimed anything."""
        return bool(np.isnan(self.misses).all() and not (self.certain == 1).any())

    @classmethod
    def empty(cls, releases: int, questions: int) -> Held:
        """Nothing answered yet."""
        return cls(*(np.full((releases, questions), np.nan) for _ in range(7)))

    def take(self, release: int, answers: Answers, truth: Floats, sizes: Floats) -> None:
        """Hold one release's answers against the truth."""
        slack = ROUNDING * np.maximum(1, np.abs(truth))
        is_estimate = answers.certainty == Certainty.ESTIMATED
        is_wrong = (truth < answers.least - slack) | (answers.most + slack < truth)
        is_wrong |= (answers.standard_errors == 0) & (answers.certainty < Certainty.EXACT)
        misses = np.where(truth < answers.low - slack, -1.0, np.where(truth > answers.high + slack, 1.0, 0.0))
        has_interval = is_estimate & np.isfinite(answers.low) & np.isfinite(answers.high)
        self.places[release] = size_class(np.round(sizes))
        self.errors[release] = np.where(is_estimate, answers.values - truth, np.nan)
        self.variances[release] = np.where(
            is_estimate & ~answers.is_assumed, answers.standard_errors**2, np.nan
        )
        self.misses[release] = np.where(has_interval, misses, np.nan)
        self.certain[release] = ~is_estimate
        self.wrong[release] = is_wrong
        ends_at_bound = (answers.low <= answers.least) | (answers.high >= answers.most)
        self.is_cut[release] = has_interval & (ends_at_bound | answers.is_assumed)
        # A share of an empty group is no number, and nothing can be held against it.
        for each in (self.places, self.errors, self.variances, self.misses, self.certain, self.wrong):
            each[release, ~np.isfinite(truth)] = np.nan


@dataclass(frozen=True, eq=False)
class Trial:
    """What one setting gave on one table.

    Parameters
    ----------
    entries
        By kind, target and size class.
    unpublished
        Releases that were refused, with the reason of the first.
    widths
        Widths of all intervals of the first releases, added up by kind and target: intervals that are made otherwise
        are known by them.
    """

    entries: dict[Key, Entry]
    unpublished: int = 0
    reason: str = ""
    refusals: dict[str, str] = field(default_factory=dict)
    widths: dict[str, float] = field(default_factory=dict)


def run_trial(
    setting: Setting,
    skew: Skew,
    *,
    releases: int,
    seed: int,
    only: frozenset[Key] | None = None,
    again: bool = True,
) -> Trial:
    """Redraw a population's table, publish it and ask, as often as is said.

    Parameters
    ----------
    only
        Entries that are looked at. A question is then asked where a count of a size that is looked at comes up, and
        a table in which none does is not published: what is asked of one table does not depend on the others.
    again
        Whether these wait for a further run, which asks everything of every release; else they are asked as a first run
        asks them.
    """
    people = setting.table(population(skew))
    noise = NoiseSource.seeded(seed)
    trial = _Asking(people, releases, only, again=again and only is not None)
    for number in range(releases):
        drawn = redrawn(people, noise.named(f"table {number}"))
        if trial.questions and not trial.wanted(number, drawn):
            continue
        try:
            release = release_in_memory(drawn, setting.design(), seed=(seed << 20) + number)
        except SfumatoError as refusal:
            trial.refused.append(str(refusal))
            continue
        trial.ask(number, release, drawn)
    return trial.gathered()


class _Asking:
    """Asks every release its questions and keeps what came of them."""

    def __init__(
        self, people: PrivateTable, releases: int, only: frozenset[Key] | None, *, again: bool
    ) -> None:
        self.people, self.releases, self.only, self.again = people, releases, only, again
        self.held: dict[tuple[int, Target], Held] = {}
        self.questions: tuple[Sized, ...] = ()
        self.refused: list[str] = []
        self.widths: dict[str, float] = {}
        self._times: Counter[tuple[int, Target]] = Counter()
        self._sizes = _sizes_by_kind(only or ())
        self._of_people: dict[int, tuple[Floats, Floats]] = {}

    def wanted(self, number: int, drawn: PrivateTable) -> list[tuple[int, Target]]:
        """Questions of one release that may still say something of what is looked at."""
        return [
            (place, target)
            for target in TARGETS
            for place, each in enumerate(self.questions)
            if number % each.turns == each.turn
            and self._is_looked_at(place, target, drawn)
            and not self._is_silent(place, target)
        ]

    def ask(self, number: int, release: Release, drawn: PrivateTable) -> None:
        """Whatever is looked at and may still say something."""
        self.questions = self.questions or questions_for(release, self.people, again=self.again)
        asked = {target: Asked(release, target) for target in TARGETS}
        for place, target in self.wanted(number, drawn):
            self._ask(number, place, asked[target], drawn)

    def gathered(self) -> Trial:
        """What came of it, of the entries that are looked at."""
        found = _gathered(self.held, self.questions, self.refused)
        entries = {key: each for key, each in found.entries.items() if self.only is None or key in self.only}
        return replace(found, entries=entries, widths=self.widths)

    def _ask(self, number: int, place: int, asked: Asked, drawn: PrivateTable) -> None:
        key, question = (place, asked.target), self.questions[place]
        if key not in self.held:
            self.held[key] = Held.empty(self.releases, len(question.block.labels))
        self._times[key] += 1
        try:
            answers = question.block.ask(asked)
        except SfumatoError as refusal:
            self.held[key].refusal = str(refusal)
            return
        self.held[key].take(number, answers, *self._truths(place, asked.target, drawn))
        if number < RELEASES_OF_WIDTHS:
            kind = f"{question.kind}, {asked.target}"
            width = np.nansum(
                np.where(np.isfinite(answers.high - answers.low), answers.high - answers.low, 0)
            )
            self.widths[kind] = self.widths.get(kind, 0.0) + float(width)

    def _truths(self, place: int, target: Target, drawn: PrivateTable) -> tuple[Floats, Floats]:
        """True numbers and the counts that they rest on; those of the population stay the same."""
        if target == "population" and place in self._of_people:
            return self._of_people[place]
        question, table = self.questions[place], drawn if target == "table" else self.people
        truth = question.block.truth(table)
        found = truth, question.sizes(table, truth)
        if target == "population":
            self._of_people[place] = found
        return found

    def _is_looked_at(self, place: int, target: Target, drawn: PrivateTable) -> bool:
        """Whether a count of a size that is looked at comes up."""
        if self.only is None:
            return True
        sizes = self._sizes.get((self.questions[place].kind, target))
        if sizes is None:
            return False
        _, counts = self._truths(place, target, drawn)
        return bool(np.isin(size_class(np.round(counts)), sizes).any())

    def _is_silent(self, place: int, target: Target) -> bool:
        """Whether a question never had an answer with an interval or a claim, and will not be asked again."""
        return self._times[place, target] >= TRIED and self.held[place, target].is_silent


def _sizes_by_kind(keys: Iterable[Key]) -> dict[tuple[str, str], list[int]]:
    """Size classes that are looked at of each kind and target."""
    found: dict[tuple[str, str], list[int]] = {}
    for key in keys:
        found.setdefault((key.kind, key.target), []).append(CLASSES.index(key.size))
    return found


def _gathered(
    held: dict[tuple[int, Target], Held], questions: tuple[Sized, ...], refused: list[str]
) -> Trial:
    """One entry for each kind, target and size."""
    entries: dict[Key, Entry] = {}
    refusals: dict[str, str] = {}
    groups: dict[tuple[str, Target], list[Held]] = {}
    for (place, target), each in held.items():
        groups.setdefault((questions[place].kind, target), []).append(each)
    for (kind, target), those in groups.items():
        arrays = {
            name: np.hstack([getattr(each, name) for each in those])
            for name in ("places", "errors", "variances", "misses", "certain", "wrong", "is_cut")
        }
        for number, size in enumerate(CLASSES):
            found = entry_of(arrays, number, NEVER_TOO_WIDE if kind == "sum" else 0.0)
            if found.answers:
                entries[Key(kind, target, size)] = found
        if np.isnan(arrays["places"]).all():
            refusals[f"{kind}, {target}"] = next((each.refusal for each in those if each.refusal), "")
    return Trial(entries, len(refused), refused[0] if refused else "", refusals)
