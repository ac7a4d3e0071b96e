"""What fitted models share: formula text, design matrices, generalized linear models, coefficient tables."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import numpy as np

from sfumato.analysis.counts import Classification, as_columns
from sfumato.analysis.moments import score
from sfumato.arrays import Booleans, Floats, Integers
from sfumato.errors import ParameterError, QueryError
from sfumato.estimates.answers import finite_or_none
from sfumato.estimates.estimates import Certainty, Estimates
from sfumato.results import Charted, interval_chart
from sfumato.schema import Attribute, Role, Schema
from sfumato.text import show, show_with_error

# --------------------------------------------------------------------------------------------------
# Coefficients of a fitted model, and what every such fit can do.


SHOWN = ("Term", "Estimate", "Std. error", "Low", "High")
"""Columns of a table of coefficients."""


@dataclass(frozen=True)
class Coefficient:
    """One coefficient.

    Parameters
    ----------
    term
        The column it belongs to.
    category
        Category of the response it is about; empty where there is none.
    estimate, std_error, low, high
        The number, its error and its interval, whose ends may be infinite.
    certainty
        What it claims: one that is bounded lies between low and high for certain, and its estimate rests on an assumption.
    """

    term: str
    category: str
    estimate: float
    std_error: float
    low: float
    high: float
    certainty: Certainty = Certainty.ESTIMATED

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "certainty": self.certainty.word}

    def shown(self) -> tuple[str, ...]:
        """Cells of :data:`SHOWN`, to the digits that the error supports."""
        numbers = (self.estimate, self.std_error, self.low, self.high)
        return self.term, *(show(each, self.std_error) for each in numbers)


class Fitted(Charted):
    """A fit whose result is a list of coefficients."""

    coefficients: tuple[Coefficient, ...]

    def __str__(self) -> str:
        return self.summary()

    def __getitem__(self, term: str) -> Coefficient:
        for each in self.coefficients:
            if each.term == term:
                return each
        raise KeyError(term)

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each coefficient."""
        import pyarrow as pa

        return pa.table(as_columns([each.to_dict() for each in self.coefficients]))

    def chart(self, *, title: str, unit: str) -> dict[str, Any]:
        """A Vega-Lite chart of the coefficients, as plain data; ends that are infinite are not drawn."""
        points = [
            {
                "label": " ".join(filter(None, (each.category, each.term))),
                **{name: finite_or_none(getattr(each, name)) for name in ("estimate", "low", "high")},
            }
            for each in self.coefficients
        ]
        return interval_chart(points, title=title, unit=unit)


# --------------------------------------------------------------------------------------------------
# Formula text: ``income ~ age + sex``, read into a response and terms.


_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<text>'(?:[^']|'')*+')
  | (?P<name>"(?:[^"]|"")*+")
  | (?P<word>[A-Za-z_][A-Za-z0-9_.-]*+)
  | (?P<symbol>[-~+:*()\[\]=01])
  | (?P<stray>.)
    """,
    re.VERBOSE | re.DOTALL,
)
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
"""Names that need no quotes."""

_ALLOWED = (
    "A formula is a response, ~ and terms joined by +: attributes, a:b, a*b, score(age) for numbers, "
    "sex[ref='F'] for another reference category, or 1 for no term. Text stands in single quotes, names that are not "
    "plain words in double quotes."
)


@dataclass(frozen=True)
class Factor:
    """One attribute in a term.

    Parameters
    ----------
    name
        The attribute.
    is_score
        It counts as one number, not as categories.
    reference
        Code of the category that others are compared with.
    """

    name: str
    is_score: bool = False
    reference: int = 0


Term = tuple[Factor, ...]
"""A product of factors."""


@dataclass(frozen=True)
class Formula:
    """What is regressed on what.

    Parameters
    ----------
    response
        An attribute, a condition of the query language, or ``score(attribute)``, as it was written.
    terms
        Without the intercept, which is always there; parts before their products.
    """

    response: str
    terms: tuple[Term, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Attributes of the terms, in order of first mention."""
        return tuple(dict.fromkeys(each.name for term in self.terms for each in term))


