"""The base class of designs: what every method declares about itself and must be able to do."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field

from sfumato.data.private_table import PrivateTable
from sfumato.estimates.counts import CountTable
from sfumato.guarantees import Guarantee
from sfumato.immutable import Frozen
from sfumato.laws import Law
from sfumato.methods.planning import PromiseGoal
from sfumato.randomness.streams import NoiseSource
from sfumato.registry import Family
from sfumato.release.publication import Publication
from sfumato.results import ResultTable
from sfumato.schema import Schema
from sfumato.schema.hierarchies import Hierarchy
from sfumato.text import toml_key, toml_value


class Design(Frozen):
    """A method with all its public parameters fixed.

    A member adds the tag field ``method`` with its public name and one field for each parameter, with
    its bounds and one line of help. The command line, the manifest, the documentation's tables and the
    conformance tests read them from there.
    """

    title: ClassVar[str]
    """A few words."""
    summary: ClassVar[str]
    """What it does to the data, in two or three sentences."""
    weaknesses: ClassVar[tuple[str, ...]]
    """What an attacker may still do; repeated in every manifest."""
    published_twice: ClassVar[str] = (
        "What a second release of the same rows tells together with the first is not known: take it that a person is better known by both."
    )
    """What a second release of the same rows adds to the first."""
    citations: ClassVar[tuple[str, ...]]
    """The works it comes from."""
    draws_values: ClassVar[bool] = True
    """Whether anything but the order of the rows is drawn at random; a recoding draws nothing."""
    promise_goals: ClassVar[Mapping[str, PromiseGoal]] = {}
    """Bounds on its promise that parameters can be chosen for by formula, by name."""
    reads_units: ClassVar[bool] = False
    """Whether it protects units of long data as a whole; other methods would protect single rows of theirs."""

    chosen_from_private_data: dict[str, str] | None = Field(
        default=None,
        description="parameters that were chosen by looking at the private rows, and how; the manifest repeats it",
    )

    @abstractmethod
    def guarantees(self, schema: Schema) -> tuple[Guarantee, ...]:
        """What is promised for tables of this schema; refuses parameters that do not fit it."""

    @abstractmethod
    def publish(self, table: PrivateTable, noise: NoiseSource) -> Publication:
        """Everything that becomes the release; rows are made while they are written."""

    @property
    def choices(self) -> Mapping[str, str]:
        """Parameters that were chosen by looking at the private rows before publishing, and how; none by default.

        They are published, and the promises say that they take them as known: such numbers come from a coarse grid.
        """
        return dict(self.chosen_from_private_data or {})

    @classmethod
    def published_again(cls, releases: Sequence[Repetition]) -> str:
        """What releases of the same rows by this method tell together, in numbers where it has a formula for them.

        Parameters
        ----------
        releases
            Two or more, in the order in which they were made. Their parameters may differ.
        """
        del releases
        return cls.published_twice

    def unperturbed(self, schema: Schema) -> tuple[str, ...]:
        """Attributes that published rows will show as they are, where the schema tells which."""
        law = self.planned_law(schema)
        changed = () if law is None else law.changed_attributes
        return tuple(name for name in schema.publishable.names if name not in changed) if changed else ()

    def planned_law(self, schema: Schema) -> Law | None:
        """The law from which a plan takes the errors of every attribute's counts.

        None unless a method says otherwise: where the private rows decide the law, or the error of an
        attribute's counts depends on more than those counts.
        """
        del schema
        return None

    def protects_nothing(self, schema: Schema) -> str:
        """Why nobody is protected by these parameters, in a clause; empty where somebody is, or nobody can tell."""
        del schema
        return ""

    def can_publish(self, counts: CountTable) -> bool:
        """Whether a table in which one attribute has these counts can be published; any can, unless a method says otherwise."""
        del counts
        return True

    def plan_tables(self, schema: Schema, rows: int, table: PrivateTable | None) -> tuple[ResultTable, ...]:
        """What a plan says besides the errors that the law lets expect; what the table told is marked private."""
        del schema, rows, table
        return ()

    @classmethod
    @abstractmethod
    def example(cls, schema: Schema) -> Self:
        """A sensible design for a schema, for documentation and conformance tests."""

    @classmethod
    def resolve_files(cls, parameters: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """Parameters as a custodian writes them, with texts that name files turned into paths.

        Called where a command line or a design file is read, and nowhere else: what comes out of a release
        never names a file.
        """
        del folder
        return dict(parameters)

    def trees(self, schema: Schema) -> Mapping[str, Hierarchy]:
        """Hierarchies that the parameters state, by attribute; none unless a method has such parameters."""
        del schema
        return {}

    def to_toml(self) -> str:
        """A design file: the method and a line for each parameter that is set."""
        return "".join(f"{toml_key(name)} = {toml_value(value)}\n" for name, value in self.to_dict().items())

    def to_dict(self) -> dict[str, Any]:
        """The method's name and every public parameter that is set, as plain data."""
        told = self.model_dump(mode="json", exclude_none=True)
        # The method comes first, and what was chosen how last.
        chosen = {name: told.pop(name) for name in ("chosen_from_private_data",) if name in told}
        return {**told, **chosen}


@dataclass(frozen=True)
class Repetition:
    """One of several releases of the same rows, as their custodian remembers it.

    Parameters
    ----------
    design
        The method with its parameters.
    promises
        What it promises, with what that takes as known.
    sizes
        Published attribute to its number of categories, where it is known.
    number_of_rows
        Of the private table.
    """

    design: Design
    promises: tuple[Guarantee, ...]
    sizes: Mapping[str, int]
    number_of_rows: int


METHODS = Family("sfumato.methods", Design, "method", module="design")
"""The methods of this package and of every installed one that names its folder under this entry point."""
