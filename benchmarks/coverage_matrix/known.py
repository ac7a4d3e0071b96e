"""Causes of entries that fail, where they are known."""

from __future__ import annotations

from coverage_matrix.entries import Key

CAUSES = {
    ("sample-perturb-scale", "contrast"): (
        "differences of counts over an attribute of the groups and one outside them rest on a few sampled rows each: the error "
        "that is stated is right on average, but a sample that happens to hold few of them states too small a one; between "
        "82 and 92 % are held where each count has 10 to 99 rows in the table"
    ),
    (
        "sample-perturb-scale-group",
        "sum",
    ): "sums under a cap by group are stated too wide; the cause is not known",
}
"""By the beginning of a setting's name and the kind of answer."""


def cause_of(setting: str, key: Key) -> str:
    """Why an entry fails, as far as it is known.

    Examples
    --------
    >>> cause_of("sample-perturb-scale-group", Key("sum", "table", "100+"))[:24]
    'sums under a cap by grou'
    >>> cause_of("anatomy", Key("sum", "table", "100+"))
    'not known'
    """
    fitting = [
        cause for (name, kind), cause in CAUSES.items() if setting.startswith(name) and kind == key.kind
    ]
    return fitting[-1] if fitting else "not known"
