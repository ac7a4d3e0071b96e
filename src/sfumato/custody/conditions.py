"""What a promise takes as known, because it was read off the private rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sfumato.custody.units import promises_for_units
from sfumato.guarantees import Guarantee
from sfumato.guarantees.base import about_chosen_parameters, about_learned_lists
from sfumato.methods.base import Design
from sfumato.values.schema import Schema


def conditional(
    guarantees: Sequence[Guarantee], learned: Iterable[str], chosen: Collection[str] = ()
) -> tuple[Guarantee, ...]:
    """The promises as they may be stated for a table.

    A list of categories that was read off the rows can name what one person has; a parameter chosen from the
    rows can encode it. Neither is covered by a promise about the draws that follow.

    Parameters
    ----------
    guarantees
        What a design promises for public categories and parameters.
    learned
        Attributes whose categories were read off the private rows.
    chosen
        Parameters that were chosen from the private rows, without a share of the promise spent on it.
    """
    about_lists = about_learned_lists(tuple(dict.fromkeys(learned)))
    about_choices = about_chosen_parameters(chosen)
    return tuple(
        each.under(about_lists if each.holds_of_tables else (*about_lists, *about_choices))
        for each in guarantees
    )


def promises_of(design: Design, schema: Schema) -> tuple[Guarantee, ...]:
    """The promises of a design as they may be stated before it is published, for units where the schema declares one."""
    promises = promises_for_units(design.guarantees(schema), design, schema)
    return conditional(promises, schema.publishable.learned, design.choices.keys())
