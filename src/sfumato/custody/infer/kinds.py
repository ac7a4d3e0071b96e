"""What a column is, by the shape of its values first and by its name where the shape leaves it open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum
from typing import Any

from sfumato.custody.infer.name_hints import (
    EXPANSION_WORDS,
    HOUSEHOLD_WORDS,
    IDENTIFIER_WORDS,
    WEIGHT_WORDS,
    sensitive_word,
    suggests,
)
from sfumato.custody.infer.profiles import LARGEST_CATEGORY_LIST, MOST_ROWS_EACH, ColumnProfile

MOST_LISTED_NUMBERS = 20
"""A column of numbers with more different values than this gets bins."""

MOST_LISTED_DATES = 12
"""A column of dates with more different values than this gets periods."""

HOURS_OF_A_DAY = 24

MOST_LISTED_CODES = 50
"""A column of codes of one width with more different values than this is cut to their beginnings."""

MOST_PREFIXES = 60
"""Beginnings of codes that make a list a person can check."""

LARGEST_HOUSEHOLD = 30
"""Rows of a value before it is no household and no person, in tables where that is a visible share."""

FEWEST_ROWS_TO_CALL_UNIQUE = 20
"""In shorter tables, values that hardly repeat say nothing."""


class Kind(Enum):
    """What a column was taken for."""

    CONSTANT = "left out"
    IDENTIFIER = "never read"
    TOGETHER = "rows together"
    WEIGHT = "weight"
    DATES = "dates"
    HOURS = "hours"
    PREFIX = "first characters"
    BINS = "bins"
    CATEGORIES = "categories"


def kind_of(profile: ColumnProfile) -> Kind:
    """What a column is: the first kind that its values, or else its name, speak for."""
    return next(kind for kind, speaks_for in _SIGNS if speaks_for(profile))


def _is_constant(profile: ColumnProfile) -> bool:
    return profile.number_of_values + (profile.number_missing > 0) < 2


def _has_a_persons_name(profile: ColumnProfile) -> bool:
    return suggests(profile.name, IDENTIFIER_WORDS)


def _are_dates(profile: ColumnProfile) -> bool:
    return bool(profile.dates) and profile.number_of_values > MOST_LISTED_DATES


def _are_times_of_day(profile: ColumnProfile) -> bool:
    return profile.shape.are_times_of_day and profile.number_of_values > HOURS_OF_A_DAY


def _are_many_numbers(profile: ColumnProfile) -> bool:
    return profile.is_number and profile.number_of_values > MOST_LISTED_NUMBERS


def has_long_decimals(profile: ColumnProfile) -> bool:
    """Whether numbers have more decimals than anybody measures."""
    return profile.shape.long_decimals >= 0.8


def is_weight(profile: ColumnProfile) -> bool:
    """Whether a column looks like survey weights: positive, with more decimals than anybody measures.

    By shape alone where the mean is 1, as of scaled weights, or where the same long decimals come again and again, as of
    weights by stratum, or in neighbouring rows, as of weights by household. What a scale shows is called weight too, but has few decimals.
    """
    if not profile.is_number or profile.number_of_values <= MOST_LISTED_NUMBERS:
        return False
    if suggests(profile.words, EXPANSION_WORDS):
        return True
    if not has_long_decimals(profile):
        return False
    if suggests(profile.words, WEIGHT_WORDS):
        return True
    assert profile.mean is not None
    is_scaled = abs(profile.mean - 1) < 0.02
    comes_again = 5 * profile.number_of_values <= profile.number_of_rows
    is_of_groups = 1.15 * profile.number_of_values < profile.shape.present and _stand_together(profile)
    return profile.sample[0][0] > 0 and (is_scaled or comes_again or is_of_groups)


def _stand_together(profile: ColumnProfile) -> bool:
    """Whether rows with the same value are neighbours in the file."""
    return profile.number_of_runs is not None and profile.number_of_runs <= 1.05 * profile.number_of_values


def rows_belong_together(profile: ColumnProfile) -> bool:
    """Whether a column looks like numbers of households or people: a few rows each, standing together in the file."""
    rows, different = profile.shape.present, profile.number_of_values
    if rows < FEWEST_ROWS_TO_CALL_UNIQUE or profile.is_unique or profile.dates:
        return False
    if profile.is_number and not profile.shape.is_whole:
        return False
    rows_each = rows / different
    if profile.largest_group > max(LARGEST_HOUSEHOLD, rows / 100):
        # A column that happens to be sorted has equal values together too, but some have many rows.
        return False
    if suggests(profile.words, HOUSEHOLD_WORDS) and 1.05 < rows_each < 50 and different > MOST_LISTED_NUMBERS:
        return True
    is_few = 1.15 < rows_each < MOST_ROWS_EACH
    return is_few and _stand_together(profile) and sensitive_word(profile.words) is None


def _is_code(profile: ColumnProfile) -> bool:
    if profile.shape.width is None or profile.is_unique or profile.number_of_values <= MOST_LISTED_CODES:
        return False
    return prefix_length(profile) is not None


def prefix_length(profile: ColumnProfile) -> int | None:
    """The beginning of codes that tells most among those of which there are not too many to check; the shortest such."""
    sizes = {length: len(found) for length, found in (profile.prefixes or {}).items()}
    lengths = [length for length, size in sizes.items() if 2 <= size <= MOST_PREFIXES]
    return max(lengths, key=lambda length: (sizes[length], -length), default=None)


def _is_identifier(profile: ColumnProfile) -> bool:
    rows, different = profile.shape.present, profile.number_of_values
    is_long = rows >= FEWEST_ROWS_TO_CALL_UNIQUE
    if profile.is_number:
        # Amounts hardly repeat either, and are not names of people: they get bins.
        return (
            is_long and profile.is_unique and profile.shape.is_whole and sensitive_word(profile.words) is None
        )
    return (is_long and 2 * different > rows) or different > LARGEST_CATEGORY_LIST


def date_bins(dates: Sequence[tuple[str | None, datetime, datetime]]) -> dict[str, Any]:
    """Periods that cover a column's dates: as short as gives a list that a person can check.

    Examples
    --------
    >>> date_bins([("%d.%m.%Y", datetime(2020, 3, 5), datetime(2021, 8, 1))])["by"]
    'month'
    >>> date_bins([(None, datetime(1931, 3, 5), datetime(2004, 8, 1))])["edges"][:2]
    ('1930-01-01', '1940-01-01')
    """
    written_as, first, last = dates[0]
    written = {} if written_as is None else {"format": written_as}
    days = (last - first).days
    for period, most_days in (
        ("day", 14),
        ("week", 182),
        ("month", 730),
        ("quarter", 2_922),
        ("year", 14_610),
    ):
        if days <= most_days:
            # From the first to the last day of calendar years, where periods are long: round, as edges of numbers are.
            low, high = first.date(), last.date()
            if period in ("month", "quarter", "year"):
                low, high = low.replace(month=1, day=1), high.replace(month=12, day=31)
            return {"by": period, "first": low.isoformat(), "last": high.isoformat(), **written}
    decades = range(first.year // 10 * 10, last.year // 10 * 10 + 11, 10)
    return {"edges": tuple(f"{year:04}-01-01" for year in decades), **written}


_SIGNS: tuple[tuple[Kind, Callable[[ColumnProfile], bool]], ...] = (
    (Kind.CONSTANT, _is_constant),
    (Kind.IDENTIFIER, _has_a_persons_name),
    (Kind.WEIGHT, is_weight),
    (Kind.TOGETHER, rows_belong_together),
    (Kind.DATES, _are_dates),
    (Kind.HOURS, _are_times_of_day),
    (Kind.PREFIX, _is_code),
    (Kind.IDENTIFIER, _is_identifier),
    (Kind.BINS, _are_many_numbers),
    (Kind.CATEGORIES, lambda _: True),
)
