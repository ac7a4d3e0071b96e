"""One attribute: role, categories, bins of numbers and dates, and which keys contradict each other."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from sfumato.errors import QueryError, SchemaError, nearest
from sfumato.immutable import MOST_ROWS, Frozen
from sfumato.text import number_text

# --------------------------------------------------------------------------------------------------
# What an attribute is to an attacker, and what it is to the table.


class Role(StrEnum):
    """What an attribute is for.

    Examples
    --------
    >>> Role("sensitive") is Role.SENSITIVE
    True
    >>> [str(each) for each in Role if not each.is_published]
    ['identifier', 'weight', 'unit', 'household', 'stratum', 'cluster']
    """

    IDENTIFIER = "identifier"
    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    OTHER = "other"
    WEIGHT = "weight"
    UNIT = "unit"
    HOUSEHOLD = "household"
    STRATUM = "stratum"
    CLUSTER = "cluster"

    @property
    def is_published(self) -> bool:
        """Whether a release may hold a column of this role."""
        return self in (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.OTHER)

    @property
    def as_noun(self) -> str:
        """The role with its article, for sentences."""
        return f"{'an' if self.value[0] in 'aeio' else 'a'} {self.value}"

    @property
    def meaning(self) -> str:
        """What the role says, in a few words."""
        return _MEANINGS[self]


SURVEY_DESIGN = tuple(role for role in Role if role in ("weight", "stratum", "cluster"))
"""Roles of a survey's design: without these columns, rows say nothing about the population they were sampled from."""

_MEANINGS = {
    Role.IDENTIFIER: "points at one person by itself: name, number, address; never read and never published",
    Role.QUASI_IDENTIFIER: "others may know it of a person: age, sex, region; together such columns single people out",
    Role.SENSITIVE: "what must not be learned about a person: the secret that methods protect",
    Role.OTHER: "published, neither known to others nor secret",
    Role.WEIGHT: "how many people of the population a row stands for; checked, never published as it is",
    Role.UNIT: "whose rows they are, where a person has several; checked, never published",
    Role.HOUSEHOLD: "which rows belong together: family, school, firm; checked, never published",
    Role.STRATUM: "the stratum of the sampling design that a row was drawn from; never read and never published",
    Role.CLUSTER: "the cluster of the sampling design: primary sampling unit, school, center; never read and never published",
}


# --------------------------------------------------------------------------------------------------
# Bins of numbers: their edges, open ends included, and their labels.


def with_open_ends(
    bins: Sequence[float], *, bottom_code: float | None = None, top_code: float | None = None
) -> tuple[float, ...]:
    """Edges of all bins, where everything below the bottom code is one bin and everything from the top code on.

    Examples
    --------
    >>> with_open_ends((0, 20, 40, 60), top_code=50)
    (0, 20, 40, 50, inf)
    >>> with_open_ends((0, 20, 40, 60), bottom_code=18, top_code=60)
    (-inf, 18, 20, 40, 60, inf)
    """
    edges = list(bins)
    if top_code is not None:
        edges = [*(edge for edge in edges if edge < top_code), top_code, math.inf]
    if bottom_code is not None:
        edges = [-math.inf, bottom_code, *(edge for edge in edges if edge > bottom_code)]
    return tuple(edges)


def interval_label(low: float, high: float) -> str:
    """The published text of an interval that contains its lower end.

    Examples
    --------
    >>> interval_label(17, 25), interval_label(65, math.inf), interval_label(-math.inf, 0.5)
    ('[17,25)', '65 or more', 'less than 0.5')
    """
    if math.isinf(high):
        return f"{number_text(low)} or more"
    if math.isinf(low):
        return f"less than {number_text(high)}"
    return f"[{number_text(low)},{number_text(high)})"


# --------------------------------------------------------------------------------------------------
# Bins of dates and times: calendar periods, or edges of one's own.


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


# --------------------------------------------------------------------------------------------------
# What contradicts what among the keys of an attribute.


MISSING_LABEL = "(missing)"
"""The published label of the category that stands for a missing value."""

