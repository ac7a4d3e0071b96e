"""Publishing: from private rows and a design to a release, in a folder or in memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from sfumato._version import __version__
from sfumato.custody.checks import Unperturbed, check_unperturbed, known_checks, refuse_unaccepted
from sfumato.custody.ledger import Entering, Ledger, Say
from sfumato.custody.privacy_unit import (
    about_weights,
    assumptions_about_units,
    conditional,
    design_for_units,
    not_protected_units,
    promises_for_units,
    promises_of,
)
from sfumato.data.chunks import Read, refuse_changed_table
from sfumato.data.distributed.engine import SplitEngine
from sfumato.data.distributed.splits import AtRest
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.engine import ArrayEngine, CodedRows, Engine
from sfumato.data.private_table import PrivateTable
from sfumato.data.sources.base import state_of
from sfumato.errors import ParameterError, nearest
from sfumato.guarantees import Guarantee
from sfumato.methods.base import Design
from sfumato.randomness.streams import NoiseSource
from sfumato.release.distributed import PartsWriter
from sfumato.release.loading import (
    CATEGORIES_OF,
    hold_release,
    learned_lists,
    load_release,
    open_choices,
    unknown_choices,
)
from sfumato.release.manifest import (
    AS_IT_IS,
    LARGEST_SERIAL,
    Format,
    Manifest,
    Signature,
    Signer,
    TableEntry,
)
from sfumato.release.publication import MadeRows, Publication
from sfumato.release.release import Release
from sfumato.release.storage import Describe, Progress, WriteParts, refuse_existing_folder, write_release
from sfumato.release.verification import refuse_broken_promises
from sfumato.schema import Schema
from sfumato.schema.attribute import SURVEY_DESIGN
from sfumato.text import counted, number_run

# --------------------------------------------------------------------------------------------------
# Publishing without the law: what may be said of a release whose matrices are kept back.
#
# Every number that depends on the matrices gives them away: the retention is a function of epsilon, of the
# amplification, of a bound on risk that was reached. So nothing of the method's own is carried over but
# names.


HOW_IS_WITHHELD = "chosen by looking at the private rows; how is withheld with the law"

ASSUMED = (
    "The distortion matrices, the method's parameters and the numbers of its promise are withheld: whoever knows one of "
    "them knows the others."
)

WEAKNESS = (
    "Withholding the law protects nobody by itself: whoever knows the true shares of an attribute from elsewhere can "
    "estimate its matrix from the release."
)


def without_law(publication: Publication, method: str) -> Publication:
    """The same tables with a law that names only what was perturbed, and none of the method's own sentences.

    Raises
    ------
    ParameterError
        When the method's law has no such form: nothing would then stay valid.
    """
    law = publication.law.withheld()
    if law is None:
        raise ParameterError(
            f"the law of a release by {method} cannot be withheld: without it, nothing that is computed from the release would "
            "be valid. Only the law of rows that are redrawn one by one can (randomized-response of tables that are not unit-item-value "
            "data). Publish with the law, or such a table by that method.",
            parameter="withhold_law",
        )
    return replace(
        publication,
        law=law,
        assumptions=(),
        not_protected=(),
        chosen_from_private_data=dict.fromkeys(publication.chosen_from_private_data, HOW_IS_WITHHELD),
    )


def without_numbers(manifest: Manifest) -> Manifest:
    """The manifest of a release without its law: the method's name, no parameter, no promise."""
    return manifest.model_copy(
        update={
            "method": {"method": manifest.method["method"]},
            "guarantees": (),
            "assumptions": (*manifest.assumptions, ASSUMED),
            "weaknesses": (*manifest.weaknesses, WEAKNESS),
        }
    )


# --------------------------------------------------------------------------------------------------
# Publishing: from private rows and a design to a release folder.


LEARNED = "categories were read off the private rows"
"""What a manifest says of an attribute whose domain was not public beforehand."""

