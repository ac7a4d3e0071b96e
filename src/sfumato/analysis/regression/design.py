"""From terms and cells to the columns of a regression."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.analysis.classification import Classification
from sfumato.analysis.regression.formula import Factor, Formula, scored_name
from sfumato.analysis.regression.glm import FamilyName
from sfumato.analysis.scores import score
from sfumato.errors import ParameterError, QueryError
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.schema import Attribute, Schema

INTERCEPT = "(intercept)"
Codes = Mapping[str, Integers]


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of some terms over some cells.

    Parameters
    ----------
    values
        ``(cells, d)``, the intercept first.
    names
        ``d`` of them.
    terms
        Which term each column belongs to, as it is written.
    """

    values: Floats
    names: tuple[str, ...]
    terms: tuple[str, ...]


def build_columns(formula: Formula, schema: Schema, codes: Codes) -> Columns:
    """Columns of a formula's terms for cells given by their codes; categories are compared with their reference."""
    cells = next(iter(codes.values())).size if codes else 1
    values, names, terms = [np.ones(cells)], [INTERCEPT], [INTERCEPT]
    for term in formula.terms:
        written = ":".join(f"score({each.name})" if each.is_score else each.name for each in term)
        for parts in itertools.product(*(_factor_columns(each, schema[each.name], codes) for each in term)):
            values.append(np.prod([column for _, column in parts], axis=0))
            names.append(" : ".join(name for name, _ in parts))
            terms.append(written)
    return Columns(np.column_stack(values), tuple(names), tuple(terms))


def _factor_columns(factor: Factor, attribute: Attribute, codes: Codes) -> list[tuple[str, Floats]]:
    own = codes[factor.name]
    if factor.is_score:
        # Cells without a value carry no rows in the fit; any number will do.
        numbers = np.append(score(attribute).values, 0.0)
        return [(f"score({factor.name})", numbers[np.minimum(own, numbers.size - 1)])]
    return [
        (f"{factor.name} = {label!r}", (own == code).astype(np.float64))
        for code, label in enumerate(attribute.labels)
        if code != factor.reference
    ]


@dataclass(frozen=True, eq=False)
class Response:
    """What is modelled.

    Parameters
    ----------
    text
        The attribute, condition or score, as shown.
    names
        Attributes it looks at.
    family
        The model's family.
    categories
        What each set of coefficients is about; one empty text for numbers.
    """

    text: str
    names: tuple[str, ...]
    family: FamilyName
    categories: tuple[str, ...]
    classification: Classification | None
    numbers: Floats | None

    @property
    def is_share(self) -> bool:
        """Whether its mean is a share of rows, not a mean of numbers."""
        return self.family in {"logistic", "multinomial"}

    def outcomes(self, codes: Codes) -> Floats:
        """Of each cell, ``(cells, q)``: its number, or which category it is in."""
        if self.classification is None:
            assert self.numbers is not None
            numbers = np.append(self.numbers, 0.0)
            return numbers[np.minimum(codes[self.names[0]], self.numbers.size)][:, None]
        classes = self.classification.classes(codes)
        return np.asarray(classes[:, None] == np.arange(1, len(self.categories) + 1), dtype=np.float64)


def read_response(text: str, schema: Schema, family: FamilyName | None) -> Response:
    """The response of a formula, and the family that fits it when none is asked for.

    Raises
    ------
    ParameterError
        When the response does not fit the family.
    QueryError
        When it is no attribute, condition or score.
    """
    name = scored_name(text) or text.strip('"')
    attribute = schema[name] if name in schema.publishable.names else None
    if scored_name(text) is not None and attribute is None:
        raise QueryError(
            f"score(...) takes an attribute, got {name!r}. Name one of the release's attributes."
        )
    is_number = attribute is not None and (scored_name(text) is not None or _has_numbers(attribute))
    classified = None if scored_name(text) is not None else Classification.parse(name, schema)
    if classified is not None and attribute is not None:
        stated = classified.labels[: attribute.missing_code]
        classified = Classification(classified.text, stated)
    size = 0 if classified is None else len(classified.labels)
    # Two categories are a share, more numbers a mean, more names shares of each.
    chosen = family or ("logistic" if size == 2 else "linear" if is_number else "multinomial")
    if chosen in {"linear", "poisson"}:
        if attribute is None or not is_number:
            raise ParameterError(
                f"a {chosen} model needs a response of numbers, and {text} has none. Ask for an attribute with bins "
                "or numbers, or for the family logistic or multinomial.",
                parameter="family",
            )
        return Response(f"score({name})", (name,), chosen, ("",), None, score(attribute).values)
    if classified is None or size < 2 or (chosen == "logistic" and size != 2):
        raise ParameterError(
            f"a {chosen} model needs {'two categories' if chosen == 'logistic' else 'categories'}, and {text} has "
            f"{size or 'a number'}. Write a condition as the response, or ask for another family.",
            parameter="family",
        )
    return Response(classified.text, classified.names, chosen, classified.labels[1:], classified, None)


def _has_numbers(attribute: Attribute) -> bool:
    try:
        score(attribute)
    except QueryError:
        return False
    return True


def stated_cells(formula: Formula, response: Response, schema: Schema, codes: Codes) -> Booleans:
    """Cells that have a value wherever a number or a category of the response is needed."""
    needed = {each.name for term in formula.terms for each in term if each.is_score}
    if response.classification is None or response.classification.condition is None:
        needed |= set(response.names)
    stated = np.ones(next(iter(codes.values())).size, dtype=bool)
    for name in needed:
        missing = schema[name].missing_code
        if missing is not None:
            stated &= codes[name] != missing
    return stated


def describe_cell(term_names: tuple[str, ...], schema: Schema, codes: Codes, place: int) -> str:
    """The covariates of a cell in words."""
    if not term_names:
        return "all rows"
    return " and ".join(f"{name} = {schema[name].labels[codes[name][place]]!r}" for name in term_names)