_DOMAIN_KEYS = (
    "categories",
    "bins",
    "dates",
    "recode",
    "prefix",
    "ordered",
    "top_code",
    "bottom_code",
    "published_by",
)


def contradictions(attribute: Attribute) -> Iterable[str]:
    """A sentence for everything in an attribute that contradicts something else in it."""
    name = repr(attribute.name)
    about_units = [key for key in ("rows_per_unit", "excess_rows") if getattr(attribute, key) is not None]
    if about_units and attribute.role is not Role.UNIT:
        keys = f"{' and '.join(about_units)} {'are' if len(about_units) > 1 else 'is'}"
        yield (
            f"attribute {name}: {keys} about a unit, and the role is {attribute.role}. "
            f'Set role = "unit", or take {"them" if len(about_units) > 1 else "it"} out.'
        )
    elif about_units == ["excess_rows"]:
        yield f"attribute {name}: excess_rows needs rows_per_unit. Add rows_per_unit = 1, or take excess_rows out."
    if not attribute.role.is_published:
        yield from _problems_of_withheld(attribute)
        return
    if sum(each is not None for each in (attribute.categories, attribute.bins, attribute.dates)) != 1:
        yield f"attribute {name} needs either categories or bins or dates, one of them."
        return
    yield from _problems_of_bins(attribute) if attribute.bins is not None else _problems_of_numbers(attribute)
    yield from (
        _problems_of_categories(attribute)
        if attribute.categories is not None
        else _problems_of_texts(attribute)
    )
    if attribute.learned and attribute.published_by is not None:
        yield (
            f"attribute {name} is said to be learned from the data and published by others. "
            "Remove the line that is not true."
        )
    if attribute.size < 2:
        yield (
            f"attribute {name} has fewer than two categories; it carries no information. "
            "Leave it out, or give it the categories it could have."
        )


def _problems_of_withheld(attribute: Attribute) -> Iterable[str]:
    if attribute.role is Role.IDENTIFIER:
        return
    stated = [key for key in _DOMAIN_KEYS if getattr(attribute, key) not in (None, False)]
    if stated and attribute.role is Role.WEIGHT:
        yield (
            f"attribute {attribute.name!r} is a weight, which is never published as it is: it tells the group a row was "
            f"sampled from. Take {stated[0]} out; or decide to publish it coarsened, as a quasi-identifier with bins."
        )
    elif stated:
        yield (
            f"attribute {attribute.name!r} has the role {attribute.role}, which is never published. "
            f"Take {stated[0]} out, or give it another role."
        )


def _problems_of_bins(attribute: Attribute) -> Iterable[str]:
    assert attribute.bins is not None
    if any(low >= high for low, high in itertools.pairwise(attribute.bins)):
        yield f"attribute {attribute.name!r}: bins must increase."
    if (
        attribute.top_code is not None
        and attribute.bottom_code is not None
        and not attribute.bottom_code < attribute.top_code
    ):
        yield f"attribute {attribute.name!r}: bottom_code must be below top_code."
    if attribute.thousands is not None and attribute.thousands == (attribute.decimal or "."):
        yield f"attribute {attribute.name!r}: decimal and thousands are the same mark. Give two different ones."


def _problems_of_numbers(attribute: Attribute) -> Iterable[str]:
    stated = [key for key in ("top_code", "bottom_code", "decimal", "thousands") if getattr(attribute, key)]
    if stated:
        yield f"attribute {attribute.name!r}: {stated[0]} is about numbers, so it needs bins."


def _problems_of_texts(attribute: Attribute) -> Iterable[str]:
    stated = [key for key in ("recode", "prefix", "ordered", "published_by") if getattr(attribute, key)]
    if stated == ["published_by"] or not stated:
        return
    instead = "bins and dates have an order already" if stated[0] == "ordered" else "it needs categories"
    yield f"attribute {attribute.name!r}: {stated[0]} is about categories; {instead}."


