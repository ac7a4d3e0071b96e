"""Families: one file is one member, and no list is edited by hand.

A family is a package whose modules each define members: classes that derive from the family's base
and carry their public name in a tag field, such as ``method: Literal["anatomy"] = "anatomy"``.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

from pydantic import ValidationError

from sfumato.errors import ParameterError, ReleaseUnsupportedError, nearest
from sfumato.frozen import Frozen, explain

Member = TypeVar("Member", bound=Frozen)


class Family(Generic[Member]):
    """The members of one package.

    Parameters
    ----------
    package
        Import name of the package whose modules are searched.
    base
        The class that every member derives from.
    tag
        The field that holds a member's public name; also the family's word in messages.
    """

    def __init__(self, package: str, base: Callable[..., Member], tag: str) -> None:
        self.package = package
        # Taken as a callable, because the type checker refuses abstract classes as ``type[Member]``.
        self.base = cast("type[Member]", base)
        self.tag = tag

    @cached_property
    def members(self) -> dict[str, type[Member]]:
        """Every member by its public name, in alphabetical order."""
        found: dict[str, type[Member]] = {}
        for module_info in pkgutil.iter_modules(importlib.import_module(self.package).__path__):
            module = importlib.import_module(f"{self.package}.{module_info.name}")
            for value in vars(module).values():
                if (
                    isinstance(value, type)
                    and issubclass(value, self.base)
                    # A member may be a folder: its class is then defined in a module inside it.
                    and f"{value.__module__}.".startswith(f"{module.__name__}.")
                    and self.tag in value.model_fields
                ):
                    found[str(value.model_fields[self.tag].default)] = value
        return dict(sorted(found.items()))

    def get(self, name: str) -> type[Member]:
        """The member of that name.

        Raises
        ------
        ParameterError
            When there is none; the message suggests the nearest.
        """
        if name not in self.members:
            raise ParameterError(
                f"there is no {self.tag} {name!r}; {nearest(name, self.members)}",
                parameter=self.tag,
            )
        return self.members[name]

    def make(self, name: str, parameters: Mapping[str, Any]) -> Member:
        """A member with its parameters; every problem is said in one message."""
        member = self.get(name)
        unknown = sorted(set(parameters) - set(member.model_fields) | ({self.tag} & set(parameters)))
        if unknown:
            known = [each for each in member.model_fields if each != self.tag]
            raise ParameterError(
                f"{self.tag} {name!r} has no parameter {unknown[0]!r}; {nearest(unknown[0], known)}",
                parameter=unknown[0],
            )
        try:
            return member.model_validate(dict(parameters))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]["loc"]
            raise ParameterError(
                f"{' '.join(explain(error))} `sfumato {self.tag}s {name}` says what each parameter may be.",
                parameter=str(first[0]) if first else None,
            ) from None

    def read(self, stored: Mapping[str, Any]) -> Member:
        """A member as a manifest stores it.

        Raises
        ------
        ReleaseUnsupportedError
            When this version does not know the member, or a field of it. It is refused rather than
            guessed: a wrong reading would give wrong numbers with confident error bars.
        """
        name = stored.get(self.tag)
        if not isinstance(name, str) or name not in self.members:
            raise ReleaseUnsupportedError(
                f"the release uses the {self.tag} {name!r}, which this version of sfumato does not know. "
                "Install a newer version."
            )
        try:
            return self.members[name].model_validate(dict(stored))
        except ValidationError as error:
            raise ReleaseUnsupportedError(
                f"the release's {self.tag} {name!r} cannot be read: {' '.join(explain(error))}"
            ) from None
