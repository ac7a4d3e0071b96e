"""How values of a column are written: numbers, dates, codes, missing values; hints in its name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from sfumato.data.coding import cell_number, quote_name, quote_text
from sfumato.schema import MISSING_LABEL, Attribute, Role

# --------------------------------------------------------------------------------------------------
# What a column's name suggests about its role: the one table of words, in English, German and French.


_SENSITIVE = """
aids arrest belief cancer charge conviction credit crime criminal debt diagnoses diagnosis disability disease diseases drug
drugs earnings faith genetic health hiv illness income job medication occupation offence offense orientation pay political
politics pregnancy pregnant profession religion salary sexuality symptom symptoms treatment vote wage wages wealth
beruf diagnose einkommen gehalt gesundheit haftstrafe konfession krankheit lohn partei schulden schwangerschaft straftat
behinderung vermogen
condamnation delit dette diagnostic grossesse handicap maladie metier revenu revenus salaire sante traitement patrimoine
"""

_SENSITIVE_STEMS = """
einkommen krankheit diagnos gesundheit behinderung vermogen konfession schulden straftat schwangerschaft
"""

_IDENTIFIER = """
email firstname iban lastname passport phone ssn surname telephone username
nachname vorname telefon ausweis steuernummer sozialversicherungsnummer
prenom courriel passeport nir
"""

_HOUSEHOLD = "household hh hhid family haushalt haushaltsnummer familie menage foyer famille"
_WEIGHT = "weight weights wgt gewicht gewichtung poids ponderation"
_EXPANSION = "wgt gewichtung hochrechnung hochrechnungsfaktor ponderation expansion"
_CODE = (
    "code codes zip postcode postal isco nace icd plz postleitzahl kldb gemeinde schlussel gemeindeschlussel ags naf insee "
    "commune cim pcs isced"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SENSITIVE_WORDS = _words(_SENSITIVE)
"""Words that name what people mostly want kept to themselves."""

SENSITIVE_STEMS = _words(_SENSITIVE_STEMS)
"""Beginnings and ends of such words, in the language that puts words together."""

IDENTIFIER_WORDS = _words(_IDENTIFIER)
"""Words that name what points at one person, however often a value occurs."""

HOUSEHOLD_WORDS = _words(_HOUSEHOLD)
"""Words that name what rows belong together by."""

WEIGHT_WORDS = _words(_WEIGHT)
"""Words that name a survey weight, or what a scale shows: the values decide."""

EXPANSION_WORDS = _words(_EXPANSION)
"""Words that name a survey weight and nothing else."""

CODE_WORDS = _words(_CODE)
"""Words that name codes of a classification, which are no quantities although they are digits."""

_WORD = re.compile(r"[^\W\d_]+", re.UNICODE)
_CAMEL_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def words_of(name: str) -> frozenset[str]:
    """The words a column's name is made of, in lower case and without accents.

    Examples
    --------
    >>> sorted(words_of("yearlyIncome_USD-2020"))
    ['income', 'usd', 'yearly', 'yearlyincome']
    >>> sorted(words_of("Santé_perçue"))
    ['percue', 'sante']
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    # With and without the humps, since KldB is one word.
    return frozenset(
        word.lower() for text in (letters, _CAMEL_HUMP.sub(" ", letters)) for word in _WORD.findall(text)
    )


def sensitive_word(name: str) -> str | None:
    """The word of the name that says it is sensitive, or None.

    Examples
    --------
    >>> sensitive_word("net_income"), sensitive_word("Haushaltseinkommen"), sensitive_word("incomers")
    ('income', 'haushaltseinkommen', None)
    """
    for word in sorted(words_of(name)):
        if word in SENSITIVE_WORDS or any(
            word.startswith(stem) or word.endswith(stem) for stem in SENSITIVE_STEMS
        ):
            return word
    return None


def suggests(name: str, words: frozenset[str]) -> bool:
    """Whether a whole word of the name is one of the words.

    Examples
    --------
    >>> suggests("home phone", IDENTIFIER_WORDS), suggests("phonetics", IDENTIFIER_WORDS)
    (True, False)
    """
    return not words_of(name).isdisjoint(words)


# --------------------------------------------------------------------------------------------------
# How numbers and dates are written in text files, each as SQL that finds out whether a text is written so.


