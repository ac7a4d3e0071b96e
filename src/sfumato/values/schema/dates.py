"""Bins of dates and times: calendar periods, or edges of one's own."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, PlainSerializer, model_validator

from sfumato.errors import SchemaError
from sfumato.frozen import Frozen

Period = Literal["year", "quarter", "month", "week", "day"]

MOST_PERIODS = 5_000
"""More categories than this are a slip of the pen."""


def _day_or_time(moment: datetime) -> str:
    """A day where the moment is its midnight, else day and time."""
    is_day = moment.time() == datetime.min.time()
    return moment.date().isoformat() if is_day else moment.isoformat(sep=" ")


Moment = Annotated[datetime, PlainSerializer(_day_or_time, when_used="json")]
"""A day or a time; midnight is written as the day."""


class DateBins(Frozen):
    """How dates become categories: periods from a first to a last day, or edges.

    Examples
    --------
    >>> DateBins(by="quarter", first="2019-10-01", last="2020-06-30").labels
    ('2019-Q4', '2020-Q1', '2020-Q2')
    >>> DateBins(edges=("2019-01-01", "2019-07-01", "2021-01-01")).labels
    ('[2019-01-01,2019-07-01)', '[2019-07-01,2021-01-01)')
    """

    refusal: ClassVar[type[SchemaError]] = SchemaError

    by: Period | None = Field(
        default=None, description="the calendar period; a week is an ISO week, from Monday on"
    )
    first: date | None = Field(default=None, description="a day of the first period")
    last: date | None = Field(default=None, description="a day of the last period")
    edges: tuple[Moment, ...] | None = Field(
        default=None,
        description="instead of periods: increasing days or times; bins are [first, second), ...",
    )
    format: str | None = Field(
        default=None,
        description='how cells are written, as in "%d.%m.%Y"; without it 2019-12-31 and 2019-12-31 23:59:59 are read',
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        problems = tuple(self._problems())
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def _problems(self) -> Iterable[str]:
        if (self.by is None) == (self.edges is None):
            yield "dates need either by (a period) or edges, not both and not neither."
            return
        if self.edges is not None:
            if self.first is not None or self.last is not None:
                yield "dates with edges have no first and last; the edges say where they begin and end."
            if any(each.tzinfo is not None for each in self.edges):
                yield "edges of dates are local times, without an offset."
            elif any(low >= high for low, high in itertools.pairwise(self.edges)):
                yield "edges of dates must increase."
            return
        if self.first is None or self.last is None:
            yield "dates by a period need first and last, so that the categories are known before any data are read."
        elif self.first > self.last:
            yield "first must not be after last."
        elif (self.last - self.first).days / _SHORTEST_DAYS[self._period] > MOST_PERIODS:
            yield f"dates from first to last give more than {MOST_PERIODS:,} categories; take a longer period."
        elif self.first.year < 2 or self.last.year > 9998:
            yield "first and last must be in the years 2 to 9998."

    @property
    def _period(self) -> Period:
        assert self.by is not None
        return self.by

    @cached_property
    def starts(self) -> tuple[datetime, ...]:
        """Where each bin begins, and at last where the last one ends."""
        if self.edges is not None:
            return self.edges
        assert self.first is not None
        assert self.last is not None
        return tuple(datetime.combine(each, datetime.min.time()) for each in self._days())

    def _days(self) -> Iterator[date]:
        assert self.first is not None
        assert self.last is not None
        day = _start(self._period, self.first)
        while day <= self.last:
            yield day
            day = _next(self._period, day)
        yield day

    @property
    def labels(self) -> tuple[str, ...]:
        """The category of each bin."""
        if self.edges is None:
            return tuple(_name(self._period, start.date()) for start in self.starts[:-1])
        return tuple(f"[{low},{high})" for low, high in itertools.pairwise(map(_day_or_time, self.edges)))

    @property
    def size(self) -> int:
        """Number of bins."""
        return len(self.starts) - 1


_SHORTEST_DAYS: dict[Period, int] = {"year": 365, "quarter": 90, "month": 28, "week": 7, "day": 1}


def _start(period: Period, day: date) -> date:
    """First day of the period that a day is in."""
    if period == "week":
        return day - timedelta(days=day.weekday())
    if period == "day":
        return day
    month = {"year": 1, "quarter": 3 * ((day.month - 1) // 3) + 1, "month": day.month}[period]
    return day.replace(month=month, day=1)


def _next(period: Period, start: date) -> date:
    """First day of the period after."""
    if period in ("week", "day"):
        return start + timedelta(days=_SHORTEST_DAYS[period])
    months = start.year * 12 + start.month - 1 + {"year": 12, "quarter": 3, "month": 1}[period]
    return date(months // 12, months % 12 + 1, 1)


def _name(period: Period, start: date) -> str:
    if period == "week":
        # The ISO year, which is not always that of the Monday.
        return f"{start.isocalendar().year:04}-W{start.isocalendar().week:02}"
    return {
        "year": f"{start.year:04}",
        "quarter": f"{start.year:04}-Q{(start.month + 2) // 3}",
        "month": f"{start:%Y-%m}" if start.year >= 1000 else f"{start.year:04}-{start.month:02}",
        "day": start.isoformat(),
    }[period]
