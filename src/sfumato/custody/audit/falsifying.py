"""Falsifying: trying to refute what a method claims, by publishing tables made for it, again and again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.chance.randomness import NoiseSource
from sfumato.custody.audit.neighbours import distinguish, row_with_copies, statistic_between
from sfumato.custody.audit.people import people_of
from sfumato.custody.audit.probing_tables import TOY_SCHEMA, crowds, loners, one_row_other
from sfumato.custody.audit.result import Skipped
from sfumato.custody.audit.truth_checks import check_against_truth
from sfumato.custody.in_memory import in_memory
from sfumato.custody.publish import admitted, prepare
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError, ReleaseDamagedError, SfumatoError
from sfumato.guarantees.differential_privacy import DifferentialPrivacy
from sfumato.methods.base import Design
from sfumato.methods.columnized_counts.law.noisy_rows import NoisyRows
from sfumato.release import Release
from sfumato.release.in_memory import hold_release
from sfumato.release.verifying import judged
from sfumato.values.number_text import counted
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Role, Schema

LEVEL = 1e-4
"""Probability of refuting a method that is what it says, over everything tried."""

REPEATS = 20
"""Releases of every probing table by which the law is tested."""

TRIALS = 4_000
"""Releases of each of two neighbouring tables."""

FEWEST_TRIALS = 100


@dataclass(frozen=True)
class Tried:
    """One claim, tried.

    Parameters
    ----------
    claim
        What was tried to refute.
    releases
        How many were made for it.
    p_value
        Probability of as much against it, at most, were it true.
    witness
        The strongest single piece of evidence.
    """

    claim: str
    releases: int
    p_value: float
    witness: str


@dataclass(frozen=True)
class Falsification:
    """What came of trying to refute a method.

    Parameters
    ----------
    method
        Its name.
    tried
        The claims.
    skipped
        What was not tried, and why.
    level
        Over all claims together.
    """

    method: str
    tried: tuple[Tried, ...]
    skipped: tuple[Skipped, ...]
    level: float

    @property
    def refuted(self) -> tuple[Tried, ...]:
        """Claims that do not hold."""
        return tuple(each for each in self.tried if each.p_value < self.level / max(len(self.tried), 1))

    @property
    def is_refuted(self) -> bool:
        """Some claim does not hold."""
        return bool(self.refuted)

    @property
    def releases(self) -> int:
        """All that were made."""
        return sum(each.releases for each in self.tried)

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.is_refuted:
            found = "; ".join(f"{each.claim}: {each.witness}" for each in self.refuted)
            return f"REFUTED at level {self.level:g}, with this witness: {found}"
        if not self.tried:
            return "Nothing was tried; see why."
        return f"Not refuted in {counted(self.releases, 'trial')} at level {self.level:g}."

    def __repr__(self) -> str:
        return f"Falsification({self.method}: {'refuted' if self.is_refuted else 'not refuted'}, {counted(self.releases, 'trial')})"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Verdict, claims, what was not tried."""
        claims = ResultTable(
            f"Claims of {self.method}, tried",
            ("claim", "releases", "p-value at most", "strongest evidence"),
            tuple((each.claim, each.releases, each.p_value, each.witness) for each in self.tried),
        )
        left = ResultTable(
            "Not tried", ("what", "why"), tuple((each.what, each.reason) for each in self.skipped)
        )
        parts = [each.to_text() for each in (claims, left) if each.rows]
        return "\n\n".join([self.verdict, *parts])

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "method": self.method,
            "refuted": [asdict(each) for each in self.refuted],
            "verdict": self.verdict,
            "level": self.level,
            "trials": self.releases,
            "tried": [asdict(each) for each in self.tried],
            "skipped": [asdict(each) for each in self.skipped],
        }


def falsify(
    design: Design,
    *,
    schema: Schema | None = None,
    table: PrivateTable | None = None,
    trials: int = TRIALS,
    repeats: int = REPEATS,
    level: float = LEVEL,
    seed: int | None = None,
) -> Falsification:
    """Try to refute what a method with its parameters claims.

    The law it states is tested on tables made for that, of which no row is anybody's, and on the private rows where they
    are given. Where differential privacy is promised, two neighbouring tables are published again and again, and told apart
    by the event that does so best.

    Parameters
    ----------
    design
        What is tried.
    schema
        Attributes of the tables to make; a toy's when neither it nor a table is given.
    table
        Private rows to test the law on besides. Nothing of them is published.
    trials
        Releases of each of two neighbouring tables.
    repeats
        Releases of every other table.
    level
        Probability of refuting a method that is what it says.
    seed
        Repeats everything.

    Examples
    --------
    >>> from sfumato import RandomizedResponse
    >>> falsify(RandomizedResponse(retention=0.5), repeats=3, seed=1)
    Falsification(randomized-response: not refuted, 12 trials)
    """
    if trials < FEWEST_TRIALS or repeats < 1 or not 0 < level < 1:
        raise ParameterError(
            f"trials must be {FEWEST_TRIALS} or more, repeats 1 or more, and the level between 0 and 1. Leave them out for {TRIALS:,}, "
            f"{REPEATS} and {LEVEL:g}.",
            parameter="trials",
        )
    noise = NoiseSource.from_operating_system() if seed is None else NoiseSource.seeded(seed)
    generator = np.random.default_rng(seed)
    declared = schema or (TOY_SCHEMA if table is None else table.schema)
    probes = {"crowds": crowds(declared, generator), "loners": loners(declared, generator)}
    if table is not None:
        probes["the table given"] = in_memory(table)
    tried: list[Tried] = []
    skipped: list[Skipped] = []
    for name, probe in probes.items():
        try:
            tried += _law_tried(name, probe, design, repeats, noise)
        except ReleaseDamagedError as error:
            # It cannot be opened: a promise does not follow from the law beside it, or tables do not fit each other.
            tried.append(Tried(f"a release that can be opened ({name})", 1, 0.0, str(error)))
        except SfumatoError as error:
            skipped.append(Skipped(f"the law on a table of {name}", str(error)))
    try:
        # Two directions of at most two relations come on top of what was tried.
        tried += _neighbours_tried(probes["crowds"], design, trials, noise, level / (len(tried) + 4))
    except SfumatoError as error:
        skipped.append(Skipped("neighbouring tables", str(error)))
    return Falsification(str(design.to_dict()["method"]), tuple(tried), tuple(skipped), level)


