"""Published rows as they stand, for what stays valid without undoing the distortion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from sfumato.errors import NotIdentifiableError
from sfumato.laws import Target
from sfumato.methods.randomized_response.law.perturbed_rows import PerturbedRows
from sfumato.release.release import Release
from sfumato.release.tabulating import axes_of, estimate_table
from sfumato.values.answer_tables import AnswerTable
from sfumato.values.predicate import Predicate
from sfumato.values.schema import Schema

_AS_THEY_STAND = PerturbedRows(distortions={})


@dataclass(frozen=True, eq=False)
class PublishedRows:
    """The rows of a release, counted as if nothing had been done to them.

    Only tests of independence may be computed from them: the caller sees to that.

    Parameters
    ----------
    release
        One whose changed columns were each made from themselves alone.
    """

    release: Release

    def __post_init__(self) -> None:
        if not self.release.law.keeps_independence:
            raise NotIdentifiableError(
                f"published rows of this release cannot be used as they stand: {self.release.law.sentence} Only where what was changed "
                "was made from its own column alone does what is independent stay so. Ask through the law instead."
            )

    @classmethod
    def redrawn(cls, release: Release) -> Self:
        """Rows of which each was redrawn from its own values alone, by matrices known or not.

        Raises
        ------
        NotIdentifiableError
            When they were not, so that no matrix says what became of a value.
        """
        if not release.law.is_row_by_row:
            raise NotIdentifiableError(
                f"no matrix stands between true rows and published ones: {release.law.sentence} Only of rows that were each redrawn "
                "by themselves can that be asked. Ask through the law instead."
            )
        return cls(release)

    @property
    def schema(self) -> Schema:
        """Of the questions."""
        return self.release.schema

    def counts(self, by: str | Sequence[str], *, where: str = "", target: Target = "table") -> AnswerTable:
        """Published counts, with no error about themselves."""
        names, among = axes_of(self.schema, by), Predicate.parse(where, self.schema)
        estimates = estimate_table(_AS_THEY_STAND, self.release, names, among, target)
        attributes = self.schema.select(names)
        return AnswerTable(
            attributes,
            tuple(among.codes(each) for each in attributes),
            estimates,
            0.95,
            self.release.method,
            str(self.release.manifest.law["law"]),
            target,
            False,
            "unbiased for the published rows, not for the true ones",
        )
