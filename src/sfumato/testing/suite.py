"""One call that checks a method: its numbers, and what it must do whatever its numbers are."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator

import numpy as np

from sfumato.attacks import ATTACKS
from sfumato.attacks.base import Attack, AttackResult, knowledge_from
from sfumato.custody.publish import admitted, in_memory, prepare, release_in_memory
from sfumato.data.engine import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.laws.estimator import Target
from sfumato.methods.base import METHODS, Design
from sfumato.randomness.streams import NoiseSource
from sfumato.release.loading import hold_release
from sfumato.release.manifest import Manifest
from sfumato.release.publication import Publication
from sfumato.release.release import Release
from sfumato.schema import Schema
from sfumato.testing.queries import KINDS, Answers, CountsOf, as_asked, blocks_of, sample_table
from sfumato.testing.trials import (
    FEWEST_VALUES,
    TARGETS,
    Aspect,
    Failure,
    HonestyReport,
    Make,
    Trials,
    gathered,
    judge,
    made_in_memory,
    run_trials,
)

# --------------------------------------------------------------------------------------------------
# What a method must do whatever its numbers are: say what it is, be read back, answer by every door the same.


HEADINGS = ("Promise", "Against whom", "Weaknesses", "References")
"""What the docstring of a method has paragraphs on."""

LARGEST_NUMBER_OF_QUERIES = 6
"""About how many cells of a table are also asked for one by one."""

AGREEMENT = 1e-6
"""How far two ways to the same number may be apart, as a share of it: the order of additions, no more."""


def _failure(aspect: Aspect, sentence: str, *, kind: str = "", target: str = "") -> Failure:
    return Failure(aspect, kind, target, sentence)


def undocumented(method: type[Design]) -> Iterator[Failure]:
    """What the method does not say about itself."""
    for parameter, field in method.model_fields.items():
        if parameter != METHODS.tag and not field.description:
            yield _failure(
                "documentation", f"parameter {parameter!r} has no description; give one line of help."
            )
    for name in ("title", "summary", "weaknesses", "citations"):
        if not getattr(method, name, None):
            yield _failure(
                "documentation", f"the class variable {name} is missing or empty; every method has one."
            )
    for heading in HEADINGS:
        if heading not in (method.__doc__ or ""):
            yield _failure(
                "documentation", f"the docstring has no paragraph {heading!r}; every method has one."
            )


def not_read_back(
    design: Design, publication: Publication, release: Release, schema: Schema
) -> Iterator[Failure]:
    """A manifest that does not give back the design, the law and the promises."""
    manifest = release.manifest
    settled = design.model_copy(update=dict(publication.settled))
    if Manifest.from_text(json.dumps(manifest.to_descriptor())) != manifest:
        yield _failure("manifest", "the manifest is another after writing and reading it.")
    stored = dict(manifest.method)
    name = stored.pop(METHODS.tag, None)
    if METHODS.members.get(str(name)) is not type(design):
        yield _failure(
            "manifest",
            f"method {name!r} is not found by its name; name its folder under the entry point {METHODS.package!r}.",
        )
    elif METHODS.make(str(name), stored) != settled:
        yield _failure(
            "manifest", "the design made from the manifest's parameters is not the one published by."
        )
    if release.law != publication.law:
        yield _failure("manifest", "the law read from the manifest is not the one that was written.")
    if release.guarantees != settled.guarantees(schema):
        yield _failure("manifest", "the guarantees read from the manifest are not those that were written.")
    if not release.law.sentence:
        yield _failure("manifest", "the law has no sentence.")


def not_picklable(publication: Publication) -> Iterator[Failure]:
    """Row steps that cannot be sent to a worker; tables that are drawn from counts have none."""
    for table in publication.tables:
        for name in ("step", "gather"):
            step = getattr(getattr(table, "rows", None), name, None)
            if step is None:
                continue
            try:
                pickle.loads(pickle.dumps(step))  # noqa: S301 - our own bytes
            except Exception as error:  # noqa: BLE001 - whatever a stranger's step raises
                yield _failure(
                    "pickling",
                    f"the {name} of table {table.name!r} cannot be pickled ({type(error).__name__}); "
                    "make it a frozen dataclass of plain values with __call__.",
                )


def unanswered(trials: Trials, release: Release) -> Iterator[Failure]:
    """Questions refused without a declared reason, faults in place of answers, tables that were not published."""
    for fault in trials.faults:
        yield _failure("answers", f"{fault}. A law answers, or refuses with an error of sfumato's.")
    if len(trials.unpublished) > trials.releases / 2:
        yield _failure(
            "answers",
            f"{len(trials.unpublished)} of {trials.releases} tables like this one were not published: "
            f"{trials.unpublished[0]}",
        )
    for kind in ("margin", "joint"):
        records = trials.pooled(kind, "table")
        if not any(each.is_answered for each in records) and not release.law.unanswerable:
            said = records[0].refusal if records else "no attribute of the table can be asked about"
            yield _failure(
                "answers",
                f"no {kind} question is answered ({said}). Answer one, or say why there is none in the law's "
                "class variable unanswerable.",
                kind=kind,
                target="table",
            )


def disagreeing_doors(release: Release, table: PrivateTable) -> Iterator[Failure]:
    """Cells for which ``counts``, ``query`` and the law's selections give different answers."""
    for target in TARGETS:
        for block in blocks_of(release.schema, table):
            if not isinstance(block, CountsOf):
                continue
            try:
                tabulated = Answers.of_estimates(release.counts(block.names, target=target).estimates)
            except Exception:  # noqa: BLE001, S112 - refusals and faults of tables are found by the trials
                continue
            yield from _by_other_doors(release, block, target, tabulated)