@dataclass(frozen=True)
class NumberNotation:
    """Marks of decimals and thousands; None and None is what every computer reads."""

    decimal: Literal[".", ","] | None = None
    thousands: Literal[".", ",", " ", "'"] | None = None

    @property
    def keys(self) -> dict[str, str]:
        """The keys of a schema that say so."""
        return {key: mark for key, mark in (("decimal", self.decimal), ("thousands", self.thousands)) if mark}

    def number(self, name: str) -> str:
        """SQL: the number in the cell of a column, NULL where it is none."""
        return cell_number(
            Attribute(
                name=name,
                role=Role.WEIGHT,
                decimal=self.decimal,
                thousands=self.thousands,
            )
        )

    def read(self, text: str) -> float:
        """The number that a text is in this notation.

        Examples
        --------
        >>> NumberNotation(decimal=",", thousands=".").read("1.234,5")
        1234.5
        """
        digits = text.strip()
        if self.thousands == " ":
            digits = "".join(each for each in digits if not each.isspace())
        elif self.thousands is not None:
            digits = digits.replace(self.thousands, "")
        return float(digits.replace(self.decimal or ".", "."))


PLAIN = NumberNotation()

NUMBER_NOTATIONS = (
    PLAIN,
    NumberNotation(decimal=","),
    NumberNotation(decimal=",", thousands="."),
    NumberNotation(decimal=",", thousands=" "),
    NumberNotation(thousands=","),
    NumberNotation(thousands=" "),
    NumberNotation(thousands="'"),
)
"""From the plainest on: the first that all values of a column are written in is taken."""

DATE_FORMATS = (
    None,
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%Y/%m/%d",
    "%Y%m%d",
    "%d.%m.%y",
    "%d/%m/%y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S",
)
"""Formats of dates; None is 2019-12-31, with or without a time. Day first comes before month first."""

_ISO = r"\d{4}-\d{2}-\d{2}([ T].*)?"
_DIGITS = {
    "%d": r"\d{1,2}",
    "%m": r"\d{1,2}",
    "%Y": r"\d{4}",
    "%y": r"\d{2}",
    "%H": r"\d{1,2}",
    "%M": r"\d{2}",
    "%S": r"\d{2}",
}


def date_in(text: str, format: str | None) -> str:
    """SQL: the time that a text holds in a format, NULL where it is not written so."""
    if format is None:
        pattern, time = _ISO, f"try_cast({text} as timestamp)"
    elif format == "%Y%m%d":
        # Eight digits are a date only where all of them are one.
        pattern, time = r"(19|20)\d{6}", f"try_strptime({text}, {quote_text(format)})"
    else:
        pattern = re.sub(r"%\w|[.]", lambda found: _DIGITS.get(found[0], re.escape(found[0])), format)
        time = f"try_strptime({text}, {quote_text(format)})"
    # The engine's reader takes 20 for the year 20 where four digits are asked for: the pattern does not.
    return f"case when regexp_full_match({text}, {quote_text(pattern)}) then {time} end"


# --------------------------------------------------------------------------------------------------
# What is asked of every column about how its values are written: one question for all columns, however many.
#
# Columns are stacked, a row for each cell, and asked together. A question of its own for every column makes a
# statement whose planning takes longer than the square of the number of columns.


MISSING_TEXTS = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "Null", "NULL", MISSING_LABEL),
    *("k.A.", "k. A.", "keine Angabe", "n.d.", "non renseigné", "s.o."),
)
"""Texts that stand for 'no value' in most files that hold them, spaces around them aside."""

NOT_ANSWERED = (
    *("-9", "-99", "-999", "-9999", "-1", "-2", "-7", "-8"),
    *("97", "98", "99", "997", "998", "999", "9997", "9998", "9999", "99999", "999999"),
)
"""Numbers that surveys write where there is no answer."""


SIGNS = ("%", "‰", "€", "EUR", "$", "USD", "£", "GBP", "CHF", "Fr.", "kg", "km", "m²", "m2", "Jahre", "ans")
"""What stands behind numbers in sheets that were made for people."""

_SIGNED = rf"[+-]?[0-9][0-9., '\p{{Z}}]*?({'|'.join(map(re.escape, SIGNS))})"


def is_value(text: str, missing_texts: Iterable[str]) -> bool:
    """Whether a text of a column stands for a value."""
    return text.strip(" ") not in MISSING_TEXTS and text not in missing_texts


def is_present(name: str, missing_texts: Iterable[str] = ()) -> str:
    """SQL: the cell holds a value."""
    column = quote_name(name)
    text = f"cast({column} as varchar)"
    listed = f" and {text} not in ({_texts(missing_texts)})" if missing_texts else ""
    return f"({column} is not null and trim({text}) not in ({_texts(MISSING_TEXTS)}){listed})"


