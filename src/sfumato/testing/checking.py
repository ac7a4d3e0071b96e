"""One call that tries a method as a whole."""

from __future__ import annotations

from sfumato.chance.randomness import NoiseSource
from sfumato.custody.publish import admitted, prepare
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.methods.base import Design
from sfumato.release.in_memory import hold_release
from sfumato.testing.conduct import (
    disagreeing_doors,
    not_picklable,
    not_read_back,
    unanswered,
    unattackable,
    undocumented,
)
from sfumato.testing.memory import as_asked, in_memory, release_in_memory
from sfumato.testing.questions import KINDS
from sfumato.testing.report import HonestyReport, gathered
from sfumato.testing.sample import sample_table
from sfumato.testing.statistics import FEWEST_VALUES
from sfumato.testing.trials import TARGETS, Make, Trials, made_in_memory, run_trials
from sfumato.testing.verdicts import judge

RELEASES = 100
"""Enough to see standard errors that are 30 % too small.

The mean square of the errors is then 1 / 0.7^2 = 2.04 times the stated variance. Their difference, as a share of
the mean of both, is 0.68 on average; over m independent numbers it has a standard deviation of
1.34 sqrt(2 / m) from release to release. With eight such numbers of a kind, Student's statistic of 100 releases
is 0.68 / (0.67 / 10) = 10; an alarm rate of 3e-8 split over 450 checks asks for 7.2. One run in a hundred misses
the fault in one kind of answer; six kinds about two targets are looked at, and a fault of the law shows in most.
"""

DOORS = 2
"""Releases that are asked by every door: some differences show in one release and not in another."""

ALPHA = 1e-6
"""Probability that a method without fault fails any of the random checks."""


def check_method(
    design: Design | type[Design],
    table: PrivateTable | None = None,
    *,
    releases: int = RELEASES,
    alpha: float = ALPHA,
    seed: int = 0,
    make: Make = made_in_memory,
) -> HonestyReport:
    """Try a method as a whole: whether it says what it is, and whether what its releases answer is true.

    Tables are drawn from the rows of the table given, which is thereby a population with known counts. Each
    is published in memory and asked for single cells, margins, joint counts, sums and differences of cells
    and shares, about the table and about the population. Estimates that call themselves unbiased must be so;
    95 % intervals must cover; standard errors must be as large as the errors really are, and not much larger;
    what is stated without error must be the truth. Besides, every way to ask must give one answer, the
    manifest must give back the design and the law, and every attack that names the law must run.

    Parameters
    ----------
    design
        A method with its parameters, or its class for its own example.
    table
        What to try it on; :func:`~sfumato.testing.sample_table` when not given.
    releases
        How many to make. More of them see smaller faults.
    alpha
        Probability that a method without fault fails, all random checks together. Approximate for bias and
        spread, which rest on the law of large numbers; exact for the coverage of single numbers.
    seed
        Repeats the check.
    make
        Publishes a table; in memory unless it is another way of publishing that is tried, such as an engine.

    Returns
    -------
    HonestyReport
        With a sentence for everything that is wrong. Nothing found means: not in this many releases.

    Examples
    --------
    >>> from sfumato import RandomizedResponse
    >>> check_method(RandomizedResponse(retention=0.5), releases=30)
    HonestyReport(randomized-response: 0 failures in 30 releases)
    """
    if releases < FEWEST_VALUES:
        raise ParameterError(
            f"releases must be {FEWEST_VALUES} or more, got {releases}: fewer show nothing. The default sees "
            "standard errors that are 30 % too small.",
            parameter="releases",
        )
    rows = in_memory(sample_table() if table is None else table)
    chosen = admitted(rows, design if isinstance(design, Design) else design.example(rows.schema))
    noise = NoiseSource.seeded(seed)
    publication, describe = prepare(rows, chosen, noise)
    release = hold_release(publication.tables, describe, read=rows.scan, noise=noise)
    trials = run_trials(chosen, rows, releases=releases, seed=seed, make=make)
    several = (release, *(release_in_memory(rows, chosen, seed=seed + more) for more in range(1, DOORS)))
    found, random_checks = judge(trials, type(release.law), alpha)
    conduct = (
        *undocumented(type(chosen)),
        *not_read_back(chosen, publication, release, rows.schema),
        *not_picklable(publication),
        *unanswered(trials, release),
        *gathered(
            failure for each in several for failure in disagreeing_doors(each, as_asked(rows, each.schema))
        ),
        *unattackable(release, rows),
    )
    return HonestyReport(
        release.method, releases, alpha, random_checks, (*found, *conduct), _refusals(trials)
    )


def _refusals(trials: Trials) -> dict[tuple[str, str], str]:
    """What is left open as a whole, and in which words."""
    refused: dict[tuple[str, str], str] = {}
    for kind in KINDS:
        for target in TARGETS:
            records = trials.pooled(kind, target)
            if records and not any(each.is_answered for each in records):
                refused[kind, target] = records[0].refusal
    return refused