PERTURBED = "Perturbed: the published value is not the true one of the row. Do not count it as it stands; README.md shows how."
PERTURBED_UNTOLD = "Perturbed: the published value is not the true one of the row, and its matrix is withheld. Do not count it."
NO_PROMISE = "everything: no promise is made, so nothing about any person is proved to be protected"


def publish(
    table: PrivateTable,
    design: Design,
    out: str | Path,
    *,
    format: Format = "parquet",
    seed: int | None = None,
    progress: Progress | None = None,
    ledger: Ledger | None = None,
    again: bool = False,
    say: Say = warnings.warn,
    sign: Signer | str | Path | None = None,
    serial: int | None = None,
    withhold_law: bool = False,
    formulas: Literal["refuse", "keep"] = "refuse",
    accept: str | Collection[str] = (),
    tell: Callable[[Unperturbed], None] | None = None,
) -> Release:
    r"""Publish private rows by a design, into a new folder.

    Parameters
    ----------
    table
        The private rows.
    design
        A method with its parameters.
    out
        The folder to make; it must not exist. It appears whole or not at all.
    format
        ``"parquet"`` or ``"csv"``.
    seed
        For tests and demonstrations only: makes the noise reproducible, and the manifest says that the
        release is not private.
    progress
        Called with the number of rows read since the last call.
    ledger
        Where releases are written down: a second one of the same rows is refused. Left alone by seeded releases.
    again
        Publish although an earlier release of the same rows is still out, accepting what they add up to.
    say
        Takes what the custodian alone is told: by the ledger, and by the method.
    sign
        Signs the release: a signer, or the file of a private Ed25519 key.
    serial
        Number in the signature, larger than those of earlier releases, so that ``verify --at-least`` refuses these; the
        release's number in the ledger when not given, 1 where there is none.
    withhold_law
        Publish which attributes were perturbed and not how: no law, no parameter, no number of the promise. Estimates
        are then refused; what stays valid without them can still be asked.
    formulas
        What becomes of a CSV file with labels that a spreadsheet would run, such as ``=1+1``.
    accept
        Checks that need not hold: ``"singled-out"`` (more than 5 % of the persons are unique on the quasi-identifiers
        that are not changed) and ``"key-column"`` (a column that is not changed looks like a key). The release says so.
    tell
        Takes what the checks found.

    Returns
    -------
    Release
        The new release, opened.

    Raises
    ------
    CheckRefusedError
        When a check fails that is not accepted.

    Examples
    --------
    >>> import tempfile, pyarrow as pa
    >>> from sfumato import RandomizedResponse, Schema, read_table
    >>> schema = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
    >>> table = read_table(pa.table({"job": ["a", "b"] * 500}), schema)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = publish(table, RandomizedResponse(retention=0.5), f"{folder}/release")
    ...     release
    Release(randomized-response: job; 1,000 rows)
    """
    if format not in get_args(Format):
        raise ParameterError(
            f"format must be one of {', '.join(get_args(Format))}, got {format!r}.",
            parameter="format",
        )
    accept = known_checks(accept)
    folder = Path(out)
    # Looked at again when writing; here, so that nobody waits for a pass over the data first.
    refuse_existing_folder(folder)
    refuse_rows_of_units(table.schema, design)
    # Read before anything is made, so that a wrong key costs nothing.
    signing = _signing(sign, serial)
    noise = NoiseSource.from_operating_system() if seed is None else NoiseSource.seeded(seed)
    table = table.drawn_by(noise)
    is_entered = ledger is not None and not noise.is_reproducible
    # The ledger may look rows up by a reading of its own, which must have been of the same ones.
    files = table.source.cells.files if is_entered else ()
    before = [state_of(each) for each in files]
    with table.at_rest() as resting, ExitStack() as entries:
        chosen = admitted(resting, design)
        entering = entries.enter_context(
            Entering(ledger if is_entered else None, table, chosen, folder, again=again, say=say)
        )
        publication, describe_accepted = prepare(resting, chosen, noise, withhold_law=withhold_law)
        if format == "csv" and formulas == "refuse":
            refuse_formulas(publication)
        found = check_unperturbed(resting, publication)
        accepted = refuse_unaccepted(found, accept, resting, publication)
        parted = _in_parts(resting, noise)
        read = _reader(publication, table, resting)
        read = entering.looking_up(read, resting, passes_once=read == table.scan and parted is None)

        def check(staging: Path, manifest: Manifest) -> None:
            entering.look_up_passed()
            if [state_of(each) for each in files] != before:
                refuse_changed_table()
            refuse_broken_promises(staging, manifest, engine=_engine_for_files(table.engine))

        def describe(entries: tuple[TableEntry, ...]) -> Manifest:
            return describe_accepted(entries).model_copy(update={"accepted": accepted})

        write_release(
            publication.tables,
            describe,
            folder,
            read=read,
            noise=noise,
            format=format,
            progress=progress,
            sign=signing and (lambda files: signing(files, entering.number)),
            check=check,
            parted=parted,
        )
    withheld = promises_of(chosen, table.schema) if withhold_law else ()
    for sentence in (
        *publication.warnings,
        *(f"not in the release, since the law is withheld: {each.statement}" for each in withheld),
    ):
        say(sentence)
    if tell is not None:
        tell(found)
    return load_release(folder)


