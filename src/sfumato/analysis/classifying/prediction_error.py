"""How often a classifier is wrong among the true rows, estimated from a release."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sfumato.analysis.asking import Countable, ask_sums
from sfumato.analysis.numbers import WHOLE_RANGE, NumberEstimate
from sfumato.analysis.routine import carry
from sfumato.errors import NoSolutionError
from sfumato.laws import Target
from sfumato.values.arrays import Integers

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
    low, high = error.intervals(confidence_level)
    ends = float(np.clip(low[0], 0, 1)), float(np.clip(high[0], 0, 1))
    return NumberEstimate(
        f"share of rows whose {of} is predicted wrongly",
        share,
        float(error.standard_errors[0]),
        *ends,
        confidence_level,
        cells.source.method,
        cells.source.law,
        target,
        notes=(*cells.notes, APPARENT, *([WHOLE_RANGE] if ends == (0, 1) else [])),
    )
