"""The result of an audit: tables, verdict, exposed people, and caps that a guarantee puts on risk."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.arrays import Floats
from sfumato.attacks.base import PeopleGuesses
from sfumato.custody.audit.calibration import BrierParts
from sfumato.custody.audit.people import People
from sfumato.custody.audit.scores import (
    BRIER,
    LINKABLE,
    MEANINGS,
    TOP,
    GroupMeasured,
    Measured,
    Membership,
    RareMeasured,
    RareRecall,
    Trial,
    clustered_error,
    lone_error,
    score_side,
    wilson,
)
from sfumato.guarantees import Guarantee
from sfumato.guarantees.differential_privacy import DifferentialPrivacy, LocalDifferentialPrivacy
from sfumato.release.verification import Check
from sfumato.results import ResultTable
from sfumato.text import Cell, counted, percent

# --------------------------------------------------------------------------------------------------
# What an audit found: tables for the custodian, a verdict, and the exposed people in a file of their own.


FEWEST_COUNTED = 10
"""Numbers of people below which a report does not state the number."""

TOO_FEW = "too few"

DRAWN = "not testable: the release describes rows that were drawn from each person's, and which rows were drawn is not known"
"""Why a release of drawn rows is not held against the truth; what it shows by itself is checked all the same."""


@dataclass(frozen=True)
class LawCheck:
    """A statement of the law held against the truth."""

    about: str
    p_value: float
    sentence: str


@dataclass(frozen=True)
class Skipped:
    """What was not done, and why."""

    what: str
    reason: str


@dataclass(frozen=True, eq=False)
class AttributeAudit:
    """Everything about one sensitive attribute.

    Parameters
    ----------
    attribute
        Its name.
    control
        Who people were compared with.
    before
        Share guessed right by who knows the overall shares only.
    measured
        Scores, with and without the person in the table.
    of_this_release
        The same with, for the release itself.
    rare, rare_values
        Holders of rare values found, and which values are rare.
    groups
        Public categories with the largest excess.
    reliability, brier
        Whether stated probabilities hold.
    membership
        What is told of who is in the table; None where public values are not published exactly, or nobody was compared.
    exposed, beliefs
        People whose value is stated with nine tenths or more, and what is stated. Private, and in no table.
    """

    attribute: str
    control: str
    before: float
    measured: Mapping[str, Measured]
    of_this_release: Mapping[str, float]
    rare: tuple[RareMeasured, ...]
    rare_values: tuple[str, ...]
    groups: tuple[GroupMeasured, ...]
    reliability: ResultTable
    brier: BrierParts
    membership: Membership | None
    exposed: People = field(repr=False)
    beliefs: Floats = field(repr=False)

    def tables(self) -> tuple[ResultTable, ...]:
        """Scores, rare values, worst groups, reliability."""
        return tuple(
            each
            for each in (
                self._scores(),
                self._rare() if self.rare else None,
                self._worst() if self.groups else None,
                ResultTable(
                    f"Probabilities stated for {self.attribute}, and how often they were right (law)",
                    self.reliability.columns,
                    # Of fewer people a share is nearly a row.
                    tuple(row for row in self.reliability.rows if _events(row) >= FEWEST_COUNTED),
                    is_private=True,
                ),
            )
            if each is not None
        )

    def sentences(self) -> tuple[str, ...]:
        """What the figures mean."""
        headline = self.measured[LINKABLE].difference
        found = [f"{name}: {meaning}." for name, meaning in MEANINGS.items()]
        if headline is None:
            found.insert(
                0, f"Too few people can be told by their public values to say what {self.attribute} loses."
            )
        else:
            found.insert(
                0,
                f"Of the people whom public values tell best, {percent(headline.present)} have their {self.attribute} guessed; "
                f"{percent(headline.absent)} would without their row: being in the table costs {_points(headline.excess)} "
                f"({_points(headline.low)} to {_points(headline.high)}).",
            )
        found.append(
            f"Stated probabilities: Brier score {self.brier.brier:.4f}, of which {self.brier.calibration:.4f} because they do not "
            f"hold and {self.brier.refinement:.4f} because people of one probability differ."
        )
        if self.membership is not None:
            found.append(
                f"{percent(self.membership.proved_outside, decimals=1)} of control people have public values that no row of the table "
                f"has: a release that shows public values as they are proves them outside. {percent(self.membership.found, decimals=1)} of "
                "the people in the table are found while 1 % outside are taken to be in it."
            )
        return tuple(found)

    def _scores(self) -> ResultTable:
        rows: list[tuple[Cell, ...]] = []
        for name, each in self.measured.items():
            here = self.of_this_release[name] * (-1 if name == BRIER else 1)
            if each.difference is None:
                rows.append((name, here, *([TOO_FEW] * 5), *each.attackers))
                continue
            found = each.difference
            rows.append(
                (
                    name,
                    here,
                    found.present,
                    found.absent,
                    found.excess,
                    found.low,
                    found.high,
                    *each.attackers,
                )
            )
        return ResultTable(
            f"What is learned about {self.attribute}, against {self.control}",
            (
                "score",
                "this release",
                "with",
                "without",
                "excess",
                "low",
                "high",
                "best with",
                "best without",
            ),
            tuple(rows),
            is_private=True,
        )

    def _rare(self) -> ResultTable:
        rows = []
        for each in self.rare:
            for name, recall, who in (
                ("with", each.present, each.attackers[0]),
                ("without", each.absent, each.attackers[1]),
            ):
                low, high = wilson(recall.found, recall.holders)
                share = recall.recall if recall.holders else TOO_FEW
                rows.append((f"{percent(each.precision)}", name, _number(recall), share, low, high, who))
        return ResultTable(
            f"Holders of the rarest {self.attribute} found ({counted(len(self.rare_values), 'value')})",
            ("guesses right", "person in the table", "holders", "found", "low", "high", "best"),
            tuple(rows),
            is_private=True,
        )

    def _worst(self) -> ResultTable:
        rows = tuple(
            (
                f"{each.attribute} = {each.category}",
                each.people,
                each.difference.present,
                each.difference.absent,
                each.difference.excess,
                each.difference.low,
                each.difference.high,
            )
            for each in self.groups
        )
        return ResultTable(
            f"Groups whose {self.attribute} is guessed most by their being in the table (intervals hold for all together)",
            ("group", "people", "with", "without", "excess", "low", "high"),
            rows,
            is_private=True,
        )

    def people(self) -> PeopleGuesses:
        """The exposed people: public values, the value stated, how surely, and whether it is right."""
        guessed = self.beliefs.argmax(axis=1)
        columns: dict[str, Sequence[Cell]] = {
            each.name: [each.labels[code] for code in self.exposed.codes[each.name]]
            for each in self.exposed.public
        }
        columns["attribute"] = [self.attribute] * len(guessed)
        columns["stated"] = [self.exposed.sensitive.labels[code] for code in guessed]
        columns["probability"] = self.beliefs.max(axis=1).tolist()
        columns["right"] = ["yes" if each else "no" for each in guessed == self.exposed.truth]
        return PeopleGuesses(columns)


@dataclass(frozen=True, eq=False)
class AuditResult:
    """What an audit found. Private, all of it.

    Parameters
    ----------
    methods
        Of the releases audited.
    checks
        What can be checked of a release by itself.
    law_checks
        What its law states, held against the truth.
    attributes
        By sensitive attribute, what attackers learn.
    skipped
        What was not done, and why.
    level
        Probability of calling a true law refuted, over all checks.
    caveats
        Sentences a reader must know.
    """

    methods: tuple[str, ...]
    checks: tuple[Check, ...]
    law_checks: tuple[LawCheck, ...]
    attributes: tuple[AttributeAudit, ...]
    skipped: tuple[Skipped, ...]
    level: float
    caveats: tuple[str, ...]

    @property
    def level_of_each(self) -> float:
        """The level that each of the law's statements is tested at."""
        return self.level / max(len(self.law_checks), 1)

    @property
    def refuted(self) -> tuple[str, ...]:
        """What does not hold: promises that tables break, and statements of the law that the truth rules out."""
        return (
            *(each.about for each in self.checks if each.verdict == "broken"),
            *(each.about for each in self.law_checks if each.p_value < self.level_of_each),
        )

    @property
    def is_refuted(self) -> bool:
        """Something the release says of itself is not so."""
        return bool(self.refuted)

    def __repr__(self) -> str:
        found = f"refuted: {', '.join(self.refuted)}" if self.is_refuted else "nothing refuted"
        names = ", ".join(each.attribute for each in self.attributes)
        return f"AuditResult({' and '.join(self.methods)}: {found}; {names})"

    def __str__(self) -> str:
        return self.summary()

    @property
    def verdict(self) -> str:
        """One sentence."""
        tests = f"{counted(len(self.law_checks), 'test')} of the law at a family-wise level of {self.level:g}"
        if self.is_refuted:
            return f"REFUTED: {'; '.join(self.refuted)} ({tests})."
        if any(each.reason == DRAWN for each in self.skipped):
            return f"Against the private rows this release is {DRAWN}. What the release shows by itself does not refute it."
        return f"Not refuted in {tests}."

    def tables(self) -> tuple[ResultTable, ...]:
        """All tables in order."""
        own = ResultTable(
            "What the release says of itself",
            ("about", "verdict"),
            tuple((each.about, each.verdict) for each in self.checks),
        )
        law = ResultTable(
            "What its law says, against the private rows",
            ("about", "p-value at most", "numbers"),
            tuple((each.about, each.p_value, each.sentence) for each in self.law_checks),
            is_private=True,
        )
        left = ResultTable(
            "Not done", ("what", "why"), tuple((each.what, each.reason) for each in self.skipped)
        )
        scored = tuple(table for each in self.attributes for table in each.tables())
        return (own, law, *scored, left)

    def summary(self) -> str:
        """Verdict, tables, what they mean, caveats."""
        meanings = [sentence for each in self.attributes for sentence in each.sentences()]
        several = (
            [f"{len(self.methods)} releases of one table, used together."] if len(self.methods) > 1 else []
        )
        tables = [each.to_text() for each in self.tables() if each.rows]
        return "\n\n".join([self.verdict, *several, *tables, "\n".join(meanings), *self.caveats])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without anything about single people."""
        return {
            "methods": list(self.methods),
            "refuted": list(self.refuted),
            "verdict": self.verdict,
            "level": self.level,
            "checks": [asdict(each) for each in self.checks],
            "law_checks": [asdict(each) for each in self.law_checks],
            "attributes": [
                {
                    "attribute": each.attribute,
                    "control": each.control,
                    "membership": None if each.membership is None else asdict(each.membership),
                    "rare_values": list(each.rare_values),
                    "tables": [table.to_dict() for table in each.tables()],
                    "meaning": list(each.sentences()),
                }
                for each in self.attributes
            ],
            "skipped": [asdict(each) for each in self.skipped],
            "caveats": list(self.caveats),
        }

    def write_people(self, path: Path) -> int:
        """Write the exposed people of all attributes to a file that its owner alone can read; gives their number."""
        parts = [each.people() for each in self.attributes]
        names = list(dict.fromkeys(name for each in parts for name in each.columns))
        columns: dict[str, Sequence[Cell]] = {
            name: [
                cell for each in parts for cell in each.columns.get(name, [""] * len(each.columns["stated"]))
            ]
            for name in names
        }
        PeopleGuesses(columns or {"stated": []}).write(path)
        return len(columns.get("stated", []))


def _points(share: float) -> str:
    return f"{100 * share:.1f} points" if np.isfinite(share) else "unknown"


def _events(row: tuple[Cell, ...]) -> int:
    """People of a line of the reliability table: its third cell."""
    number = row[2]
    assert isinstance(number, int)
    return number


def _number(recall: RareRecall) -> Cell:
    return recall.holders if recall.holders >= FEWEST_COUNTED else f"fewer than {FEWEST_COUNTED}"


# --------------------------------------------------------------------------------------------------
# How much of what an attacker finds a promise allows: proved caps, to be held against measured risks.


CONTROL_SHARE = 0.25
"""Control people for each member where a fifth is held out: splits overlap, which widens what is said over releases."""

LARGEST_EXPONENT = 700.0
"""Beyond it the exponential is too large for a number, and a cap is none."""


def proved_cap(promises: Iterable[Guarantee], without: float) -> float | None:
    """The largest share of right guesses that the promises allow, where a share is right without the person; None where nothing caps it.

    Differential privacy: a guess about somebody in the table is right with probability at most ``e^epsilon`` times that about somebody
    who is not, plus delta. Local differential privacy: the odds of being right grow by at most ``e^epsilon`` with the own row.
    Diversity of buckets or classes bounds neither: values are told apart by what is true of people alike.

    Examples
    --------
    >>> promise = DifferentialPrivacy(epsilon=1.0, delta=0.0)
    >>> round(proved_cap([promise], 0.2), 4), proved_cap([], 0.2)
    (0.5437, None)
    """
    caps = []
    for each in promises:
        if isinstance(each, DifferentialPrivacy):
            caps.append(min(1.0, math.exp(min(each.epsilon, LARGEST_EXPONENT)) * without + each.delta))
        elif isinstance(each, LocalDifferentialPrivacy):
            odds = math.exp(min(each.epsilon, LARGEST_EXPONENT)) * without
            caps.append(odds / (1 - without + odds) if odds else 0.0)
    return min(caps, default=None)


def check_caps(
    promises: Sequence[Guarantee], measured: Mapping[str, Measured], trials: Sequence[Trial], margin: Floats
) -> tuple[LawCheck, ...]:
    """Whether more guesses are right than the promises allow: of everybody, and of the most linkable.

    The share right with the person, minus the cap at the share right without, is held against its error: over releases with splits
    of their own by Student's t, on one release with people alike as one observation.
    """
    from scipy.special import stdtr

    found = []
    for name in (TOP, LINKABLE):
        difference, (with_it, without_it) = measured[name].difference, measured[name].attackers
        if difference is None or proved_cap(promises, difference.absent) is None:
            continue
        parts = [
            (
                score_side(each.present, margin, 0)[name][with_it],
                score_side(each.absent, margin, 0)[name][without_it],
            )
            for each in trials
        ]
        over = [_over(promises, one.mean, other.mean) for one, other in parts]
        slope = _slope(promises, float(np.mean([other.mean for _, other in parts])))
        if len(parts) > 1:
            error = float(np.std(over, ddof=1)) * math.sqrt(1 / len(over) + CONTROL_SHARE)
            freedom = len(over) - 1
        else:
            (one, other), trial = parts[0], trials[0]
            kinds = trial.present.kinds[one.over], trial.absent.kinds[other.over]
            error = math.hypot(
                clustered_error(one.values[one.over], kinds[0]),
                slope * clustered_error(other.values[other.over], kinds[1]),
            )
            freedom = max(min(len(np.unique(each)) for each in kinds) - 1, 1)
        # Releases that happen to agree, or people who are all wrong, are no certainty.
        present, absent = (len(parts) * each for each in measured[name].people)
        least = math.hypot(
            lone_error(difference.present, present), slope * lone_error(difference.absent, absent)
        )
        mean = float(np.mean(over))
        cap = difference.present - mean
        p_value = float(stdtr(freedom, -mean / max(error, least)))
        found.append(
            LawCheck(
                f"proved cap of {name}",
                p_value,
                f"{difference.present:.3f} are right, and the promises allow {cap:.3f}",
            )
        )
    return tuple(found)


def _slope(promises: Sequence[Guarantee], absent: float) -> float:
    """How fast the cap grows with the share that is right without."""
    return (_over(promises, 0.0, absent - 1e-4) - _over(promises, 0.0, absent + 1e-4)) / 2e-4


def _over(promises: Sequence[Guarantee], present: float, absent: float) -> float:
    cap = proved_cap(promises, min(max(absent, 0.0), 1.0))
    assert cap is not None
    return present - cap
