"""One page about an audit: risk before and after, what was tested, what attackers say and how often they are right. Private."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato._version import __version__
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
)
from sfumato.report.figures import interval_chart
from sfumato.report.html import write_page
from sfumato.report.risk_figures import reliability_chart
from sfumato.values.number_text import percent

if TYPE_CHECKING:
    from sfumato.custody.audit.result import AttributeAudit, AuditResult
    from sfumato.release import Release

PRIVATE = Banner(
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
        banners=(PRIVATE, *verdict),
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
    from sfumato.custody.audit.measuring import HALF, LINKABLE, NINE, SURE, TOP

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
