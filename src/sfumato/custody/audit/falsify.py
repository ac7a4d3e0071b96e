"""Falsification: tables made to refute a guarantee, published again and again; neighboring tables told apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.arrays import Floats, Integers
from sfumato.custody.audit.law_checks import check_against_truth
from sfumato.custody.audit.people import people_of
from sfumato.custody.audit.result import Skipped
from sfumato.custody.publish import admitted, in_memory, prepare
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError, ReleaseDamagedError, SfumatoError
from sfumato.guarantees.differential_privacy import DifferentialPrivacy
from sfumato.methods.base import Design
from sfumato.methods.columnized_counts.law import NoisyRows
from sfumato.methods.columnized_counts.noisy_counts import COUNT_COLUMN, read_table
from sfumato.methods.noisy_marginals.law import NoisyCounts, read_marginal
from sfumato.randomness.streams import NoiseSource
from sfumato.release import Release
from sfumato.release.loading import hold_release
from sfumato.release.verification import judged
from sfumato.results import ResultTable
from sfumato.schema import Attribute, Role, Schema
from sfumato.text import counted

# --------------------------------------------------------------------------------------------------
# Tables made to try a method on: no row of them is anybody's.


LADDER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 60)
"""Copies of the combinations of a table of crowds: thresholds of every size are met."""

CROWDS = 180
"""Combinations of a table of crowds."""

LONERS = 600
"""People of a table in which few share their public values."""

TOY_SCHEMA = Schema(
    attributes=(
        Attribute(
            name="place", role=Role.QUASI_IDENTIFIER, categories=tuple(f"place {n}" for n in range(1, 31))
        ),
        Attribute(
            name="year", role=Role.QUASI_IDENTIFIER, categories=tuple(str(1950 + n) for n in range(30))
        ),
        Attribute(
            name="illness", role=Role.SENSITIVE, categories=("none", "flu", "asthma", "diabetes", "measles")
        ),
    )
)
"""Two public attributes and a sensitive one, for who gives no schema."""


def crowds(schema: Schema, generator: np.random.Generator) -> PrivateTable:
    """Combinations of all attributes with from one to many copies each; sensitive values about evenly.

    Examples
    --------
    >>> table = crowds(TOY_SCHEMA, np.random.default_rng(0))
    >>> sorted(set(table.count_occupied(table.schema.names).counts.tolist()))[:4]
    [1, 2, 3, 4]
    """
    chosen = _combinations(schema, CROWDS, generator)
    copies = np.resize(LADDER, len(next(iter(chosen.values()))))
    return _table(schema, {name: np.repeat(codes, copies) for name, codes in chosen.items()})


def loners(schema: Schema, generator: np.random.Generator) -> PrivateTable:
    """People few of whom share their public values, each with a value of their own.

    Examples
    --------
    >>> loners(TOY_SCHEMA, np.random.default_rng(0)).number_of_rows
    600
    """
    codes = {each.name: generator.integers(0, each.size, LONERS) for each in schema.publishable.attributes}
    for each in schema.publishable.with_role(Role.SENSITIVE):
        # As even as can be: methods that deal values to groups need that.
        codes[each.name] = generator.permutation(np.resize(np.arange(each.size), LONERS))
    return _table(schema, codes)


def one_row_other(table: PrivateTable, row: int, codes: Mapping[str, int] | None) -> PrivateTable:
    """The table with one row replaced, or without it where nothing is given in its place."""
    rows = table.source
    assert isinstance(rows, CodedRows)
    if codes is None:
        kept = np.delete(np.arange(rows.number_of_rows), row)
        return PrivateTable(rows.take(kept), table.schema, engine=table.engine)
    changed = {name: column.copy() for name, column in rows.codes.items()}
    for name, code in codes.items():
        changed[name][row] = code
    return PrivateTable(CodedRows(rows.schema, changed), table.schema, engine=table.engine)


def _combinations(schema: Schema, number: int, generator: np.random.Generator) -> dict[str, Integers]:
    attributes = schema.publishable.attributes
    drawn = np.stack([generator.integers(0, each.size, 4 * number) for each in attributes], axis=1)
    for place, each in enumerate(attributes):
        if each.role is Role.SENSITIVE:
            drawn[:, place] = np.resize(np.arange(each.size), len(drawn))
    _, first = np.unique(drawn, axis=0, return_index=True)
    kept = drawn[np.sort(first)][:number]
    return {each.name: kept[:, place] for place, each in enumerate(attributes)}


def _table(schema: Schema, codes: Mapping[str, Integers]) -> PrivateTable:
    public = schema.publishable
    held = {each.name: codes[each.name].astype(each.code_type) for each in public.attributes}
    return PrivateTable(CodedRows(public, held), public, engine=ArrayEngine())


# --------------------------------------------------------------------------------------------------
# Telling two neighbouring tables apart from what is published of them, more often than a promise allows.


LEAST_PROBABILITY = 1e-300


@dataclass(frozen=True)
class Distinguished:
    """An event that one table makes likelier than its neighbour, and by how much at least.

    Parameters
    ----------
    often, seldom
        Times that it happened on either table, in the half of the trials that did not choose it.
    trials
        Of that half, for each table.
    allowed
        What the promise makes of the smaller probability at most, at its upper limit.
    lower
        Lower limit of the larger probability.
    p_level
        Level at which both limits hold.
    """

    often: int
    seldom: int
    trials: int
    allowed: float
    lower: float
    p_level: float

    @property
    def is_refuted(self) -> bool:
        """The promise allows less than was seen."""
        return self.lower > self.allowed


def distinguish(one: Floats, other: Floats, growth: float, delta: float, level: float) -> Distinguished:
    """Whether some threshold of a statistic tells two tables apart better than a promise allows.

    The threshold is chosen on the first half of the trials and judged on the second, so that choosing costs nothing.

    Parameters
    ----------
    one, other
        ``(trials,)``: the statistic on either table, large where the first is likelier.
    growth, delta
        The promise: ``p <= growth q + delta``.
    level
        Probability of refuting what holds.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> far, near = generator.normal(2, 1, 4_000), generator.normal(0, 1, 4_000)
    >>> distinguish(far, near, 2.0, 0.0, 1e-4).is_refuted, distinguish(near, near, 2.0, 0.0, 1e-4).is_refuted
    (True, False)
    """
    half = len(one) // 2
    chosen = _best_threshold(one[:half], other[:half], growth, delta, level)
    often = int((one[half:] >= chosen).sum())
    seldom = int((other[half:] >= chosen).sum())
    trials = len(one) - half
    lower = _limit(often, trials, level / 2, is_upper=False)
    upper = _limit(seldom, trials, level / 2, is_upper=True)
    return Distinguished(often, seldom, trials, growth * upper + delta, lower, level)


def _best_threshold(one: Floats, other: Floats, growth: float, delta: float, level: float) -> float:
    candidates = np.unique(np.quantile(np.concatenate([one, other]), np.linspace(0.01, 0.995, 100)))
    gains = [
        _limit(int((one >= each).sum()), len(one), level / 2, is_upper=False)
        - growth * _limit(int((other >= each).sum()), len(other), level / 2, is_upper=True)
        - delta
        for each in candidates
    ]
    return float(candidates[int(np.argmax(gains))])


def _limit(successes: int, trials: int, level: float, *, is_upper: bool) -> float:
    """One-sided exact limit of a probability (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    if is_upper:
        return 1.0 if successes >= trials else float(betaincinv(successes + 1, trials - successes, 1 - level))
    return 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, level))


