"""What a release says of each attribute on its own, and how that compares with the truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.data.private_table import PrivateTable
from sfumato.errors import DataError, NotIdentifiableError, TooLargeError
from sfumato.release import Release
from sfumato.values.answer_tables import AnswerTable
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.schema import Attribute
from sfumato.watching import steps

CONFIDENCE_LEVEL = 0.95
"""Of every interval in a report."""


@dataclass(frozen=True, eq=False)
class Margin:
    """One attribute's true counts as the release gives them, and the published ones they come from.

    Parameters
    ----------
    attribute
        Which attribute.
    answers
        Estimates of the true counts.
    published
        ``(attribute.size,)``, counts of the published rows as they stand; None where the release does not
        hold this attribute as one value for each row.
    """

    attribute: Attribute
    answers: AnswerTable
    published: npt.NDArray[Any] | None

    @property
    def is_exact(self) -> bool:
        """The law claims that every number is the true one."""
        return bool(self.answers.estimates.is_exact.all())

    @property
    def is_unbiased(self) -> bool:
        """The estimates rest on the law alone; others come with an assumption, which their name states."""
        return self.answers.estimator == "unbiased"

    @property
    def finite_bounds(self) -> tuple[Floats, Floats] | None:
        """Between what the true counts certainly lie; None where the release does not say, or says nothing useful."""
        bounds = self.answers.estimates.bounds
        return None if bounds is None or not np.isfinite(bounds).all() else bounds

    def cells(self) -> Iterator[tuple[str, float, float, float, float]]:
        """Label, estimate, standard error, low and high of every category."""
        for labels, *numbers in self.answers.cells():
            estimate, error, low, high = numbers
            yield labels[0], estimate, error, low, high

    def largest(self, number: int) -> tuple[int, ...]:
        """Codes of the largest estimates, in the schema's order."""
        ranked = np.argsort(-self.answers.estimates.values, kind="stable")
        return tuple(sorted(int(code) for code in ranked[:number]))


@dataclass(frozen=True)
class OpenMargin:
    """An attribute of which the release does not determine the true counts.

    Parameters
    ----------
    attribute
        Which attribute.
    reason
        Why not, in a sentence.
    """

    attribute: Attribute
    reason: str


MOST_MARGINS = 200
"""Attributes that a report shows, the first ones; a basket may have tens of thousands of items."""


def read_margins(release: Release) -> tuple[Margin | OpenMargin, ...]:
    """Every published attribute's margin, or the reason why there is none."""
    attributes = steps("Estimating margins", release.schema.attributes[:MOST_MARGINS])
    return tuple(_read_margin(release, attribute) for attribute in attributes)


def _read_margin(release: Release, attribute: Attribute) -> Margin | OpenMargin:
    try:
        answers = release.counts([attribute.name], confidence_level=CONFIDENCE_LEVEL)
    except (NotIdentifiableError, TooLargeError) as error:
        return OpenMargin(attribute, str(error))
    rows = release.manifest.tables[0]
    schema = rows.schema_of_attributes
    # A column of whole numbers may be a count, and then a row is not a person: nothing to set beside an
    # estimate. Nor is there where rows hold other categories than those asked about.
    is_one_value_a_row = (
        not rows.integers and attribute.name in schema and schema[attribute.name].labels == attribute.labels
    )
    published = release.count_by([attribute.name]).counts if is_one_value_a_row else None
    return Margin(attribute, answers, published)


@dataclass(frozen=True, eq=False)
class TrueMargin:
    """A margin held against the private table. Private.

    Parameters
    ----------
    margin
        What the release says.
    truth
        ``(attribute.size,)``, the true counts.
    """

    margin: Margin
    truth: Integers

    @property
    def scores(self) -> Floats:
        """Estimate minus truth in standard errors; NaN where the standard error is zero."""
        estimates = self.margin.answers.estimates
        errors = estimates.standard_errors
        differences = estimates.values - self.truth
        scores = np.full(len(errors), np.nan)
        np.divide(differences, errors, out=scores, where=errors > 0)
        return scores

    @property
    def is_covered(self) -> Booleans:
        """Whether each interval contains the truth."""
        low, high = self.margin.answers.intervals()
        return np.asarray((low <= self.truth) & (self.truth <= high))


def compare_with_truth(margins: Sequence[Margin | OpenMargin], table: PrivateTable) -> tuple[TrueMargin, ...]:
    """The margins that the release determines, each with the true counts. Private.

    Raises
    ------
    DataError
        When the table cannot be the one the release was made from.
    """
    known = [margin for margin in margins if isinstance(margin, Margin)]
    for margin in known:
        name = margin.attribute.name
        if name not in table.schema or table.schema[name].labels != margin.attribute.labels:
            raise DataError(
                f"the private table's schema does not declare {name!r} as the release does. "
                "Give the table, and the schema, that the release was made from.",
                attribute=name,
            )
    compared = steps("Counting true margins", known)
    return tuple(TrueMargin(margin, table.count_by([margin.attribute.name]).counts) for margin in compared)
