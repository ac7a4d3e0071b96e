"""The schema language, explained from its own declarations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.errors import ParameterError, nearest
from sfumato.values.schema.attribute import Attribute
from sfumato.values.schema.dates import DateBins
from sfumato.values.schema.files import FILE_KEYS
from sfumato.values.schema.roles import Role
from sfumato.values.schema.schema import LongForm


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