def read_formula(text: str, schema: Schema) -> Formula:
    """Read a formula.

    Raises
    ------
    QueryError
        With the zero-based position, where the text is not a formula or names what does not exist.

    Examples
    --------
    >>> schema = Schema.from_toml('''
    ... [attributes.sex]
    ... role = "other"
    ... categories = ["F", "M"]
    ... [attributes.age]
    ... role = "other"
    ... bins = [17, 35, 91]
    ... ''')
    >>> read_formula("sex = 'M' ~ score(age)", schema)
    Formula(response="sex = 'M'", terms=((Factor(name='age', is_score=True, reference=0),),))
    """
    middle = next(
        (start for kind, source, start in _tokens(text) if source == "~" and kind == "symbol"), None
    )
    if middle is None:
        _refuse(len(text), f"a formula has a ~ between response and terms. {_ALLOWED}")
    response = text[:middle].strip()
    if not response:
        _refuse(middle, f"the response before ~ is missing. {_ALLOWED}")
    terms = _Parser(text, middle + 1, schema).terms()
    return Formula(response, terms)


def read_terms(text: str, schema: Schema) -> tuple[Term, ...]:
    """Read terms without a response, parts before their products.

    Raises
    ------
    QueryError
        With the zero-based position, where the text is no list of terms or names what does not exist.
    """
    return _Parser(text, 0, schema).terms()


def scored_name(text: str) -> str | None:
    """The attribute of ``score(attribute)``; None where the text is something else."""
    found = re.fullmatch(r"score\s*\(\s*(.*?)\s*\)", text)
    return None if found is None else found[1].strip('"')


def _tokens(text: str, start: int = 0) -> Iterator[tuple[str, str, int]]:
    for match in _TOKEN.finditer(text, start):
        if match.lastgroup != "space":
            yield str(match.lastgroup), match.group(), match.start()
    yield "end", "", len(text)


class _Parser:
    """Reads terms one token ahead."""

    def __init__(self, text: str, start: int, schema: Schema) -> None:
        self._schema = schema
        self._tokens = _tokens(text, start)
        self._next = next(self._tokens)

    def terms(self) -> tuple[Term, ...]:
        found: dict[Term, None] = {}
        while True:
            for each in self._product():
                found[each] = None
            kind, source, position = self._take()
            if kind == "end":
                break
            if source != "+":
                _refuse(position, f"expected + or the end, found {source}. {_ALLOWED}")
        terms = sorted(found, key=len)
        for term in terms:
            missing = [part for part in _parts(term) if part not in found]
            if missing:
                names = ":".join(each.name for each in term)
                _refuse(
                    0,
                    f"the product {names} stands without its part {':'.join(each.name for each in missing[0])}, which "
                    f"would change what it means. Write {names.replace(':', '*')}.",
                )
        return tuple(terms)

    def _product(self) -> list[Term]:
        if self._next[1] == "1":
            self._take()
            return []
        factors, symbols = [self._factor()], []
        while self._next[1] in {":", "*"}:
            symbols.append(self._take())
            factors.append(self._factor())
        if len({each.name for each in factors}) < len(factors):
            _refuse(symbols[0][2], "a product has each attribute once.")
        if not symbols or all(symbol[1] == ":" for symbol in symbols):
            return [tuple(factors)]
        if any(symbol[1] == ":" for symbol in symbols):
            _refuse(symbols[0][2], "a product is written with : or with *, not with both.")
        sizes = range(1, len(factors) + 1)
        return [each for size in sizes for each in itertools.combinations(factors, size)]

    def _factor(self) -> Factor:
        kind, source, position = self._take()
        if kind == "word" and source == "score" and self._next[1] == "(":
            self._take()
            attribute = self._attribute(*self._take())
            self._expect(")")
            return Factor(attribute.name, is_score=True)
        attribute = self._attribute(kind, source, position)
        if self._next[1] != "[":
            return Factor(attribute.name)
        self._take()
        self._expect("ref")
        self._expect("=")
        kind, source, position = self._take()
        if kind != "text":
            _refuse(position, f"a reference category stands in single quotes. {_ALLOWED}")
        try:
            reference = attribute.code_of(source[1:-1].replace("''", "'"))
        except QueryError as error:
            _refuse(position, str(error))
        self._expect("]")
        return Factor(attribute.name, reference=reference)

    def _attribute(self, kind: str, source: str, position: int) -> Attribute:
        if kind not in {"word", "name"}:
            _refuse(
                position, f"expected an attribute, found {source or 'the end of the formula'}. {_ALLOWED}"
            )
        name = source[1:-1].replace('""', '"') if kind == "name" else source
        if name in self._schema and self._schema[name].role is Role.IDENTIFIER:
            _refuse(position, f"attribute {name!r} is an identifier, which no release contains.")
        try:
            return self._schema.publishable[name]
        except QueryError as error:
            _refuse(position, str(error))

    def _take(self) -> tuple[str, str, int]:
        taken = self._next
        self._next = next(self._tokens, taken)
        return taken

    def _expect(self, wanted: str) -> None:
        _, source, position = self._take()
        if source != wanted:
            _refuse(position, f"expected {wanted}, found {source or 'the end of the formula'}. {_ALLOWED}")


