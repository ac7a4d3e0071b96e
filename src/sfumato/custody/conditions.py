"""What a promise takes as known, because it was read off the private rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sfumato.guarantees import Guarantee
from sfumato.guarantees.base import about_learned_lists
from sfumato.values.schema import Schema


def conditional(
    guarantees: Sequence[Guarantee], schema: Schema, chosen: Collection[str] = ()
) -> tuple[Guarantee, ...]:
    """The promises as they may be stated for a table.

    A list of categories that was read off the rows can name what one person has; a parameter chosen from the
    rows can encode it. Neither is covered by a promise about the draws that follow.

    Parameters
    ----------
    guarantees
        What a design promises for public categories and parameters.
    schema
        Of the private table.
    chosen
        Parameters that were chosen from the private rows, without a share of the promise spent on it.
    """
    about_lists = about_learned_lists(schema.publishable.learned)
    about_choices = (
        (
            f"the parameter{'s' if len(chosen) > 1 else ''} {' and '.join(sorted(chosen))}, chosen from the private rows",
        )
        if chosen
        else ()
    )
    return tuple(
        each.under(about_lists if each.holds_of_tables else (*about_lists, *about_choices))
        for each in guarantees
    )
