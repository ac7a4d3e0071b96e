"""Margins of a release, beside the truth where it is known, as sections of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Floats, Integers
from sfumato.data.private_table import PrivateTable
from sfumato.errors import DataError, NotIdentifiableError, TooLargeError
from sfumato.estimates.answers import AnswerTable, finite_or_none, show_end
from sfumato.progress import steps
from sfumato.release import Release
from sfumato.report.document import Block, Figure, Folded, Grid, Paragraph, Section, Subheading
from sfumato.report.figures import LARGEST_CHART, interval_chart
from sfumato.schema import Attribute
from sfumato.text import percent_as_stated, show, show_share

# --------------------------------------------------------------------------------------------------
# What a release says of each attribute on its own, and how that compares with the truth.


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


# --------------------------------------------------------------------------------------------------
# The parts of a report that show counts: reconstructed, exact, and held against the truth.


LEVEL = percent_as_stated(CONFIDENCE_LEVEL)


def estimated_section(margins: Sequence[Margin | OpenMargin]) -> list[Section]:
    """Published and reconstructed counts of every attribute that was changed; nothing when none was."""
    shown = [each for each in margins if isinstance(each, OpenMargin) or not each.is_exact]
    if not shown:
        return []
    kinds = {each.is_unbiased for each in shown if isinstance(each, Margin)}
    remarks = (
        (
            True,
            " Unbiased estimates of small counts can come out negative; that is the price of having no bias.",
        ),
        (
            False,
            " Where an estimate rests on an assumption, its interval is right only if the assumption is.",
        ),
    )
    blocks: list[Block] = [
        Paragraph(
            "What was published is not the truth. Because the link between the two is public, the true counts can "
            f"be reconstructed: each dot is an estimate, each bar its {LEVEL} interval, which contains the true "
            f"count in about that share of cases.{''.join(text for kind, text in remarks if kind in kinds)}"
        )
    ]
    for margin in shown:
        blocks.append(Subheading(margin.attribute.name))
        blocks += (
            [Paragraph(f"No estimate: {margin.reason}")]
            if isinstance(margin, OpenMargin)
            else _estimated_margin(margin)
        )
    return [Section("Published and reconstructed counts", tuple(blocks))]


def _estimated_margin(margin: Margin) -> list[Block]:
    attribute = margin.attribute
    columns: tuple[str, ...] = (attribute.name, "Estimate", "Std. error", "Low", "High")
    rows: list[tuple[str, ...]] = [(label, *show_estimate(*numbers)) for label, *numbers in margin.cells()]
    if margin.published is not None:
        columns = (*columns, "Published")
        rows = [(*row, f"{count:,}") for row, count in zip(rows, margin.published, strict=True)]
    if margin.finite_bounds is not None:
        columns = (*columns, "At least", "At most")
        bounds = zip(*margin.finite_bounds, strict=True)
        rows = [
            (*row, show(least, 0), show(most, 0)) for row, (least, most) in zip(rows, bounds, strict=True)
        ]
    table = Grid(f"Counts of {attribute.name}, {LEVEL} intervals", columns, tuple(rows))
    caveat = [] if margin.is_unbiased else [Paragraph(f"This estimate {margin.answers.estimator}.")]
    return [
        *caveat,
        _figure(margin, margin.published, "published"),
        Folded(f"All {attribute.size} categories of {attribute.name} as a table", (table,)),
    ]


def show_estimate(estimate: float, error: float, low: float, high: float) -> tuple[str, str, str, str]:
    """An estimate, its standard error and the ends of its interval, to the digits that the error supports.

    Examples
    --------
    >>> show_estimate(1234.5678, 12.3, 1210.4, 1258.6)
    ('1,235', '12', '1,210', '1,259')
    """
    return show(estimate, error), show(error, error), show_end(low, error), show_end(high, error)


def _figure(margin: Margin, references: npt.NDArray[Any] | None, reference: str) -> Figure:
    """Chart of a margin, beside other numbers if there are any; only the largest categories when there are many."""
    attribute = margin.attribute
    cells = list(margin.cells())
    chosen = margin.largest(LARGEST_CHART)
    bounds = margin.finite_bounds
    points: list[dict[str, Any]] = []
    for code in chosen:
        label, estimate, _, low, high = cells[code]
        ends = {"low": finite_or_none(low), "high": finite_or_none(high)}
        point: dict[str, Any] = {"category": label, "estimate": estimate, **ends}
        if references is not None:
            point["reference"] = int(references[code])
        if bounds is not None:
            point |= {"least": float(bounds[0][code]), "most": float(bounds[1][code])}
        points.append(point)
    estimated = f"reconstructed, with {LEVEL} interval"
    beside = "" if references is None else f", beside {reference} counts"
    most, estimate, error, *_ = cells[margin.largest(1)[0]]
    description = (
        f"Counts of {attribute.name}, {estimated}{beside}, for {len(chosen)} categories. "
        f"The largest is {most}, estimated as {show(estimate, error)} rows."
    )
    chart = interval_chart(
        points,
        attribute=attribute.name,
        estimated=estimated,
        reference=None if references is None else reference,
        bounded=None if bounds is None else "certain bounds",
        description=description,
    )
    rest = attribute.size - len(chosen)
    left_out = (
        f" The chart shows the {len(chosen)} largest of {attribute.size} categories; the table has the other {rest} too."
        if rest
        else ""
    )
    return Figure(chart, f"Counts of {attribute.name}, {estimated}{beside}.{left_out}", description)


def exact_section(margins: Sequence[Margin | OpenMargin]) -> list[Section]:
    """Exact counts of every attribute that has them; nothing when all are estimated."""
    exact = [each for each in margins if isinstance(each, Margin) and each.is_exact]
    if not exact:
        return []
    reading = Paragraph(
        "Of these attributes, each on its own, the release gives the true counts without error."
    )
    return [Section("Exact counts", (reading, *(_exact_margin(each) for each in exact)))]


def _exact_margin(margin: Margin) -> Folded:
    attribute = margin.attribute
    counts = margin.answers.estimates.values
    shares = counts / max(counts.sum(), 1)
    most = margin.largest(1)[0]
    table = Grid(
        f"Counts of {attribute.name}",
        (attribute.name, "Rows", "Share"),
        tuple(
            (label, show(count, 0), show_share(share))
            for label, count, share in zip(attribute.labels, counts, shares, strict=True)
        ),
        shares=tuple((counts / max(counts.max(), 1)).tolist()),
    )
    summary = (
        f"{attribute.name}: {attribute.size} categories, most frequent {attribute.labels[most]} "
        f"({show_share(shares[most])})"
    )
    return Folded(summary, (table,))


def compared_section(truth: Sequence[TrueMargin]) -> Section:
    """Estimates beside the true counts, with z-scores and how many intervals hold the truth. Private."""
    estimated = [each for each in truth if not each.margin.is_exact]
    exact = [each for each in truth if each.margin.is_exact]
    blocks: list[Block] = []
    if estimated:
        blocks += _score_summary(estimated)
    for each in estimated:
        blocks += _compared_margin(each)
    if exact:
        blocks += [Subheading("Exact counts"), Paragraph(_exactness(exact))]
    return Section("Against the truth", tuple(blocks), is_private=True)


def _score_summary(estimated: Sequence[TrueMargin]) -> list[Block]:
    covered = sum(int(each.is_covered.sum()) for each in estimated)
    intervals = sum(each.truth.size for each in estimated)
    assumed = (
        ""
        if all(each.margin.is_unbiased for each in estimated)
        else " An estimate that rests on an assumption can be held to this only where the assumption holds."
    )
    return [
        Paragraph(
            f"{covered} of {intervals} intervals contain the true count ({show_share(covered / intervals)}). {LEVEL} is to be "
            "expected on average; the intervals of one attribute depend on each other, so a single release may be "
            "some way off. A z-score is the error of an estimate in standard errors: about one in twenty should "
            f"lie beyond -2 or 2, and hardly any beyond -4 or 4.{assumed}"
        ),
        Grid(
            f"Estimates against the truth, {LEVEL} intervals",
            ("attribute", "Categories", "Intervals with the truth", "Largest |z|", "Root mean square z"),
            tuple(_score_row(each) for each in estimated),
        ),
    ]


def _score_row(compared: TrueMargin) -> tuple[str, ...]:
    known = compared.scores[np.isfinite(compared.scores)]
    return (
        compared.margin.attribute.name,
        f"{compared.truth.size:,}",
        show_share(float(compared.is_covered.mean())),
        f"{np.abs(known).max():.2f}",
        f"{np.sqrt(np.square(known).mean()):.2f}",
    )


def _compared_margin(compared: TrueMargin) -> list[Block]:
    attribute = compared.margin.attribute
    cells = zip(compared.margin.cells(), compared.truth, compared.scores, compared.is_covered, strict=True)
    rows = tuple(
        (
            label,
            *show_estimate(*numbers),
            f"{truth:,}",
            f"{score:.2f}" if np.isfinite(score) else "-",
            "yes" if is_covered else "no",
        )
        for (label, *numbers), truth, score, is_covered in cells
    )
    table = Grid(
        f"Counts of {attribute.name} and the truth, {LEVEL} intervals",
        (attribute.name, "Estimate", "Std. error", "Low", "High", "Truth", "z", "Inside"),
        rows,
    )
    return [
        Subheading(attribute.name),
        _figure(compared.margin, compared.truth, "true"),
        Folded(f"All {attribute.size} categories of {attribute.name} beside the truth", (table,)),
    ]


def _exactness(exact: Sequence[TrueMargin]) -> str:
    different = [
        each.margin.attribute.name
        for each in exact
        if not np.array_equal(each.truth, each.margin.answers.estimates.values)
    ]
    if different:
        return (
            f"The published counts of {', '.join(different)} differ from those of the private table, although the "
            "release says that they are exact: this is not the table that the release was made from."
        )
    return f"All {len(exact)} have exactly the counts of the private table."
