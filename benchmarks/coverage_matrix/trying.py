"""Many releases of redrawn tables, and what came of every kind of answer."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from coverage_matrix.entries import Entry, Key, entry_of
from coverage_matrix.questions import CLASSES, Sized, questions_for, size_class
from coverage_matrix.settings import Setting
from coverage_matrix.tables import Skew, population
from sfumato.chance.randomness import NoiseSource
from sfumato.data.private_table import PrivateTable
from sfumato.errors import SfumatoError
from sfumato.laws.base import Target
from sfumato.testing import redrawn, release_in_memory
from sfumato.testing.questions import Answers, Asked
from sfumato.values.certainty import Certainty

ROUNDING = 1e-6
"""How far a number may be from the truth, as a share of it, and still be called the truth."""

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
        Whether an end of the interval is a certain bound.
    """

    places: npt.NDArray[np.float64]
    errors: npt.NDArray[np.float64]
    variances: npt.NDArray[np.float64]
    misses: npt.NDArray[np.float64]
    certain: npt.NDArray[np.float64]
    wrong: npt.NDArray[np.float64]
    is_cut: npt.NDArray[np.float64]
    refusal: str = ""

    @classmethod
    def empty(cls, releases: int, questions: int) -> Held:
        """Nothing answered yet."""
        return cls(*(np.full((releases, questions), np.nan) for _ in range(7)))

    def take(
        self, release: int, answers: Answers, truth: npt.NDArray[np.float64], sizes: npt.NDArray[np.float64]
    ) -> None:
        """Hold one release's answers against the truth."""
        slack = ROUNDING * np.maximum(1, np.abs(truth))
        is_estimate = answers.certainty == Certainty.ESTIMATED
        is_wrong = (truth < answers.least - slack) | (answers.most + slack < truth)
        is_wrong |= (answers.standard_errors == 0) & (answers.certainty < Certainty.EXACT)
        misses = np.where(truth < answers.low - slack, -1.0, np.where(truth > answers.high + slack, 1.0, 0.0))
        has_interval = is_estimate & np.isfinite(answers.low) & np.isfinite(answers.high)
        self.places[release] = size_class(np.round(sizes))
        self.errors[release] = np.where(is_estimate, answers.values - truth, np.nan)
        self.variances[release] = np.where(is_estimate, answers.standard_errors**2, np.nan)
        self.misses[release] = np.where(has_interval, misses, np.nan)
        self.certain[release] = ~is_estimate
        self.wrong[release] = is_wrong
        self.is_cut[release] = has_interval & (
            (answers.low <= answers.least) | (answers.high >= answers.most)
        )
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
    """

    entries: dict[Key, Entry]
    unpublished: int = 0
    reason: str = ""
    refusals: dict[str, str] = field(default_factory=dict)


def run_trial(
    setting: Setting, skew: Skew, *, releases: int, seed: int, only: frozenset[Key] | None = None
) -> Trial:
    """Redraw a population's table, publish it and ask, as often as is said.

    Parameters
    ----------
    only
        Entries that are looked at; questions that belong to none of them are not asked.
    """
    people = setting.table(population(skew))
    noise = NoiseSource.seeded(seed)
    held: dict[tuple[int, Target], Held] = {}
    questions: tuple[Sized, ...] = ()
    refused: list[str] = []
    for number in range(releases):
        drawn = redrawn(people, noise.named(f"table {number}"))
        try:
            release = release_in_memory(drawn, setting.design(), seed=(seed << 20) + number)
        except SfumatoError as refusal:
            refused.append(str(refusal))
            continue
        questions = questions or questions_for(release, people)
        for target in TARGETS:
            asked = Asked(release, target)
            for place, each in enumerate(questions):
                if only is None or any((key.kind, key.target) == (each.kind, target) for key in only):
                    _ask(
                        held,
                        (place, target),
                        each,
                        asked,
                        drawn if target == "table" else people,
                        number,
                        releases,
                    )
    return _gathered(held, questions, refused)


def _ask(
    held: dict[tuple[int, Target], Held],
    key: tuple[int, Target],
    question: Sized,
    asked: Asked,
    truths: PrivateTable,
    number: int,
    releases: int,
) -> None:
    if key not in held:
        held[key] = Held.empty(releases, len(question.block.labels))
    try:
        answers = question.block.ask(asked)
    except SfumatoError as refusal:
        held[key].refusal = str(refusal)
        return
    truth = question.block.truth(truths)
    held[key].take(number, answers, truth, question.sizes(truths, truth))


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
            found = entry_of(arrays, number)
            if found.answers:
                entries[Key(kind, target, size)] = found
        if np.isnan(arrays["places"]).all():
            refusals[f"{kind}, {target}"] = next((each.refusal for each in those if each.refusal), "")
    return Trial(entries, len(refused), refused[0] if refused else "", refusals)
