"""Rules as they are shown, exported and compared."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sfumato.analysis.asking import as_columns
from sfumato.analysis.measures.measuring import MeasuredValue
from sfumato.values.answers import show_end
from sfumato.values.certainty import Certainty
from sfumato.values.charts import scatter_chart
from sfumato.values.number_text import counted, percent, percent_as_stated, show
from sfumato.values.result_tables import ResultTable
from sfumato.values.tabular import Charted

if TYPE_CHECKING:
    from sfumato.analysis.rules.mining import Settings

MOST_SHOWN = 40
"""Rules, or sets, that a summary lists; all of them are in the exports."""


@dataclass(frozen=True)
class FrequentSet:
    """Items that many rows have together.

    Parameters
    ----------
    items
        As text.
    support, std_error, low, high
        Share of the rows that have them all.
    certainty
        What the support claims: one that is bounded lies between low and high for certain, and its estimate rests on an assumption.
    """

    items: tuple[str, ...]
    support: float
    std_error: float
    low: float
    high: float
    certainty: Certainty = Certainty.ESTIMATED

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "items": list(self.items),
            "support": self.support,
            "std_error": self.std_error,
            "low": self.low,
            "high": self.high,
            "certainty": self.certainty.word,
        }


@dataclass(frozen=True)
class Rule:
    """Rows that have the antecedent have the consequent as well, so often.

    Parameters
    ----------
    antecedent, consequent
        Items as text.
    support, confidence, lift
        With errors and ranges.
    confidence_bias
        What noise adds to the confidence on average; it is not taken out.
    """

    antecedent: tuple[str, ...]
    consequent: tuple[str, ...]
    support: MeasuredValue
    confidence: MeasuredValue
    lift: MeasuredValue
    confidence_bias: float

    def __str__(self) -> str:
        return f"{', '.join(self.antecedent)} => {', '.join(self.consequent)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        numbers = {
            f"{name}{suffix}": number if math.isfinite(number) else None
            for name in ("support", "confidence", "lift")
            for suffix, number in _numbers(getattr(self, name))
        }
        return {
            "antecedent": list(self.antecedent),
            "consequent": list(self.consequent),
            **numbers,
            "certainty": self.support.certainty.word,
            "confidence_bias": self.confidence_bias,
        }


def _numbers(measured: MeasuredValue) -> tuple[tuple[str, float], ...]:
    return (
        ("", measured.estimate),
        ("_std_error", measured.std_error),
        ("_low", measured.low),
        ("_high", measured.high),
    )


@dataclass(frozen=True)
class Rules(Charted):
    """Rules of a release, or of rows, with the sets they come from.

    Parameters
    ----------
    rules
        Those of the largest confidence first.
    sets
        By length.
    settings
        What was looked for.
    sets_counted, rules_considered
        What the rules were chosen from.
    method, law
        Of the release; empty for rows.
    notes
        What a reader must know.
    is_private
        Computed from private rows: not for publication.
    """

    rules: tuple[Rule, ...]
    sets: tuple[FrequentSet, ...]
    settings: Settings
    sets_counted: int
    rules_considered: int
    method: str = ""
    law: str = ""
    notes: tuple[str, ...] = ()
    is_private: bool = False

    def __repr__(self) -> str:
        return f"Rules({len(self.rules)} rules of {self.rules_considered}, {len(self.sets)} frequent sets)"

    def __str__(self) -> str:
        return self.summary()

    def __len__(self) -> int:
        return len(self.rules)

    def conflicts(self, of: Literal["support", "confidence"] = "support") -> Iterator[tuple[Any, Any]]:
        """Pairs whose order the noise leaves in doubt: the second is larger by its estimate, yet only the first surely passes.

        Of sets by their support, or of rules by their confidence. Choosing by estimates prefers the second.

        References
        ----------
        Guo (2010), section 3.4.1: the pairs s-p and c-p, in which the second does not pass in truth.
        """
        threshold = self.settings.minimum_support if of == "support" else self.settings.minimum_confidence
        ends: list[tuple[Any, float, float]] = (
            [(each, each.support, each.low) for each in self.sets]
            if of == "support"
            else [(each, each.confidence.estimate, each.confidence.low) for each in self.rules]
        )
        sure = [(each, value) for each, value, low in ends if low >= threshold]
        doubtful = [(each, value) for each, value, low in ends if low < threshold]
        for (one, value), (other, larger) in itertools.product(sure, doubtful):
            if value < larger:
                yield one, other

    def summary(self) -> str:
        """A table for people, the first rules, and how many more there are."""
        settings = self.settings
        together = " for all rules considered together" if settings.simultaneous else ""
        title = (
            f"Rules with support from {percent(settings.minimum_support, decimals=2)} and confidence from "
            f"{percent(settings.minimum_confidence, decimals=1)} on, by the {_DECIDED[settings.decide_by]}; "
            f"{percent_as_stated(settings.confidence_level)} intervals{together} (about the {settings.target})"
        )
        columns = (
            "Antecedent",
            "Consequent",
            "Support",
            "Low",
            "High",
            "Confidence",
            "Low",
            "High",
            "Lift",
            "Low",
            "High",
        )
        rows = tuple(
            (
                ", ".join(each.antecedent),
                ", ".join(each.consequent),
                *itertools.chain.from_iterable(_shown(m) for m in (each.support, each.confidence, each.lift)),
            )
            for each in self.rules[:MOST_SHOWN]
        )
        more = len(self.rules) - len(rows)
        by_length = [
            f"{len(list(group)):,} of {length}"
            for length, group in itertools.groupby(self.sets, key=lambda each: len(each.items))
        ]
        return "\n".join(
            [
                ResultTable(title, columns, rows, is_private=self.is_private).to_text(),
                *([f"… and {more:,} rules more"] if more > 0 else []),
                (
                    f"Frequent sets by number of items: {', '.join(by_length) or 'none'}; {self.sets_counted:,} were counted, "
                    f"{self.rules_considered:,} rules considered."
                ),
                *self._untold(),
                *(f"Note: {each}" for each in self.notes),
            ]
        )

    def _untold(self) -> list[str]:
        number = sum(each.confidence.low <= 0 and each.confidence.high >= 1 for each in self.rules)
        told = "it" if number == 1 else "them"
        about = f"the interval of the confidence of {counted(number, 'rule')} is the whole range 0 to 1"
        return [f"Note: {about}: the release does not tell {told}"] if number else []

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``rules --json`` prints it."""
        settings = self.settings
        return {
            "minimum_support": settings.minimum_support,
            "minimum_confidence": settings.minimum_confidence,
            "longest": settings.longest,
            "decide_by": settings.decide_by,
            "interval": settings.interval,
            "confidence": settings.confidence_level,
            "simultaneous": settings.simultaneous,
            "target": settings.target,
            "method": self.method or None,
            "law": self.law or None,
            "private": self.is_private,
            "sets_counted": self.sets_counted,
            "rules_considered": self.rules_considered,
            "rules": [each.to_dict() for each in self.rules],
            "sets": [each.to_dict() for each in self.sets],
            "notes": list(self.notes),
        }

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each rule."""
        return _arrow([each.to_dict() for each in self.rules], _EMPTY_RULES)

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the rules by support, confidence and lift, as plain data."""
        points = [
            {
                "label": str(each),
                **{name: getattr(each, name).estimate for name in ("support", "confidence", "lift")},
            }
            for each in self.rules
        ]
        return scatter_chart(points, across="support", up="confidence", colour="lift")

    def sets_to_arrow(self) -> Any:
        """A pyarrow table with a row for each frequent set."""
        return _arrow([each.to_dict() for each in self.sets], _EMPTY_SETS)


_DECIDED = {
    "estimate": "estimate",
    "lower": "lower end of the interval",
    "upper": "upper end of the interval",
}
_EMPTY_SETS = ("items", "support", "std_error", "low", "high", "certainty")
_EMPTY_RULES = ("antecedent", "consequent", "support", "confidence", "lift", "certainty", "confidence_bias")


def _arrow(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> Any:
    import pyarrow as pa

    return pa.table(as_columns(rows) if rows else {name: [] for name in names})


def _shown(measured: MeasuredValue) -> tuple[str, str, str]:
    """Estimate and ends, to the digits that the error supports; an undefined one has its whole range."""
    if measured.undefined:
        return "undefined", f"{measured.low:g}", f"{measured.high:g}"
    low, high = (show_end(each, measured.std_error) for each in (measured.low, measured.high))
    return show(measured.estimate, measured.std_error), low, high
