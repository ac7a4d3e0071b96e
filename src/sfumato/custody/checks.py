"""Checks before a release is written: persons singled out, columns that look like keys, and rare learned categories."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Integers
from sfumato.custody.schemas.roles import EncodedColumn, key_columns
from sfumato.data.private_table import PrivateTable
from sfumato.data.sample_uniques import (
    FEW_HOLDERS,
    MOST_KEYS_OF_SETS,
    PersonCounts,
    SampleUniques,
    count_persons,
)
from sfumato.errors import CheckRefusedError, DataError, ParameterError, nearest
from sfumato.methods.base import Design
from sfumato.release.manifest import CHECKS, KEY_COLUMN, SINGLED_OUT
from sfumato.release.publication import Publication
from sfumato.schema import Attribute, Role, Schema
from sfumato.text import listed, percent

MOST_SINGLED_OUT = 0.05
"""Share of persons who may be unique on unperturbed quasi-identifiers."""

MOST_CELLS_LOOKED_AT = 2_000_000
"""Cells that the rules for keys look at: some seconds of reading at most."""

MOST_NAMED = 5


def known_checks(accept: str | Collection[str]) -> tuple[str, ...]:
    """Names of checks to accept; refuses those that do not exist."""
    accept = (accept,) if isinstance(accept, str) else tuple(accept)
    unknown = [name for name in accept if name not in CHECKS]
    if unknown:
        raise ParameterError(
            f"there is no check {unknown[0]!r} to accept; {nearest(unknown[0], CHECKS)}",
            parameter="accept",
        )
    return accept


@dataclass(frozen=True)
class Unperturbed:
    """What a release shows of its persons by columns that were not changed. Private until it is published.

    Parameters
    ----------
    uniques
        Sample uniques on the quasi-identifiers; None where none of them is unperturbed.
    keys
        Columns that look like keys.
    note
        How many persons are unique when the sensitive attributes are known too.
    """

    uniques: SampleUniques | None = None
    keys: tuple[str, ...] = ()
    note: str = ""

    @property
    def findings(self) -> dict[str, str]:
        """By check that fails, what is found, without the full stop."""
        found = {}
        if self.uniques is not None and self.uniques.share > MOST_SINGLED_OUT:
            found[SINGLED_OUT] = self.uniques.sentence
        if self.keys:
            look = "looks like a key of persons" if len(self.keys) == 1 else "look like keys of persons"
            found[KEY_COLUMN] = f"{listed(self.keys, most=MOST_NAMED)} {look}"
        return found


def check_unperturbed(table: PrivateTable, publication: Publication) -> Unperturbed:
    """Count sample uniques on what a publication leaves unperturbed, and find columns that look like keys.

    One pass over the private rows, or none where nothing is unperturbed.

    Raises
    ------
    DataError
        When a list of categories that the release would show was learned from rows, and few persons hold some of them.
    """
    published = {each.name: each for one in publication.tables for each in one.schema.attributes}
    queried = publication.law.question_schema(Schema(attributes=tuple(published.values())))
    # The lists that a release shows: those of its files, and those that queries are asked in.
    lists = published | {each.name: each for each in queried.attributes}
    private = table.schema.publishable
    learned = [
        name for name, each in lists.items() if name in table.learned_lists and each.categories is not None
    ]
    exact = _unperturbed(publication, private)
    known, sensitive = (
        [name for name in exact if private[name].role is role]
        for role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE)
    )
    sets = [known, *([[*known, *sensitive]] if known and sensitive else [])] if known else []
    # Lists were learned from all rows, also where some of them are drawn.
    whole = table.undrawn
    found = count_persons(
        table, sets, names=exact if whole is not table else (*exact, *learned), published=lists
    )
    _refuse_rare(
        learned, found if whole is table else count_persons(whole, [], names=learned, published=lists)
    )
    keys = _keys(table, exact)
    note = ""
    if len(sets) > 1 and (more := found.uniques(1)).share > MOST_SINGLED_OUT:
        note = f"{more.told('that are not changed, sensitive ones included')}."
    return Unperturbed(found.uniques() if known else None, keys, note)


def check_plan(table: PrivateTable, design: Design) -> Unperturbed:
    """The same for what a design will leave unperturbed, as far as the schema tells; nothing is refused."""
    private = table.schema.publishable
    exact = design.unperturbed(table.schema)
    known = [name for name in exact if private[name].role is Role.QUASI_IDENTIFIER]
    found = count_persons(table, [known], names=exact)
    return Unperturbed(found.uniques() if known else None, _keys(table, exact))


def _unperturbed(publication: Publication, private: Schema) -> tuple[str, ...]:
    """Unperturbed columns that stand together: rows of different tables do not."""
    exact = {name for name in publication.published_as_they_are if name in private}
    return max(
        (tuple(name for name in each.schema.names if name in exact) for each in publication.tables), key=len
    )


def refuse_unaccepted(
    found: Unperturbed, accept: Collection[str], table: PrivateTable, publication: Publication
) -> dict[str, str]:
    """What is published all the same: by accepted check, what is found.

    Raises
    ------
    CheckRefusedError
        When a check fails that is not accepted.
    """
    findings = found.findings
    for check, sentence in findings.items():
        if check in accept:
            continue
        if check == SINGLED_OUT:
            assert found.uniques is not None
            columns, is_any = columns_to_coarsen(table, publication, found.uniques)
            which = f"{'one of ' if is_any and len(columns) > 1 else ''}{listed(columns, most=MOST_NAMED)}"
            limit = f"; at most {percent(MOST_SINGLED_OUT)} may be"
            what = f"Coarsen, perturb or remove {which}"
        else:
            columns, limit = found.keys, "; keys are not published"
            what = f"Give {'it' if len(columns) == 1 else 'them'} the role identifier"
        raise CheckRefusedError(
            f"{sentence}{limit}. {what}, or publish all the same with --accept {check}.",
            check=check,
            columns=columns,
        )
    return findings


def columns_to_coarsen(
    table: PrivateTable, publication: Publication, found: SampleUniques
) -> tuple[tuple[str, ...], bool]:
    """Columns without which few enough persons are unique, and whether any one of them suffices.

    Greedy: columns are kept by increasing number of categories while few enough persons are unique on them.
    """
    names = found.attributes
    lists = {each.name: each for one in publication.tables for each in one.schema.attributes}
    by_size = sorted(names, key=lambda name: lists[name].size)
    without = [tuple(each for each in names if each != name) for name in names]
    first = [tuple(by_size[:number]) for number in range(1, len(names))]
    counts = count_persons(table, [*without, *first], published=lists, most=MOST_KEYS_OF_SETS)
    few = [counts.uniques(place).share <= MOST_SINGLED_OUT for place in range(len(without) + len(first))]
    alone = tuple(name for name, is_few in zip(names, few[: len(names)], strict=True) if is_few)
    if alone:
        return alone, True
    kept = next((place for place, is_few in enumerate(few[len(names) :]) if not is_few), len(first))
    return tuple(name for name in names if name not in by_size[:kept]), False


def _keys(table: PrivateTable, exact: Collection[str]) -> tuple[str, ...]:
    """Unperturbed columns that look like keys, by the rules of roles on rows from the start of the table."""
    if not exact:
        return ()
    listed_ones = [each for each in table.schema.publishable.attributes if each.categories is not None]
    unit, batches, cells = table.unit_column, [], 0
    for batch in table.scan([each.name for each in listed_ones], with_units=unit is not None):
        batches.append(batch.codes)
        cells += batch.number_of_rows * max(len(listed_ones), 1)
        if cells > MOST_CELLS_LOOKED_AT:
            break
    if not batches:
        return ()
    columns = [
        _encoded(each, np.concatenate([codes[each.name] for codes in batches])) for each in listed_ones
    ]
    if unit is not None:
        persons, codes = np.unique(np.concatenate([codes[unit] for codes in batches]), return_inverse=True)
        columns.append(EncodedColumn(unit, codes, [str(each) for each in persons]))
    return tuple(name for name in key_columns(columns) if name in exact)


def _encoded(attribute: Attribute, codes: Integers) -> EncodedColumn:
    """A column as the rules of roles read it: values in the order in which they first occur."""
    present = codes != (-1 if attribute.missing_code is None else attribute.missing_code)
    occurring, first, places = np.unique(codes[present], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    encoded = np.full(codes.size, -1)
    encoded[present] = rank[places]
    values = [attribute.labels[code] for code in occurring[order]]
    try:
        numbers = np.array([float(each) for each in values])
    except ValueError:
        numbers = None
    is_number = numbers is not None and numbers.size > 0 and bool(np.isfinite(numbers).all())
    return EncodedColumn(
        attribute.name, encoded, values, numbers if is_number else None, attribute.description or ""
    )


def _refuse_rare(learned: Sequence[str], found: PersonCounts) -> None:
    rare: dict[str, int] = {}
    for name in learned:
        attribute = found.attributes[name]
        holders = found.holders(name)[: len(attribute.categories or ())]
        # A label that no row has was not learned from a row.
        if number := int(np.count_nonzero((holders > 0) & (holders < FEW_HOLDERS))):
            rare[name] = number
    if rare:
        name, number = next(iter(rare.items()))
        others = f" (also {listed(_told(list(rare.items())[1:]), most=3)})" if len(rare) > 1 else ""
        raise DataError(
            f"{number:,} of the categories of {name!r} learned from the data{others} are of fewer than {FEW_HOLDERS} persons each. "
            "Merge them by recode, or declare a public list and remove learned = true.",
            attribute=name,
        )


def _told(rare: Iterable[tuple[str, int]]) -> list[str]:
    return [f"{number} of {name!r}" for name, number in rare]
