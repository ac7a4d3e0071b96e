"""People whose sensitive value somebody wants to know, and what is believed of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.values.arrays import Floats, Integers
from sfumato.values.schema import Attribute


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
        """People given by their codes, one array for each attribute."""
        rows = np.stack([np.asarray(codes[each.name], np.int64) for each in public], axis=1)
        combinations, index = np.unique(rows, axis=0, return_inverse=True)
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
