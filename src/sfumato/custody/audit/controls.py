"""Who an audit compares people with: what would be believed of them were they not in the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.chance.randomness import NoiseSource
from sfumato.custody.audit.attackers import beliefs_of, beliefs_without
from sfumato.custody.audit.classifier import CLASSIFIER, train_classifier
from sfumato.custody.audit.measuring import Side, Trial, choose_targets
from sfumato.custody.audit.people import People, largest_linkable, people_of
from sfumato.custody.in_memory import in_memory
from sfumato.custody.publish import admitted, prepare
from sfumato.data.coded_rows import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import NotIdentifiableError, ParameterError, SfumatoError
from sfumato.methods.base import METHODS, Design
from sfumato.release import Release
from sfumato.release.in_memory import hold_release

SHARE_HELD_OUT = 0.2
"""Share of the rows that are held out when a design is published again."""

GIVEN = "people who are not in the table, as given"
PAIRED = "the same people, their own row left out"
DESIGN = "people held out of the design published again"
"""What the three controls are called."""


@dataclass(frozen=True, eq=False)
class Controlled:
    """Trials, and by what control."""

    control: str
    trials: tuple[Trial, ...]

    @property
    def is_of_release(self) -> bool:
        """The figures are about the release itself, not about its design."""
        return self.control != DESIGN


def attack_present(releases: Sequence[Release], people: People, generator: np.random.Generator) -> Side:
    """Everybody in the table, or many drawn from them."""
    sizes = people.sizes_among(people, are_members=True)
    chosen, is_drawn, is_linkable = choose_targets(sizes, largest_linkable(sizes), generator)
    targets = people.take(chosen)
    return Side(targets, beliefs_of(releases, targets, are_members=True), is_drawn, is_linkable)


def attack_absent(
    releases: Sequence[Release], people: People, outside: People, generator: np.random.Generator
) -> Side:
    """People outside the table, those whom few share their public values with by the same measure."""
    limit = largest_linkable(people.sizes_among(people, are_members=True))
    sizes = outside.sizes_among(people, are_members=False)
    chosen, is_drawn, is_linkable = choose_targets(sizes, limit, generator)
    targets = outside.take(chosen)
    return Side(targets, beliefs_of(releases, targets, are_members=False), is_drawn, is_linkable)


def control_trials(
    releases: Sequence[Release],
    table: PrivateTable,
    people: People,
    present: Side,
    outside: People | None,
    *,
    repeats: int,
    generator: np.random.Generator,
    noise: NoiseSource,
    has_classifier: bool = False,
) -> Controlled:
    """The first control that can be had: people given, own rows left out, the design published again.

    Parameters
    ----------
    releases, table, people
        What was published, from what, about whom.
    present
        Everybody in the table, attacked.
    outside
        People who are known not to be in the table.
    repeats
        Releases of the design, where it is published again.
    generator
        Splits the rows and draws whom to attack.
    noise
        For publishing again.
    has_classifier
        A classifier attacks as well, where it need not be trained again for every person.
    """
    if outside is not None:
        absent = attack_absent(releases, people, outside, generator)
        trial = Trial(present, absent, is_paired=False)
        return Controlled(GIVEN, (with_classifier(trial, releases) if has_classifier else trial,))
    try:
        without = beliefs_without(releases, present.people, generator)
    except NotIdentifiableError:
        again = _published_again(
            releases, table, people, repeats, generator, noise, has_classifier=has_classifier
        )
        trials = tuple(again)
        return Controlled(DESIGN, trials)
    absent = Side(present.people, without, present.is_drawn, present.is_linkable)
    return Controlled(PAIRED, (Trial(present, absent, is_paired=True),))


def _published_again(
    releases: Sequence[Release],
    table: PrivateTable,
    people: People,
    repeats: int,
    generator: np.random.Generator,
    noise: NoiseSource,
    *,
    has_classifier: bool = False,
) -> Iterator[Trial]:
    designs = [design_of(each) for each in releases]
    whole = in_memory(table)
    rows = whole.source
    assert isinstance(rows, CodedRows)
    sensitive = people.sensitive.name
    for number in range(repeats):
        order = generator.permutation(rows.number_of_rows)
        cut = int(np.ceil(SHARE_HELD_OUT * len(order)))
        kept, held_out = (
            PrivateTable(rows.take(np.sort(part)), table.schema, engine=whole.engine)
            for part in (order[cut:], order[:cut])
        )
        made = [
            _publish(kept, design, noise.named(f"release {number} of design {place}"))
            for place, design in enumerate(designs)
        ]
        members, outside = (people_of(each, made[0], sensitive) for each in (kept, held_out))
        present = attack_present(made, members, generator)
        trial = Trial(present, attack_absent(made, members, outside, generator), is_paired=False)
        yield with_classifier(trial, made) if has_classifier else trial


def with_classifier(trial: Trial, releases: Sequence[Release]) -> Trial:
    """The same trial, attacked by a classifier besides: trained on the first of the releases."""
    trained = train_classifier(releases[0], trial.present.people, seed=0)
    present, absent = (
        replace(side, beliefs={**side.beliefs, CLASSIFIER: trained.beliefs(side.people)})
        for side in (trial.present, trial.absent)
    )
    return Trial(present, absent, trial.is_paired)


def _publish(table: PrivateTable, design: Design, noise: NoiseSource) -> Release:
    try:
        publication, describe = prepare(table, admitted(table, design), noise)
        return hold_release(publication.tables, describe, read=table.scan, noise=noise)
    except SfumatoError as error:
        raise ParameterError(
            f"the design cannot be published again on four fifths of the rows ({error}), so there is nobody to compare with. "
            "Give people who are not in the table as control.",
            parameter="control",
        ) from error


def design_of(release: Release) -> Design:
    """The design that a release's manifest states.

    Raises
    ------
    ParameterError
        When its method is not installed, or its parameters are withheld with its law.
    """
    if release.law.is_withheld:
        raise ParameterError(
            "the release withholds its law, and with it the parameters that an audit publishes again by. Audit a release of the same "
            "design that has its law, which need not leave the house: the risk is no smaller there.",
            parameter="release",
        )
    stored = dict(release.manifest.method)
    name = str(stored.pop(METHODS.tag))
    return METHODS.make(name, stored)
