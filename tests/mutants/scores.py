"""The score of a run and how it is shown."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mutants.mutations import Mutation
from mutants.rooms import GATED
from mutants.trial import Outcome

LEAST_SCORE = 0.95
LARGEST_EQUIVALENT_SHARE = 0.10


@dataclass(frozen=True)
class Score:
    """How many mutants of a room the tests saw."""

    room: str
    outcomes: Mapping[Outcome, int]
    equivalent: int

    @property
    def tried(self) -> int:
        """Mutants that were run."""
        return sum(self.outcomes.values())

    @property
    def killed(self) -> int:
        """Mutants that made a test fail, or that never ended."""
        return self.tried - self.outcomes.get(Outcome.SURVIVED, 0)

    @property
    def share(self) -> float:
        """Killed of tried; equivalent mutants count in neither."""
        return self.killed / self.tried if self.tried else 1.0

    @property
    def equivalent_share(self) -> float:
        """Equivalent of drawn."""
        drawn = self.tried + self.equivalent
        return self.equivalent / drawn if drawn else 0.0

    @property
    def is_enough(self) -> bool:
        """Whether the room has the score that is required of it, without calling too many mutants equivalent."""
        if self.room not in GATED:
            return True
        return self.share >= LEAST_SCORE and self.equivalent_share <= LARGEST_EQUIVALENT_SHARE

    @property
    def line(self) -> str:
        """The score in one line."""
        clock = self.outcomes.get(Outcome.ENDLESS, 0)
        verdict = "" if self.is_enough else f"   BELOW {LEAST_SCORE:.0%}, or too many called equivalent"
        return (
            f"{self.room:<12} {self.share:7.1%}   killed {self.killed} of {self.tried} ({clock} by the clock), "
            f"{self.equivalent} equivalent{verdict}"
        )


def say(text: str) -> None:
    """Something for whoever waits."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def shown(mutation: Mutation) -> str:
    """A mutation as a small difference."""
    place = f"{mutation.file}:{mutation.line} in {mutation.function or 'the module'} ({mutation.kind})"
    before, after = (
        _marked(text, sign) for text, sign in ((mutation.original, "-"), (mutation.mutated, "+"))
    )
    return f"{place}\n{before}\n{after}"


def _marked(text: str, sign: str) -> str:
    return "\n".join(f"  {sign} {line}" for line in text.splitlines())


def report(scores: Sequence[Score], survivors: Sequence[Mutation]) -> str:
    """Survivors, then the score of each room."""
    parts = [shown(each) for each in sorted(survivors, key=lambda each: (each.file, each.line, each.mutated))]
    heading = [f"{len(survivors)} survivors:"] if survivors else ["no survivors"]
    return "\n\n".join([*heading, *parts, "\n".join(score.line for score in scores)])


def page(
    seed: int,
    scores: Sequence[Score],
    survivors: Sequence[Mutation],
    same: Mapping[Mutation, str],
    *,
    left_out: str = "no tests",
) -> str:
    """A run as a page: scores, survivors, and those of the mutants drawn that compute the same, with the reason."""
    return f"""# Mutants

One slip at a time in the formulas of laws and guarantees, drawn by a seed, against their own tests (see *Mutants* in `CONTRIBUTING.md`).
`make mutants` draws new ones; this page is what `--page` wrote of the run with seed {seed}.
Left out were: {left_out}. Leaving tests out never gives a higher score.

| room | score | killed | tried | called equivalent |
|---|---|---|---|---|
{chr(10).join(f"| {each.room} | {each.share:.1%} | {each.killed} | {each.tried} | {each.equivalent} ({each.equivalent_share:.1%}) |" for each in scores)}

## Survivors

{_listed(dict.fromkeys(survivors, ""))}

## Called equivalent

{_listed(same)}
"""


def _listed(mutations: Mapping[Mutation, str]) -> str:
    """Mutations as differences, each with what is said of it."""
    ordered = sorted(mutations, key=lambda each: (each.file, each.line, each.mutated))
    return (
        "\n\n".join(f"{mutations[each]}\n```diff\n{shown(each)}\n```".strip() for each in ordered) or "None."
    )
