"""People whose sensitive value somebody wants to know, and what is believed of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import TooLargeError
from sfumato.values.arrays import Floats, Integers
from sfumato.values.number_text import counted
from sfumato.values.schema import Attribute

MOST_BELIEFS = 50_000_000
"""Kinds of people times values of which beliefs are written out: 400 MB for each such table."""

MOST_VALUES = 2_000
"""Values that beliefs are about: each round of working them out looks at all pairs of values for every kind of people."""


@dataclass(frozen=True, eq=False)
class Targets:
    """People by what is known of them; those alike are one combination.

    Parameters
    ----------
    public
        The attributes that the attacker knows.
    sensitive
        The one that the attacker wants to know.
    combinations
        ``(combinations, attributes)``: different codes, in ascending order.
    index
        ``(targets,)``: the combination of each.
    are_members
        They are known to be in the table. Where not, what is believed is what a release says of people like them.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> sex = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M"))
    >>> job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b"))
    >>> people = Targets.of((sex,), job, {"sex": np.array([1, 0, 1])}, are_members=True)
    >>> people.combinations.tolist(), people.index.tolist()
    ([[0], [1]], [1, 0, 1])
    """

    public: tuple[Attribute, ...]
    sensitive: Attribute
    combinations: Integers
    index: Integers = field(repr=False)
    are_members: bool

    @classmethod
    def of(
        cls,
        public: Sequence[Attribute],
        sensitive: Attribute,
        codes: Mapping[str, npt.NDArray[Any]],
        *,
        are_members: bool,
    ) -> Targets:
        """People given by their codes, one array for each attribute.

        Raises
        ------
        TooLargeError
            When there are so many kinds of people or values that what is believed of them does not fit into memory.
        """
        rows = np.stack([np.asarray(codes[each.name], np.int64) for each in public], axis=1)
        combinations, index = np.unique(rows, axis=0, return_inverse=True)
        if sensitive.size > MOST_VALUES or len(combinations) * sensitive.size > MOST_BELIEFS:
            raise TooLargeError(
                f"{counted(len(combinations), 'kind')} of people and {sensitive.size:,} categories of {sensitive.name!r} are too many to "
                f"write out what is believed of each: {MOST_VALUES:,} categories at most, and {MOST_BELIEFS:,} of them times kinds. "
                "Merge categories in the schema (recode, prefix), or ask about fewer people."
            )
        return cls(tuple(public), sensitive, combinations, index.ravel().astype(np.int64), are_members)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes known."""
        return tuple(each.name for each in self.public)

    def codes_of(self, name: str) -> Integers:
        """Code of one attribute in every combination."""
        return self.combinations[:, self.names.index(name)]


@dataclass(frozen=True, eq=False)
class Posterior:
    """Probability of every sensitive value, for people who are alike.

    Parameters
    ----------
    probabilities
        ``(kinds of people, values)``; rows sum to 1.
    index
        ``(targets,)``: the row of each.
    """

    probabilities: Floats = field(repr=False)
    index: Integers = field(repr=False)

    def of_targets(self) -> Floats:
        """One row for each target, ``(targets, values)``."""
        return np.asarray(self.probabilities[self.index])


def places_among(combinations: Integers, known: Integers) -> Integers:
    """Place of each combination among known ones, -1 where it is not among them.

    Examples
    --------
    >>> places_among(np.array([[2, 0], [1, 1]]), np.array([[1, 1], [0, 0]])).tolist()
    [-1, 0]
    """
    if not len(known):
        return np.full(len(combinations), -1, np.int64)
    _, numbered = np.unique(np.concatenate([known, combinations]), axis=0, return_inverse=True)
    numbered = numbered.ravel()
    lookup = np.full(int(numbered.max()) + 1, -1, np.int64)
    lookup[numbered[: len(known)]] = np.arange(len(known))
    return np.asarray(lookup[numbered[len(known) :]])
