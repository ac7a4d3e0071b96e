"""How often a classifier is wrong among the true rows, estimated from a release."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sfumato.analysis.asking import Countable, ask_sums
from sfumato.analysis.numbers import WHOLE_RANGE, NumberEstimate
from sfumato.analysis.routine import carry
from sfumato.analysis.within_bounds import Room, are_loose, beyond, claim_of, note_of_bounds, shares_between
from sfumato.errors import NoSolutionError
from sfumato.laws import Target
from sfumato.values.arrays import Booleans, Integers
from sfumato.values.estimates import Estimates

APPARENT = "where the classifier was learned from this release, this is its apparent error, which is too small; ask another release"


def prediction_error(
    release: Countable,
    of: str,
    features: Sequence[str],
    predict: Callable[[Integers], Integers],
    *,
    where: str = "",
    confidence_level: float = 0.95,
    target: Target = "table",
) -> NumberEstimate:
    """Share of the true rows whose class a rule gets wrong.

    Held against published rows, a rule that is right about true ones would look wrong as often as noise changed them. The
    number of errors is a sum of true counts, so the law estimates it without bias.

    Parameters
    ----------
    release
        What the rule is tested on.
    of
        The class attribute.
    features
        What the rule looks at.
    predict
        Of codes of the features, ``(rows, features)``, the codes of the class, ``(rows,)``.
    where, confidence_level, target
        As for any question.

    Raises
    ------
    NoSolutionError
        When no rows are estimated to be there.
    """
    cells = ask_sums(release, (*features, of), where=where)
    codes = np.column_stack([cells.codes[name] for name in features])
    is_wrong = (np.asarray(predict(codes)) != cells.codes[of]).astype(float)
    counts = cells.estimates
    total = float(counts.values.sum())
    if total <= 0:
        raise NoSolutionError(
            "no rows are estimated to be there, so that a share of them is not defined. Ask about more rows.",
            reason="undefined",
        )
    share = float(is_wrong @ counts.values) / total
    error = carry(np.array([share]), (is_wrong - share)[None, :] / total, counts, target)
    low, high = (float(each[0]) for each in error.intervals(confidence_level))
    if are_loose(counts).any():
        low, high = beyond((low, high), share, _between(counts, is_wrong > 0, cells.rows), counts, target)
    ends = float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1))
    return NumberEstimate(
        f"share of rows whose {of} is predicted wrongly",
        share,
        float(error.standard_errors[0]),
        *ends,
        confidence_level,
        cells.source.method,
        cells.source.law,
        target,
        notes=(
            *cells.notes,
            *note_of_bounds(counts),
            APPARENT,
            *([WHOLE_RANGE] if ends == (0, 1) else []),
        ),
        certainty=claim_of(counts, target),
    )


def _between(counts: Estimates, is_wrong: Booleans, rows: tuple[float, float]) -> tuple[float, float]:
    """The least and the most that the share of some cells can be whatever their bounds allow, and whatever they add up to."""
    room = Room.of(counts, rows)
    sums = [(room.low[each].sum(), room.high[each].sum()) for each in (is_wrong, ~is_wrong)]
    # Rows that cannot be in the other cells are in these.
    (least, most), (least_right, most_right) = (
        (max(low, room.rows[0] - other[1]), min(high, room.rows[1] - other[0]))
        for (low, high), other in zip(sums, sums[::-1], strict=True)
    )
    wrong, right = (
        tuple(np.array([each]) for each in pair) for pair in ((least, most), (least_right, most_right))
    )
    low, high = shares_between((wrong[0], wrong[1]), (right[0], right[1]))
    return float(low[0]), float(high[0])
