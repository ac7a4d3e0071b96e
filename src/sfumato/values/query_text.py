"""Query text: read into conditions, and written back as a person would write it."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn, cast

from sfumato.errors import QueryError
from sfumato.values.schema import Attribute, Role, Schema

_BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*+")
_RESERVED = frozenset({"AND", "BETWEEN", "IN", "IS", "MISSING", "NOT", "OR"})
_SHOWN_EDGES = 12
_Kind = Literal["text", "name", "number", "word", "symbol", "stray", "end"]

# Possessive repeats keep reading linear, and make an unclosed quote fail instead of pairing anew.
_TOKEN = re.compile(
    rf"""
    (?P<space>\s+)
  | (?P<text>'(?:[^']|'')*+')
  | (?P<name>"(?:[^"]|"")*+")
  | (?P<number>[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?)(?![\w.])
  | (?P<word>{_BARE_NAME.pattern})(?!\w)
  | (?P<symbol><=|>=|!=|<>|==|[<>=(),])
  | (?P<stray>[^\s'"(),=<>!]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)

_ALLOWED = (
    "A query is conditions joined by AND, each an attribute followed by =, !=, IN (...), "
    "NOT IN (...), IS MISSING or IS NOT MISSING, and on a binned attribute also by <, <=, >, >= "
    "or BETWEEN ... AND ..."
)
_ADVICE = {
    "OR": ("Conditions are joined by AND alone; for several categories of one attribute write IN (...)."),
    "NOT": (
        "NOT stands only in NOT IN (...) and IS NOT MISSING; to negate a condition write != or NOT IN (...)."
    ),
    "(": "Parentheses enclose the list after IN and nothing else; there are no functions.",
    "<>": "Write != for 'is different from'.",
    "==": "Write a single = for 'is equal to'.",
    "NULL": "Write IS MISSING for rows without a value.",
    "'": "The quote that opens here is never closed; a quote inside text is doubled.",
    '"': "The quote that opens here is never closed; a quote inside a name is doubled.",
}


def read_conditions(text: str, schema: Schema) -> Iterator[tuple[str, frozenset[int]]]:
    r"""Each condition of a query: the attribute and the codes that satisfy it.

    Raises
    ------
    QueryError
        At the first place that cannot be read, with its position.

    Examples
    --------
    >>> schema = Schema.from_toml('[attributes.sex]\nrole = "other"\ncategories = ["F", "M"]')
    >>> list(read_conditions("sex != 'M'", schema))
    [('sex', frozenset({0}))]
    """
    return _Parser(text, schema).conditions()


@dataclass(frozen=True)
class _Token:
    kind: _Kind
    source: str
    position: int

    @property
    def value(self) -> str:
        """What is meant: quotes stripped, doubled ones single."""
        if self.kind not in ("text", "name"):
            return self.source
        quote = self.source[0]
        return self.source[1:-1].replace(quote * 2, quote)

    @property
    def keyword(self) -> str:
        """What the grammar compares with; empty for quoted text, names and numbers."""
        return self.source.upper() if self.kind in ("word", "symbol", "stray", "end") else ""

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end of the query"
        return self.source if len(self.source) <= 30 else f"{self.source[:29]}…"


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "space":
            yield _Token(cast("_Kind", match.lastgroup), match.group(), match.start())
    yield _Token("end", "", len(text))


class _Parser:
    """Reads conditions one token ahead, so that the first fault in the text is the one reported."""

    def __init__(self, text: str, schema: Schema) -> None:
        self._schema = schema
        # Identifiers are left out so that they are not suggested for a misspelt name either.
        self._publishable = schema.publishable
        self._tokens = _tokens(text)
        self._next = next(self._tokens)

    def conditions(self) -> Iterator[tuple[str, frozenset[int]]]:
        if self._next.kind == "end":
            return
        while True:
            yield self._condition()
            joint = self._take()
            if joint.kind == "end":
                return
            if joint.keyword != "AND":
                _refuse_token(joint, expected="AND", advice=_ALLOWED)

    def _take(self) -> _Token:
        taken = self._next
        self._next = next(self._tokens, taken)
        return taken

    def _expect(self, keyword: str, *, advice: str) -> None:
        token = self._take()
        if token.keyword != keyword:
            _refuse_token(token, expected=keyword, advice=advice)

    def _condition(self) -> tuple[str, frozenset[int]]:
        attribute = self._attribute()
        everything = frozenset(range(attribute.size))
        operator = self._take()
        match operator.keyword:
            case "=":
                codes = frozenset({self._category(attribute)})
            case "!=":
                codes = everything - {self._category(attribute)}
            case "IN":
                codes = self._categories(attribute)
            case "NOT":
                self._expect("IN", advice=_ADVICE["NOT"])
                codes = everything - self._categories(attribute)
            case "IS":
                codes = self._missing(attribute)
            case "<" | "<=" | ">" | ">=" | "BETWEEN":
                codes = self._range(attribute, operator)
            case _:
                after = f"a comparison after {_name_text(attribute.name)}"
                _refuse_token(operator, expected=after, advice=_ALLOWED)
        return attribute.name, codes

    def _attribute(self) -> Attribute:
        token = self._take()
        if token.kind not in ("name", "word"):
            advice = (
                "Names that are not plain words of A-Z, a-z, 0-9, _, . and - stand in double "
                f"quotes. {_ALLOWED}"
            )
            _refuse_token(token, expected="an attribute", advice=advice)
        if token.keyword in _RESERVED:
            advice = f'An attribute of that name is written "{token}", in double quotes.'
            _refuse_token(token, expected="an attribute", advice=advice)
        name = token.value
        if self._next.keyword == "(":
            # A function call: better called that than an unknown attribute.
            _refuse_token(self._next, expected=f"a comparison after {token}", advice=_ALLOWED)
        if name in self._schema and self._schema[name].role is Role.IDENTIFIER:
            reason = "is an identifier, which no release contains. Ask about another attribute."
            _refuse(token, f"attribute {name!r} {reason}")
        try:
            return self._publishable[name]
        except QueryError as error:
            _refuse(token, str(error))

    def _category(self, attribute: Attribute) -> int:
        token = self._take()
        name = _name_text(attribute.name)
        if token.kind in ("name", "word") and token.keyword != "NULL":
            # Words of the language too: OR may well be Oregon.
            _refuse(
                token,
                f"expected a category of {name}, found {token}. Text stands in single quotes: "
                f"{_text(token.value)}; attributes are not compared with each other.",
            )
        if token.kind not in ("text", "number"):
            advice = f"Text stands in straight single quotes, as in {_text(attribute.labels[0])}."
            _refuse_token(token, expected=f"a category of {name}", advice=advice)
        if token.kind == "number" and attribute.bins is not None:
            examples = " or ".join(f"{name} = {_text(each)}" for each in attribute.labels[:2])
            _refuse(
                token,
                f"{name} is published in intervals, so {token} is not a category of it. "
                f"Name an interval, as in {examples}, or a range such as "
                f"{name} < {_number_text(attribute.bins[1])}.",
            )
        if token.value in attribute.missing_values and token.value not in attribute.labels:
            _refuse(
                token,
                f"{token.value!r} stands for a missing value of {name}. Write {name} IS MISSING.",
            )
        try:
            return attribute.code_of(token.value)
        except QueryError as error:
            _refuse(token, str(error))

    def _categories(self, attribute: Attribute) -> frozenset[int]:
        advice = "A list is categories separated by commas, in parentheses: IN ('a', 'b')."
        self._expect("(", advice=advice)
        codes: set[int] = set()
        if self._next.keyword == ")":
            self._take()
            return frozenset()
        while True:
            codes.add(self._category(attribute))
            if self._next.keyword != ",":
                self._expect(")", advice=advice)
                return frozenset(codes)
            self._take()

    def _missing(self, attribute: Attribute) -> frozenset[int]:
        negated = self._next.keyword == "NOT"
        if negated:
            self._take()
        self._expect("MISSING", advice="After IS stands MISSING or NOT MISSING; categories use =.")
        stated = _stated(attribute)
        return frozenset(range(stated) if negated else range(stated, attribute.size))

    def _range(self, attribute: Attribute, operator: _Token) -> frozenset[int]:
        name = _name_text(attribute.name)
        if attribute.bins is None:
            _refuse(
                operator,
                f"{operator} needs an order, and {name} has categories without one; "
                f"only binned attributes have ranges. Write {name} IN (...) with the categories "
                "meant.",
            )
        if operator.keyword != "BETWEEN":
            _, cut = self._cut(attribute, attribute.bins, operator.keyword)
            below = operator.keyword in ("<", "<=")
            return frozenset(range(cut) if below else range(cut, _stated(attribute)))
        low, first = self._cut(attribute, attribute.bins, ">=")
        self._expect("AND", advice="A range between two numbers is BETWEEN low AND high.")
        position = self._next
        high, end = self._cut(attribute, attribute.bins, "<=")
        if low > high:
            _refuse(position, "the ends of BETWEEN are in the wrong order. Write the lower first.")
        return frozenset(range(first, end))

    def _cut(self, attribute: Attribute, bins: Sequence[float], operator: str) -> tuple[float, int]:
        """Read a number; give it and how many bins lie below the cut that it makes."""
        token = self._take()
        if token.kind != "number":
            advice = "Ranges compare with a number, written without quotes."
            _refuse_token(token, expected="a number", advice=advice)
        number = float(token.value)
        cut = _bins_below(bins, number, inclusive=operator in ("<=", ">"))
        if cut is None:
            _refuse(token, _off_edge(attribute, bins, operator, number))
        return number, cut


def _bins_below(bins: Sequence[float], number: float, *, inclusive: bool) -> int | None:
    """Count the bins below a number (itself included or not); None when it cuts through one."""
    if number < bins[0]:
        return 0
    if number >= bins[-1]:
        return len(bins) - 1
    if not inclusive:
        return bins.index(number) if number in bins else None
    if not _is_whole(bins) or not number.is_integer():
        return None
    # An integer, not a float: from 2**53 on, adding 1 to a float may change nothing.
    successor = int(number) + 1
    return bins.index(successor) if successor in bins else None


def _is_whole(bins: Iterable[float]) -> bool:
    return all(float(edge).is_integer() for edge in bins)


def _off_edge(attribute: Attribute, bins: Sequence[float], operator: str, number: float) -> str:
    name = _name_text(attribute.name)
    low, high = (bins[bisect.bisect_right(bins, number) + step] for step in (-1, 0))
    edges = [_number_text(edge) for edge in bins]
    if len(edges) > _SHOWN_EDGES:
        edges = [*edges[: _SHOWN_EDGES - 1], "…", edges[-1]]
    exact = "<" if operator in ("<", "<=") else ">="
    written = " or ".join(f"{name} {exact} {_number_text(edge)}" for edge in (low, high))
    convention = ""
    if exact != operator:
        convention = (
            f" ({operator} and BETWEEN count in whole numbers: "
            f"{name} {operator} {_number_text(high - 1)} is {name} {exact} {_number_text(high)})"
            if _is_whole(bins)
            else f" ({operator} and BETWEEN need edges that are all whole numbers)"
        )
    return (
        f"{name} {operator} {_number_text(number)} would cut through a bin; {name} can be cut at "
        f"{', '.join(edges)}; nearest to {_number_text(number)} are {_number_text(low)} and "
        f"{_number_text(high)}. Write {written}{convention}."
    )


def _refuse(token: _Token, sentence: str) -> NoReturn:
    message = f"at character {token.position + 1} of the query: {sentence}"
    # Without a cause: what the schema said is already in the sentence.
    raise QueryError(message, position=token.position) from None


def _refuse_token(token: _Token, *, expected: str, advice: str) -> NoReturn:
    fitting = _ADVICE.get(token.keyword, advice)
    _refuse(token, f"expected {expected}, found {token}. {fitting}")


def _stated(attribute: Attribute) -> int:
    """Count the categories other than the missing one; their codes come first."""
    return attribute.size if attribute.missing_code is None else attribute.missing_code


def write_condition(attribute: Attribute, codes: tuple[int, ...]) -> str:
    """The shortest plain text that selects these codes of an attribute.

    Examples
    --------
    >>> age = Attribute(name="age", role=Role.OTHER, bins=(17, 25, 35, 45))
    >>> write_condition(age, (1, 2))
    'age >= 25'
    """
    name = _name_text(attribute.name)
    stated = _stated(attribute)
    if codes and codes[-1] >= attribute.size:
        raise QueryError(
            f"attribute {attribute.name!r} has codes 0 to {attribute.size - 1}, got {codes[-1]}. "
            "Describe a selection with the schema it was made for."
        )
    if codes == (attribute.missing_code,):
        return f"{name} IS MISSING"
    if codes == tuple(range(stated)):
        return f"{name} IS NOT MISSING"
    if attribute.bins is not None and codes and codes[-1] < stated:
        first, end = codes[0], codes[-1] + 1
        if codes == tuple(range(first, end)):
            return _describe_range(name, attribute.bins, first, end)
    others = tuple(code for code in range(attribute.size) if code not in codes)
    if len(codes) == 1:
        return f"{name} = {_text(attribute.labels[codes[0]])}"
    if len(others) == 1:
        return f"{name} != {_text(attribute.labels[others[0]])}"
    word, listed = ("IN", codes) if len(codes) <= len(others) else ("NOT IN", others)
    return f"{name} {word} ({', '.join(_text(attribute.labels[code]) for code in listed)})"


def _describe_range(name: str, bins: Sequence[float], first: int, end: int) -> str:
    limits = []
    if first > 0:
        limits.append(f"{name} >= {_number_text(bins[first])}")
    if end < len(bins) - 1:
        limits.append(f"{name} < {_number_text(bins[end])}")
    return " AND ".join(limits)


def _name_text(name: str) -> str:
    if _BARE_NAME.fullmatch(name) and name.upper() not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def _text(label: str) -> str:
    return "'" + label.replace("'", "''") + "'"


def _number_text(number: float) -> str:
    # repr, not a rounded format: the text must read back as the very same edge.
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