def _publish(table: PrivateTable, design: Design, noise: NoiseSource) -> Release:
    publication, describe = prepare(table, admitted(table, design), noise)
    return hold_release(publication.tables, describe, read=table.scan, noise=noise)


def _law_tried(
    name: str, probe: PrivateTable, design: Design, repeats: int, noise: NoiseSource
) -> Iterator[Tried]:
    """Each statement of the law over several releases, their p-values combined by Fisher's method."""
    found: dict[str, list[tuple[float, str]]] = {}
    sensitive = [each.name for each in probe.schema.with_role(Role.SENSITIVE)]
    for number in range(repeats):
        release = _publish(probe, design, noise.named(f"{name} {number}"))
        for promise, judgement in judged(release):
            if judgement is not None:
                claim = f"promise {promise.model_dump()['guarantee']}"
                found.setdefault(claim, []).append((1.0 if judgement.holds else 0.0, judgement.sentence))
        # What is not about one attribute is found again with every other, and counts once.
        checks = {
            check.about: check
            for attribute in sensitive
            for check in check_against_truth(release, people_of(probe, release, attribute), probe)
        }
        for about, check in checks.items():
            found.setdefault(about, []).append((check.p_value, check.sentence))
    for claim, values in found.items():
        combined = fisher([each for each, _ in values])
        yield Tried(f"{claim} ({name})", len(values), combined, min(values)[1])


def fisher(p_values: list[float]) -> float:
    """One p-value of several independent ones, each of which may be too large but not too small (Fisher 1925).

    Examples
    --------
    >>> round(fisher([0.05, 0.05]), 4), fisher([1.0, 1.0]), fisher([0.5, 0.0])
    (0.0175, 1.0, 0.0)
    """
    from scipy.special import chdtrc

    if min(p_values) <= 0:
        return 0.0
    return float(chdtrc(2 * len(p_values), -2 * sum(math.log(each) for each in p_values)))


def _neighbours_tried(
    base: PrivateTable,
    design: Design,
    trials: int,
    noise: NoiseSource,
    level: float,
) -> Iterator[Tried]:
    """Two tables that differ in one person, in both directions, for every differential privacy that is promised."""
    first = _publish(base, design, noise.named("first"))
    promises = [each for each in first.guarantees if isinstance(each, DifferentialPrivacy)]
    if not promises:
        raise ParameterError(
            "no differential privacy is promised, so there is no bound on how well neighbours are told apart.",
            parameter="method",
        )
    done = set()
    for promise in promises:
        if promise.relation in done:
            continue
        done.add(promise.relation)
        row = row_with_copies(base, _interesting(first))
        codes = None
        if promise.relation == "replace-one":
            codes = {
                each.name: int((base.source.codes[each.name][row] + 1) % each.size)  # type: ignore[attr-defined]
                for each in base.schema.attributes
            }
        other = one_row_other(base, row, codes)
        statistic = statistic_between(first, base, other)
        shown = [
            np.array(
                [
                    statistic(_publish(each, design, noise.named(f"{promise.relation} {side} {number}")))
                    for number in range(trials)
                ]
            )
            for side, each in enumerate((base, other))
        ]
        for direction, (one, two) in (("more", (shown[0], shown[1])), ("less", (-shown[1], -shown[0]))):
            found = _refuting_level(one, two, promise, level)
            yield Tried(
                f"{promise.epsilon:.4g}-differential privacy, {promise.relation}, one person {direction}",
                2 * trials,
                *found,
            )


def _interesting(release: Release) -> int:
    """Copies of the row that neighbours differ in: where rows are left out, about as many as decides about it."""
    law = release.law
    return law.matrix.threshold(0.2) if isinstance(law, NoisyRows) else 1


def _refuting_level(
    one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], promise: DifferentialPrivacy, level: float
) -> tuple[float, str]:
    """Just below the level where the promise is refuted at it, 1 where it is not; and the event that was looked at."""
    growth = math.exp(min(promise.epsilon, 700.0))
    found = distinguish(one, other, growth, promise.delta, 0.99 * level)
    witness = (
        f"an event that happened {found.often:,} times in {found.trials:,} releases of one table and {found.seldom:,} times of "
        f"its neighbour; the promise allows a probability of {found.allowed:.4g}, seen were {found.lower:.4g} at least"
    )
    return (0.99 * level if found.is_refuted else 1.0), witness
