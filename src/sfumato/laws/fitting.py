"""Whether a law is about the attributes that its release publishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.errors import ReleaseDamagedError
from sfumato.values.schema import Schema


def refuse_unfit_matrices(sizes: Mapping[str, int], published: Schema, others: Sequence[str] = ()) -> None:
    """Refuse a release whose law is not about its attributes: wrong numbers would look right.

    Parameters
    ----------
    sizes
        By perturbed attribute, the categories that its matrix is made for.
    published
        What the release publishes.
    others
        Further attributes that the law names.

    Raises
    ------
    ReleaseDamagedError
        Naming the first that does not fit.
    """
    found = {each.name: each.size for each in published.attributes}
    unfit = [name for name, size in sizes.items() if found.get(name) != size]
    if unfit:
        raise ReleaseDamagedError(
            f"the release's law has a distortion matrix of {unfit[0]!r} that fits no attribute it publishes. "
            "Get the release again from where it came."
        )
    absent = [name for name in others if name not in found]
    if absent:
        raise ReleaseDamagedError(
            f"the release's law names {absent[0]!r}, which the release does not publish. "
            "Get the release again from where it came."
        )