def _signing(
    sign: Signer | str | Path | None, serial: int | None
) -> Callable[[Mapping[str, bytes], int | None], Signature] | None:
    """What signs files, given the release's number in the ledger."""
    signer = None if sign is None else sign if isinstance(sign, Signer) else Signer(Path(sign))
    if serial is not None and (signer is None or not 1 <= serial <= LARGEST_SERIAL):
        raise ParameterError(
            "serial: the serial number of a signature is a whole number from 1 to 10^18. Give one, and the key by --sign.",
            parameter="serial",
        )
    if signer is None:
        return None
    return lambda files, number: signer.sign(files, serial=serial or number or 1)


def _reader(publication: Publication, table: PrivateTable, resting: PrivateTable) -> Read:
    """What gives the rows: the source itself where this is the only pass over it, else the rows at rest."""
    passes = sum(isinstance(each.rows, MadeRows) for each in publication.tables)
    return table.scan if passes == 1 and not resting.source.is_taken else resting.scan


def _in_parts(resting: PrivateTable, noise: NoiseSource) -> WriteParts | None:
    """What writes tables in parts, where the private rows are in splits."""
    engine, source = resting.engine, resting.source
    if not isinstance(engine, SplitEngine) or not isinstance(source, AtRest):
        return None
    return PartsWriter(engine, source, source.schema, noise)


def _engine_for_files(engine: Engine) -> Engine:
    """The table's own, whose limits were chosen for this machine; where it reads arrays alone, a new one."""
    return DuckDBEngine() if isinstance(engine, ArrayEngine) else engine


def refuse_rows_of_units(schema: Schema, design: Design) -> None:
    """Refuse a method that protects rows where the table holds several for each person.

    Raises
    ------
    ParameterError
        Naming the method.
    """
    if schema.long is not None and not design.reads_units:
        raise ParameterError(
            f"method {design.to_dict()['method']!r} protects single rows, and in unit-item-value data a person has many. "
            "Publish them by columnized-counts, or pivot to one row for each unit and take [long] out of the schema.",
            parameter="method",
        )


def refuse_formulas(publication: Publication) -> None:
    """Refuse tables with names or labels that a spreadsheet would run when it opens their CSV files.

    Raises
    ------
    ParameterError
        Naming the column and how many labels it is about.
    """
    for attribute in (each for table in publication.tables for each in table.schema.attributes):
        run = number_run([attribute.name, *attribute.labels])
        if run:
            raise ParameterError(
                f"column {attribute.name!r} has {counted(run, 'label')} that a spreadsheet would run as a formula when it opens "
                "the CSV file: such labels begin with =, +, - or @. Publish as Parquet, map them to other labels in the "
                "schema, or publish them as they are with --formulas keep.",
                parameter="formulas",
            )


