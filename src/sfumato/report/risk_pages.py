"""Pages about risk: an audit, and designs compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato._version import __version__
from sfumato.compare.frontier import Comparison
from sfumato.report.document import (
    Banner,
    Block,
    Bullets,
    Document,
    Facts,
    Figure,
    Grid,
    Listing,
    Paragraph,
    Section,
    write_page,
)
from sfumato.report.figures import frontier_chart, interval_chart, reliability_chart
from sfumato.text import percent

if TYPE_CHECKING:
    from sfumato.custody.audit.result import AttributeAudit, AuditResult
    from sfumato.release import Release

# --------------------------------------------------------------------------------------------------
# One page about an audit: risk before and after, what was tested, what attackers say and how often they are
# right. Private.


AUDIT_BANNER = Banner(
    "custodian-only",
    "Private: for the custodian only",
    "Everything here was computed from the private rows: for your eyes, not for publication.",
)
REFUTED = Banner("not-private", "Refuted", "")


def write_audit(found: AuditResult, releases: Sequence[Release], out: Path, *, command: str) -> Path:
    """Write the page for its owner alone, whole or not at all.

    Parameters
    ----------
    found
        The audit.
    releases
        What was audited.
    out
        HTML file to make.
    command
        What repeats it.
    """
    return write_page(describe_audit(found, releases, command=command), out)


def describe_audit(found: AuditResult, releases: Sequence[Release], *, command: str) -> Document:
    """The page as data."""
    verdict = (Banner(REFUTED.mark, REFUTED.title, found.verdict),) if found.is_refuted else ()
    own, law, *_, left = found.tables()
    return Document(
        eyebrow="sfumato audit",
        title="What a release tells about people because they are in it",
        lead=found.verdict,
        banners=(AUDIT_BANNER, *verdict),
        sections=(
            *(Section(f"Risk to {each.attribute}", tuple(_risk(each))) for each in found.attributes),
            Section("What was tested", (Grid.of(own), *((Grid.of(law),) if law.rows else ()))),
            Section("Weaknesses", (Bullets(tuple(_weaknesses(releases))),)),
            Section("Parameters", (Facts(tuple(_parameters(releases))),)),
            Section("Not done", (Grid.of(left),)),
            Section("Repeat it", (Listing("Command", command), Bullets(found.caveats))),
        ),
        footer=f"Made by sfumato {__version__}. This page loads nothing from outside.",
    )


def _risk(audited: AttributeAudit) -> Iterator[Block]:
    from sfumato.custody.audit.scores import HALF, LINKABLE, NINE, SURE, TOP

    yield Paragraph(audited.sentences()[0])
    points: list[dict[str, Any]] = []
    for name in (TOP, LINKABLE, SURE, HALF, NINE):
        apart = audited.measured[name].difference
        if apart is not None:
            points.append(
                {
                    "category": name,
                    "estimate": apart.present,
                    "low": apart.absent + apart.low,
                    "high": apart.absent + apart.high,
                    "reference": apart.absent,
                }
            )
    if points:
        told = "; ".join(
            f"{each['category']}: {percent(each['reference'])} without, {percent(each['estimate'])} with"
            for each in points
        )
        description = f"Shares of people guessed right, without and with their row in the table. {told}."
        chart = interval_chart(
            points,
            attribute="score",
            estimated="with (95 % interval)",
            reference="without",
            across="share of people",
            written=".3f",
            description=description,
        )
        caption = f"Before and after: who knows the overall shares only is right about {percent(audited.before)} of people."
        yield Figure(chart, caption, description)
    scores, *others, stated = audited.tables()
    yield Grid.of(scores)
    yield from (Grid.of(each) for each in others)
    curve = [{"stated": row[3], "observed": row[4], "people": row[2]} for row in stated.rows]
    if curve:
        description = "Stated probabilities and how often they were right: " + "; ".join(
            f"{each['stated']:.2f} stated, {each['observed']:.2f} right, {each['people']:,} people"
            for each in curve
        )
        yield Figure(
            reliability_chart(curve, description=description),
            "Where points lie below the broken line, the attacker is too sure.",
            description,
        )
        yield Grid.of(stated)
    yield Bullets(audited.sentences()[1:])


def _weaknesses(releases: Sequence[Release]) -> Iterator[str]:
    seen = dict.fromkeys(
        text for each in releases for text in (*each.manifest.weaknesses, *each.manifest.not_protected)
    )
    yield from seen or ("The release states none.",)


def _parameters(releases: Sequence[Release]) -> Iterator[tuple[str, str]]:
    for number, each in enumerate(releases, 1):
        name = f"{number}. " if len(releases) > 1 else ""
        for key, value in each.manifest.method.items():
            yield f"{name}{key}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# --------------------------------------------------------------------------------------------------
# One page about designs on one table: the chart, the table, and the command of every point.


FRONTIER_BANNER = Banner(
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
        banners=(FRONTIER_BANNER,),
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
