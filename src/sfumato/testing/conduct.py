"""What a method must do whatever its numbers are: say what it is, be read back, answer by every door the same."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator

import numpy as np

from sfumato.attacks import ATTACKS
from sfumato.attacks.base import Attack, AttackResult
from sfumato.data.coded_rows import CodedRows
from sfumato.data.knowledge import knowledge_from
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.laws.base import Target
from sfumato.methods.base import METHODS, Design
from sfumato.release.manifest import Manifest
from sfumato.release.publication import Publication
from sfumato.release.release import Release
from sfumato.testing.memory import in_memory
from sfumato.testing.questions import Answers, CountsOf, blocks_of
from sfumato.testing.report import Aspect, Failure
from sfumato.testing.trials import TARGETS, Trials
from sfumato.values.schema import Schema

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
