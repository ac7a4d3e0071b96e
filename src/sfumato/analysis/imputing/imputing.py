"""Drawing true rows from a release whose rows were redrawn one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.analysis.asking import Countable
from sfumato.analysis.imputing.augmenting import steps_needed
from sfumato.analysis.imputing.parameters import Hierarchical, Parameters, Saturated
from sfumato.analysis.imputing.result import Imputations
from sfumato.analysis.imputing.seen_rows import SeenRows
from sfumato.analysis.loglinear.model import Model
from sfumato.errors import NotIdentifiableError, ParameterError, QueryError
from sfumato.release.release import Release
from sfumato.release.tabulating import axes_of

MOST_DRAWS = 1_000
LARGEST_SEED = 2**63 - 1


def impute(
    release: Countable,
    by: str | Sequence[str] | None = None,
    *,
    model: str = "",
    draws: int = 20,
    seed: int = 0,
) -> Imputations:
    """Tables of rows as they may have been, drawn from what the release and a model say of them.

    Parameters
    ----------
    release
        One whose rows are the true ones, with values redrawn by public matrices.
    by
        Attributes to draw; all of them when neither they nor a model are given.
    model
        A hierarchical loglinear model of the attributes it names, such as ``"age*sex + sex*job"``: the draws are congenial with analyses that
        ask for nothing beyond it. When not given nothing is assumed of how the attributes go together.
    draws
        How many tables; the less the published rows tell, the more are worth while.
    seed
        The same draws follow from the same seed.

    Raises
    ------
    NotIdentifiableError
        When the release's rows are not of this kind.
    NoSolutionError
        When they tell too little, so that what is assumed beforehand would show in the draws.
    TooLargeError
        When there are too many combinations, or the draws would take too long.

    Notes
    -----
    Parameters are drawn first, then rows, so that what is not known of the parameters is in the draws: data augmentation under Jeffreys'
    prior, half a row for each parameter. The draws are about the population. Everything that the law answers by
    itself (counts, means, regressions) it answers with smaller errors and about the table too.
    """
    _refuse_numbers(draws, seed)
    rows = _rows_of(release)
    read = Model.read(model, rows.schema) if model.strip() else None
    names = _names(rows, by, read)
    matrices = {name: each for name, each in rows.law.matrices().items() if name in names}
    if not matrices:
        raise QueryError(
            f"nothing of {', '.join(names)} was redrawn: the published rows are the true ones. Analyse them as they are, or name "
            f"an attribute that was redrawn: {', '.join(rows.law.changed_attributes)}."
        )
    seen = SeenRows.of(rows, names, matrices)
    parameters = _parameters(rows, seen, names, read)
    steps = steps_needed(seen, parameters, draws)
    return Imputations(rows, names, seen, parameters, steps, "" if read is None else read.text, draws, seed)


def _refuse_numbers(draws: int, seed: int) -> None:
    if not 2 <= draws <= MOST_DRAWS:
        raise ParameterError(
            f"draws must lie between 2 and {MOST_DRAWS:,}, got {draws}. Twenty do for most analyses; one alone has no error.",
            parameter="draws",
        )
    if not 0 <= seed <= LARGEST_SEED:
        raise ParameterError(f"seed must lie between 0 and 2^63 - 1, got {seed}.", parameter="seed")


def _rows_of(release: Countable) -> Release:
    """The release, where each of its rows was redrawn by itself and by matrices that are told."""
    if isinstance(release, Release):
        law = release.law
        if law.is_row_by_row and law.rows_are_independent and law.matrices():
            return release
        if law.is_withheld:
            raise NotIdentifiableError(
                "true rows cannot be drawn: the matrices by which values were redrawn are withheld, so that nobody can tell what a "
                "published value may have been. Test what stays valid (sfumato advise)."
            )
        raise NotIdentifiableError(
            f"true rows cannot be drawn from this release: {law.sentence} Only where each row was redrawn by itself, by a public matrix, "
            "does a published row say by itself what it may have been. Ask through the law instead: counts, means and regressions "
            "have their errors from it."
        )
    raise NotIdentifiableError("only a release has published rows. Ask for estimates of the counts instead.")


def _names(release: Release, by: str | Sequence[str] | None, model: Model | None) -> tuple[str, ...]:
    if model is None:
        return axes_of(release.schema, release.schema.names if by is None else by)
    if by is not None:
        raise ParameterError(
            "the model names the attributes to draw. Give the attributes or a model, one of them.",
            parameter="by",
        )
    return model.names


def _parameters(release: Release, seen: SeenRows, names: Sequence[str], model: Model | None) -> Parameters:
    if model is None:
        return Saturated(seen.groups.size, seen.width)
    known = seen.exact_radix.decode(seen.groups) if seen.exact else ()
    redrawn = seen.perturbed_radix.decode(np.arange(seen.width))
    shape = (seen.groups.size, seen.width)
    codes = {
        name: np.broadcast_to(each[:, None], shape) for name, each in zip(seen.exact, known, strict=True)
    }
    codes |= {
        name: np.broadcast_to(each[None, :], shape)
        for name, each in zip(seen.perturbed, redrawn, strict=True)
    }
    return Hierarchical.of(model, release.schema, {name: codes[name] for name in names})