def _parts(term: Term) -> Iterator[Term]:
    """Products of all factors but one."""
    if len(term) > 1:
        yield from itertools.combinations(term, len(term) - 1)


def _refuse(position: int, sentence: str) -> NoReturn:
    raise QueryError(f"at character {position + 1} of the formula: {sentence}", position=position) from None


# --------------------------------------------------------------------------------------------------
# Generalized linear models as estimating equations on counts.


LARGEST_SHARE_ERROR = 0.25
"""Standard error of a share from which on the noise alone can put it outside 0 to 1."""

FamilyName = Literal["logistic", "multinomial", "poisson", "linear"]


@dataclass(frozen=True)
class Family:
    """How the mean of a response follows from linear predictors.

    Parameters
    ----------
    mean
        Of predictors ``(cells, q)``, the means ``(cells, q)``.
    spread
        Of predictors ``(cells, q)``, the derivative of the means ``(cells, q, q)``.
    largest_predictor
        Size of a predictor beyond which no finite coefficient fits.
    largest_move
        What a coefficient may move in one step: where means saturate, a full step can overshoot for good.
    is_share
        Whether the means are shares of rows.
    """

    mean: Callable[[Floats], Floats]
    spread: Callable[[Floats], Floats]
    largest_predictor: float
    largest_move: float
    is_share: bool = False


@dataclass(frozen=True)
class Words:
    """What a refusal calls the parts of a model: public names, and estimated counts are all it may quote.

    Parameters
    ----------
    terms
        The coefficients.
    patterns
        Gives the covariates of a cell.
    responses
        What is modelled, for each category of the response.
    """

    terms: tuple[str, ...]
    patterns: Callable[[int], str]
    responses: tuple[str, ...]


def _shares(predictors: Floats) -> Floats:
    """Shares of categories after the first, whose predictor is 0."""
    largest = np.maximum(predictors.max(axis=1, keepdims=True), 0)
    odds = np.exp(predictors - largest)
    return np.asarray(odds / (np.exp(-largest) + odds.sum(axis=1, keepdims=True)))


def _spread_of_shares(predictors: Floats) -> Floats:
    shares = _shares(predictors)
    return np.asarray(shares[:, :, None] * np.eye(shares.shape[1]) - shares[:, :, None] * shares[:, None, :])


def _exponential(predictors: Floats) -> Floats:
    # Beyond the largest predictor the fit is refused; it must not overflow on the way there.
    return np.exp(np.minimum(predictors, 100))


FAMILIES: Mapping[FamilyName, Family] = {
    "logistic": Family(_shares, _spread_of_shares, 15, 4, is_share=True),
    "multinomial": Family(_shares, _spread_of_shares, 15, 4, is_share=True),
    "poisson": Family(_exponential, lambda predictors: _exponential(predictors)[:, :, None], 30, 4),
    "linear": Family(
        lambda predictors: predictors, lambda predictors: np.ones((*predictors.shape, 1)), np.inf, np.inf
    ),
}


