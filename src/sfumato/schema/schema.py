"""A table's attributes: reading and writing TOML, code lists, and the schema language explained."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, ValidationError, model_validator

from sfumato.errors import ParameterError, QueryError, SchemaError, nearest
from sfumato.immutable import Frozen, explain
from sfumato.schema.attribute import Attribute, DateBins, Role
from sfumato.text import parse_toml, toml_key, toml_value

# --------------------------------------------------------------------------------------------------
# Files that a schema file names: code lists that others published, and mappings of values to categories.
#
# They are read where the custodian's schema file is read and nowhere else. What comes out is the lists
# themselves, so
# that a release cannot carry a path, and a release from elsewhere cannot make anybody's machine read a file.


_CODE_LIST = (
    "a CSV file beside the schema file: its column code, or its only one, lists the categories in order; published_by "
    "says who published it. Such a list is public, nothing of it is learned from the data"
)

FILE_KEYS = {"code_list": (_CODE_LIST, 'code_list = "nace.csv"\npublished_by = "Eurostat, NACE Rev. 2"')}
"""Keys that stand in a schema file only: what they say, and an example."""


def resolve_files(content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The content of a schema file with every file that it names replaced by what is in it.

    Parameters
    ----------
    content
        As the TOML reader gives it.
    folder
        Of the schema file, where relative paths start.

    Raises
    ------
    SchemaError
        Naming every file that is absent or not what it should be.
    """
    tables = content.get("attributes")
    if not isinstance(tables, Mapping):
        return dict(content)
    resolved: dict[str, Any] = {}
    problems: list[str] = []
    for name, fields in tables.items():
        try:
            resolved[name] = _resolved(fields, folder) if isinstance(fields, Mapping) else fields
        except SchemaError as error:
            problems += [f"attribute {name!r}: {sentence}" for sentence in error.problems]
    if problems:
        raise SchemaError(problems)
    return {**content, "attributes": resolved}


def _resolved(fields: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    made = dict(fields)
    if isinstance(made.get("recode"), str):
        made["recode"] = _mapping(folder / made["recode"])
    if "code_list" in made:
        if not isinstance(made["code_list"], str):
            raise SchemaError("code_list must be the name of a CSV file in quotes.")
        if "categories" in made:
            raise SchemaError("code_list and categories both list the categories; keep one of them.")
        if not made.get("published_by"):
            raise SchemaError(
                "code_list needs published_by: a list is public because somebody else published it; say who. "
                "A list made from the data goes into categories, with learned = true."
            )
        made["categories"] = _codes(folder / made.pop("code_list"))
    return made


def _codes(path: Path) -> list[str]:
    """The codes of a list, in its order."""
    header, rows = _table(path)
    place = _place(path, header, "code") if len(header) > 1 else 0
    codes = [row[place] for row in rows]
    if len(set(codes)) < len(codes):
        raise SchemaError(
            f"{path.name} lists a code more than once; a list names each once. Is it a mapping? Those go into recode."
        )
    return codes


def _mapping(path: Path) -> dict[str, list[str]]:
    """Category to the values that become it, in the order of the file."""
    header, rows = _table(path)
    value, category = _place(path, header, "value"), _place(path, header, "category")
    made: dict[str, list[str]] = {}
    for row in rows:
        made.setdefault(row[category], []).append(row[value])
    return made


def _place(path: Path, header: list[str], wanted: str) -> int:
    if wanted not in header:
        names = ", ".join(map(repr, header[:12]))
        raise SchemaError(
            f"{path.name} has no column {wanted!r}; it has {names}. Name the column {wanted!r}."
        )
    return header.index(wanted)


def _table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a small CSV file with commas, semicolons or tabs."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SchemaError(
            f"cannot read {path.name}: {reason}. Paths start at the schema file's folder."
        ) from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    rows = [row for row in csv.reader(text.splitlines(), delimiter=delimiter) if row]
    if len(rows) < 2:
        raise SchemaError(
            f"{path.name} is empty; a header line with the column names comes first, then a line for each code."
        )
    header, *rest = rows
    uneven = sum(len(row) != len(header) for row in rest)
    if uneven:
        raise SchemaError(
            f"{path.name} has {uneven} lines without the header's number of columns. Mend them."
        )
    return header, rest


# --------------------------------------------------------------------------------------------------
# A table's attributes, and reading and writing them as TOML.


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
                "no attribute has a role that is published, so nothing could be published. "
                "Give one the role quasi-identifier, sensitive or other."
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
        """What a release may contain: no identifiers and other withheld columns, and no word on how cells were read."""
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
    def rows_drawn_per_unit(self) -> int | None:
        """How many rows of each unit are drawn when the table is read; None where all rows are used."""
        unit = self.unit
        return None if unit is None or unit.excess_rows != "sample" else unit.rows_per_unit

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


# --------------------------------------------------------------------------------------------------
# The schema language, explained from its own declarations.


@dataclass(frozen=True)
class Explanation:
    """What one key of a schema file says.

    Parameters
    ----------
    key
        As it is written: a key of an attribute's table, or ``dates.by`` and ``long.unit`` for those of inner tables.
    meaning
        A sentence.
    examples
        Lines to copy.
    values
        The values it may have with their meaning, where they are few.
    """

    key: str
    meaning: str
    examples: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = ()

    def summary(self) -> str:
        """The explanation as text."""
        lines = [f"{self.key}: {self.meaning}."]
        lines += [f"  {value}: {meaning}" for value, meaning in self.values]
        lines += [f"    {line}" for example in self.examples for line in example.splitlines()]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "key": self.key,
            "meaning": self.meaning,
            "values": dict(self.values),
            "examples": list(self.examples),
        }


@dataclass(frozen=True)
class Language:
    """Explanations of some keys."""

    explanations: tuple[Explanation, ...]

    def summary(self) -> str:
        """All of them as text."""
        return "\n\n".join(each.summary() for each in self.explanations)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"keys": [each.to_dict() for each in self.explanations]}


def schema_language() -> Language:
    """Every key of a schema file.

    Examples
    --------
    >>> [each.key for each in schema_language().explanations][:3]
    ['role', 'categories', 'code_list']
    """
    found = []
    for key, field in Attribute.model_fields.items():
        if key == "name":
            continue
        values = tuple((str(role), role.meaning) for role in Role) if key == "role" else ()
        examples = tuple(map(str, field.examples or ()))
        found.append(Explanation(key, field.description or "", examples, values))
        if key == "categories":
            found += [Explanation(name, text, (example,)) for name, (text, example) in FILE_KEYS.items()]
    found += [
        Explanation(f"dates.{key}", field.description or "") for key, field in DateBins.model_fields.items()
    ]
    found += [
        Explanation(f"long.{key}", field.description or "") for key, field in LongForm.model_fields.items()
    ]
    return Language(tuple(found))


def explain_key(key: str) -> Language:
    """The explanation of one key, with those of the keys inside it.

    Raises
    ------
    ParameterError
        When there is no such key.

    Examples
    --------
    >>> print(explain_key("prefix").summary())
    prefix: for a column of hierarchical codes: so many first characters are the category (postal codes, ICD, NACE).
        prefix = 2
    """
    whole = schema_language().explanations
    chosen = tuple(each for each in whole if each.key == key or each.key.startswith(f"{key}."))
    if not chosen:
        raise ParameterError(
            f"a schema has no key {key!r}; {nearest(key, [each.key for each in whole])} "
            "`sfumato schema explain` shows all of them.",
            parameter="key",
        )
    return Language(chosen)
