"""What is left of classes of rows when several recodings of the same rows are put together."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sfumato.guarantees.k_anonymity import KAnonymity
from sfumato.methods.base import Repetition
from sfumato.values.number_text import percent


def intersected_classes(releases: Sequence[Repetition]) -> str:
    """How many rows besides a person's own are in all of the person's classes, in a sentence.

    Notes
    -----
    Of the ``N - 1`` other rows, a smallest class holds ``k - 1``. Where one recoding has nothing to do with the other, a row
    is in all classes with the product of ``(k - 1) / (N - 1)``. A person is alone at least where the mean number of such
    rows falls short of one (Markov). Recodings of the same attributes are seldom that unlike, and classes seldom that
    small: it is what cannot be ruled out, not what happens to everybody.
    """
    different = {(str(each.design.to_dict()), str(sorted(each.sizes.items()))): each for each in releases}
    found = [
        (promise.k, each.number_of_rows)
        for each in different.values()
        for promise in each.promises
        if isinstance(promise, KAnonymity)
    ]
    smallest = min(k for k, _ in found)
    if len(different) == 1:
        return f"Nothing is drawn: the same design makes the same classes of the same rows again, and k = {smallest} stays."
    others = max(rows for _, rows in found) - 1
    shared = others * math.prod(min((k - 1) / others, 1.0) for k, _ in found) if others > 0 else 0.0
    return (
        f"Classes of {' and '.join(str(k) for k, _ in found)} of {others + 1:,} rows, cut in ways that have nothing to do with each "
        f"other, share {shared:.2g} rows besides the person's own on average, so that at least {percent(max(0.0, 1 - shared))} of the "
        f"people would be alone, where every release by itself leaves {smallest} rows or more."
    )
