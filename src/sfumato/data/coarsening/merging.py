"""One step of coarsening: some categories become one value, and the attribute has fewer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.errors import ParameterError, nearest
from sfumato.values.arrays import Integers
from sfumato.values.schema import MISSING_LABEL, Attribute


def coarser_attribute(
    original: Attribute, labels: Sequence[str], covers: Sequence[Sequence[int]], *, learned: bool = False
) -> tuple[Attribute, Integers]:
    """An attribute of coarser values, and the code that each of them has in it.

    Values come in the order of their first category; one for missing values alone stays missing.

    Parameters
    ----------
    original
        Whose categories the values stand for.
    labels, covers
        Text of every value, and the codes behind it; values may overlap.
    learned
        The values were found in the private rows.
    """
    order = sorted(
        range(len(labels)), key=lambda place: (labels[place] == MISSING_LABEL, tuple(covers[place]))
    )
    attribute = Attribute(
        name=original.name,
        role=original.role,
        categories=tuple(labels[place] for place in order if labels[place] != MISSING_LABEL),
        missing="category" if MISSING_LABEL in labels else "error",
        learned=learned or original.learned,
        description=original.description,
        measured_in=original.measured_in,
    )
    return attribute, np.argsort(order)


def classes_of_groups(attribute: Attribute, groups: Sequence[Sequence[str]], *, parameter: str) -> Integers:
    """The class of every code, ``(size,)``, numbered by first code; labels in no group are their own.

    Raises
    ------
    ParameterError
        When a label is unknown, or in two groups.
    """
    leader = np.arange(attribute.size)
    code_of = {label: code for code, label in enumerate(attribute.labels)}
    seen: set[str] = set()
    for labels in groups:
        for label in labels:
            if label not in code_of:
                raise ParameterError(
                    f"{parameter} of {attribute.name!r} names {label!r}; {nearest(label, attribute.labels)}",
                    parameter=parameter,
                )
            if label in seen:
                raise ParameterError(
                    f"{parameter} of {attribute.name!r} names {label!r} twice. Put each label in one class.",
                    parameter=parameter,
                )
            seen.add(label)
        codes = [code_of[label] for label in labels]
        leader[codes] = min(codes, default=0)
    return np.unique(leader, return_inverse=True)[1]


def merge_classes(
    attribute: Attribute, class_of: Integers, *, between: str, learned: bool = False
) -> Attribute:
    """The attribute whose codes are classes; each is named by its labels with ``between`` between them.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> stars = Attribute(name="stars", role=Role.OTHER, categories=("1", "2", "3"))
    >>> class_of = classes_of_groups(stars, [["1", "3"]], parameter="recoding")
    >>> class_of.tolist(), merge_classes(stars, class_of, between=" or ").labels
    ([0, 1, 0], ('1 or 3', '2'))
    """
    order = np.argsort(class_of, kind="stable")
    covers = [each.tolist() for each in np.split(order, np.cumsum(np.bincount(class_of))[:-1])]
    labels = [between.join(attribute.labels[code] for code in codes) for codes in covers]
    return coarser_attribute(attribute, labels, covers, learned=learned)[0]
