"""What may be wrong with a cell: for each attribute the conditions under which rows do not fit, and what to say then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sfumato.data.coding import category_code, cell_number, cell_text, cell_time, is_missing
from sfumato.errors import DataError
from sfumato.values.schema import Attribute, Role


@dataclass(frozen=True)
class Complaint:
    """A way in which rows may not fit an attribute.

    Parameters
    ----------
    reason
        A word or two for programs.
    condition
        SQL that holds in the rows concerned.
    words
        What is wrong, between the column's name and the number of rows.
    advice
        What is allowed and what to do; follows the number of rows.
    """

    reason: str
    condition: str
    words: str
    advice: str


@dataclass(frozen=True)
class Misfit:
    """Rows of one column that do not fit the schema, for one reason; without any value of theirs.

    Examples
    --------
    >>> print(Misfit("age", "outside", 2, "has a value outside the schema's bins", ". Extend them."))
    column 'age' has a value outside the schema's bins in 2 rows. Extend them.
    """

    attribute: str
    reason: str
    number_of_rows: int
    words: str
    advice: str

    def __str__(self) -> str:
        rows = "1 row" if self.number_of_rows == 1 else f"{self.number_of_rows:,} rows"
        return f"column {self.attribute!r} {self.words} in {rows}{self.advice}"


def misfits_error(found: Sequence[Misfit]) -> DataError:
    """The refusal that names every misfit."""
    return DataError(
        " ".join(map(str, found)),
        attribute=found[0].attribute,
        number_of_rows=sum(each.number_of_rows for each in found),
    )


_EXTEND = ". Extend the schema, or correct the data."
_NONE_FITS = ", all that have a value. Is the list, the edges or the format that of another column? Correct the schema."


def misfit(attribute: Attribute, complaint: Complaint, rows: int, rows_with_value: int) -> Misfit:
    """What is said of the rows that a complaint is about."""
    advice = complaint.advice
    if complaint.reason != "missing" and attribute.role.is_published and rows == rows_with_value > 1:
        advice = _NONE_FITS
    return Misfit(attribute.name, complaint.reason, rows, complaint.words, advice)


def misfits_counted(attributes: Sequence[Attribute], rows: Sequence[int]) -> list[Misfit]:
    """The misfits that numbers of rows tell: of every complaint, then of the rows with a value of each attribute."""
    asked = [(each, complaint) for each in attributes for complaint in complaints(each)]
    with_value = dict(zip([each.name for each in attributes], rows[len(asked) :], strict=True))
    return [
        misfit(each, complaint, number, with_value[each.name])
        for (each, complaint), number in zip(asked, rows, strict=False)
        if number
    ]


def complaints(attribute: Attribute) -> Iterator[Complaint]:
    """Every way in which a row may not fit; each row falls under one of them at most."""
    missing = is_missing(attribute)
    if attribute.role in (Role.UNIT, Role.HOUSEHOLD):
        whose = "whose it is" if attribute.role is Role.UNIT else f"which {attribute.role} it belongs to"
        yield Complaint(
            "missing",
            missing,
            "has no value",
            f". Every row must say {whose}: fill the names in, or leave those rows out.",
        )
    elif attribute.role is Role.WEIGHT:
        yield from _complaints_of_weight(attribute)
    elif attribute.role.is_published:
        if attribute.missing == "error":
            yield Complaint(
                "missing",
                missing,
                "has no value",
                '; the schema says missing = "error". Set missing = "category", or fill them in.',
            )
        yield from _complaints_of_values(attribute, missing)


def _complaints_of_weight(attribute: Attribute) -> Iterator[Complaint]:
    missing, number = is_missing(attribute), cell_number(attribute)
    allowed = ". A weight is a number above 0 in every row. Correct it, or leave those rows out."
    yield Complaint("missing", missing, "is a weight and has no value", allowed)
    yield Complaint(
        "not a number",
        f"not {missing} and ({number} is null or not isfinite({number}))",
        "is a weight and holds no number",
        f"{allowed} Is the decimal mark a comma? Then set decimal.",
    )
    yield Complaint("zero", f"not {missing} and {number} = 0", "is a weight and is 0", allowed)
    yield Complaint(
        "negative",
        f"not {missing} and {number} < 0 and isfinite({number})",
        "is a weight and is below 0",
        allowed,
    )


def _complaints_of_values(attribute: Attribute, missing: str) -> Iterator[Complaint]:
    unfit = f"not {missing} and {category_code(attribute)} is null"
    if attribute.bins is not None:
        is_number = f"{cell_number(attribute)} is not null"
        yield Complaint(
            "not a number",
            f"{unfit} and not {is_number}",
            "holds no number",
            ". Bins are for numbers. Is the decimal mark a comma? Then set decimal; texts that mean no value go into missing_values.",
        )
        unfit += f" and {is_number}"
        yield Complaint("outside", unfit, "has a value outside the schema's bins", _EXTEND)
    elif attribute.dates is not None:
        is_time = f"{cell_time(attribute)} is not null"
        yield Complaint(
            "not a date",
            f"{unfit} and not {is_time}",
            "holds no date",
            ". Dates are read as 2019-12-31 unless format says how they are written; texts that mean no date go into missing_values.",
        )
        yield Complaint(
            "outside", f"{unfit} and {is_time}", "has a date before the first or after the last", _EXTEND
        )
    elif attribute.recode is not None:
        yield Complaint("outside", unfit, "has a value that neither recode nor the categories name", _EXTEND)
    else:
        yield Complaint("outside", unfit, "has a value outside the schema's category list", _EXTEND)


def units_with_too_many_rows(attribute: Attribute, relation: str) -> str:
    """SQL: how many units have more rows than the schema says, and how many rows those have."""
    unit = cell_text(attribute)
    return (
        f"select count(*), coalesce(sum(size), 0)::bigint from (select count(*) as size from {relation} "
        f"where not {is_missing(attribute)} group by {unit} having count(*) > {attribute.rows_per_unit})"
    )


def crowded_units(attribute: Attribute, units: int, rows: int) -> Misfit:
    """What is said of units with more rows than the schema says."""
    return Misfit(
        attribute.name,
        "too many rows",
        rows,
        f"has {units:,} {'unit' if units == 1 else 'units'} with more than the {attribute.rows_per_unit} rows of rows_per_unit,",
        ". Raise rows_per_unit, which costs accuracy, or leave rows of those units out.",
    )