def _by_other_doors(
    release: Release, block: CountsOf, target: Target, tabulated: Answers
) -> Iterator[Failure]:
    some = np.arange(0, len(block.labels), max(1, len(block.labels) // LARGEST_NUMBER_OF_QUERIES))
    selections = block.selections()
    try:
        doors = {
            "query": Answers.of_answers([release.query(block.labels[each], target=target) for each in some]),
            "the law's selections": Answers.of_estimates(
                release.law.estimate_selections(release, [selections[each] for each in some], target=target)
            ),
        }
    except Exception as refusal:  # noqa: BLE001 - whatever a stranger's law raises is a finding
        yield _failure(
            "doors",
            f"counts over {' and '.join(block.names)} are answered, and its cells asked for one by one are not: "
            f"{type(refusal).__name__}: {refusal}",
            kind=block.kind,
            target=target,
        )
        return
    for door, answers in doors.items():
        for what in ("values", "standard_errors", "low", "high"):
            ours, theirs = getattr(tabulated, what)[some], getattr(answers, what)
            if not np.allclose(ours, theirs, rtol=AGREEMENT, atol=AGREEMENT, equal_nan=True):
                worst = int(np.nanargmax(np.abs(ours - theirs)))
                yield _failure(
                    "doors",
                    f"{block.labels[some[worst]]}: {what} {ours[worst]:.6g} by counts and {theirs[worst]:.6g} by {door}; "
                    "expected is one number for one question.",
                    kind=block.kind,
                    target=target,
                )
                break


def unattackable(release: Release, table: PrivateTable) -> Iterator[Failure]:
    """Attacks that name the law and do not run on its release, whatever the attacker knows."""
    for name, attack in ATTACKS.members.items():
        if not attack.applies_to(release):
            continue
        try:
            result = attack_release(attack.example(), release, table)
        except Exception as error:  # noqa: BLE001 - whatever an attack raises is a finding
            yield _failure(
                "attacks", f"{name} names the law and does not run: {type(error).__name__}: {error}"
            )
            continue
        if not result.findings or result.attack != name:
            yield _failure("attacks", f"{name} names the law and finds nothing to say.")


def attack_release(attack: Attack, release: Release, table: PrivateTable) -> AttackResult:
    """What an attack finds from the release alone; else with everybody's records as knowledge from elsewhere."""
    try:
        return attack.run(release)
    except ParameterError:
        records = in_memory(table)
        source = records.source
        if table.schema.long is not None and isinstance(source, CodedRows):
            # Outside records say of whom they are in a column of that name.
            source = CodedRows(
                source.schema, {**source.codes, "target": source.codes[table.schema.long.unit]}
            )
        return attack.run(release, knowledge_from(source, release.schema, engine=records.engine))


# --------------------------------------------------------------------------------------------------
# One call that tries a method as a whole.


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