def admitted(table: PrivateTable, design: Design) -> Design:
    """The design as it applies to the table's units; refuses what cannot be published by it."""
    refuse_rows_of_units(table.schema, design)
    chosen = design_for_units(design, table.schema)
    table.refuse_unfit_withheld()
    return chosen


def prepare(
    table: PrivateTable, design: Design, noise: NoiseSource, *, withhold_law: bool = False
) -> tuple[Publication, Describe]:
    """What an admitted design makes of a table, and what gives the manifest, wherever the rows will go."""
    made = design.publish(table, noise)
    # What a method chooses itself, it says by what it hands over.
    said = design.chosen_from_private_data or {}
    for name in said:
        if name not in made.law.chosen_from_rows:
            raise ParameterError(
                f"chosen_from_private_data names {name!r}; {nearest(name, made.law.chosen_from_rows)} Name a parameter that releases of "
                "this kind may have chosen from the rows.",
                parameter="chosen_from_private_data",
            )
    publication = replace(made, chosen_from_private_data={**said, **made.chosen_from_private_data})
    settled = design.model_copy(update=dict(publication.settled))
    learned = _learned(publication, table.schema)
    guarantees = conditional(
        promises_for_units(settled.guarantees(table.schema), settled, table.schema),
        learned,
        open_choices(publication.law, publication.chosen_from_private_data),
    )
    public = without_law(publication, settled.to_dict()["method"]) if withhold_law else publication

    def describe(entries: tuple[TableEntry, ...]) -> Manifest:
        manifest = describe_release(
            settled,
            guarantees,
            public,
            table.schema,
            entries,
            learned=learned,
            is_reproducible=noise.is_reproducible,
        )
        return without_numbers(manifest) if withhold_law else manifest

    return public, describe


def _learned(publication: Publication, schema: Schema) -> tuple[str, ...]:
    """Published attributes whose lists were read off the private rows.

    Lists that a method makes anew, such as merged values, may be learned where the table's were not.
    """
    attributes = {each.name: each for table in publication.tables for each in table.schema.attributes}
    published = Schema(attributes=tuple(attributes.values()))
    asked = publication.law.question_schema(published)
    unknown = unknown_choices(
        publication.law,
        publication.chosen_from_private_data,
        {*asked.names, *attributes, *publication.law.without_column},
    )
    if unknown:
        # Otherwise it would write a release that nobody can open.
        raise ParameterError(
            f"the method says that it chose {unknown[0]!r} from the private rows, and the law of its release, "
            f"{type(publication.law).__name__}, does not know such a choice. A law names in chosen_from_rows what its method may "
            "choose. Nothing was published; ask whoever wrote the method to mend it.",
            parameter="method",
        )
    return learned_lists(asked, published, schema.publishable.learned)


def describe_release(
    design: Design,
    guarantees: tuple[Guarantee, ...],
    publication: Publication,
    schema: Schema,
    entries: tuple[TableEntry, ...],
    *,
    learned: Sequence[str],
    is_reproducible: bool,
) -> Manifest:
    """The manifest of a release: what the method says of it, and what holds of every release.

    Parameters
    ----------
    design
        With the parameters that the private rows settled.
    guarantees
        What it promises for the schema.
    publication
        What the method made.
    schema
        Of the private table.
    entries
        The written files.
    learned
        Attributes whose lists of categories were read off the private rows.
    is_reproducible
        A seeded noise source was used, so the release protects nobody.
    """
    return Manifest(
        software=f"sfumato {__version__}",
        method=design.to_dict(),
        guarantees=tuple(
            {**each.model_dump(mode="json"), "description": each.describe()} for each in guarantees
        ),
        law=publication.law.model_dump(mode="json"),
        tables=entries,
        assumptions=(
            *assumptions_about_units(design, schema),
            "The private table is published once.",
            *publication.assumptions,
            *about_weights(schema),
        ),
        not_protected=(
            *(() if guarantees else (NO_PROMISE,)),
            *(f"{name}: published as it is" for name in publication.published_as_they_are),
            *publication.not_protected,
            *not_protected_units(design, schema, guarantees),
        ),
        weaknesses=design.weaknesses,
        citations=design.citations,
        column_notes=column_notes(publication),
        dropped_design={
            role.value: tuple(each.name for each in schema.with_role(role))
            for role in SURVEY_DESIGN
            if schema.with_role(role)
        },
        chosen_from_private_data={
            **{f"{CATEGORIES_OF}{name}": LEARNED for name in learned},
            **publication.chosen_from_private_data,
        },
        rows_drawn_per_unit=schema.rows_drawn_per_unit,
        reproducible=is_reproducible,
        privacy=_privacy(design, schema, is_reproducible=is_reproducible),
    )


