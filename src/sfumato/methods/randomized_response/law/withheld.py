"""Rows whose attributes were distorted independently by matrices that nobody outside is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from sfumato.errors import NotIdentifiableError, ReleaseDamagedError
from sfumato.laws.asking import names_of
from sfumato.laws.base import Law, Published
from sfumato.methods.randomized_response.law.perturbed_rows import (
    CHOSEN_FROM_ROWS,
    PerturbedCounts,
    PerturbedRows,
)
from sfumato.values.arrays import Floats
from sfumato.values.counts import CountTable
from sfumato.values.feasibility import Feasibility
from sfumato.values.schema import Schema
from sfumato.values.selection import Tabulation


class Withheld(Law):
    """Which attributes were perturbed, and nothing of how strongly.

    What is not perturbed is counted exactly. Of the rest no count can be told: a cell can have risen or
    fallen (Guo 2010, lemma 1). What stays valid without the matrices, such as tests of independence, is what
    each row's redrawing does to *any* table, and is told by :func:`sfumato.analysis.unknown_distortion.advise`.

    Examples
    --------
    >>> Withheld(perturbed=("job",)).sentence
    "Each row's job was distorted independently by a matrix that is withheld."
    """

    law: Literal["withheld"] = "withheld"
    perturbed: Annotated[tuple[str, ...], Field(min_length=1)]

    chosen_from_rows: ClassVar[tuple[str, ...]] = CHOSEN_FROM_ROWS
    is_withheld: ClassVar[bool] = True
    is_row_by_row: ClassVar[bool] = True

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(set(self.perturbed)) != len(self.perturbed):
            raise ValueError("perturbed attributes must be different from each other.")
        return self

    @property
    def changed_attributes(self) -> tuple[str, ...]:
        """The perturbed attributes."""
        return self.perturbed

    def question_schema(self, published: Schema) -> Schema:
        """The published attributes, among which the perturbed ones must be."""
        unknown = [name for name in self.perturbed if name not in published]
        if unknown:
            raise ReleaseDamagedError(
                f"the release's law says that {unknown[0]!r} was perturbed, which it does not publish. "
                "Get the release again from where it came."
            )
        return published

    def formula(self, published: Published, asked: Sequence[Tabulation]) -> PerturbedCounts:
        """Exact counts where nothing perturbed is asked about."""
        self._refuse_perturbed(names_of(asked))
        return PerturbedRows(distortions={}).formula(published, asked)

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """The exact counts, where nothing perturbed is asked about."""
        del feasibility
        return self.estimate(published, tabulation).values

    def treats_alike(self, name: str) -> bool:
        """Yes: what is told at all is exact."""
        del name
        return True

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Zero of what is published as it is; refused of the rest."""
        self._refuse_perturbed(true_counts.names)
        return np.zeros(true_counts.counts.shape)

    def _refuse_perturbed(self, names: Iterable[str]) -> None:
        hidden = [name for name in names if name in self.perturbed]
        if hidden:
            raise NotIdentifiableError(
                f"estimates about {' and '.join(hidden)} are not valid: the law is withheld. Published values were redrawn by a "
                "matrix that nobody is told, and a true count can be larger or smaller than the published one. Attributes that "
                "were not perturbed are counted exactly; `sfumato independence` tests at its level all the same; "
                "`sfumato advise` says what else stays valid."
            )

    @property
    def sentence(self) -> str:
        """The link in words."""
        one = len(self.perturbed) == 1
        matrices = "a matrix that is withheld" if one else "matrices that are withheld"
        return f"Each row's {' and '.join(self.perturbed)} {'was' if one else 'were'} distorted independently by {matrices}."
