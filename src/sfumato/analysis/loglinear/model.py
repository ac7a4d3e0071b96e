"""Hierarchical loglinear models: which margins they fit, and their columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.analysis.regression.design import Codes, Columns, build_columns
from sfumato.analysis.regression.formula import PLAIN_NAME, Factor, Formula, Term, read_terms
from sfumato.errors import QueryError
from sfumato.values.arrays import Floats
from sfumato.values.schema import Schema

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
