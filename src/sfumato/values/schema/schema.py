"""A table's attributes, and reading and writing them as TOML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, ValidationError, model_validator

from sfumato.errors import ParameterError, QueryError, SchemaError, nearest
from sfumato.frozen import Frozen, explain
from sfumato.values.schema.attribute import Attribute
from sfumato.values.schema.files import FILE_KEYS, resolve_files
from sfumato.values.schema.roles import Role
from sfumato.values.structured_text import parse_toml
from sfumato.values.toml_text import toml_key, toml_value


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

    unit: Annotated[str, Field(min_length=1, description="the column that says whose rows they are")]
    item: Annotated[str, Field(min_length=1, description="the column that says what the unit has")]
    value: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="the column that says what the unit says of the item; left out for baskets"
    )

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
        repeated = sorted(name for name, times in Counter(self.names).items() if times > 1)
        if repeated:
            raise ValueError(f"attribute {repeated[0]!r} is declared more than once.")
        if not any(each.role.is_published for each in self.attributes):
            raise ValueError(
                "every attribute is an identifier, a weight, a unit or a household, so nothing could be published."
            )
        problems = (*self._problems_of_long(), *self._problems_of_roles())
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
            elif part == "unit" and self[name].role not in (Role.IDENTIFIER, Role.UNIT):
                yield f"attribute {name!r} is the unit of long data and must have the role identifier or unit."
            elif part != "unit" and not self[name].role.is_published:
                yield f"attribute {name!r} is the {part} of long data and must have a role that is published."
            elif part == "item" and self[name].missing == "category":
                yield f'attribute {name!r} is the item of long data, which no row may lack; set missing = "error".'

    def _problems_of_roles(self) -> Iterable[str]:
        for role in (Role.UNIT, Role.HOUSEHOLD):
            named = [repr(each.name) for each in self.with_role(role)]
            if len(named) > 1:
                yield f"{' and '.join(named)} all have the role {role}; a table has one {role}. Make the others identifiers."

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all attributes, identifiers included."""
        return tuple(each.name for each in self.attributes)

    @cached_property
    def _by_name(self) -> dict[str, Attribute]:
        return {each.name: each for each in self.attributes}

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """Attributes that a release does not publish, because all of their values were merged into one."""
        return ()

    def knowing_left_out(self, names: Iterable[str]) -> Self:
        """The same schema, which says of these attributes why they are not there."""
        found = self.model_copy()
        # Kept as a remembered property is: what was left out is no part of what a schema declares.
        found.__dict__["left_out"] = tuple(names)
        return found

    def __getitem__(self, name: str) -> Attribute:
        if name in self._by_name:
            return self._by_name[name]
        if name in self.left_out:
            known = ", ".join(map(repr, self.names))
            raise QueryError(
                f"the attribute {name!r} was left out of the release: all of its values were merged into one. "
                f"Ask about others: {known}."
            )
        raise QueryError(f"there is no attribute {name!r}; {nearest(name, self.names)}")

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

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
        """What a release may contain: no identifiers, weights, units and households, and no word on how cells were read."""
        kept = tuple(each.as_published for each in self.attributes if each.role.is_published)
        # The schema of a release is asked for it with every question, and is what it asks for.
        return self if kept == self.attributes and self.long is None else Schema(attributes=kept)

    @property
    def as_published(self) -> Schema:
        """The same attributes without how cells of the private data become categories."""
        return Schema(attributes=tuple(each.as_published for each in self.attributes), long=self.long)

    @property
    def unit(self) -> Attribute | None:
        """The column that says whose rows they are, where a person has several."""
        return next(iter(self.with_role(Role.UNIT)), None)

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
            try:
                attributes.append(_attribute(name, fields))
            except SchemaError as error:
                problems += error.problems
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
        """Build a schema from TOML text; files that it names cannot be found, see :meth:`read`."""
        return cls.from_dict(_parsed(text))

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a schema file, and the code lists and mappings that it names, which stand beside it.

        This is the only place where a path in a schema means anything: the schema that it gives holds the lists.
        """
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise SchemaError(f"cannot read the schema file {str(path)!r}: {reason}.") from None
        return cls.from_dict(resolve_files(_parsed(text), Path(path).parent))

    def to_dict(self) -> dict[str, Any]:
        """Give the mapping that :meth:`from_dict` reads; defaults are left out."""
        long = {} if self.long is None else {"long": self.long.model_dump(mode="json", exclude_none=True)}
        return long | {"attributes": {each.name: each.to_fields() for each in self.attributes}}

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


def _parsed(text: str) -> dict[str, Any]:
    try:
        return parse_toml(text)
    except ValueError as error:
        raise SchemaError(f"the schema is not valid TOML: {error}.") from None


def _attribute(name: str, fields: Any) -> Attribute:
    """One attribute, or every problem of its table."""
    if not isinstance(fields, Mapping):
        raise SchemaError(f"attributes.{name} must be a table with a role and categories or bins.")
    if "name" in fields:
        raise SchemaError(f"attribute {name!r} is named by its table; take the line name = ... out.")
    known = [key for key in Attribute.model_fields if key != "name"]
    problems = [_unknown_key(key, known) for key in fields if key not in known]
    stated = {key: _as_tuple(value) for key, value in fields.items() if key in known}
    if isinstance(stated.get("recode"), str):
        problems.append(f"recode = {stated.pop('recode')!r}{_NOT_HERE}")
    try:
        attribute = Attribute.model_validate({"name": name, **stated})
    except ValidationError as error:
        problems += explain(error)
    if problems:
        raise SchemaError(_within(name, sentence) for sentence in problems)
    return attribute


_NOT_HERE = (
    " names a file, and files are looked for beside a schema file only. Read the schema from its file, "
    "or write the list out."
)


def _unknown_key(key: str, known: Iterable[str]) -> str:
    if key in FILE_KEYS:
        return f"{key}{_NOT_HERE}"
    listed = sorted([*known, *FILE_KEYS])
    near = nearest(key, listed)
    hint = f"{near} " if near.startswith("did you mean") else ""
    return f"{key!r} is not a key of an attribute; {hint}The keys are {', '.join(listed)}."


def _as_tuple(value: Any) -> Any:
    """Lists as tuples, in a mapping's values too."""
    if isinstance(value, Mapping):
        return {key: _as_tuple(each) for key, each in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _within(name: str, sentence: str) -> str:
    return sentence if sentence.startswith(f"attribute {name!r}") else f"attribute {name!r}: {sentence}"