def _problems_of_categories(attribute: Attribute) -> Iterable[str]:
    name, listed = repr(attribute.name), attribute.categories or ()
    different = set(listed)
    if len(different) < len(listed):
        repeated = sorted(each for each, number in Counter(listed).items() if number > 1)
        yield f"attribute {name}: category {repeated[0]!r} is listed more than once."
    if MISSING_LABEL in different:
        yield (
            f"attribute {name}: {MISSING_LABEL!r} is the label of missing values; "
            'use missing = "category" instead of listing it.'
        )
    both = sorted({"", *attribute.missing_values} & different)
    if both:
        yield f"attribute {name}: {both[0]!r} is both a category and a missing value."
    if attribute.prefix is not None:
        if attribute.recode is not None:
            yield f"attribute {name} has both prefix and recode; give one of them."
        longer = [each for each in listed if len(each) > attribute.prefix]
        if longer:
            yield (
                f"attribute {name}: category {longer[0]!r} is longer than the {attribute.prefix} characters of prefix, "
                "so no row can have it."
            )
    yield from _problems_of_recode(attribute)


def _problems_of_recode(attribute: Attribute) -> Iterable[str]:
    if not attribute.recode:
        return
    name, listed, recode = repr(attribute.name), set(attribute.categories or ()), attribute.recode
    targets: dict[str, list[str]] = {}
    for target, values in recode.items():
        for value in values:
            targets.setdefault(value, []).append(target)
    for value, named in targets.items():
        if len(named) > 1:
            yield f"attribute {name}: recode names the value {value!r} more than once. Name it once."
        elif value in listed and value != named[0]:
            yield (
                f"attribute {name}: {value!r} is a category and recode makes it {named[0]!r}. "
                "Take it out of the categories, or out of recode."
            )
        elif value in ("", *attribute.missing_values):
            yield f"attribute {name}: {value!r} is a missing value, which recode does not see. Take it out of recode."
    unknown = [target for target in recode if target not in listed]
    if unknown:
        hint = nearest(unknown[0], attribute.categories or ())
        yield f"attribute {name}: recode makes {unknown[0]!r}, which is not among the categories; {hint}"


# --------------------------------------------------------------------------------------------------
# One column: its role, its public categories, and how cells of the data become categories.


def _kept_exactly(value: Any) -> Any:
    """Refuse a whole number that no float is: as an edge it would be another, and rows beside it would change bins."""
    if isinstance(value, int) and abs(value) < 10**300 and int(float(value)) != value:
        raise ValueError(
            f"{value} cannot be an edge: whole numbers beyond 2^53 are kept to about 16 digits. Use {int(float(value))}."
        )
    return value


Number = Annotated[float, Field(strict=True), BeforeValidator(_kept_exactly)]

_HOW_CELLS_ARE_READ = ("recode", "prefix", "dates", "decimal", "thousands")
"""Keys that say how cells of the private data become categories; a release has the categories alone."""


