"""Whether attack probabilities are what they say: ``python docs/attacks/calibration.py`` writes ``calibration.md`` beside it.

Exits with 1 when a bin with enough guesses is further off than 5 points and two standard errors.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent))

from tests.attacked_tables import (  # noqa: E402
    FEWEST_GUESSES,
    KINDS,
    PUBLIC_SIZES,
    Kind,
    attacked_buckets,
    bins_beyond,
    linked_people,
    linking_guesses,
)

from sfumato.attacks.anatomy_naive_bayes import AnatomyNaiveBayes  # noqa: E402

ROWS = 12_000
BUCKET_SIZES = (2, 4)
HEAD = f"""# Are the probabilities of attacks what they say?

Made by `docs/attacks/calibration.py`. Three tables of {ROWS:,} rows, public attributes of {", ".join(map(str, PUBLIC_SIZES))} categories: without any
association, with strong ones that go through a hidden trait (so that public attributes repeat each other), and with 150 values in a long tail. Each bin
of ten with 200 or more guesses: mean stated probability, share right, guesses. Allowed are 5 points and two standard errors; beyond that a bin is marked *off*.

## Naive Bayes on Anatomy

| table | l | beliefs | stated | right | bins: stated / right (guesses) |
|---|---|---|---|---|---|
"""

LOST = """
## What a cheaper attack loses

| table | rows | l | setting | stated | right |
|---|---|---|---|---|---|
"""


LINKED = """
## Linking on perturbed rows

The same tables by the three smaller public attributes, 240 groups; two tables of each. `value` alone perturbed, or one of the three attributes as well. People
of one group share one belief: standard errors are those of groups, and no smaller than those of as many people without a group.

| table | perturbed | kept | stated | right | bins: stated / right (guesses) |
|---|---|---|---|---|---|
"""


def linked(kinds: Sequence[Kind] = KINDS) -> Iterator[tuple[str, int]]:
    """A line for each kind of release, and how many of its bins are off."""
    for kind in kinds:
        for attributes, retention in ((["value"], 0.5), (["value", "two"], 0.5), (["value", "two"], 0.3)):
            found = [
                linking_guesses(linked_people(kind, ROWS, seed), retention, attributes, seed)
                for seed in (1, 2)
            ]
            stated, is_right = (np.concatenate([each[part] for each in found]) for part in (0, 1))
            groups = np.concatenate([each[2] + 1_000 * place for place, each in enumerate(found)])
            bins, failed = [], 0
            places = np.minimum((stated * 10).astype(int), 9)
            for place in np.unique(places):
                inside = places == place
                if inside.sum() < FEWEST_GUESSES:
                    continue
                off = is_right[inside] - stated[inside]
                error = error_of_groups(off, groups[inside])
                is_off = abs(off.mean()) > 0.05 + 2 * error
                failed += is_off
                told = f"{stated[inside].mean():.2f} / {is_right[inside].mean():.2f} ({off.size:,})"
                bins.append(told + (" *off*" if is_off else ""))
            means = f"{stated.mean():.3f} | {is_right.mean():.3f}"
            yield (
                f"| {kind} | {' and '.join(attributes)} | {retention} | {means} | {', '.join(bins)} |",
                failed,
            )


def error_of_groups(off: np.ndarray, groups: np.ndarray) -> float:
    """Standard error of a mean over people whose groups share a belief.

    Two or three groups say little of how groups differ: it is no smaller than that of people who have nothing in common.
    """
    _, of_group = np.unique(groups, return_inverse=True)
    by_group = np.bincount(of_group, weights=off - off.mean())
    clustered = np.sqrt(np.sum(by_group**2) * by_group.size / max(by_group.size - 1, 1)) / off.size
    return float(max(clustered, off.std() / np.sqrt(off.size)))


def lost() -> Iterator[str]:
    """Accuracy of fewer people to learn from, and of the balanced variant, beside the dearer attack."""
    for rows, size, settings in (
        (60_000, 4, ({"learn_from": 20_000}, {"learn_from": 100_000})),
        (4_000, 8, ({"variant": "balanced"}, {"variant": "exact"})),
    ):
        truth, people = attacked_buckets("long tail", rows, size, seed=12)
        for each in settings:
            guesses = AnatomyNaiveBayes(starts=1, **each).infer(people).guesses
            told = ", ".join(f"{name} {value}" for name, value in each.items())
            means = f"{guesses.probabilities.mean():.3f} | {(guesses.values == truth).mean():.3f}"
            yield f"| long tail | {rows:,} | {size} | {told} | {means} |"


def bucketed(kinds: Sequence[Kind] = KINDS, sizes: Sequence[int] = BUCKET_SIZES) -> Iterator[tuple[str, int]]:
    """A line for each kind of buckets and of beliefs, and how many bins of held-out beliefs are off."""
    for kind, size in itertools.product(kinds, sizes):
        truth, people = attacked_buckets(kind, ROWS, size, seed=11)
        for beliefs in ("held-out", "in-sample"):
            guesses = AnatomyNaiveBayes(starts=1, beliefs=beliefs).infer(people).guesses
            is_right = guesses.values == truth
            bins, failed = [], 0
            for nearest, right, number, stated in bins_beyond(guesses.probabilities, is_right):
                share = right / number
                # Guesses of one bucket hang together: as if there were one for each bucket.
                error = np.sqrt(share * (1 - share) * size / number)
                is_off = abs(share - nearest) > 2 * error
                failed += is_off and beliefs == "held-out"
                bins.append(f"{stated:.2f} / {share:.2f} ({number:,}){' *off*' if is_off else ''}")
            means = f"{guesses.probabilities.mean():.3f} | {is_right.mean():.3f}"
            yield f"| {kind} | {size} | {beliefs} | {means} | {', '.join(bins)} |", failed


def page() -> tuple[str, int]:
    """The whole page, and how many bins are off that should not be."""
    by_buckets, by_linking = list(bucketed()), list(linked())
    lines = [
        HEAD + "\n".join(line for line, _ in by_buckets),
        LINKED + "\n".join(line for line, _ in by_linking),
        LOST + "\n".join(lost()),
    ]
    return "\n".join(lines) + "\n", sum(number for _, number in by_buckets + by_linking)


def main() -> int:
    """Write the page; how many bins of held-out beliefs are off decides the exit code."""
    text, failed = page()
    (HERE / "calibration.md").write_text(text, encoding="utf-8")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
