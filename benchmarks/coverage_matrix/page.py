"""The matrix as a page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from coverage_matrix.entries import Entry, Key
from coverage_matrix.judging import (
    ALPHA,
    FAILED_EARLY,
    LARGEST_ERROR_AGAIN,
    LARGEST_ERROR_OF_SPREAD,
    LEAST,
    LEAST_AGAIN,
    MOST,
    REACHED_EARLY,
    WIDEST_SUM,
    Verdict,
    has_other_spread,
    judge,
    simultaneous,
)
from coverage_matrix.questions import CLASSES
from coverage_matrix.results import Results
from coverage_matrix.tables import ROWS, SKEWS
from coverage_matrix.trying import NEVER_TOO_WIDE

PAGE = Path(__file__).parent.parent.parent / "docs" / "coverage.md"

HEAD = """# How often intervals hold the truth

Made by `make coverage` (`benchmarks/coverage_matrix`), which publishes tables redrawn from three known populations of {rows:,} rows and asks every release
the same questions: one population without any association, one with strong ones, one with a very long tail. Each entry is the share of 95 % intervals that
held the truth, over {releases} releases or more, by the size of the true count: the count itself, or of a share or a difference the smallest count it rests on.
About the table an interval is held against the redrawn table, about the population against the population.

- An entry fails when its simultaneous bound ({width:.2f} standard errors: {entries:,} entries, all together a false alarm in one matrix in {alarms:.0f}) excludes {least:.0%}.
- Entries under 95 % are run again with fresh seeds and must reach {again:.1%}; what stands here is then the second run, in *italics*. It is ended when coverage lies {reached:.0f} standard errors above that, or {failed:.0f} below, and at the latest at a standard error
  of {error:.1f} points. The rule was fixed before anything was run by it: an entry passes with almost the probability of going on to the end, at a quarter of the answers where it covers 95 % (`judging.settled` has the table). Answers of one release hang together, and their errors are those of releases. Only
  what waits is asked again, of tables in which a count of its size comes up. Intervals of consistent counts hold the unbiased ones, and it is these that are asked again.
- Counts of 10 and more may be covered above {most:.1%} only for a reason: a certain **b**ound, whole numbers (**d**iscreteness), a law that calls its errors **c**onservative. It stands behind the number.
- Stated over real spread of sums of cells must lie between {narrow:.2f} and {wide:.2f}. What does not is run again until it lies {reached:.0f} standard errors inside, or {failed:.0f} outside, and at the latest to a standard error of {known}.
  A stated error of {rows_of_sums:.0f} rows, one for each of four cells, is never too wide: counts are whole numbers, and what cannot be called exact states something. This was decided after results were seen ([why](decisions/0082-small-errors-are-never-too-wide.md)).
- Numbers that are exact or bounded are not in the coverage, which they would flatter. They are counted below; a single wrong one fails.
- `none`: the answer states no interval. `refused`: the release leaves it open and says so. `.`: no such count came up.

