"""What a check of a method found, in sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

Aspect = Literal[
    "bias",
    "coverage",
    "spread",
    "width",
    "claims",
    "doors",
    "answers",
    "attacks",
    "pickling",
    "manifest",
    "documentation",
]
"""What can be wrong: estimates off on average; intervals that do not cover; standard errors smaller than the real
spread, or much larger; numbers called exact or bounds called certain that are not; ways to ask that disagree;
questions refused or broken without a declared reason; attacks that do not run; steps that cannot be sent to workers;
a manifest that does not give the design and the law back; what the method does not say about itself."""


@dataclass(frozen=True)
class Failure:
    """One thing that is not as it should be.

    Parameters
    ----------
    aspect
        What is wrong.
    kind, target
        Of which kind of answer, about what; empty where it concerns the method as a whole.
    sentence
        What was expected, what was seen, and how unlikely that is.
    p_value
        Probability of seeing it by chance; 0 where chance has no part in it.
    """

    aspect: Aspect
    kind: str
    target: str
    sentence: str
    p_value: float = 0.0

    @property
    def identity(self) -> tuple[str, str, str]:
        """Aspect, kind and target: what a register of known failures names."""
        return self.aspect, self.kind, self.target

    def __str__(self) -> str:
        where = f" of {self.kind} answers about the {self.target}" if self.kind else ""
        return f"{self.aspect}{where}: {self.sentence}"


def gathered(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """One failure for each identity: the least likely, with how many more there are.

    Examples
    --------
    >>> both = [Failure("bias", "sum", "table", "off by 3.", 1e-9), Failure("bias", "sum", "table", "off by 9.", 1e-20)]
    >>> [str(each) for each in gathered(both)]
    ['bias of sum answers about the table: off by 9. So it is with 1 more.']
    """
    by_identity: dict[tuple[str, str, str], list[Failure]] = {}
    for each in failures:
        by_identity.setdefault(each.identity, []).append(each)
    return tuple(_worst(same) for same in by_identity.values())


def _worst(failures: list[Failure]) -> Failure:
    worst = min(failures, key=lambda each: each.p_value)
    more = f" So it is with {len(failures) - 1} more." if len(failures) > 1 else ""
    return dataclasses.replace(worst, sentence=worst.sentence + more)


@dataclass(frozen=True)
class HonestyReport:
    """Everything a check of a method found.

    It speaks of true counts: it is as private as the table that the method was tried on.

    Parameters
    ----------
    method
        Public name.
    releases
        How many were made.
    alpha
        Probability that a method without fault fails any of the random checks.
    random_checks
        Over how many it was split.
    failures
        What is wrong; empty when nothing was found.
    refusals
        By kind and target, what the law says when it leaves all questions of a kind open.
    """

    method: str
    releases: int
    alpha: float
    random_checks: int
    failures: tuple[Failure, ...]
    refusals: dict[tuple[str, str], str]

    @property
    def is_honest(self) -> bool:
        """Whether nothing was found, in this many releases at this alarm rate."""
        return not self.failures

    def __repr__(self) -> str:
        return f"HonestyReport({self.method}: {len(self.failures)} failures in {self.releases} releases)"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The failures, one a line, and what was tried."""
        tried = (
            f"{self.method}: {len(self.failures)} failures in {self.releases} releases; "
            f"{self.random_checks} random checks, alarm rate {self.alpha:.2g} for all of them together"
        )
        return "\n".join([tried, *(f"- {each}" for each in self.failures)])

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "method": self.method,
            "releases": self.releases,
            "alpha": self.alpha,
            "random_checks": self.random_checks,
            "failures": [vars(each) for each in self.failures],
            "refusals": [
                {"kind": kind, "target": target, "sentence": sentence}
                for (kind, target), sentence in self.refusals.items()
            ],
        }

    def raise_for_failures(self) -> None:
        """Raise AssertionError with the summary unless nothing was found, for use in a test."""
        if self.failures:
            raise AssertionError(self.summary())
