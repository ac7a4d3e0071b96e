"""Formula text: ``income ~ age + sex``, read into a response and terms."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from sfumato.errors import QueryError
from sfumato.values.schema import Attribute, Role, Schema

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