def _privacy(design: Design, schema: Schema, *, is_reproducible: bool) -> str:
    """Where what was drawn comes from."""
    if is_reproducible:
        return "not private: made with a seed, anyone who guesses it can undo what was drawn"
    nothing = "nothing was drawn but the order of the rows, which comes"
    if schema.rows_drawn_per_unit:
        nothing = "nothing was drawn but which rows of each person there are, and their order: both come"
    return (
        f"{'noise' if design.draws_values else nothing} from the operating system's entropy; no seed exists"
    )


def column_notes(publication: Publication) -> dict[str, str]:
    """By column of the published tables, how its values relate to the true ones, where that is one sentence."""
    changed = publication.law.changed_attributes
    names = [name for each in publication.tables for name in each.schema.names]
    perturbed = PERTURBED_UNTOLD if publication.law.is_withheld else PERTURBED
    return {
        name: perturbed if name in changed else AS_IT_IS
        for name in names
        if name in changed or name in publication.published_as_they_are
    }


# --------------------------------------------------------------------------------------------------
# Private rows and releases in memory, for whoever publishes many times.


def in_memory(table: PrivateTable) -> PrivateTable:
    """The same private rows, read once and kept as category codes: quick to publish again and again.

    Memory grows with the number of rows. Of unit-item-value data the units are numbered; their names are
    not kept.
    """
    schema = table.schema
    if isinstance(table.source, CodedRows):
        return table
    if schema.long is None:
        rows = CodedRows.gathered(schema.publishable, table.scan(with_units=True))
    else:
        units = table.rows_of_units()
        sizes = np.diff(units.ends, prepend=0)
        rows = CodedRows(
            schema.publishable, {**units.codes, schema.long.unit: np.repeat(np.arange(sizes.size), sizes)}
        )
    return PrivateTable(rows, schema, engine=ArrayEngine())


def release_in_memory(
    table: PrivateTable, design: Design, *, seed: int | None = None, withhold_law: bool = False
) -> Release:
    r"""Publish private rows by a design without writing files, and open the release.

    It is published, shuffled, described and opened by the code that :func:`sfumato.publish` and
    :func:`sfumato.load_release` use; only the files are missing, and its ``folder`` is None.

    Parameters
    ----------
    table
        The private rows; give :func:`in_memory` of them when publishing many times.
    design
        A method with its parameters.
    seed
        For repeatable tests; as for :func:`sfumato.publish`.
    withhold_law
        As for :func:`sfumato.publish`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sfumato import RandomizedResponse, Schema, read_table
    >>> schema = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
    >>> table = read_table(pa.table({"job": ["a", "b"] * 500}), schema)
    >>> release_in_memory(table, RandomizedResponse(retention=0.5))
    Release(randomized-response: job; 1,000 rows)
    """
    noise = NoiseSource.from_operating_system() if seed is None else NoiseSource.seeded(seed)
    table = table.drawn_by(noise)
    publication, describe = prepare(table, admitted(table, design), noise, withhold_law=withhold_law)
    return hold_release(publication.tables, describe, read=table.scan, noise=noise)
