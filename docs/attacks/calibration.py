"""Whether attack probabilities are what they say: ``python docs/attacks/calibration.py`` writes ``calibration.md`` beside it.

Exits with 1 when a bin with enough guesses is further off than 5 points and two standard errors.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent))

from tests.attacked_tables import KINDS, PUBLIC_SIZES, attacked_buckets, bins_beyond  # noqa: E402

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


def main() -> int:
    """Write the page; how many bins of held-out beliefs are off decides the exit code."""
    lines, failed = [], 0
    for kind in KINDS:
        for size in BUCKET_SIZES:
            truth, people = attacked_buckets(kind, ROWS, size, seed=11)
            for beliefs in ("held-out", "in-sample"):
                guesses = AnatomyNaiveBayes(starts=1, beliefs=beliefs).infer(people).guesses
                is_right = guesses.values == truth
                bins = []
                for nearest, right, number, stated in bins_beyond(guesses.probabilities, is_right):
                    share = right / number
                    # Guesses of one bucket hang together: as if there were one for each bucket.
                    error = np.sqrt(share * (1 - share) * size / number)
                    is_off = abs(share - nearest) > 2 * error
                    failed += is_off and beliefs == "held-out"
                    bins.append(f"{stated:.2f} / {share:.2f} ({number:,}){' *off*' if is_off else ''}")
                means = f"{guesses.probabilities.mean():.3f} | {is_right.mean():.3f}"
                lines.append(f"| {kind} | {size} | {beliefs} | {means} | {', '.join(bins)} |")
    text = HEAD + "\n".join(lines) + "\n" + LOST + "\n".join(lost()) + "\n"
    (HERE / "calibration.md").write_text(text, encoding="utf-8")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
