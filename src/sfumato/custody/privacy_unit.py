"""The privacy unit: tables in which a person has several rows, and what a guarantee takes as known."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sfumato.errors import ParameterError
from sfumato.guarantees import Guarantee
from sfumato.guarantees.base import about_chosen_parameters, about_learned_lists
from sfumato.guarantees.differential_privacy import DifferentialPrivacy, LocalDifferentialPrivacy
from sfumato.methods.base import Design
from sfumato.release.manifest import about_drawn_rows
from sfumato.schema import Role, Schema

# --------------------------------------------------------------------------------------------------
# Tables in which a person has several rows: what a method's promise is then about.
#
# A promise about rows is worth little to a person with many. Differential privacy carries over to units of a
# bounded number of rows; other promises do not, and need a table of one row for each person. Keeping k rows of
# each, drawn at random, is contribution bounding: Wilson et al. (2020), Differentially private SQL with bounded
# user contribution, PoPETs 2020(2).


SLIGHTLY_LESS = 1 - 2.0**-40
"""Room for the rounding of a handful of floating-point operations."""


def design_for_units(design: Design, schema: Schema) -> Design:
    """The design whose epsilon and delta, said of a unit, are spread over the rows that a unit may have.

    Epsilon is divided by the rows of a unit. Delta becomes what group privacy makes of it:
    ``delta / (k exp((k - 1) epsilon / k))``, so that the unit's is the one asked for.

    Raises
    ------
    ParameterError
        When rows are not persons and no differential privacy is promised, or the schema does not bound the rows of a unit.

    Examples
    --------
    >>> from sfumato import RandomizedResponse
    >>> schema = Schema.from_toml('''
    ... [attributes.patient]
    ... role = "unit"
    ... rows_per_unit = 4
    ... [attributes.illness]
    ... role = "sensitive"
    ... categories = ["flu", "cold", "none"]
    ... ''')
    >>> round(design_for_units(RandomizedResponse(epsilon=1), schema).epsilon, 6)
    0.25
    """
    if not _has_units(design, schema):
        return design
    bound = _bound(schema)
    if bound == 1:
        return design
    if not any(_is_about_differences(each) for each in design.guarantees(schema)):
        raise ParameterError(
            f"a person may have several rows, and {design.to_dict()['method']} protects rows, not people. Keep one row of each: "
            'set rows_per_unit = 1 and excess_rows = "sample" for the unit.',
            parameter="rows_per_unit",
        )
    if bound is None:
        raise ParameterError(
            "differential privacy of a row says nothing about a person with any number of rows. State rows_per_unit for the "
            'unit, with excess_rows = "sample" where some have more; epsilon is then that of the person.',
            parameter="rows_per_unit",
        )
    epsilon = getattr(design, "epsilon", None)
    if epsilon is None:
        return design
    changes: dict[str, Any] = {"epsilon": _divided(epsilon, bound)}
    delta = getattr(design, "delta", 0.0)
    if delta:
        changes["delta"] = delta / bound * math.exp(-(bound - 1) * epsilon / bound) * SLIGHTLY_LESS
    return type(design)(**{**design.model_dump(exclude_none=True), **changes})


def _divided(epsilon: float | Mapping[str, float], bound: int) -> float | dict[str, float]:
    """A little less than a part each, so that what is promised of the whole, rounded up, is not more than was asked."""
    if isinstance(epsilon, Mapping):
        return {name: each / bound * SLIGHTLY_LESS for name, each in epsilon.items()}
    return epsilon / bound * SLIGHTLY_LESS


def promises_for_units(
    promises: tuple[Guarantee, ...], design: Design, schema: Schema
) -> tuple[Guarantee, ...]:
    """The promises of a design, those of differential privacy stated for units where the schema declares one."""
    bound = _bound(schema) if _has_units(design, schema) else None
    if bound is None:
        return promises
    return tuple(
        each.for_units(bound) if isinstance(each, DifferentialPrivacy | LocalDifferentialPrivacy) else each
        for each in promises
    )


def assumptions_about_units(design: Design, schema: Schema) -> tuple[str, ...]:
    """What is assumed of rows and people, and that rows of each person were drawn."""
    drawn = about_drawn_rows(schema.rows_drawn_per_unit)
    bound = _bound(schema)
    if schema.long is not None:
        return ("Every person is one unit.", *drawn)
    if drawn and bound == 1:
        return drawn
    if not _has_units(design, schema) or bound == 1:
        return ("Every person has one row.",)
    return (
        (
            f"No person has more than {bound} rows. Parameters of the method are about a row, promises of differential "
            "privacy about a person."
        ),
        *drawn,
    )


def not_protected_units(design: Design, schema: Schema, promises: tuple[Guarantee, ...]) -> tuple[str, ...]:
    """What a release must say is not protected, where rows belong together."""
    found = []
    about_rows = any(not _is_about_differences(each) for each in promises)
    if _has_units(design, schema) and _bound(schema) != 1 and about_rows:
        found.append(
            "people with several rows: promises other than differential privacy protect rows, not people; what the "
            "rows of one person have in common shows more than one row does"
        )
    if schema.with_role(Role.HOUSEHOLD):
        found.append(
            "households: the promises protect rows or people, not households; whoever recognizes one member may "
            "infer about the others"
        )
    return tuple(found)


def about_weights(schema: Schema) -> tuple[str, ...]:
    """What a reader must know where rows were sampled with weights that are not published."""
    if not schema.with_role(Role.WEIGHT):
        return ()
    return (
        (
            "Estimates count rows of a weighted sample, whose weights are not published: they are not estimates for the "
            "population that the sample was drawn from."
        ),
    )


def _has_units(design: Design, schema: Schema) -> bool:
    """Whether rows belong to units that the method does not see as such."""
    return schema.unit is not None and not (schema.long is not None and design.reads_units)


def _bound(schema: Schema) -> int | None:
    return None if schema.unit is None else schema.unit.rows_per_unit


def _is_about_differences(promise: Guarantee) -> bool:
    return isinstance(promise, DifferentialPrivacy | LocalDifferentialPrivacy)


# --------------------------------------------------------------------------------------------------
# What a promise takes as known, because it was read off the private rows.


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
