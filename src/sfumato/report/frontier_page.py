"""One page about designs on one table: the chart, the table, and the command of every point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato._version import __version__
from sfumato.compare.frontier import Comparison
from sfumato.report.document import Banner, Document, Figure, Grid, Listing, Paragraph, Section
from sfumato.report.html import write_page
from sfumato.report.risk_figures import frontier_chart

PRIVATE = Banner(
    "custodian-only",
    "Private",
    "Everything here was computed from the private rows: for the custodian's eyes, not for publication.",
)

RISK, ERROR = "what being in the table costs the most linkable (share guessed)", "error of answers (0 to 1)"


def write_frontier(comparison: Comparison, out: Path, *, data: str, schema: str) -> Path:
    """Write the page, whole or not at all.

    Parameters
    ----------
    comparison
        The designs.
    out
        HTML file to make.
    data, schema
        As the commands shall name them.
    """
    return write_page(describe_frontier(comparison, data=data, schema=schema), out)


def describe_frontier(comparison: Comparison, *, data: str, schema: str) -> Document:
    """The page as data."""
    told = comparison.to_dict(data, schema)["designs"]
    shown = [each for each in comparison.points if each.risk is not None]
    frontier = [each for each in shown if each.candidate.method and not each.is_beaten]
    commands = "\n\n".join(
        f"# {each.candidate.label}: {each.standing}\n{each.candidate.command(data, schema)}"
        for each in shown
        if each.candidate.method
    )
    used = (
        comparison.uses(),
        comparison.sizes(),
        comparison.learned(),
        comparison.named_tables(),
        comparison.equal_risk(),
    )
    return Document(
        eyebrow="sfumato compare",
        title="Risk and use of designs on one table",
        lead=(
            f"{len(shown)} designs on the same {comparison.repeats} splits of one table. To the left: being in the table costs people "
            f"little of their {comparison.sensitive}. Down: answers are right. {len(frontier)} designs are beaten by no other on "
            "both, beyond uncertainty."
        ),
        banners=(PRIVATE,),
        sections=(
            Section("The chart", (frontier_figure(told), Paragraph(comparison.note))),
            Section("The numbers", (Grid.of(comparison.table()),)),
            Section(
                "What they are good for",
                tuple(Grid.of(each) for each in used if each.rows),
            ),
            Section("Publish by one of them", (Listing("Commands", commands),)),
        ),
        footer=f"Made by sfumato {__version__}. This page loads nothing from outside.",
    )


def frontier_figure(designs: Sequence[Mapping[str, Any]]) -> Figure:
    """The chart of designs, as a comparison's plain data have them; refused ones are not on it."""
    points = [
        {
            "design": each["design"],
            "method": each["method"] or each["design"],
            "standing": each["standing"],
            "risk": each["risk"],
            "low": each["low"],
            "high": each["high"],
            "error": each["error"],
            "error_low": each["error_low"],
            "error_high": each["error_high"],
        }
        for each in designs
        if each["risk"] is not None
    ]
    description = (
        f"{len(points)} designs by risk (across) and error (up), each with the 95 % intervals of both. "
        + "; ".join(
            f"{point['design']}: risk {point['risk']:.3f}, error {point['error']:.3f} "
            f"({point['error_low']:.3f} to {point['error_high']:.3f}), {point['standing']}"
            for point in points
        )
    )
    chart = frontier_chart(points, across=RISK, up=ERROR, description=description)
    return Figure(
        chart, "Beaten designs are faded; bars are 95 % intervals of risk and of error.", description
    )