class Attribute(Frozen):
    """One column: its role and its public, ordered categories.

    The fields are the keys of an ``[attributes.NAME]`` table; ``sfumato schema explain`` shows their descriptions.

    Examples
    --------
    >>> age = Attribute(name="age", role=Role.QUASI_IDENTIFIER, bins=(17, 25, 35), missing="category")
    >>> age.labels
    ('[17,25)', '[25,35)', '(missing)')
    >>> Attribute(name="job", role=Role.SENSITIVE, recode={"Sales": ("s", "S"), "Tech": ("t",)}).labels
    ('Sales', 'Tech')
    """

    refusal: ClassVar[type[SchemaError]] = SchemaError

    name: Annotated[str, Field(min_length=1)]
    role: Role = Field(
        description="what the column is for; each role is explained below",
        examples=['role = "quasi-identifier"'],
    )
    categories: tuple[str, ...] | None = Field(
        default=None,
        description="the values the column may take, in the order of their codes; others are an error, never a new category",
        examples=['categories = ["Sales", "Tech-support", "Other"]'],
    )
    bins: tuple[Number, ...] | None = Field(
        default=None,
        description="for a column of numbers: increasing edges; the categories are the intervals [first, second), ... of numbers rounded to double precision: 9.999999999999999999999 is read as 10",
        examples=["bins = [17, 25, 35, 45, 55, 65, 91]"],
    )
    dates: DateBins | None = Field(
        default=None,
        description="for a column of dates or times: periods (year, quarter, month, week, day) from first to last, or edges",
        examples=[
            'dates = {by = "quarter", first = 2019-01-01, last = 2021-12-31}',
            'dates = {by = "week", first = 2021-01-04, last = 2021-12-31, format = "%d.%m.%Y"}',
            "dates = {edges = [2019-01-01, 2020-03-15, 2021-01-01]}",
        ],
    )
    recode: dict[str, tuple[str, ...]] | None = Field(
        default=None,
        description="many values to one: category = values that become it. A text instead names a CSV file with the columns "
        "value and category. Without categories, those are the ones the mapping names; a value that it does not name stays as it is",
        examples=['recode = {Employed = ["1", "2"], Other = ["3", "9"]}', 'recode = "occupations.csv"'],
    )
    prefix: Annotated[int, Field(strict=True, ge=1, le=10_000)] | None = Field(
        default=None,
        description="for a column of hierarchical codes: so many first characters are the category (postal codes, ICD, NACE)",
        examples=["prefix = 2"],
    )
    ordered: bool = Field(
        default=False,
        description="the categories are listed from low to high, so that <, <=, >, >= and BETWEEN can be asked of them",
        examples=["ordered = true"],
    )
    top_code: Number | None = Field(
        default=None,
        description="with bins: everything from this number on is one category, whatever edges lie above",
        examples=["top_code = 90"],
    )
    bottom_code: Number | None = Field(
        default=None,
        description="with bins: everything below this number is one category, whatever edges lie below",
        examples=["bottom_code = 16"],
    )
    decimal: Literal[".", ","] | None = Field(
        default=None,
        description="the mark before the decimals of a number written as text; a point unless said otherwise",
        examples=['decimal = ","'],
    )
    thousands: Literal[".", ",", " ", "'", "_"] | None = Field(
        default=None,
        description="the mark between groups of three digits, where there is one; a number with the mark elsewhere is refused",
        examples=['thousands = "."'],
    )
    missing: Literal["error", "category"] = Field(
        default="error",
        description="error refuses rows without a value, category gives them a category of their own",
        examples=['missing = "category"'],
    )
    missing_values: tuple[str, ...] = Field(
        default=(),
        description='texts that mean "no value" besides an empty cell',
        examples=['missing_values = ["?", "-9"]'],
    )
    learned: bool = Field(
        default=False,
        description="the categories, bins or dates were read off the private data: that a value exists becomes public "
        "with the release, and the manifest says so. Remove the line when they are replaced by publicly known ones",
        examples=["learned = true"],
    )
    published_by: str | None = Field(
        default=None,
        description="who published the list of categories, independently of these data; the release names them",
        examples=['published_by = "Eurostat, NACE Rev. 2"'],
    )
    description: str | None = Field(
        default=None,
        description="what the column means, for readers of the release",
        examples=['description = "Age at the interview"'],
    )
    measured_in: str | None = Field(
        default=None,
        description="the unit of measurement, for readers of the release",
        examples=['measured_in = "completed years"'],
    )
    rows_per_unit: Annotated[int, Field(strict=True, ge=1, le=MOST_ROWS)] | None = Field(
        default=None,
        description="with the role unit: no unit has more rows than this. Differential privacy is then stated for units; without it, refused",
        examples=["rows_per_unit = 4"],
    )
    excess_rows: Literal["refuse", "sample"] | None = Field(
        default=None,
        description="with rows_per_unit: refuse (the default) refuses data in which a unit has more rows; sample keeps "
        "rows_per_unit rows of each unit, drawn at random when the table is read (contribution bounding). With "
        "rows_per_unit = 1 every row is then one person's, and every method can publish the table",
        examples=['rows_per_unit = 1\nexcess_rows = "sample"'],
    )

    @model_validator(mode="before")
    @classmethod
    def _take_categories_of_mapping(cls, fields: Any) -> Any:
        if isinstance(fields, Mapping) and isinstance(fields.get("recode"), Mapping):
            return {"categories": tuple(fields["recode"]), **fields}
        return fields

    @model_validator(mode="after")
    def _check(self) -> Self:
        problems = tuple(contradictions(self))
        if problems:
            raise ValueError("\n".join(problems))
        return self

    @property
    def edges(self) -> tuple[float, ...] | None:
        """Edges of all bins, infinite ones where values are top or bottom coded; None where there are no bins."""
        if self.bins is None:
            return None
        return with_open_ends(self.bins, bottom_code=self.bottom_code, top_code=self.top_code)

    @property
    def stated_labels(self) -> tuple[str, ...]:
        """The published text of every category but the missing one, in code order."""
        edges = self.edges
        if edges is not None:
            return tuple(interval_label(low, high) for low, high in itertools.pairwise(edges))
        return self.dates.labels if self.dates is not None else self.categories or ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The published text of every category, in code order; a missing category comes last."""
        stated = self.stated_labels
        return (*stated, MISSING_LABEL) if self.missing == "category" else stated

    @property
    def size(self) -> int:
        """Number of categories, the missing one included."""
        edges = self.edges
        if edges is not None:
            stated = len(edges) - 1
        else:
            stated = self.dates.size if self.dates is not None else len(self.categories or ())
        return stated + (self.missing == "category")

    @property
    def missing_code(self) -> int | None:
        """Code of the missing category, or None where missing values are errors."""
        return self.size - 1 if self.missing == "category" else None

    @property
    def is_ordered(self) -> bool:
        """Whether the categories run from low to high, the missing one aside."""
        return self.ordered or self.categories is None

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """The numbers that the categories of an ordered list are; None where they are not increasing numbers.

        Examples
        --------
        >>> Attribute(name="rooms", role=Role.OTHER, categories=("1", "2", "3"), ordered=True).numbers
        (1.0, 2.0, 3.0)
        """
        if not self.ordered:
            return None
        try:
            numbers = tuple(float(label) for label in self.stated_labels)
        except ValueError:
            return None
        increasing = all(low < high for low, high in itertools.pairwise(numbers))
        return numbers if increasing and all(map(math.isfinite, numbers)) else None

    @cached_property
    def _codes(self) -> dict[str, int]:
        """Code of every label: searched one after the other, 50,000 of 100,000 labels took half a minute."""
        return {label: code for code, label in reversed(list(enumerate(self.labels)))}

    def code_of(self, label: str) -> int:
        """Code of a published label.

        Raises
        ------
        QueryError
            When the attribute has no such category; the message suggests the nearest.
        """
        try:
            return self._codes[label]
        except KeyError:
            raise QueryError(
                f"attribute {self.name!r} has no category {label!r}; {nearest(label, self.labels)}"
            ) from None

    @property
    def meaning(self) -> str:
        """What the column means, for readers: its description and unit of measurement; empty where nothing is stated."""
        measured = f"Measured in {self.measured_in}." if self.measured_in else ""
        described = (self.description or "").rstrip(".")
        return " ".join(each for each in (f"{described}." if described else "", measured) if each)

    @property
    def code_type(self) -> np.dtype[Any]:
        """The smallest unsigned integer type that holds every code."""
        return np.min_scalar_type(self.size - 1)

    @property
    def as_published(self) -> Attribute:
        """The attribute without how cells of the private data were read: what a release says of it.

        Dates become ordered categories, and a mapping its categories: the values that were merged, and so the
        values that occur, are nobody's business.

        Examples
        --------
        >>> job = Attribute(name="job", role=Role.SENSITIVE, recode={"Sales": ("s", "S"), "Tech": ("t",)})
        >>> job.as_published.to_fields()
        {'role': 'sensitive', 'categories': ['Sales', 'Tech']}
        """
        if all(getattr(self, key) is None for key in _HOW_CELLS_ARE_READ):
            return self
        changes: dict[str, Any] = dict.fromkeys(_HOW_CELLS_ARE_READ)
        if self.dates is not None:
            changes |= {"categories": self.dates.labels, "ordered": True}
        return self.model_copy(update=changes)

    def to_fields(self) -> dict[str, Any]:
        """The keys of the attribute's table in a schema file; defaults are left out."""
        return self.model_dump(mode="json", exclude={"name"}, exclude_defaults=True)
