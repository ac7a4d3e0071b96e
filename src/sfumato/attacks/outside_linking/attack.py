"""Linking with outside records: who fits which published rows, and what the rows then say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.attacks.base import Attack, AttackResult
from sfumato.attacks.outside_linking.reidentification import (
    Risk,
    journalist_risk,
    marketer_risk,
    prosecutor_risk,
)
from sfumato.chance.distortion import TwoValued
from sfumato.data.knowledge import Knowledge
from sfumato.errors import ParameterError
from sfumato.methods.anatomy.law.bucketed_rows import BucketedRows
from sfumato.methods.anatomy.law.composition import BUCKET, ROWS, SENSITIVE
from sfumato.methods.generalization.law import GeneralizedRows
from sfumato.methods.randomized_response.law.perturbed_rows import PerturbedRows
from sfumato.release import Release
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.feasibility import project_to_simplex
from sfumato.values.mixed_radix import MixedRadix
from sfumato.values.number_text import Cell
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Role, Schema
from sfumato.watching import steps

Covers = tuple[tuple[int, ...], ...]

PAIRS_AT_ONCE = 20_000_000
"""Pairs of class and outside record compared at a time."""

EDGES = (1, 2, 5, 10, 20, 50, 100, 1_000)
"""Where the table of class sizes begins a new line."""


class OutsideLinking(Attack):
    """Join outside records with published rows on quasi-identifiers.

    Attack
        Rows equal on the published quasi-identifiers are a class. A person whose quasi-identifiers fit a
        class is one of its rows: the attacker picks one at random, or reads what all of them say.
    Against whom
        Prosecutor: someone known to be in the table. Journalist: anyone of a list of people of whom some
        are in it. Marketer: as many people as possible.
    Weaknesses
        The outside records are taken to be right and, for journalist and marketer, to hold everybody in
        the table; where they do not, the risk is overstated.

    References
    ----------
    Sweeney (2002); El Emam (2013), Guide to the de-identification of personal health information, chapter 16.
    """

    attack: Literal["outside-linking"] = "outside-linking"
    quasi_identifiers: tuple[str, ...] | None = Field(
        default=None,
        description="attributes to join on; those of the outside records, or the release's quasi-identifiers",
    )
    sensitive: str | None = Field(
        default=None, description="attribute to read off; the first sensitive one when not given"
    )
    threshold: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.2, description="probability above which a row counts as at risk"
    )

    title: ClassVar[str] = "linking with outside records"
    summary: ClassVar[str] = (
        "Joins people's known quasi-identifiers with the published rows and states how likely the right row is "
        "found (prosecutor, journalist, marketer) and how surely the rows that fit give a sensitive value away."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "The attacker knows people's true quasi-identifiers.",
        "Outside records, where given, hold everybody who is in the table.",
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Sweeney, L. (2002). k-anonymity: a model for protecting privacy. IJUFKS 10(5).",
        "El Emam, K. (2013). Guide to the de-identification of personal health information. CRC Press.",
    )
    laws: ClassVar[tuple[str, ...]] = ("generalized-rows", "perturbed-rows", "bucketed-rows")

    def run(self, release: Release, knowledge: Knowledge | None = None) -> AttackResult:
        """Risks of re-identification and of attribute disclosure."""
        if release.manifest.law["law"] not in self.laws:
            raise ParameterError(
                f"outside-linking works on releases with the law {' or '.join(self.laws)}, this one has "
                f"{release.manifest.law['law']}. Choose another attack.",
                parameter="attack",
            )
        names = self._names(release, knowledge)
        classes = published_classes(release, names, self._sensitive(release, names))
        prosecutor = prosecutor_risk(classes.sizes, self.threshold, classes.stays)
        findings: dict[str, Cell] = {
            "published rows": int(classes.sizes.sum()),
            "classes": len(classes.sizes),
        }
        findings |= self._told("prosecutor", prosecutor)
        caveats = ["Risks are those of published rows; people whose rows were dropped are not counted."]
        if knowledge is not None and classes.stays is not None:
            caveats.append(
                "Quasi-identifiers were perturbed, so outside records do not fit the rows that are theirs: no "
                "journalist or marketer figures. The attack 'linking' weighs rows by the public matrices instead."
            )
        elif knowledge is not None:
            outside = outside_records(classes, knowledge)
            fitted = outside > 0
            sizes, people = classes.sizes[fitted], outside[fitted]
            is_partial = bool((outside < classes.sizes).any())
            if is_partial and fitted.any():
                # Of the smaller side everybody has a partner on the larger, each of which is as likely.
                listed = np.minimum(sizes, people) / np.maximum(sizes, people)
                findings["listed people that fit a class"] = int(people.sum())
                findings["a listed person: chance that a row is theirs"] = float(listed.sum() / people.sum())
            elif fitted.any():
                findings |= self._told("journalist", journalist_risk(sizes, people, self.threshold))
                findings["marketer: success rate"] = marketer_risk(sizes, people)
            findings["share of rows that fit no outside record"] = float(
                classes.sizes[~fitted].sum() / classes.sizes.sum()
            )
            if is_partial:
                caveats.append(
                    "Some classes have more rows than outside records that fit: the records do not hold everybody. "
                    "Journalist and marketer figures are about complete lists, so there are none; the chance stated is "
                    "that of the people listed, as far as these are in the table."
                )
            caveats += knowledge.sentences([name for name in classes.names if name in knowledge.schema])
        findings |= self._read_off(classes)
        return AttackResult(self.attack, findings, (_sizes_table(classes.sizes),), tuple(caveats))

    def _told(self, name: str, risk: Risk) -> dict[str, Cell]:
        return {
            f"{name}: highest risk": risk.highest,
            f"{name}: success rate": risk.success_rate,
            f"{name}: share of rows above {self.threshold:.4g}": risk.records_at_risk,
        }

    def _read_off(self, classes: PublishedClasses) -> dict[str, Cell]:
        if classes.shares is None:
            return {}
        rows = classes.sizes / classes.sizes.sum()
        likeliest = classes.shares.max(axis=1)
        overall = rows @ classes.shares
        return {
            f"{classes.sensitive}: expected right, names the likeliest value": float(rows @ likeliest),
            f"{classes.sensitive}: expected right without linking": float(overall.max()),
            f"{classes.sensitive}: share of rows whose class gives it away": float(
                rows[likeliest > 1 - 1e-9].sum()
            ),
        }

    def _names(self, release: Release, knowledge: Knowledge | None) -> tuple[str, ...]:
        if self.quasi_identifiers is not None:
            names = self.quasi_identifiers
        elif knowledge is not None:
            names = tuple(
                each.name for each in knowledge.schema.attributes if each.role is Role.QUASI_IDENTIFIER
            )
        else:
            names = tuple(each.name for each in release.schema.with_role(Role.QUASI_IDENTIFIER))
        known = [name for name in names if name in release.schema]
        if not known:
            raise ParameterError(
                "there is no quasi-identifier to link on. Name some in quasi_identifiers, or give outside "
                "records that hold one.",
                parameter="quasi_identifiers",
            )
        return tuple(release.schema[name].name for name in names)

    def _sensitive(self, release: Release, names: tuple[str, ...]) -> str | None:
        if self.sensitive is not None:
            return release.schema[self.sensitive].name
        found = [each.name for each in release.schema.with_role(Role.SENSITIVE) if each.name not in names]
        return found[0] if found else None


@dataclass(frozen=True, eq=False)
class PublishedClasses:
    """Published rows grouped by quasi-identifiers.

    Parameters
    ----------
    names
        Quasi-identifiers that have a column.
    schema
        Original attributes.
    codes
        For each of them ``(classes,)``: the published code.
    covers
        For each of them, the original codes behind every published one; None where they are the same.
    sizes
        ``(classes,)`` rows.
    stays
        ``(classes,)`` probability that a row shows its true quasi-identifiers; None for 1.
    sensitive, shares
        The sensitive attribute, and ``(classes, values)`` what is to be believed of a row of each class.
    """

    names: tuple[str, ...]
    schema: Schema
    codes: tuple[Integers, ...]
    covers: tuple[Covers | None, ...]
    sizes: Integers
    stays: Floats | None
    sensitive: str | None
    shares: Floats | None


def published_classes(release: Release, names: Sequence[str], sensitive: str | None) -> PublishedClasses:
    """Group the published rows; an attribute generalized until it says nothing parts no classes."""
    law = release.law
    rows = release.manifest.tables[0].schema_of_attributes
    shown = tuple(name for name in names if name in rows)
    if not shown:
        raise ParameterError(
            "none of the quasi-identifiers is published, so there is nothing to link on. Choose others.",
            parameter="quasi_identifiers",
        )
    is_bucketed = isinstance(law, BucketedRows) and sensitive == law.sensitive
    watched = sensitive if sensitive is not None and sensitive in rows else None
    found = release.count_occupied([*shown, watched] if watched else shown)
    columns = np.stack([np.asarray(found.codes_of(name), dtype=np.int64) for name in shown])
    combinations, place = np.unique(columns, axis=1, return_inverse=True)
    sizes = np.bincount(place, weights=found.counts).astype(np.int64)
    shares = None
    if watched is not None:
        values = found.codes_of(watched)
        table = MixedRadix([len(sizes), rows[watched].size]).tabulate([place, values], found.counts)
        shares = _shares(release, watched, table)
    elif is_bucketed:
        shares = _bucket_shares(release, shown, combinations)
    covers = tuple(law.covers.get(name) if isinstance(law, GeneralizedRows) else None for name in shown)
    return PublishedClasses(
        shown,
        release.schema,
        tuple(combinations),
        covers,
        sizes,
        _stays(law, shown, combinations),
        sensitive if shares is not None else None,
        shares,
    )


def outside_records(classes: PublishedClasses, knowledge: Knowledge) -> Integers:
    """How many outside records fit each class, ``(classes,)``."""
    shared = [place for place, name in enumerate(classes.names) if name in knowledge.schema]
    attributes = knowledge.schema.select(classes.names[place] for place in shared)
    people = knowledge.occupied([each.name for each in attributes])
    tables = [_below(classes, place) for place in shared]
    if len(shared) == len(classes.names) and all((table.sum(axis=0) == 1).all() for table in tables):
        return _joined(
            classes,
            [table.argmax(axis=0)[codes] for table, codes in zip(tables, people.codes, strict=True)],
            people.counts,
        )
    # Where published values overlap, as those of local recoding do, every pair is compared.
    fits = np.zeros(len(classes.sizes), dtype=np.int64)
    turn = max(1, PAIRS_AT_ONCE // max(len(people.counts), 1))
    for start in steps("Comparing classes with people", range(0, len(fits), turn)):
        part = slice(start, start + turn)
        pairs = np.ones((len(fits[part]), len(people.counts)), dtype=np.bool_)
        for place, table, theirs in zip(shared, tables, people.codes, strict=True):
            pairs &= table[classes.codes[place][part]][:, theirs]
        fits[part] = pairs @ people.counts
    return fits


def _joined(classes: PublishedClasses, codes: Sequence[Integers], counts: Integers) -> Integers:
    """Outside records of each class, when a record fits one published combination at most."""
    own = np.stack(classes.codes)
    both = np.concatenate((own, np.stack(codes)), axis=1)
    _, place = np.unique(both, axis=1, return_inverse=True)
    number = own.shape[1]
    total = np.bincount(place[number:], weights=counts, minlength=int(place.max()) + 1)
    return np.asarray(total[place[:number]], dtype=np.int64)


def _below(classes: PublishedClasses, place: int) -> Booleans:
    """``(published, original)``: which categories stand behind a published value."""
    size = classes.schema[classes.names[place]].size
    covers = classes.covers[place]
    if covers is None:
        return np.eye(size, dtype=np.bool_)
    table = np.zeros((len(covers), size), dtype=np.bool_)
    for code, cover in enumerate(covers):
        table[code, list(cover)] = True
    return table


def _stays(law: Any, names: Sequence[str], combinations: Integers) -> Floats | None:
    """Probability that rows kept their true values in all perturbed quasi-identifiers."""
    if not isinstance(law, PerturbedRows) or not set(names) & set(law.distortions):
        return None
    stays = np.ones(combinations.shape[1])
    for name, codes in zip(names, combinations, strict=True):
        if name in law.distortions:
            matrix = law.distortions[name].on_axis
            stays *= matrix.diagonal if isinstance(matrix, TwoValued) else np.diagonal(matrix)[codes]
    return stays


def _shares(release: Release, name: str, table: Floats) -> Floats:
    """Distribution of a published sensitive attribute in every class, reconstructed where it was perturbed."""
    totals = table.sum(axis=1)
    law = release.law
    if isinstance(law, PerturbedRows) and name in law.distortions:
        table = project_to_simplex(table @ law.distortions[name].inverse(), totals)
    return np.asarray(table / totals[:, None])


def _bucket_shares(release: Release, names: tuple[str, ...], combinations: Integers) -> Floats:
    """Mean over the rows of a class of the sensitive distributions of their buckets."""
    law = release.law
    assert isinstance(law, BucketedRows)
    size = release.schema[law.sensitive].size
    values = [
        batch.codes[BUCKET] * size + batch.codes[law.sensitive]
        for batch in release.scan(SENSITIVE, [law.sensitive, BUCKET])
    ]
    buckets = np.bincount(np.concatenate(values))
    buckets = np.append(buckets, np.zeros(-len(buckets) % size, dtype=np.int64)).reshape(-1, size)
    shares = np.asarray(buckets / np.maximum(buckets.sum(axis=1, keepdims=True), 1))
    total = np.zeros((combinations.shape[1], size))
    sizes = np.zeros(combinations.shape[1])
    order = {tuple(column): place for place, column in enumerate(combinations.T.tolist())}
    for batch in release.scan(ROWS, [*names, BUCKET]):
        columns = np.stack([np.asarray(batch.codes[name], dtype=np.int64) for name in names])
        different, place = np.unique(columns, axis=1, return_inverse=True)
        to_class = np.array([order[tuple(column)] for column in different.T.tolist()])[place]
        np.add.at(total, to_class, shares[batch.codes[BUCKET]])
        np.add.at(sizes, to_class, 1)
    return np.asarray(total / sizes[:, None])


def _sizes_table(sizes: Integers) -> ResultTable:
    lines = []
    for low, high in zip(EDGES, (*EDGES[1:], None), strict=True):
        inside = sizes[(sizes >= low) & ((sizes < high) if high is not None else True)]
        text = f"{low}" if high == low + 1 else f"{low} to {high - 1}" if high else f"{low} or more"
        lines.append((text, len(inside), int(inside.sum()), float(inside.sum() / sizes.sum())))
    return ResultTable("Rows by the size of their class", ("size", "classes", "rows", "share"), tuple(lines))