def statistic_between(release: Release, one: PrivateTable, other: PrivateTable) -> Callable[[Release], float]:
    """How much likelier a release is of one table than of its neighbour, by the law that it states.

    Raises
    ------
    ParameterError
        When no such statistic is known for the law.
    """
    law = release.law
    if isinstance(law, NoisyCounts):
        return _between_counts(law, one, other)
    if isinstance(law, NoisyRows) and law.columns:
        return _between_rows(law, one, other)
    raise ParameterError(
        f"neighbouring tables are told apart by noisy counts, and releases of {release.method} have none.",
        parameter="method",
    )


def _between_counts(law: NoisyCounts, one: PrivateTable, other: PrivateTable) -> Callable[[Release], float]:
    tables = []
    for marginal in law.marginals:
        names = list(marginal.attributes)
        first, second = one.count_by(names).counts, other.count_by(names).counts
        differ = np.nonzero(first != second)
        tables.append((marginal, differ, first[differ], second[differ]))

    def statistic(release: Release) -> float:
        total = 0.0
        for marginal, differ, first, second in tables:
            shown = read_marginal(release, marginal).counts[differ]
            for sign, counts in ((1, first), (-1, second)):
                chance = marginal.noise.probability(np.round(shown - counts).astype(np.int64))
                total += sign * float(np.log(np.maximum(chance, LEAST_PROBABILITY)).sum())
        return total

    return statistic


def _between_rows(law: NoisyRows, one: PrivateTable, other: PrivateTable) -> Callable[[Release], float]:
    changed = []
    for column in law.columns:
        names = list(column.attributes)
        first, second = one.count_by(names).counts, other.count_by(names).counts
        for place in np.argwhere(first != second):
            key = tuple(int(each) for each in place)
            changed.append((column.table, names, key, int(first[key]), int(second[key])))

    def statistic(release: Release) -> float:
        total = 0.0
        for table, names, key, first, second in changed:
            codes, (counts,) = read_table(release, table, names, (COUNT_COLUMN,))
            found = np.ones(len(counts), bool)
            for name, code in zip(names, key, strict=True):
                found &= codes[name] == code
            shown = int(counts[found].sum())
            largest = max(shown, 1)
            one_chance, other_chance = (law.matrix.row(each, largest)[shown] for each in (first, second))
            total += math.log(max(one_chance, LEAST_PROBABILITY)) - math.log(
                max(other_chance, LEAST_PROBABILITY)
            )
        return total

    return statistic


def row_with_copies(table: PrivateTable, least: int) -> int:
    """A row whose combination has the smallest number of copies from ``least`` on, or the most there are."""
    rows = table.source
    assert isinstance(rows, CodedRows)
    columns = np.stack([rows.codes[name] for name in table.schema.names], axis=1)
    _, index, counts = np.unique(columns, axis=0, return_inverse=True, return_counts=True)
    copies = counts[index.ravel()]
    enough = copies[copies >= least]
    wanted = int(enough.min()) if enough.size else int(copies.max())
    return int(np.flatnonzero(copies == wanted)[0])


# --------------------------------------------------------------------------------------------------
# Falsifying: trying to refute what a method claims, by publishing tables made for it, again and again.


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
        probes["the table given"] = in_memory(table.drawn_by(noise))
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
