"""What a person must check in a guessed schema, and how much harm an unchecked mistake would do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from sfumato.values.number_text import FEW_LISTED, listed

DECISIONS = 5
"""How many are put before a person at once; the schema file holds all of them."""


class Harm(IntEnum):
    """What an unchecked mistake would do, worst first."""

    SECRET_UNKNOWN = 100
    SECRET = 90
    MISREAD = 85
    TOGETHER = 80
    WEIGHT = 75
    CODES = 70
    LEARNED = 65
    NOT_PUBLISHED = 60
    NO_ANSWER = 55
    LEFT_OUT = 50
    ROLE = 45
    EDGES = 40


@dataclass(frozen=True)
class Check:
    """Why something was guessed, and what a person must check; without values of the data.

    Parameters
    ----------
    harm
        Of an unchecked mistake.
    sentence
        The same for every column with the same question.
    because
        What holds of one column alone.
    """

    harm: Harm
    sentence: str
    because: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.sentence} ({self.because}.)" if self.because else self.sentence


def grouped(checks: Iterable[tuple[str | None, Check]]) -> list[tuple[Check, list[str]]]:
    """The same question once, with the columns it is about; most harmful first."""
    names: dict[Check, list[str]] = {}
    for name, check in checks:
        told = f"{name!r} ({check.because})" if check.because else repr(name)
        names.setdefault(check, []).extend([] if name is None else [told])
    return sorted(names.items(), key=lambda each: -each[0].harm)


def decision_text(check: Check, names: list[str]) -> str:
    """One decision in words: which columns, and what to check."""
    if not names:
        return check.sentence
    return f"{listed(names, most=FEW_LISTED)}: {check.sentence}"
