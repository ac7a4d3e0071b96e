"""Schemas: which attributes a table has, their roles, and their categories.

Categories are public and fixed before any data are read. That is what makes a release's domain free
of private information: a rare category that nobody has still appears in the schema, and a value that
the schema does not list is an error, never a new category.
"""

from __future__ import annotations

import itertools
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, ValidationError, model_validator

from sfumato.errors import ParameterError, QueryError, SchemaError, nearest
from sfumato.frozen import Frozen, explain
from sfumato.values.toml_text import number_text, toml_key, toml_value

MISSING_LABEL = "(missing)"
"""The published label of the category that stands for a missing value."""


class Role(StrEnum):
    """What an attribute is to an attacker.

    Examples
    --------
    >>> Role("sensitive") is Role.SENSITIVE
    True
    """

    IDENTIFIER = "identifier"
    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    OTHER = "other"


class Attribute(Frozen):
    """One column: its role and its public, ordered categories.

    Parameters
    ----------
    name
        The column's name in the data.
    role
        ``identifier`` columns are never read further than their name and never published.
    categories
        The values the column may take, in the order of their codes.
    bins
        For a numeric column, increasing edges; the categories are the intervals [first, second), ....
    missing
        ``error`` refuses rows without a value; ``category`` gives them a category of their own.
    missing_values
        Texts that mean "no value" besides an empty cell, such as ``"?"``.
    learned
        The categories or bins were read off the private data. The manifest repeats this.

    Examples
    --------
    >>> age = Attribute(name="age", role=Role.QUASI_IDENTIFIER, bins=(17, 25, 35), missing="category")
    >>> age.labels
    ('[17,25)', '[25,35)', '(missing)')
    """

    refusal: ClassVar[type[SchemaError]] = SchemaError

    name: Annotated[str, Field(min_length=1)]
    role: Role
    categories: tuple[str, ...] | None = None
    bins: tuple[Annotated[float, Field(strict=True)], ...] | None = None
    missing: Literal["error", "category"] = "error"
    missing_values: tuple[str, ...] = ()
    learned: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        problems = tuple(self._problems())
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def _problems(self) -> Iterable[str]:
        name = repr(self.name)
        if self.role is Role.IDENTIFIER:
            return
        if (self.categories is None) == (self.bins is None):
            yield f"attribute {name} needs either categories or bins, not both and not neither."
            return
        if self.bins is not None:
            if any(low >= high for low, high in itertools.pairwise(self.bins)):
                yield f"attribute {name}: bins must increase."
        elif self.categories is not None:
            repeated = sorted(each for each, number in Counter(self.categories).items() if number > 1)
            if repeated:
                yield f"attribute {name}: category {repeated[0]!r} is listed more than once."
            if MISSING_LABEL in self.categories:
                yield (
                    f"attribute {name}: {MISSING_LABEL!r} is the label of missing values; "
                    'use missing = "category" instead of listing it.'
                )
            both = sorted(set(self.categories) & {"", *self.missing_values})
            if both:
                yield f"attribute {name}: {both[0]!r} is both a category and a missing value."
        if self.size < 2:
            yield (
                f"attribute {name} has fewer than two categories; it carries no information. "
                "Leave it out, or give it the categories it could have."
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """The published text of every category, in code order; a missing category comes last."""
        if self.bins is not None:
            stated = tuple(
                f"[{number_text(low)},{number_text(high)})" for low, high in itertools.pairwise(self.bins)
            )
        else:
            stated = self.categories or ()
        return (*stated, MISSING_LABEL) if self.missing == "category" else stated

    @property
    def size(self) -> int:
        """Number of categories, the missing one included."""
        stated = self.categories if self.bins is None else self.bins[1:]
        return len(stated or ()) + (self.missing == "category")

    @property
    def missing_code(self) -> int | None:
        """Code of the missing category, or None where missing values are errors."""
        return self.size - 1 if self.missing == "category" else None

    def code_of(self, label: str) -> int:
        """Code of a published label.

        Raises
        ------
        QueryError
            When the attribute has no such category; the message suggests the nearest.
        """
        try:
            return self.labels.index(label)
        except ValueError:
            raise QueryError(
                f"attribute {self.name!r} has no category {label!r}; {nearest(label, self.labels)}"
            ) from None

    @property
    def code_type(self) -> np.dtype[Any]:
        """The smallest unsigned integer type that holds every code."""
        return np.min_scalar_type(self.size - 1)


class LongForm(Frozen):
    """Which columns of unit-item-value data are what: ratings, baskets, visits.

    Such data have one row for each item of each unit, and a unit, not a row, is what a promise is about.

    Parameters
    ----------
    unit
        Identifier of whose rows they are; never published.
    item
        What the unit has.
    value
        What the unit says of the item; not given for baskets, where having the item says it all.

    Examples
    --------
    >>> LongForm(unit="user", item="movie", value="rating").names
    ('movie', 'rating')
    """

    refusal: ClassVar[type[SchemaError]] = SchemaError

    unit: Annotated[str, Field(min_length=1)]
    item: Annotated[str, Field(min_length=1)]
    value: Annotated[str, Field(min_length=1)] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that can be published."""
        return (self.item,) if self.value is None else (self.item, self.value)


class Schema(Frozen):
    """The attributes of a table, in order; with ``long``, of unit-item-value data.

    Examples
    --------
    >>> schema = Schema.from_toml('''
    ... [attributes.sex]
    ... role = "quasi-identifier"
    ... categories = ["Female", "Male"]
    ... [attributes.job]
    ... role = "sensitive"
    ... categories = ["Sales", "Tech", "Other"]
    ... ''')
    >>> schema.names
    ('sex', 'job')
    >>> [each.name for each in schema.with_role(Role.SENSITIVE)]
    ['job']
    """

    refusal: ClassVar[type[SchemaError]] = SchemaError

    attributes: Annotated[tuple[Attribute, ...], Field(min_length=1)]
    long: LongForm | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = self.names
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"attribute {repeated[0]!r} is declared more than once.")
        if all(each.role is Role.IDENTIFIER for each in self.attributes):
            raise ValueError("every attribute is an identifier, so nothing could be published.")
        problems = tuple(self._problems_of_long())
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def _problems_of_long(self) -> Iterable[str]:
        if self.long is None:
            return
        named = (self.long.unit, *self.long.names)
        if len(set(named)) < len(named):
            yield "[long] must name three different columns: unit, item and value."
        for part, name in (("unit", self.long.unit), ("item", self.long.item), ("value", self.long.value)):
            if name is None:
                continue
            if name not in self.names:
                yield f"[long] {part} = {name!r} is not an attribute; {nearest(name, self.names)}"
            elif (self[name].role is Role.IDENTIFIER) != (part == "unit"):
                role = "the role identifier" if part == "unit" else "another role than identifier"
                yield f"attribute {name!r} is the {part} of long data and must have {role}."
            elif part == "item" and self[name].missing == "category":
                yield f'attribute {name!r} is the item of long data, which no row may lack; set missing = "error".'

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all attributes, identifiers included."""
        return tuple(each.name for each in self.attributes)

    def __getitem__(self, name: str) -> Attribute:
        for each in self.attributes:
            if each.name == name:
                return each
        raise QueryError(f"there is no attribute {name!r}; {nearest(name, self.names)}")

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def with_role(self, *roles: Role) -> tuple[Attribute, ...]:
        """Attributes that have one of the roles, in order."""
        return tuple(each for each in self.attributes if each.role in roles)

    def sensitive(self, name: str | None = None, *, parameter: str, advice: str) -> Attribute:
        """The attribute of that name, or the only sensitive one when none is named.

        Parameters
        ----------
        name
            Of the attribute; its role is up to the caller.
        parameter, advice
            For the refusal: which parameter is to blame, and what to do.

        Raises
        ------
        ParameterError
            When none is named, and not exactly one is sensitive.
        """
        if name is not None:
            return self[name]
        marked = self.with_role(Role.SENSITIVE)
        if len(marked) != 1:
            found = ", ".join(repr(each.name) for each in marked) or "none"
            raise ParameterError(
                f"this needs exactly one sensitive attribute, the schema has {found}. {advice}",
                parameter=parameter,
            )
        return marked[0]

    def select(self, names: Iterable[str]) -> tuple[Attribute, ...]:
        """Attributes by name, in the order asked for."""
        return tuple(self[name] for name in names)

    @property
    def publishable(self) -> Schema:
        """The same schema without identifiers: what a release may contain."""
        kept = tuple(each for each in self.attributes if each.role is not Role.IDENTIFIER)
        return Schema(attributes=kept)

    @property
    def learned(self) -> tuple[str, ...]:
        """Attributes whose categories were read off the private data."""
        return tuple(each.name for each in self.attributes if each.learned)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Build a schema from the mapping a TOML file holds, reporting every problem at once."""
        unknown = sorted(set(content) - {"attributes", "long"})
        problems = [
            f"[{name}] is not a table of a schema; {nearest(name, ['attributes', 'long'])}"
            for name in unknown
        ]
        tables = content.get("attributes")
        if not isinstance(tables, Mapping) or not tables:
            raise SchemaError([*problems, "a schema needs at least one [attributes.NAME] table."])
        attributes = []
        for name, fields in tables.items():
            if not isinstance(fields, Mapping):
                problems.append(f"attributes.{name} must be a table with a role and categories or bins.")
                continue
            if "name" in fields:
                problems.append(f"attribute {name!r} is named by its table; take the line name = ... out.")
                continue
            try:
                attributes.append(Attribute.model_validate({"name": name, **_as_tuples(fields)}))
            except ValidationError as error:
                problems += [_within(name, sentence) for sentence in explain(error)]
        long = content.get("long")
        try:
            long = None if long is None else LongForm.model_validate(long)
        except ValidationError as error:
            problems += [f"[long] {sentence}" for sentence in explain(error)]
        if problems:
            raise SchemaError(problems)
        return cls(attributes=tuple(attributes), long=long)

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Build a schema from TOML text."""
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            # The reader gives line and column, save where the text just ends.
            last = f"at the end, line {text.count(chr(10)) + 1}"
            reason = str(error).replace("at end of document", last)
            raise SchemaError(f"the schema is not valid TOML: {reason}.") from None
        except RecursionError:
            raise SchemaError("the schema is not valid TOML: its lists are nested too deeply.") from None
        return cls.from_dict(content)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a schema file."""
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise SchemaError(f"cannot read the schema file {str(path)!r}: {reason}.") from None
        return cls.from_toml(text)

    def to_dict(self) -> dict[str, Any]:
        """Give the mapping that :meth:`from_dict` reads; defaults are left out."""
        long = {} if self.long is None else {"long": self.long.model_dump(mode="json", exclude_none=True)}
        return long | {
            "attributes": {
                each.name: each.model_dump(mode="json", exclude={"name"}, exclude_defaults=True)
                for each in self.attributes
            }
        }

    def to_toml(self, comments: Mapping[str, Iterable[str]] | None = None) -> str:
        """Write the schema as TOML, with optional comment lines above an attribute's table."""
        content = self.to_dict()
        blocks = []
        if "long" in content:
            lines = [f"{key} = {toml_value(value)}" for key, value in content["long"].items()]
            blocks.append("\n".join(["[long]", *lines]))
        for name, fields in content["attributes"].items():
            lines = [f"# {line}" for text in (comments or {}).get(name, ()) for line in text.splitlines()]
            lines.append(f"[attributes.{toml_key(name)}]")
            lines += [f"{key} = {toml_value(value)}" for key, value in fields.items()]
            blocks.append("\n".join(lines))
        return "\n\n".join(blocks) + "\n"


def _as_tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}


def _within(name: str, sentence: str) -> str:
    return sentence if sentence.startswith(f"attribute {name!r}") else f"attribute {name!r}: {sentence}"
