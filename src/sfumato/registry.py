"""Plug-in discovery: methods, laws, guarantees, attacks and sources, found by module and by entry point.

A family is a package whose modules each define members: classes that derive from the family's base
and carry their public name in a tag: a field, such as ``method: Literal["anatomy"] = "anatomy"``, or a
class variable where members are no parameters of anything, such as ``kind = "csv"``. Another
installed package adds members by an entry point whose group is the family's import name::

    [project.entry-points."sfumato.methods"]
    record-swapping = "swapping_package.record_swapping"
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from pydantic import ValidationError

from sfumato.errors import ParameterError, ReleaseUnsupportedError, nearest
from sfumato.immutable import Frozen, explain

Anything = TypeVar("Anything")
Member = TypeVar("Member", bound=Frozen)


class Members(Generic[Anything]):
    """The classes that one package, and whoever adds to it, defines.

    Parameters
    ----------
    package
        Import name of the package whose modules are searched.
    base
        The class that every member derives from.
    tag
        The class variable that holds a member's public name; also the family's word in messages.
    module
        Where members are folders: the module in each that defines the member, so that one folder can hold
        members of two families and looking for one does not import the other.
    """

    def __init__(
        self, package: str, base: Callable[..., Anything], tag: str, *, module: str | None = None
    ) -> None:
        self.package = package
        # Taken as a callable, because the type checker refuses abstract classes as ``type[Anything]``.
        self.base = cast("type[Anything]", base)
        self.tag = tag
        self.module = module
        self.unusable: dict[str, str] = {}
        """Entry points of other packages that gave no member, and why."""
        self._found: dict[str, type[Anything]] = {}

    @cached_property
    def members(self) -> dict[str, type[Anything]]:
        """Every member by its public name, in alphabetical order."""
        from importlib.metadata import entry_points

        found: dict[str, type[Anything]] = {}
        for name in self._own_modules():
            found |= self._members_of(name)
        # A package that cannot be loaded must not keep everybody's releases from being opened.
        for point in entry_points(group=self.package):
            name = point.value if self.module is None else f"{point.value}.{self.module}"
            try:
                theirs = self._members_of(name)
            except Exception as error:  # noqa: BLE001 - whatever a stranger's module raises
                self.unusable[point.name] = f"{point.value} could not be loaded ({type(error).__name__})"
                continue
            if taken := sorted(found.keys() & theirs.keys()):
                self.unusable[point.name] = f"{point.value} defines {taken[0]!r}, which exists already"
                continue
            found |= theirs
        return dict(sorted(found.items()))

    def find(self, name: str) -> type[Anything] | None:
        """The member of that name, if there is one.

        Where a file bears the name, nothing else is loaded: opening a release needs one law, not all.
        """
        if "members" in vars(self):
            return self.members.get(name)
        # Kept, because looking for it reads the package's folders, and whoever opens many releases asks for the same one.
        if name not in self._found:
            for module in self._own_modules_naming(name):
                if found := self._members_of(module).get(name):
                    self._found[name] = found
                    return found
            return self.members.get(name)
        return self._found[name]

    def _own_modules_naming(self, name: str) -> Iterator[str]:
        """Import names of the family's modules whose text states the tag with that name."""
        places = [Path(each) for each in importlib.import_module(self.package).__path__]
        stated = re.compile(rf'^    {self.tag}\b.*"{re.escape(name)}"', re.MULTILINE)
        for module in self._own_modules():
            inside = Path(*module.removeprefix(f"{self.package}.").split("."))
            files = (
                file
                for each in places
                for file in (each / inside.with_suffix(".py"), each / inside / "__init__.py")
            )
            if any(file.is_file() and stated.search(file.read_text(encoding="utf-8")) for file in files):
                yield module

    def _own_modules(self) -> Iterator[str]:
        """Import names of the modules in the family's package that may define members."""
        for each in pkgutil.iter_modules(importlib.import_module(self.package).__path__):
            if self.module is None:
                yield f"{self.package}.{each.name}"
            elif each.ispkg:
                yield f"{self.package}.{each.name}.{self.module}"

    def _members_of(self, name: str) -> dict[str, type[Anything]]:
        """The members that one module defines."""
        module = importlib.import_module(name)
        return {
            public: value
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, self.base)
            # A member's module may be a folder: its class is then defined in a module inside it.
            and f"{value.__module__}.".startswith(f"{module.__name__}.")
            and (public := self._name_of(value)) is not None
        }

    def _name_of(self, member: type[Anything]) -> str | None:
        """A class's public name, or None where it is no member but a base of some."""
        return getattr(member, self.tag, None)

    def unusable_words(self) -> str:
        """What to add to a refusal when other packages failed to load."""
        return "".join(f" The installed {point}: {reason}." for point, reason in self.unusable.items())


class Family(Members[Member]):
    """Members whose parameters are pydantic fields: made from a user's words, stored in manifests."""

    def _name_of(self, member: type[Member]) -> str | None:
        field = member.model_fields.get(self.tag)
        return None if field is None else str(field.default)

    def get(self, name: str) -> type[Member]:
        """The member of that name.

        Raises
        ------
        ParameterError
            When there is none; the message suggests the nearest.
        """
        found = self.find(name)
        if found is None:
            raise ParameterError(
                f"there is no {self.tag} {name!r}; {nearest(name, self.members)}{self.unusable_words()}",
                parameter=self.tag,
            )
        return found

    def make(self, name: str, parameters: Mapping[str, Any]) -> Member:
        """A member with its parameters; every problem is said in one message."""
        member = self.get(name)
        known = [each for each in member.model_fields if each != self.tag]
        unknown = sorted(set(parameters) - set(known))
        problems = [
            f"{self.tag} {name!r} has no parameter {each!r}; {nearest(each, known)}" for each in unknown
        ]
        first = unknown[0] if unknown else None
        try:
            made = member.model_validate({each: parameters[each] for each in known if each in parameters})
        except ValidationError as error:
            problems += [*explain(error), f"`sfumato {self.tag}s {name}` says what each parameter may be."]
            place = error.errors(include_url=False, include_input=False)[0]["loc"]
            first = first or (str(place[0]) if place else None)
        if problems:
            raise ParameterError(" ".join(problems), parameter=first)
        return made

    def read(self, stored: Mapping[str, Any]) -> Member:
        """A member as a manifest stores it.

        Raises
        ------
        ReleaseUnsupportedError
            When this version does not know the member, or a field of it. It is refused rather than
            guessed: a wrong reading would give wrong numbers with confident error bars.
        """
        name = stored.get(self.tag)
        member = self.find(name) if isinstance(name, str) else None
        if member is None:
            raise ReleaseUnsupportedError(
                f"the release uses the {self.tag} {name!r}, which this version of sfumato does not know. "
                f"Install a newer version.{self.unusable_words()}"
            )
        try:
            return member.model_validate(dict(stored))
        except ValidationError as error:
            raise ReleaseUnsupportedError(
                f"the release's {self.tag} {name!r} cannot be read: {' '.join(explain(error))}"
            ) from None