def stacked(relation: str, names: Iterable[str]) -> str:
    """SQL: the cells of some columns one below the other, as :func:`summary_query` takes them."""
    chosen = list(names)
    columns = ", ".join(quote_text(name) for name in chosen)
    texts = ", ".join(f"cast({quote_name(name)} as varchar)" for name in chosen)
    return (
        f'(select unnest([{columns}]) as "column", unnest([{texts}]) as "text", 1 as "rows" from {relation})'
    )


def summary_query(cells: str, odd_texts: Mapping[str, Iterable[str]] | None = None) -> str:
    """SQL: for each column its name and a struct of how its values are written.

    Parameters
    ----------
    cells
        SQL of cells: ``column`` (a name), ``text``, and ``rows``, how many rows have it.
    odd_texts
        For some columns, texts that are to be taken for no value besides those that always are.
    """
    facts = ", ".join(f"{quote_text(key)}: {fact}" for key, fact in _facts().items())
    return f'{_looked_at(cells, odd_texts or {})} select "column", {{{facts}}} from looked_at group by 1'


def odd_texts_query(cells: str, readings: Mapping[str, str], most: int) -> str:
    """SQL: for some columns the texts that are no value by a reading such as ``number1`` or ``time3``.

    Of each column one more than the most that are of use, so that it can be seen that there are too many.
    """
    unread = " or ".join(
        f'("column" = {quote_text(name)} and ({reading} is null{_or_infinite(reading)}))'
        for name, reading in readings.items()
    )
    return (
        f'{_looked_at(cells, {})} select distinct "column", "text" from looked_at where present and ({unread}) '
        f'qualify row_number() over (partition by "column" order by "text") <= {most + 1}'
    )


def _or_infinite(reading: str) -> str:
    return f" or not isfinite({reading})" if reading.startswith("number") else ""


def _looked_at(cells: str, odd_texts: Mapping[str, Iterable[str]]) -> str:
    """SQL: the clause that reads every cell in every way."""
    odd = " or ".join(
        f'("column" = {quote_text(name)} and "text" in ({_texts(texts)}))'
        for name, texts in odd_texts.items()
    )
    numbers = [f"{each.number('cell')} as number{place}" for place, each in enumerate(NUMBER_NOTATIONS)]
    times = [f"{date_in('cell', each)} as time{place}" for place, each in enumerate(DATE_FORMATS)]
    # What surveys write for no answer may be written with decimals too: -9,00.
    read = ", ".join(
        [
            f"(cell not in ({_texts(MISSING_TEXTS)}) and not ({odd or 'false'})) as present",
            "regexp_replace(cell, '[.,]0+$', '') as whole",
            *numbers,
            *times,
        ]
    )
    return (
        f'with cells as (select *, trim("text") as cell from {cells} where "text" is not null), '
        f"looked_at as (select *, {read} from cells)"
    )


def _facts() -> dict[str, str]:
    not_answered = f"whole in ({_texts(NOT_ANSWERED)})"
    conditions = {
        "present": "true",
        "leading_zeros": "regexp_full_match(cell, '[+-]?0[0-9].*')",
        "long_decimals": "regexp_full_match(cell, '.*[.,][0-9]{3,}')",
        "codes": "regexp_full_match(cell, '[0-9A-Z]+([.-][0-9A-Z]+)*')",
        "lettered": "regexp_full_match(cell, '[A-Z]{1,2}[0-9]+([.-][0-9A-Z]+)?')",
        "digits": "regexp_full_match(cell, '[0-9]+')",
        "times": "regexp_full_match(cell, '([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?')",
        "signed": f"regexp_full_match(cell, {quote_text(_SIGNED)})",
        "below_zero": f"not {not_answered} and starts_with(cell, '-')",
    }
    conditions |= {f"code {code}": f"whole = {quote_text(code)}" for code in NOT_ANSWERED}
    facts = {
        "missing_texts": 'list(distinct "text") filter (not present and "text" != \'\')',
        "signs": f"list(distinct regexp_extract(cell, {quote_text(_SIGNED)}, 1)) filter (present)",
        "codes_written": f'list(distinct "text") filter (present and {not_answered})',
        "shortest": f"min(length(cell)) filter (present and not {not_answered})",
        "longest": f"max(length(cell)) filter (present and not {not_answered})",
    }
    for place in range(len(NUMBER_NOTATIONS)):
        number = f"number{place}"
        conditions[number] = f"isfinite({number})"
        conditions[f"whole{place}"] = f"isfinite({number}) and {number} = floor({number})"
        facts[f"largest{place}"] = (
            f"max({number}) filter (present and not {not_answered} and isfinite({number}))"
        )
    for place in range(len(DATE_FORMATS)):
        conditions[f"date{place}"] = f"time{place} is not null"
        facts[f"first{place}"] = f"min(time{place}) filter (present)"
        facts[f"last{place}"] = f"max(time{place}) filter (present)"
    return facts | {
        key: f'coalesce(sum("rows") filter (present and {condition}), 0)::bigint'
        for key, condition in conditions.items()
    }


