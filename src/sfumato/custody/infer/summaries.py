"""What is asked of every column about how its values are written: one question for all columns, however many.

Columns are stacked, a row for each cell, and asked together. A question of its own for every column makes a
statement whose planning takes longer than the square of the number of columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from sfumato.custody.infer.notations import DATE_FORMATS, NUMBER_NOTATIONS, date_in
from sfumato.data.sql_text import quote_name, quote_text
from sfumato.values.schema import MISSING_LABEL

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