@dataclass(frozen=True, eq=False)
class GeneralizedLinearModel:
    """Scores ``x (y - mean(x theta))`` of a model with canonical link, cell by cell.

    The sum of ``x y`` needs tables of each term with the response, that of ``x mean`` the table of the
    covariates: the cells may be those of one joint table or of several smaller ones.

    Parameters
    ----------
    family
        Mean and spread.
    design
        Covariates of each cell, ``(cells, d)``; zero in cells that tell of the response only.
    response
        What one row of each cell adds to the sums of ``y x``, ``(p, cells)`` with ``p = q d``: the
        coefficients of the first category, then of the second.
    words
        Names to explain a refusal with.
    squares
        What one row of each cell adds to the sum of ``y^2``, ``(cells,)``: where the variance of the response is a number of its own.
    """

    family: Family
    design: Floats
    response: Floats
    words: Words
    squares: Floats | None = None

    @property
    def largest_move(self) -> float:
        """What a coefficient may move in one Newton step."""
        return self.family.largest_move

    @classmethod
    def of_joint(
        cls, family: Family, design: Floats, outcomes: Floats, words: Words
    ) -> GeneralizedLinearModel:
        """The model on one table whose cells have covariates ``(cells, d)`` and outcomes ``(cells, q)``."""
        products = outcomes.T[:, None, :] * design.T[None, :, :]
        return cls(family, design, products.reshape(-1, len(design)), words)

    def predictors(self, theta: Floats) -> Floats:
        """Linear predictors of every cell, ``(cells, q)``."""
        width = self.design.shape[1]
        return np.asarray(self.design @ theta.reshape(-1, width).T)

    def scores(self, theta: Floats) -> Floats:
        """``(p, cells)``."""
        means = self.family.mean(self.predictors(theta))
        expected = means.T[:, None, :] * self.design.T[None, :, :]
        return np.asarray(self.response - expected.reshape(self.response.shape))

    def information(self, theta: Floats, counts: Floats) -> Floats:
        """``(p, p)``, block by block of the response's categories."""
        spread = self.family.spread(self.predictors(theta)) * counts[:, None, None]
        kinds = range(spread.shape[1])
        return np.block(
            [
                [(self.design * spread[:, first, second, None]).T @ self.design for second in kinds]
                for first in kinds
            ]
        )

    def curvatures(self, theta: Floats, directions: Floats) -> Floats:
        """``(k, cells)``: ``v' x spread x' v``."""
        spread = self.family.spread(self.predictors(theta))
        kinds, width = spread.shape[1], self.design.shape[1]
        moves = np.stack([self.design @ each for each in directions.reshape(kinds, width, -1)], axis=1)
        return np.asarray(np.einsum("cik,cij,cjk->kc", moves, spread, moves))

    def dispersion(self, theta: Floats, counts: Floats) -> float:
        """Variance of the response about its mean where the model leaves it free; else 1, as a share's or a count's is the model's.

        With ``sum x y = A theta`` at the root, ``sum (y - x theta)^2 = sum y^2 - theta' A theta``; the first entry of A is the number of rows.
        """
        if self.squares is None:
            return 1.0
        information = self.information(theta, counts)
        left = float(self.squares @ counts) - float(theta @ information @ theta)
        return max(left, 0.0) / float(information[0, 0])

    def refusal(self, theta: Floats, counts: Estimates) -> str | None:
        """Why no finite coefficient fits, once a predictor has run away; None before."""
        sizes = np.abs(self.predictors(theta))
        if sizes.max() <= self.family.largest_predictor:
            return None
        worst, category = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
        return (
            f"no finite coefficient fits: {self._outcome_among(int(worst), int(category), counts)}. "
            "Merge categories, leave a term out, or ask a release of more rows or less noise."
        )

    def _outcome_among(self, worst: int, category: int, counts: Estimates) -> str:
        """The estimated mean of the response where the predictor has run away, as far as the cells tell."""
        pattern, response = self.words.patterns(worst), self.words.responses[category]
        alike = (self.design == self.design[worst]).all(axis=1)
        # The first column is the intercept, so its products with the response are the response itself.
        outcomes = self.response[category * self.design.shape[1]] * alike
        if not outcomes.any() or counts.values[alike].sum() == 0:
            return f"the estimated counts leave {response} among {pattern} without any spread"
        mean = counts.ratio(outcomes, alike.astype(float))
        value, error = float(mean.values[0]), float(mean.standard_errors[0])
        told = f"the estimates put {response} among {pattern} at {show_with_error(value, error)}"
        if not self.family.is_share or error <= LARGEST_SHARE_ERROR:
            return told
        more = math.ceil(round((error / LARGEST_SHARE_ERROR) ** 2, 6))
        return (
            f"{told}, which noise alone explains: about {more:,} times as many rows with the same noise would bring that error to "
            f"{LARGEST_SHARE_ERROR:g}, at which a half is told from none and from all"
        )

    def describe_direction(self, direction: Floats, counts: Estimates) -> str:
        """The term that a direction is mostly about, and the covariates that fewest rows have."""
        term = self.words.terms[int(np.argmax(np.abs(direction)))]
        groups = np.unique(self.design, axis=0, return_inverse=True)[1].ravel()
        has_covariates = self.design.any(axis=1)
        totals = np.bincount(groups, counts.values)
        totals[np.bincount(groups, has_covariates) == 0] = np.inf
        own = (groups == int(np.argmin(totals))) & has_covariates
        rows = counts.linear(own[None, :].astype(float))
        pattern = self.words.patterns(int(np.argmax(own)))
        value, error = float(rows.values[0]), float(rows.standard_errors[0])
        return (
            f"The estimated number of rows with {pattern} is {show_with_error(value, error)}: "
            f"too few to carry {term}."
        )


# --------------------------------------------------------------------------------------------------
# From terms and cells to the columns of a regression.


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