**{verdict}**
"""


def write_page(every: Sequence[Results], path: Path = PAGE) -> int:
    """Write the page; how many entries fail."""
    made = [each for each in every if each.parts]
    entries = sum(len(each.first) for each in made)
    verdicts = {
        (results.setting.name, results.skew, key): judge(
            results.setting, key, entry, results.again(key), entries
        )
        for results in made
        for key, entry in results.first.items()
    }
    faults = [(where, each) for where, each in verdicts.items() if each.fault]
    pending = sum(len(each.pending()) for each in made)
    lines = [
        HEAD.format(
            rows=ROWS,
            releases=min((each.parts[0].releases for each in made), default=0),
            entries=entries,
            width=simultaneous(entries),
            alarms=1 / ALPHA,
            least=LEAST,
            error=100 * LARGEST_ERROR_AGAIN,
            reached=REACHED_EARLY,
            failed=FAILED_EARLY,
            again=LEAST_AGAIN,
            most=MOST,
            narrow=1 / WIDEST_SUM,
            wide=WIDEST_SUM,
            known=LARGEST_ERROR_OF_SPREAD,
            rows_of_sums=NEVER_TOO_WIDE,
            verdict=f"{len(made)} of {len(every)} settings and tables were run. "
            + _verdict(len(faults), pending, entries),
        )
    ]
    lines += _faults(faults)
    lines += _claims(made)
    for name in dict.fromkeys(each.setting.name for each in every):
        lines += _section([each for each in every if each.setting.name == name], verdicts)
    lines += _waiting(every)
    lines += _unchecked(made)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(faults)


def _verdict(faults: int, pending: int, entries: int) -> str:
    found = f"{faults} of {entries:,} entries fail." if faults else f"None of {entries:,} entries fails."
    return f"{found} {pending or 'None'} {'wait' if pending > 1 else 'waits'} for the end of a second run."


def _faults(faults: Sequence[tuple[tuple[str, str, Key], Verdict]]) -> Iterator[str]:
    if faults:
        yield "| setting | table | answers | about | count | what is wrong |\n|---|---|---|---|---|---|"
        for (name, skew, key), verdict in faults:
            yield f"| {name} | {skew} | {key.kind} | {key.target} | {key.size} | {verdict.fault} |"
        yield ""


def _claims(made: Sequence[Results]) -> Iterator[str]:
    parts = [part.trial.entries.values() for each in made for part in each.parts]
    answers = sum(entry.answers for entries in parts for entry in entries)
    certain = sum(entry.certain for entries in parts for entry in entries)
    wrong = sum(entry.wrong for entries in parts for entry in entries)
    yield (
        f"Of {answers:,} answers {certain:,} claimed to be exact or bounded, or ended at a certain bound; "
        f"{wrong or 'none'} of the claims {'were' if wrong > 1 else 'was'} wrong.\n"
    )


def _unchecked(made: Sequence[Results]) -> Iterator[str]:
    """Which kinds of answers were asked before widths were kept, by which intervals of today are known to be the same."""
    older: dict[frozenset[str], list[str]] = {}
    for each in made:
        kinds = {key.kind for key in each.first}
        checked = {name.rsplit(", ", 1)[0] for name in each.parts[0].trial.widths}
        if kinds - checked:
            older.setdefault(frozenset(kinds & checked), []).append(f"{each.setting.name} on {each.skew}")
    if older:
        yield "\n## What was asked of earlier code\n"
        yield "These results say nothing of the widths of their intervals, so that it cannot be told whether they are still made so; `--check` runs them anew.\n"
    for checked, names in older.items():
        but = f" all but {', '.join(sorted(checked))}" if checked else ""
        yield f"-{but or ' all answers'}: {'; '.join(names)}."


def _waiting(every: Sequence[Results]) -> Iterator[str]:
    """What was not run, and what its second run has not settled, with the coverage known so far."""
    missing = [f"{each.setting.name} on {each.skew}" for each in every if not each.parts]
    if missing:
        yield f"\n## What was not run\n\n{'; '.join(missing)}."
    waiting = [each for each in every if each.pending()]
    if waiting:
        yield "\n## What waits for its second run\n\nCoverage so far, of the second run where one was begun (*italics*).\n"
        yield "| setting | table | entries |\n|---|---|---|"
    for each in waiting:
        told = [
            f"{key.kind}, {key.target}, {key.size}: {_so_far(each.first[key], each.again(key))}"
            + (
                f", spread {_spread(each, key)}"
                if has_other_spread(each.setting, key, each.first[key])
                else ""
            )
            for key in sorted(each.pending())
        ]
        yield f"| {each.setting.name} | {each.skew} | {'; '.join(told)} |"


def _so_far(first: Entry, again: Entry | None) -> str:
    if again is None or not again.intervals:
        return f"{100 * first.coverage:.1f}"
    return f"*{100 * again.coverage:.1f}*"


def _section(results: Sequence[Results], verdicts: dict[tuple[str, str, Key], Verdict]) -> Iterator[str]:
    setting = results[0].setting
    told = ", ".join(f"{name} = {value}" for name, value in setting.parameters.items()) or "no parameters"
    yield f"\n## {setting.name}\n\n`{setting.method}`, {told}."
    if setting.conservative:
        yield f"Conservative by its own account: {setting.conservative}."
    if not any(each.parts for each in results):
        yield "\n*Not run yet.*"
        return
    columns = [f"{size}" for _ in SKEWS for size in CLASSES]
    yield f"\n| answers | about | {' | '.join(columns)} |\n|---|---|{'---|' * len(columns)}"
    yield f"| | | {' | '.join(f'**{skew}**' + ' | ' * (len(CLASSES) - 1) for skew in SKEWS)} |"
    rows = dict.fromkeys((key.kind, key.target) for each in results for key in each.first)
    for kind, target in rows:
        cells = [_cell(each, Key(kind, target, size), verdicts) for each in results for size in CLASSES]
        yield f"| {kind} | {target} | {' | '.join(cells)} |"
    sums = [
        f"{each.skew}, {key.target}, {key.size}: {_spread(each, key)}"
        for each in results
        for key, entry in each.first.items()
        if key.kind == "sum" and math.isfinite(entry.spread) and key.size in ("10-99", "100+")
    ]
    if sums:
        yield f"\nStated over real spread of sums: {'; '.join(sums)}."
    refused = {said for each in results for said in each.parts[:1] for said in said.trial.refusals}
    if refused:
        yield f"\nRefused as a whole: {'; '.join(sorted(refused))}."


def _spread(results: Results, key: Key) -> str:
    """Of the first run, or of further ones where that lay outside of what is allowed."""
    first, again = results.first[key], results.again(key)
    if again is None or math.isnan(again.spread) or not has_other_spread(results.setting, key, first):
        return f"{first.spread:.2f}"
    return f"*{again.spread:.2f}*"


def _cell(results: Results, key: Key, verdicts: dict[tuple[str, str, Key], Verdict]) -> str:
    first = results.first.get(key)
    if first is None:
        refused = results.parts and f"{key.kind}, {key.target}" in results.parts[0].trial.refusals
        return "refused" if refused else "."
    return _shown(first, results.again(key), verdicts[results.setting.name, results.skew, key])


def _shown(first: Entry, again: Entry | None, verdict: Verdict) -> str:
    if not first.intervals:
        return "certain" if first.certain else "none"
    number = f"{100 * (again or first).coverage:.1f}"
    number += verdict.reason[:1] and f" {verdict.reason[0]}"
    if again:
        number = f"*{number}*"
    return f"**{number} fails**" if verdict.fault else number
