"""What every guarantee states about itself, and what it may ask of a release to judge it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

from sfumato.data.chunks import CodedBatch
from sfumato.immutable import Frozen
from sfumato.query.text import name_text
from sfumato.schema import Schema
from sfumato.text import FEW_LISTED, listed


class PublishedColumns(Protocol):
    """What a guarantee may know of a published table."""

    @property
    def name(self) -> str:
        """Of the table."""

    @property
    def schema_of_attributes(self) -> Schema:
        """The categorical columns."""

    @property
    def integers(self) -> tuple[str, ...]:
        """The columns of whole numbers."""

    @property
    def number_of_rows(self) -> int:
        """Of the table."""


class PublishedTables(Protocol):
    """What a guarantee may ask of a release: the tables as they stand, not what they are estimates of."""

    @property
    def tables(self) -> Sequence[PublishedColumns]:
        """The published tables."""

    @property
    def schema(self) -> Schema:
        """The attributes that questions are asked in."""

    def scan(self, table: str, names: Sequence[str]) -> Iterator[CodedBatch]:
        """Columns of a published table, categories as codes and whole numbers as they are, in batches."""


@dataclass(frozen=True)
class Judgement:
    """What published tables say about a promise.

    Parameters
    ----------
    holds
        Nothing in the tables breaks it.
    sentence
        The numbers behind that.
    """

    holds: bool
    sentence: str


WHOLE_UNIT = "one unit of the private table with all its rows: one person, when each is one unit"
"""Who is protected where rows are gathered by unit."""

LARGEST_EXPONENT = 700.0
"""Beyond it a float cannot hold the factor exp(epsilon); as a promise it is worth nothing long before."""


def about_learned_lists(names: Sequence[str]) -> tuple[str, ...]:
    """What every promise takes as known where lists of categories were read off the private rows.

    Names are the publisher's own: one that could be read as a part of the sentence stands in quotation marks.

    Examples
    --------
    >>> about_learned_lists(("sex", "job. Nobody can be found"))
    ('the list of categories of sex and "job. Nobody can be found", which was read off the private rows',)
    """
    if not names:
        return ()
    shown = [name_text(name) for name in names]
    some = " and ".join(shown) if len(shown) <= FEW_LISTED else listed(shown, most=FEW_LISTED)
    return (f"the list of categories of {some}, which was read off the private rows",)


def about_chosen_parameters(names: Iterable[str]) -> tuple[str, ...]:
    """What a promise about draws takes as known where parameters of them were chosen from the private rows.

    Examples
    --------
    >>> about_chosen_parameters(("retention", "epsilon"))
    ('the parameters epsilon and retention, chosen from the private rows',)
    """
    parts = (name.partition(" of ") for name in sorted(names))
    chosen = [f"{what}{of}{name_text(attribute) if of else ''}" for what, of, attribute in parts]
    if not chosen:
        return ()
    return (
        f"the parameter{'s' if len(chosen) > 1 else ''} {' and '.join(chosen)}, chosen from the private rows",
    )


class Guarantee(Frozen):
    """A promise: what is promised, about whom, against which attacker.

    A member adds the tag field ``guarantee`` with its public name, and the numbers of the promise. What was
    read off the private rows, a list of categories or a parameter, is published beside it: the promise then
    holds given that, and says so wherever it is shown.
    """

    given: tuple[str, ...] = ()
    """What the promise takes as known, as it was read off the private rows; each in words."""

    holds_of_tables: ClassVar[bool] = False
    """Whether it is about the published tables themselves, whatever they were chosen by."""
    protected_unit: ClassVar[str]
    """Whose data the promise is about."""
    neighbours: ClassVar[str]
    """Which two tables, or values, the promise makes hard to tell apart."""
    attacker: ClassVar[str]
    """What the attacker may know."""
    reference: ClassVar[str]
    """Where the definition stands."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The promise with its numbers, in the words of the field."""

    @property
    def weakness(self) -> str:
        """Why it protects nobody by itself, without the full stop; empty where its numbers do not say so."""
        return ""

    @property
    @abstractmethod
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""

    @property
    def statement(self) -> str:
        """The whole promise: the sentence with its conditions."""
        if not self.given:
            return self.sentence
        return f"{self.sentence.removesuffix('.')}; given {' and '.join(self.given)}."

    @property
    def plain_statement(self) -> str:
        """The whole promise for a reader who is not a statistician."""
        if not self.given:
            return self.plain_words
        return (
            f"{self.plain_words} This takes as known {' and '.join(self.given)}, and does not cover what they say by "
            "themselves: that a rare category is listed, for example, shows that somebody has it."
        )

    def under(self, conditions: Iterable[str]) -> Self:
        """The same promise, given more."""
        return self.model_copy(update={"given": tuple(dict.fromkeys((*self.given, *conditions)))})

    def follows_from(self, premises: Sequence[Guarantee], published: PublishedTables) -> bool:
        """Whether it claims no more than what a law gives.

        Parameters
        ----------
        premises
            The strongest promises that follow from the release's law.
        published
            The release, of which nothing is read here but its attributes and sizes.
        """
        del published
        return any(type(each) is type(self) and self.is_within(each) for each in premises)

    def is_within(self, other: Self) -> bool:
        """Whether another promise of the same kind promises as much, or more, given no more."""
        return self.is_under(other.given) and self == other.model_copy(update={"given": self.given})

    def is_under(self, conditions: Iterable[str]) -> bool:
        """Whether it takes all of this as known."""
        return set(conditions) <= set(self.given)

    def judge(self, published: PublishedTables) -> Judgement | None:
        """Whether the published tables keep the promise; None when tables alone cannot tell."""
        del published
        return None

    def describe(self) -> dict[str, str]:
        """What a manifest states beside the numbers."""
        return {
            "sentence": self.statement,
            "plain_words": self.plain_statement,
            "protected_unit": self.protected_unit,
            "neighbours": self.neighbours,
            "attacker": self.attacker,
            "reference": self.reference,
        }
