"""One column: its role, its public categories, and how cells of the data become categories."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from sfumato.errors import QueryError, SchemaError, nearest
from sfumato.frozen import Frozen
from sfumato.values.bounds import MOST_ROWS
from sfumato.values.schema.contradictions import MISSING_LABEL, contradictions
from sfumato.values.schema.dates import DateBins
from sfumato.values.schema.intervals import interval_label, with_open_ends
from sfumato.values.schema.roles import Role


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
        description="for a column of numbers: increasing edges; the categories are the intervals [first, second), ...",
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
