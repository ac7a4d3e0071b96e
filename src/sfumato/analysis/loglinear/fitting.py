"""Fitting a loglinear model to estimated counts, by the margins it is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.analysis.asking import CellCounts, Countable, ask_cells, show_count
from sfumato.analysis.coefficients import Coefficient
from sfumato.analysis.independence import Counts, chosen_counts, published_where_valid
from sfumato.analysis.loglinear.model import Model, margin_classes
from sfumato.analysis.loglinear.result import Loglinear
from sfumato.analysis.residuals import ResidualTest, judge_residuals, refuse_open_counts
from sfumato.analysis.routine import carry
from sfumato.analysis.unknown_distortion.properties import broken_generators
from sfumato.analysis.within_bounds import claim_of, refuse_assumed
from sfumato.errors import NoSolutionError, NotIdentifiableError
from sfumato.laws import Target
from sfumato.release.release import Release
from sfumato.values.arrays import Floats
from sfumato.values.certainty import Certainty
from sfumato.values.estimates import Estimates, normal_quantile
from sfumato.values.schema import Schema

MOST_ROUNDS = 5_000
"""Rounds of fitting all margins in turn; decomposable models need one or two."""
CLOSENESS = 1e-11
"""Share of a margin by which the fit may differ from it."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A model fitted to the counts of its attributes.

    Parameters
    ----------
    model, cells
        What was fitted to what.
    fitted
        Counts of the model, ``(cells,)``.
    design, names
        Its columns, ``(cells, p)``, and what they are called.
    """

    model: Model
    cells: CellCounts
    fitted: Floats
    design: Floats
    names: tuple[str, ...]

    def tested(self) -> ResidualTest | None:
        """Whether the rest could be chance; None where the model fits any table."""
        if np.linalg.matrix_rank(self.design) == self.fitted.size:
            return None
        return judge_residuals(self.cells.estimates, self.fitted, self.design)

    def parameters(self, target: Target) -> Estimates:
        """Logarithms of the fitted counts, taken apart by the columns, with their errors.

        To first order ``d theta = (X' diag(mu) X)^-1 X' d n``.
        """
        theta = np.asarray(np.linalg.lstsq(self.design, np.log(self.fitted))[0], dtype=np.float64)
        information = (self.design.T * self.fitted) @ self.design
        gradient = np.linalg.solve(information, self.design.T)
        return carry(theta, np.asarray(gradient), self.cells.estimates, target)


def fit_loglinear(
    release: Countable,
    model: str,
    *,
    where: str = "",
    counts: Counts | None = None,
    confidence_level: float = 0.95,
    target: Target = "table",
) -> Loglinear:
    """Fit a loglinear model through the law, and test whether it fits.

    Parameters
    ----------
    release
        What is asked.
    model
        Products of attributes joined by ``+``, such as ``"sex*job + job*region"``: sex and region are independent given job.
    where
        Only rows that satisfy these conditions.
    counts
        ``"estimated"`` through the law; ``"published"``: only whether the model fits the rows as they stand, where the model is
        one that randomization preserves. The first when not given, or the second where the law is withheld.
    confidence_level
        Of the parameters' intervals.
    target
        What the parameters' errors are about; the test is always about the population.

    Raises
    ------
    NoSolutionError
        When a margin that the model fits is not estimated as positive, or no positive counts have those margins.
    NotIdentifiableError
        When the law leaves the joint open; when published rows are asked for and the model is not preserved.

    Notes
    -----
    The fit needs only the model's margins; a negative cell is harmless. Margins are fitted in turn (iterative proportional fitting).

    References
    ----------
    Guo (2010), section 4.3; Korn's theorem there is theorem 2.
    """
    read = Model.read(model, release.schema)
    normal_quantile(confidence_level)
    chosen = chosen_counts(release, counts)
    if chosen == "published":
        rows = published_where_valid(release, (), where)
        refuse_unpreserved(read, rows.release)
        fit = fit_model(rows, read, where=where)
        return _result(fit, fit.tested(), None, target, confidence_level, chosen)
    fit = fit_model(release, read, where=where)
    return _result(fit, fit.tested(), fit.parameters(target), target, confidence_level, chosen)


def refuse_unpreserved(model: Model, release: Release) -> None:
    """Refuse to test on published rows a model that randomization does not preserve.

    Raises
    ------
    NotIdentifiableError
        Naming the attribute.
    """
    broken = broken_generators(model.generators, frozenset(release.law.changed_attributes))
    if broken:
        raise NotIdentifiableError(
            f"whether {model.text} fits cannot be told from published rows: {broken[0]} was randomized and stands in more than one "
            "product, so that the model of the true rows is not that of the published ones. Test a model with it in one product, "
            "or ask through a law that is told."
        )


def fit_model(release: Countable, model: Model, *, where: str = "") -> Fit:
    """Ask for the counts of a model's attributes and fit it to them."""
    cells = ask_cells(release, model.names, where=where)
    return fit_to_cells(cells, model, release.schema)


def refuse_uncertain(cells: CellCounts) -> None:
    """Refuse counts of which the law leaves open more than chance does.

    Raises
    ------
    NotIdentifiableError
        When rows were left out, or counts are known within bounds only.
    """
    refuse_open_counts(cells.estimates, "a loglinear model")
    refuse_assumed(cells.estimates, cells.source.estimator, "a loglinear model")


def fit_to_cells(cells: CellCounts, model: Model, schema: Schema) -> Fit:
    """Fit a model to counts of its attributes, or of more."""
    refuse_uncertain(cells)
    margins = [margin_classes(each, schema, cells.codes) for each in model.generators]
    targets = [each @ cells.estimates.values for each in margins]
    for generator, indicators, target in zip(model.generators, margins, targets, strict=True):
        _refuse_empty(generator, indicators, target, cells, schema)
    fitted = _fit_in_turn(margins, targets)
    if fitted is None:
        raise NoSolutionError(
            f"no positive counts have the estimated margins of {model.text}: noise has made them contradict each other. Leave a product "
            "out, merge categories, or ask a release of more rows or less noise.",
            reason="no root",
        )
    columns = model.columns(schema, cells.codes)
    return Fit(model, cells, fitted, columns.values, columns.names)


def _refuse_empty(
    generator: Sequence[str], indicators: Floats, target: Floats, cells: CellCounts, schema: Schema
) -> None:
    if (target > 0).all():
        return
    worst = indicators[int(np.argmin(target))]
    place = int(np.argmax(worst))
    named = " and ".join(f"{name} = {schema[name].labels[cells.codes[name][place]]!r}" for name in generator)
    raise NoSolutionError(
        f"the model fits the margin of {' and '.join(generator)}, and rows with {named} are estimated as "
        f"{show_count(cells.estimates, worst)}: a loglinear model has no count of zero or below. Merge categories, or leave that "
        "product out.",
        reason="undefined",
    )


def _fit_in_turn(margins: Sequence[Floats], targets: Sequence[Floats]) -> Floats | None:
    """Counts with these margins and no product beyond them; None where rounds do not bring them closer."""
    classes = [np.argmax(each, axis=0) for each in margins]
    fitted = np.full(classes[0].size, float(targets[0].sum()) / classes[0].size)
    for _ in range(MOST_ROUNDS):
        for own, target in zip(classes, targets, strict=True):
            fitted = fitted * (target / np.bincount(own, fitted, target.size))[own]
        off = max(
            float(np.abs(np.bincount(own, fitted, target.size) / target - 1).max())
            for own, target in zip(classes, targets, strict=True)
        )
        if off <= CLOSENESS:
            # A cell that went to nothing on the way has no logarithm.
            return fitted if (fitted > 0).all() and np.isfinite(fitted).all() else None
    return None


def _result(
    fit: Fit,
    tested: ResidualTest | None,
    parameters: Estimates | None,
    target: Target,
    confidence_level: float,
    counts: Counts,
) -> Loglinear:
    coefficients: tuple[Coefficient, ...] = ()
    notes = list(fit.cells.notes) if counts == "estimated" else []
    if parameters is not None:
        low, high = parameters.intervals(confidence_level)
        rows = zip(fit.names, parameters.values, parameters.standard_errors, low, high, strict=True)
        # Intervals are by chance alone: of rows left out at random the errors speak, and bounds are not looked at.
        claim = claim_of(fit.cells.estimates, target)
        told = Certainty.ESTIMATED if claim is Certainty.BOUNDED else claim
        coefficients = tuple(
            Coefficient(name, "", float(value), float(error), float(least), float(most), told)
            for name, value, error, least, most in rows
        )
    if counts == "published":
        notes.append(
            "randomization preserves this model, so that published rows as they stand test it at its level; its parameters are "
            "not those of the true rows and are not shown"
        )
    if tested is None:
        notes.append("the model has every product, so that it fits any table and there is nothing to test")
    return Loglinear(
        fit.model.text,
        fit.model.generators,
        coefficients,
        tested,
        fit.fitted,
        target,
        confidence_level,
        counts,
        fit.cells.source.method,
        fit.cells.source.law,
        tuple(notes),
    )
