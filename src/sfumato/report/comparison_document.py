"""What the demonstration's report says: releases of one make-believe table, side by side."""

from __future__ import annotations

from sfumato._version import __version__
from sfumato.report.comparison import Comparison
from sfumato.report.document import (
    Banner,
    Block,
    Bullets,
    Document,
    Facts,
    Figure,
    Folded,
    Grid,
    Listing,
    Paragraph,
    Section,
)
from sfumato.report.figures import comparison_chart, cost_chart, interval_chart
from sfumato.report.margin_sections import LEVEL
from sfumato.values.number_text import show

LARGEST_GROUP_CHART = 15
"""Categories of the group that are shown: the most frequent ones."""

SEEDED = Banner(
    "not-private",
    "These releases are not private",
    "They were made with a fixed seed, so that everybody who runs the demonstration sees the same numbers. Whoever "
    "knows the seed can undo the noise. Here that harms nobody: the people are make-believe. A real release is "
    "made without a seed.",
)


def describe_comparison(
    comparison: Comparison, *, rows: int, commands: str, besides: tuple[Section, ...] = ()
) -> Document:
    """The demonstration's report, as data.

    Parameters
    ----------
    comparison
        The releases and what they answer.
    rows
        Of the table.
    commands
        Lines that repeat it.
    besides
        Further parts, before the commands.
    """
    number = len(comparison.releases)
    citations = dict.fromkeys(
        text for each in comparison.releases for text in each.release.manifest.citations
    )
    return Document(
        eyebrow="sfumato demonstration",
        title="What privacy costs",
        lead=(
            f"The same {rows:,} make-believe people, published {number} times. Each release hides every single answer "
            "behind chance; from each, the true numbers can be estimated. The stronger the promise, the wider the "
            "intervals."
        ),
        banners=(SEEDED,),
        sections=(
            _promises(comparison),
            _costs(comparison),
            _group(comparison),
            *besides,
            Section("Repeat it", (Listing("Commands", commands),)),
            Section("Sources", (Bullets(tuple(citations)),)),
        ),
        footer=f"Made by sfumato {__version__}. This page loads nothing from outside.",
    )


def _promises(comparison: Comparison) -> Section:
    words = tuple(
        (each.label, " ".join(guarantee.plain_statement for guarantee in each.release.guarantees))
        for each in comparison.releases
    )
    not_protected = dict.fromkeys(
        text for each in comparison.releases for text in each.release.manifest.not_protected
    )
    return Section(
        "The promises",
        (
            Paragraph(
                "Epsilon bounds how much a published row can tell about the person behind it: the odds of any "
                "belief change by a factor of at most e to the epsilon. Smaller is stronger. The last column says the same of "
                "one published value: what someone who thought a fact 10 % likely can come to believe."
            ),
            Grid.of(comparison.promises),
            Folded("The promises in words", (Facts(words),)),
            Folded("What is not protected", (Bullets(tuple(not_protected)),)),
        ),
    )


def _costs(comparison: Comparison) -> Section:
    inside, intervals = comparison.coverage
    blocks: list[Block] = [
        Paragraph(
            f"The same questions, asked of each release. Every dot is an unbiased estimate, every bar its {LEVEL} "
            f"interval, both as a difference from the truth, which an analyst would not know. Here {inside} of "
            f"{intervals} intervals contain the truth; about one in twenty is meant to miss it."
        ),
        _answers_figure(comparison),
        Folded("The answers as a table", (Grid.of(comparison.answers),)),
    ]
    if all(each.epsilon is not None for each in comparison.releases):
        blocks.append(_cost_figure(comparison))
    return Section("The cost", tuple(blocks))


def _answers_figure(comparison: Comparison) -> Figure:
    points = [
        {
            "question": f"{reply.question.name} ({reply.truth:,})",
            "release": each.label,
            "estimate": reply.relative(answer.estimate - reply.truth),
            "low": reply.relative(answer.low - reply.truth),
            "high": reply.relative(answer.high - reply.truth),
        }
        for reply in comparison.replies
        for each, answer in zip(comparison.releases, reply.answers, strict=True)
    ]
    description = (
        f"Estimates of {len(comparison.replies)} numbers from {len(comparison.releases)} releases with their {LEVEL} "
        "intervals, as differences from the truth in percent."
    )
    chart = comparison_chart(
        points, across="difference from the truth, in percent of it", zero="truth", description=description
    )
    caption = (
        "Estimates and intervals around the truth (dashed line); true counts in brackets. Questions about attributes "
        "that were published as they are have no error at all."
    )
    return Figure(chart, caption, description)


def _cost_figure(comparison: Comparison) -> Figure:
    points = [
        {
            "question": reply.question.name,
            "release": each.label,
            "promise": each.epsilon,
            "error": reply.relative(answer.std_error),
        }
        for reply in comparison.replies
        for each, answer in zip(comparison.releases, reply.answers, strict=True)
        if not answer.is_exact
    ]
    description = "Standard errors in percent of the truth, against epsilon: errors fall as epsilon grows."
    chart = cost_chart(
        points,
        across="epsilon (smaller: stronger promise)",
        up="standard error, in percent of the truth",
        description=description,
    )
    return Figure(chart, "What a stronger promise costs in accuracy, on a logarithmic scale.", description)


def _group(comparison: Comparison) -> Section:
    group = comparison.group
    # The strongest promise is the hardest case for the group and the best for the person.
    hardest = max(
        range(len(comparison.releases)),
        key=lambda place: comparison.group_answers[place].std_errors.max(),
    )
    label = comparison.releases[hardest].label
    size = int(comparison.group_truth.sum())
    return Section(
        "A group is seen, one row is in doubt",
        (
            Paragraph(
                f"There are {size:,} {group.name}. Many rows together let the noise average out, so the group's "
                f"{group.attribute} can be reconstructed; even from the release with {label}:"
            ),
            _group_figure(comparison, hardest),
            Paragraph(
                "One row is another matter. Its published value may be the true one or drawn by chance, and the "
                "chances are public, so anyone can compute how much it tells. A value that is rare in the group "
                "remains doubtful. One that is common in it becomes likely, and partly because it was likely before: "
                "that much a group's distribution gives away about its members, and no noise on single rows prevents it."
            ),
            Grid.of(comparison.beliefs),
        ),
    )


def _group_figure(comparison: Comparison, place: int) -> Figure:
    group = comparison.group
    largest = set((-comparison.group_truth).argsort(kind="stable")[:LARGEST_GROUP_CHART].tolist())
    points = [
        {"category": labels[0], "estimate": estimate, "low": low, "high": high, "reference": int(truth)}
        for code, ((labels, estimate, _, low, high), truth) in enumerate(
            zip(comparison.group_answers[place].cells(), comparison.group_truth, strict=True)
        )
        if code in largest
    ]
    error = comparison.group_answers[place].std_errors.max()
    description = (
        f"Estimated and true counts of {group.attribute} among the {group.name}, for the {len(points)} most frequent "
        f"categories; standard errors up to {show(error, error)} rows."
    )
    chart = interval_chart(
        points,
        attribute=group.attribute,
        estimated=f"reconstructed, with {LEVEL} interval",
        reference="true",
        description=description,
    )
    caption = (
        f"{group.attribute} among the {group.name}: reconstructed from {comparison.releases[place].label}, and the "
        f"truth. The {len(points)} most frequent categories."
    )
    return Figure(chart, caption, description)
