"""Hierarchical loglinear models of estimated counts, and a search among them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.analysis.counts import CellCounts, Countable, as_columns, ask_cells, show_count
from sfumato.analysis.equations import ResidualTest, carry, judge_residuals, refuse_open_counts
from sfumato.analysis.formulas import (
    PLAIN_NAME,
    SHOWN,
    Codes,
    Coefficient,
    Columns,
    Factor,
    Fitted,
    Formula,
    Term,
    build_columns,
    read_terms,
)
from sfumato.analysis.identified_sets import claim_of, refuse_assumed
from sfumato.analysis.independence import Counts, chosen_counts, published_where_valid
from sfumato.analysis.unknown_distortion import broken_generators
from sfumato.arrays import Floats
from sfumato.errors import NoSolutionError, NotIdentifiableError, ParameterError, QueryError
from sfumato.estimates.estimates import Certainty, Estimates, normal_quantile
from sfumato.laws import Target, refuse_target
from sfumato.release.release import Release
from sfumato.results import Charted, ResultTable, bar_chart
from sfumato.schema import Schema
from sfumato.text import percent_as_stated, show_cell

# --------------------------------------------------------------------------------------------------
# Hierarchical loglinear models: which margins they fit, and their columns.


Generators = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Model:
    """A hierarchical model: with a product of attributes come all its parts.

    Parameters
    ----------
    terms
        Products, parts before the products they are parts of.
    """

    terms: tuple[Term, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Attributes, in order of first mention."""
        return tuple(dict.fromkeys(each.name for term in self.terms for each in term))

    @property
    def generators(self) -> Generators:
        """The largest products: the model fits exactly the margins over them."""
        sets = [frozenset(each.name for each in term) for term in self.terms]
        largest = [
            term for term, own in zip(self.terms, sets, strict=True) if not any(own < other for other in sets)
        ]
        return tuple(tuple(each.name for each in term) for term in largest)

    @property
    def text(self) -> str:
        """As it is written.

        Examples
        --------
        >>> Model.of((("a", "b"), ("c",))).text
        'c + a*b'
        """
        return " + ".join("*".join(map(_written, each)) for each in self.generators)

    @classmethod
    def of(cls, generators: Sequence[Sequence[str]]) -> Model:
        """The model that fits these margins."""
        products = {
            tuple(Factor(name) for name in part)
            for each in generators
            for size in range(1, len(each) + 1)
            for part in itertools.combinations(each, size)
        }
        order = {name: place for place, name in enumerate(dict.fromkeys(itertools.chain(*generators)))}
        return cls(tuple(sorted(products, key=lambda term: (len(term), [order[each.name] for each in term]))))

    @classmethod
    def read(cls, text: str, schema: Schema) -> Model:
        """Read ``"a*b + b*c"``.

        Raises
        ------
        QueryError
            With the position; scores are refused, since cells are counted by category.
        """
        terms = read_terms(text, schema)
        scored = next((each.name for term in terms for each in term if each.is_score), None)
        if scored is not None:
            raise QueryError(
                f"a loglinear model is about categories, and score({scored}) is a number. Write {scored}, or fit a regression."
            )
        if not terms:
            raise QueryError("a loglinear model names at least one attribute, such as a*b + c.")
        return cls(terms)

    def columns(self, schema: Schema, codes: Codes) -> Columns:
        """Intercept and products, categories compared with their reference."""
        return build_columns(Formula("", self.terms), schema, codes)


def _written(name: str) -> str:
    return name if PLAIN_NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def every_model(names: Sequence[str]) -> Iterator[Model]:
    """All hierarchical models with every attribute in them, the smallest first.

    Examples
    --------
    >>> [each.text for each in every_model(("a", "b"))]
    ['a + b', 'a*b']
    >>> len(list(every_model("abc"))), len(list(every_model("abcd")))
    (9, 114)
    """
    mains = [(name,) for name in names]
    products = [
        part for size in range(2, len(names) + 1) for part in itertools.combinations(tuple(names), size)
    ]

    def extended(chosen: frozenset[tuple[str, ...]], left: int) -> Iterator[frozenset[tuple[str, ...]]]:
        if left == len(products):
            yield chosen
            return
        yield from extended(chosen, left + 1)
        own = products[left]
        # Parts come before their products, so that all of them are decided here.
        if len(own) == 2 or all(part in chosen for part in itertools.combinations(own, len(own) - 1)):
            yield from extended(chosen | {own}, left + 1)

    found = sorted(extended(frozenset(), 0), key=lambda each: (len(each), sorted(each)))
    for each in found:
        yield Model.of([*mains, *sorted(each, key=lambda product: (len(product), product))])