def _texts(texts: Iterable[str]) -> str:
    return ", ".join(map(quote_text, texts))


# --------------------------------------------------------------------------------------------------
# How the values of a column are written: as numbers, dates or codes, and with which texts for no value.


FEWEST_NOT_ANSWERED = 3
"""Rows with such a number before it is taken for one."""

WIDEST_CODE = 12
"""Characters of the longest codes of classifications."""

MOSTLY = 0.5
"""Share of the values from which on a column is one of numbers or dates with a few texts among them."""

MOST_ODD_TEXTS = 8
"""Different texts among numbers or dates that are taken for missing values."""


@dataclass(frozen=True)
class Shape:
    """How a column's values are written.

    Parameters
    ----------
    present
        Rows with a value.
    missing_texts
        The texts that stand for no value, as they are written; the empty text is not listed.
    notations
        In which every value is a number, the likeliest first: several where they would give different numbers, none
        where some value is no number, or where they are codes.
    is_whole
        Every number is a whole one.
    long_decimals
        Share of the values with three or more digits after the mark.
    width
        Characters of the shortest value, where all are codes that are alike; else None.
    digits
        Digits of each value, where all are whole numbers with as many; else None.
    are_times_of_day
        Every value is written as 08:15.
    sign
        What stands behind every number, such as % or a currency; empty where nothing does, or values are something else.
    dates
        Formats that every value is a date in, each with the first and the last one.
    has_odd_texts
        Texts that are no number, or no date, were found among those that are, and taken for missing values.
    """

    present: int
    missing_texts: tuple[str, ...] = ()
    notations: tuple[NumberNotation, ...] = ()
    is_whole: bool = False
    long_decimals: float = 0.0
    width: int | None = None
    digits: int | None = None
    are_times_of_day: bool = False
    sign: str = ""
    dates: tuple[tuple[str | None, datetime, datetime], ...] = ()
    has_odd_texts: bool = False

    @property
    def notation(self) -> NumberNotation | None:
        """The likeliest notation of numbers."""
        return self.notations[0] if self.notations else None

    def settled(self, mark: str) -> Shape:
        """The same shape in the notation with a decimal mark, where several are possible."""
        if len(self.notations) < 2:
            return self
        chosen = next((each for each in self.notations if (each.decimal or ".") == mark), self.notations[0])
        # Thousands have no decimals: 1.234 read with a comma for decimals is whole.
        return replace(self, notations=(chosen,), is_whole=chosen.thousands is not None)


def shape_from(
    name: str, found: Mapping[str, Any] | None, *, is_typed: bool = False, has_odd_texts: bool = False
) -> Shape:
    """The shape that the summary of a column shows.

    Parameters
    ----------
    name
        Of the column.
    found
        The struct of :func:`~sfumato.custody.schemas.value_formats.summary_query`; None is a column without any cell.
    is_typed
        The source itself says that the column holds numbers: a point in them is never a mark of thousands.
    has_odd_texts
        As for :class:`Shape`.
    """
    present = 0 if found is None else found["present"]
    missing_texts = tuple(sorted((found or {}).get("missing_texts") or ()))
    if found is None or not present:
        return Shape(0, missing_texts)
    notations = range(1 if is_typed else len(NUMBER_NOTATIONS))
    fitting = [place for place in notations if found[f"number{place}"] == present]
    width = _width(name, found, is_number=bool(fitting))
    dates = tuple(
        (written_as, found[f"first{place}"], found[f"last{place}"])
        for place, written_as in enumerate(DATE_FORMATS)
        if found[f"date{place}"] == present
    )
    if not fitting or width is not None or found["leading_zeros"]:
        return Shape(
            present,
            missing_texts,
            width=width,
            are_times_of_day=found["times"] == present,
            sign=_sign(found),
            dates=dates,
            has_odd_texts=has_odd_texts,
        )
    codes = _not_answered(found, fitting[0])
    written = [text for text in found["codes_written"] or () if whole_text(text) in codes]
    return Shape(
        present - sum(found[f"code {code}"] for code in codes),
        (*missing_texts, *sorted(written)),
        notations=tuple(NUMBER_NOTATIONS[place] for place in _telling(found, fitting)),
        is_whole=found[f"whole{fitting[0]}"] == present,
        long_decimals=found["long_decimals"] / present,
        digits=found["longest"]
        if found["digits"] == present and found["shortest"] == found["longest"]
        else None,
        dates=dates,
        has_odd_texts=has_odd_texts,
    )


