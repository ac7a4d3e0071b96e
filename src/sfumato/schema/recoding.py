"""Recoded categories: several published as one, and the label that stands for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.arrays import Integers
from sfumato.errors import ParameterError, nearest
from sfumato.schema.attribute import MISSING_LABEL, Attribute
from sfumato.schema.schema import Schema

# --------------------------------------------------------------------------------------------------
# One step of coarsening: some categories become one value, and the attribute has fewer.


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
    >>> from sfumato.schema import Role
    >>> stars = Attribute(name="stars", role=Role.OTHER, categories=("1", "2", "3"))
    >>> class_of = classes_of_groups(stars, [["1", "3"]], parameter="recoding")
    >>> class_of.tolist(), merge_classes(stars, class_of, between=" or ").labels
    ([0, 1, 0], ('1 or 3', '2'))
    """
    order = np.argsort(class_of, kind="stable")
    covers = [each.tolist() for each in np.split(order, np.cumsum(np.bincount(class_of))[:-1])]
    labels = [between.join(attribute.labels[code] for code in codes) for codes in covers]
    return coarser_attribute(attribute, labels, covers, learned=learned)[0]


# --------------------------------------------------------------------------------------------------
# Labels that a release published merged with others, and the label that stands for them.


BETWEEN_LABELS = " | "
"""What stands between the labels of a value that was merged because its parts are told by nothing."""

BETWEEN_GROUPED = " or "
"""What stands between the labels of a value that a custodian grouped."""


@dataclass(frozen=True)
class MergedLabels:
    """For each attribute with merged values the published label of each original one.

    Parameters
    ----------
    published
        Attribute to original label to published label.

    Examples
    --------
    >>> schema = Schema.from_toml('''
    ... [attributes.degree]
    ... role = "other"
    ... categories = ["Doctorate | Professional", "None"]
    ... ''')
    >>> merged = MergedLabels.of(schema, {"degree": [["Doctorate", "Professional"]]})
    >>> merged.label("degree", "Doctorate"), merged.label("degree", "None")
    ('Doctorate | Professional', None)
    """

    published: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, schema: Schema, classes: object) -> MergedLabels:
        """What classes of labels became in a published schema, as a manifest states them.

        Attributes of one value only are not published. What has another form than attribute to lists of labels is left
        out: a manifest may be anybody's.
        """
        found: dict[str, dict[str, str]] = {}
        for name, of_attribute in classes.items() if isinstance(classes, Mapping) else ():
            if name not in schema or not isinstance(of_attribute, list | tuple):
                continue
            labels = {frozenset(each.split(BETWEEN_LABELS)): each for each in schema[name].labels}
            for members in of_attribute:
                if not isinstance(members, list | tuple) or not all(
                    isinstance(each, str) for each in members
                ):
                    continue
                # A label may itself hold what stands between labels.
                label = labels.get(frozenset(part for each in members for part in each.split(BETWEEN_LABELS)))
                if label is not None and len(members) > 1:
                    found.setdefault(name, {}).update(dict.fromkeys(members, label))
        return cls(found)

    def label(self, attribute: str, original: str) -> str | None:
        """The published label that an original one is part of, None where it is none of those merged."""
        return self.published.get(attribute, {}).get(original)

    def without_whole(self, read: Sequence[ReadAsMerged]) -> list[ReadAsMerged]:
        """Of the labels in one list those whose merged value is not there with all its labels.

        A list that names all of them asks for what was published, and nothing is to be said.
        """
        named = {(each.attribute, each.original) for each in read}
        return [
            each
            for each in read
            if not all(
                (each.attribute, original) in named
                for original, label in self.published[each.attribute].items()
                if label == each.published
            )
        ]


def labels_within(merged: str, labels: Collection[str]) -> tuple[str, ...]:
    """The labels that a published one names; the label itself where it is one of them, none where it names any other.

    Labels may themselves hold what stands between them.

    Parameters
    ----------
    merged
        The published label.
    labels
        All original ones; a set or a mapping, where there are many of them.

    Examples
    --------
    >>> labels = {"never", "once or twice", "often"}
    >>> labels_within("once or twice", labels)
    ('once or twice',)
    >>> labels_within("never or once or twice", labels)
    ('never', 'once or twice')
    >>> labels_within("never or always", labels)
    ()
    """
    if merged in labels:
        return (merged,)
    return _joined(merged, labels, BETWEEN_LABELS) or _joined(merged, labels, BETWEEN_GROUPED)


def _joined(merged: str, labels: Collection[str], between: str) -> tuple[str, ...]:
    pieces = merged.split(between)
    if len(pieces) == 1:
        return ()
    longest = 1 + max((each.count(between) for each in labels), default=0)
    # By the number of pieces read, where the last label among them begins; every beginning that can be read is gone on from.
    begins = {0: 0}
    for start in range(len(pieces)):
        for end in range(start + 1, min(start + longest, len(pieces)) + 1):
            if start in begins and between.join(pieces[start:end]) in labels:
                begins.setdefault(end, start)
    found: list[str] = []
    end = len(pieces) if len(pieces) in begins else 0
    while end:
        found.insert(0, between.join(pieces[begins[end] : end]))
        end = begins[end]
    return tuple(found)


def attributes_left_out(schema: Schema, classes: object) -> tuple[str, ...]:
    """Attributes that classes of labels name and a published schema lacks: all of their values were merged into one.

    Parameters
    ----------
    schema
        As published.
    classes
        Attribute to lists of labels, as a manifest states them, or to no list where all are merged; anything else
        names none.

    Examples
    --------
    >>> schema = Schema.from_dict({"attributes": {"sex": {"role": "other", "categories": ["f", "m"]}}})
    >>> attributes_left_out(schema, {"town": [["Pori", "Turku"]]})
    ('town',)
    """
    stated = classes.items() if isinstance(classes, Mapping) else ()
    return tuple(
        name
        for name, of_attribute in stated
        if isinstance(name, str)
        and name not in schema
        and isinstance(of_attribute, list | tuple)
        and (
            not of_attribute or any(isinstance(each, list | tuple) and len(each) > 1 for each in of_attribute)
        )
    )


NOTHING_MERGED = MergedLabels()
"""Every label is as it was."""


@dataclass(frozen=True)
class ReadAsMerged:
    """A label of a question that was read as the merged value it is part of.

    Examples
    --------
    >>> read = ReadAsMerged("degree", "Doctorate", "Doctorate | Professional")
    >>> print(read.note)
    'Doctorate' of degree was published merged with others: it is read as 'Doctorate | Professional', all of them together; one of them alone has at most as many rows as they have together
    """

    attribute: str
    original: str
    published: str

    @property
    def note(self) -> str:
        """What an answer says when it is about more than was asked; true of what is not the value too."""
        return (
            f"{self.original!r} of {self.attribute} was published merged with others: it is read as "
            f"{self.published!r}, all of them together; one of them alone has at most as many rows as they have together"
        )