def margin_classes(generator: Sequence[str], schema: Schema, codes: Codes) -> Floats:
    """Indicators of the cells of a margin, ``(cells of the margin, cells)``."""
    sizes = [schema[name].size for name in generator]
    own = np.ravel_multi_index(tuple(codes[name] for name in generator), sizes)
    return np.asarray(np.unique(own)[:, None] == own[None, :], dtype=np.float64)


# --------------------------------------------------------------------------------------------------
# A fitted loglinear model.


@dataclass(frozen=True, eq=False)
class Loglinear(Fitted):
    """A loglinear model fitted to a release.

    Parameters
    ----------
    model
        As it is written.
    generators
        The margins that it fits.
    coefficients
        Logarithms of counts, taken apart; empty where the model was fitted to published rows.
    test
        Whether the model fits; None where it fits any table.
    fitted
        Counts of the model, flattened in the order of its attributes.
    counts
        ``"estimated"`` through the law, or ``"published"`` as they stand.
    """

    model: str
    generators: tuple[tuple[str, ...], ...]
    coefficients: tuple[Coefficient, ...]
    test: ResidualTest | None
    fitted: Floats
    target: Target
    confidence_level: float
    counts: str
    method: str
    law: str
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        fits = "fits any table" if self.test is None else f"p = {self.test.p_value:.3g}"
        return f"Loglinear({self.model}: {fits})"

    @property
    def p_value(self) -> float | None:
        """Of the test whether it fits; None where it fits any table."""
        return None if self.test is None else self.test.p_value

    def summary(self) -> str:
        """Fit, and a table of parameters, for people."""
        lines = [f"Loglinear model {self.model}"]
        if self.test is not None:
            lines.append(
                f"Fit: corrected chi-square {show_cell(self.test.statistic)} on {show_cell(self.test.degrees)} degrees, "
                f"p = {self.test.p_value:.3g} (model's degrees {self.test.free}, design effect {show_cell(self.test.design_effect)})"
            )
        if self.coefficients:
            rows = tuple(each.shown() for each in self.coefficients)
            level = percent_as_stated(self.confidence_level)
            title = f"Parameters, {level} intervals, about the {self.target}"
            lines.append(ResultTable(title, SHOWN, rows).to_text())
        lines.append(f"({self.method}, law {self.law})")
        return "\n".join([*lines, *(f"Note: {each}" for each in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``loglinear --json`` prints it."""
        return {
            "model": self.model,
            "generators": [list(each) for each in self.generators],
            "coefficients": [each.to_dict() for each in self.coefficients],
            "test": None if self.test is None else dict(vars(self.test)),
            "fitted": self.fitted.tolist(),
            "target": self.target,
            "confidence": self.confidence_level,
            "counts": self.counts,
            "method": self.method,
            "law": self.law,
            "notes": list(self.notes),
        }

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the parameters, as plain data."""
        return self.chart(title="parameter", unit=self.model)


# --------------------------------------------------------------------------------------------------
# Fitting a loglinear model to estimated counts, by the margins it is about.


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
    refuse_target(release, target)
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


# --------------------------------------------------------------------------------------------------
# A search for the smallest loglinear model that fits: exploratory, and marked as such.


MOST_ATTRIBUTES = 4
"""Of which there are 114 models; of five there are 6,894."""

EXPLORATORY = (
    "exploratory: the same counts chose the model and test it, so p-values are too large for the one chosen, and its parameters "
    "have no intervals; confirm it on another release"
)


@dataclass(frozen=True)
class Candidate:
    """One model of a search.

    Parameters
    ----------
    model
        As it is written.
    free
        Its degrees of freedom.
    pearson, statistic, degrees, p_value
        Of the corrected residual test; not there where the model could not be tested.
    is_chosen
        The one with most degrees of freedom that is not rejected.
    refused
        Why it could not be tested, in words.
    """

    model: str
    free: int | None = None
    pearson: float | None = None
    statistic: float | None = None
    degrees: float | None = None
    p_value: float | None = None
    is_chosen: bool = False
    refused: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class LoglinearSearch(Charted):
    """Every hierarchical model of some attributes, tested.

    Parameters
    ----------
    of
        The attributes.
    level
        At which a model is rejected.
    candidates
        The smallest first.
    """

    of: tuple[str, ...]
    level: float
    candidates: tuple[Candidate, ...]
    counts: str
    method: str
    law: str
    notes: tuple[str, ...]

    @property
    def chosen(self) -> str | None:
        """The model with most degrees of freedom that is not rejected; of several, the one that fits best."""
        return next((each.model for each in self.candidates if each.is_chosen), None)

    def __repr__(self) -> str:
        return (
            f"LoglinearSearch({', '.join(self.of)}: {self.chosen or 'every model is rejected'}, exploratory)"
        )

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A table for people."""
        rows = tuple(
            (
                each.model,
                "" if each.free is None else str(each.free),
                "" if each.statistic is None else show_cell(each.statistic),
                "" if each.degrees is None else show_cell(each.degrees),
                each.refused if each.p_value is None else f"{each.p_value:.3g}",
                "chosen" if each.is_chosen else "",
            )
            for each in self.candidates
        )
        table = ResultTable(
            f"Loglinear models of {', '.join(self.of)}, rejected at {self.level:g} (exploratory)",
            ("Model", "Free", "Corrected chi-square", "Degrees", "p", ""),
            rows,
        )
        return "\n".join(
            [
                table.to_text(),
                f"({self.method}, law {self.law})",
                *(f"Note: {each}" for each in self.notes),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``loglinear --search --json`` prints it."""
        return {
            "of": list(self.of),
            "level": self.level,
            "exploratory": True,
            "chosen": self.chosen,
            "candidates": [each.to_dict() for each in self.candidates],
            "counts": self.counts,
            "method": self.method,
            "law": self.law,
            "notes": list(self.notes),
        }

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each model."""
        import pyarrow as pa

        return pa.table(as_columns([each.to_dict() for each in self.candidates]))

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the p-values of models that were tested, as plain data."""
        points = [
            {"label": each.model, "value": each.p_value, "kind": "chosen" if each.is_chosen else "tested"}
            for each in self.candidates
            if each.p_value is not None
        ]
        return bar_chart(points, title="model", unit="p-value of the corrected test", kind="search")


def search_loglinear(
    release: Countable,
    of: Sequence[str],
    *,
    where: str = "",
    counts: Counts | None = None,
    level: float = 0.05,
) -> LoglinearSearch:
    """Test every hierarchical model of some attributes and name the smallest that is not rejected.

    Parameters
    ----------
    release
        What is asked.
    of
        Two to four attributes.
    where, counts
        As for :func:`fit_loglinear`; of published rows only models that randomization preserves are tested.
    level
        At which a model is rejected.

    Notes
    -----
    Only the corrected residual test decides: estimated counts have no likelihood, so that likelihood ratios and
    information criteria would be wrong.
    """
    if not 2 <= len(of) <= MOST_ATTRIBUTES or len(set(of)) < len(of):
        raise QueryError(
            f"a search is among models of two to {MOST_ATTRIBUTES} different attributes, got {len(of)}. Name fewer, or fit a "
            "model of your own."
        )
    if not 0 < level < 1:
        raise ParameterError(
            f"level must lie strictly between 0 and 1, got {level}. Use 0.05.", parameter="level"
        )
    for name in of:
        _ = release.schema.publishable[name]
    chosen = chosen_counts(release, counts)
    rows = published_where_valid(release, (), where) if chosen == "published" else None
    cells = ask_cells(rows or release, tuple(of), where=where)
    refuse_uncertain(cells)
    found = [
        _candidate(cells, each, release.schema, None if rows is None else rows.release)
        for each in every_model(tuple(of))
    ]
    fitting = [each for each in found if each.p_value is not None and each.p_value > level]
    best = max(fitting, key=lambda each: (each.free or 0, each.p_value or 0.0), default=None)
    return LoglinearSearch(
        tuple(of),
        level,
        tuple(Candidate(**{**each.to_dict(), "is_chosen": True}) if each is best else each for each in found),
        chosen,
        cells.source.method,
        cells.source.law,
        (EXPLORATORY, *(cells.notes if rows is None else ())),
    )


def _candidate(cells: CellCounts, model: Model, schema: Schema, published: Release | None) -> Candidate:
    try:
        if published is not None:
            refuse_unpreserved(model, published)
        tested = fit_to_cells(cells, model, schema).tested()
    except NotIdentifiableError as refusal:
        return Candidate(model.text, refused=f"not tested: {str(refusal).split('. ', maxsplit=1)[0]}")
    if tested is None:
        return Candidate(model.text, free=0, refused="fits any table")
    return Candidate(
        model.text, tested.free, tested.pearson, tested.statistic, tested.degrees, tested.p_value
    )