def whole_text(text: str) -> str:
    """A number's text without decimals that are zeros.

    Examples
    --------
    >>> whole_text("-9,00"), whole_text("12.50")
    ('-9', '12.50')
    """
    return re.sub("[.,]0+$", "", text.strip(" "))


def nearly(found: Mapping[str, Any] | None) -> str | None:
    """The reading by which nearly all values, and not all, are numbers or dates; None where there is none.

    The name is that of a column of the cells that a summary looked at: ``number1``, ``time3``.
    """
    if found is None or not found["present"]:
        return None
    # With leading zeros they are codes, and a letter in a code is no mistake.
    numbers = 0 if found["leading_zeros"] else len(NUMBER_NOTATIONS)
    rows = {f"number{place}": found[f"number{place}"] for place in range(numbers)}
    rows |= {f"time{place}": found[f"date{place}"] for place in range(len(DATE_FORMATS))}
    best = max(rows, key=lambda reading: rows[reading])
    return best if MOSTLY <= rows[best] / found["present"] < 1 else None


def are_odd(texts: Collection[str]) -> bool:
    """Whether some texts among numbers or dates stand for none: few, and none with a digit other than 0.

    ``2A`` among numbers is a code, and ``100+`` a number to people.

    Examples
    --------
    >>> are_odd(["unknown", "00.00.0000"]), are_odd(["unknown", "100+"])
    (True, False)
    """
    return 0 < len(texts) <= MOST_ODD_TEXTS and not any(re.search("[1-9]", text) for text in texts)


def _sign(found: Mapping[str, Any]) -> str:
    """What stands behind every number, where it is the same in all rows."""
    signs = list(found["signs"] or ())
    return str(signs[0]) if found["signed"] == found["present"] and len(signs) == 1 else ""


def _width(name: str, found: Mapping[str, Any], *, is_number: bool) -> int | None:
    """Characters of the shortest value where all are codes: with leading zeros, with letters, or so named.

    All have one width, or begin with letters and a number, as those of diagnoses do: A00, A00.1.
    """
    if found["lettered"] == found["present"]:
        return max(found["shortest"], 2) if found["shortest"] <= WIDEST_CODE else None
    if found["codes"] < found["present"] or found["shortest"] != found["longest"]:
        return None
    is_code = not is_number or found["leading_zeros"] or suggests(name, CODE_WORDS)
    return found["longest"] if is_code and 2 <= found["longest"] <= WIDEST_CODE else None


def _telling(found: Mapping[str, Any], fitting: list[int]) -> list[int]:
    """Notations that read the texts as different numbers, the plainest first: 1.234 in a column without any 1.5."""
    different: dict[float, int] = {}
    for place in fitting:
        different.setdefault(found[f"largest{place}"], place)
    return list(different.values())


def _not_answered(found: Mapping[str, Any], notation: int) -> tuple[str, ...]:
    """The numbers in the column that stand for no answer: below zero where nothing else is, or nines far above."""
    largest = found[f"largest{notation}"]
    if largest is None:
        return ()
    codes = [code for code in NOT_ANSWERED if found[f"code {code}"] >= FEWEST_NOT_ANSWERED]
    below = [code for code in codes if code.startswith("-") and not found["below_zero"]]
    above = [code for code in codes if not code.startswith("-") and float(code) > 2 * largest > 0]
    # A lone -1 is a number like others; surveys write at least -9, or several of them.
    return (*([] if below == ["-1"] else below), *above)


def settled_by_the_file(shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """The same shapes, where the decimal mark of clear columns settles how ambiguous ones of the same file are read."""
    clear = {
        each.notations[0].decimal or "."
        for each in shapes.values()
        if len(each.notations) == 1 and not each.is_whole
    }
    if len(clear) != 1:
        return dict(shapes)
    (mark,) = clear
    return {name: each.settled(mark) for name, each in shapes.items()}
