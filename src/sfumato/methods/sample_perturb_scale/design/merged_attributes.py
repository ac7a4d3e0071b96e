"""Public attributes after merging values: the coarser attribute, and the new code of each old one."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from sfumato.data.coarsening.merging import classes_of_groups, merge_classes
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError, nearest
from sfumato.methods.sample_perturb_scale.kernels.sampled_portions import recode
from sfumato.methods.sample_perturb_scale.kernels.value_merging import DegreesOfFreedom, Linkage, merge_values
from sfumato.values.merged_labels import BETWEEN_LABELS
from sfumato.values.schema import Attribute, Schema

MergedValues = dict[str, tuple[tuple[str, ...], ...]]
"""Attribute to its merged classes of labels; labels in no class stay as they are."""


@dataclass(frozen=True, eq=False)
class MergedSchema:
    """A schema whose public attributes are coarser, and how to get there.

    Parameters
    ----------
    schema
        What is published; attributes of which all values were merged are gone.
    recoding
        Attribute to the new code of each old one, ``(old size,)``; unchanged attributes are left out.
    """

    schema: Schema
    recoding: dict[str, npt.NDArray[Any]]

    def recode(self, codes: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
        """The published columns of some rows."""
        return recode(codes, self.schema.names, self.recoding)


def merge_schema(schema: Schema, merged_values: MergedValues, *, learned: bool) -> MergedSchema:
    """A schema after merging.

    Parameters
    ----------
    schema
        The publishable schema.
    merged_values
        What to merge.
    learned
        The classes were found in the private rows.

    Raises
    ------
    ParameterError
        When an attribute or label is unknown, or a label is in two classes.
    """
    attributes: list[Attribute] = []
    recoding = {}
    for attribute in schema.attributes:
        classes = merged_values.get(attribute.name, ())
        if not classes:
            attributes.append(attribute)
            continue
        class_of = classes_of_groups(attribute, classes, parameter="merged_values")
        if class_of.any():
            coarser = merge_classes(attribute, class_of, between=BETWEEN_LABELS, learned=learned)
            attributes.append(coarser)
            recoding[attribute.name] = class_of.astype(coarser.code_type)
    unknown = [name for name in merged_values if name not in schema.names]
    if unknown:
        raise ParameterError(
            f"merged_values names {unknown[0]!r}, which is no published attribute; {nearest(unknown[0], schema.names)}",
            parameter="merged_values",
        )
    return MergedSchema(Schema(attributes=tuple(attributes)), recoding)


def learn_merged_values(
    table: PrivateTable,
    names: Iterable[str],
    sensitive: str,
    *,
    linkage: Linkage,
    degrees_of_freedom: DegreesOfFreedom,
) -> MergedValues:
    """Classes of each attribute's labels that go together with the sensitive attribute in the same way.

    Warns where a chain joined labels that the test tells apart. What is found is published with the
    release, and the manifest says that it was read off the private rows.
    """
    found: MergedValues = {}
    for name in names:
        labels = table.schema[name].labels
        merging = merge_values(
            table.count_by([name, sensitive]).counts, linkage=linkage, degrees_of_freedom=degrees_of_freedom
        )
        found[name] = tuple(
            tuple(labels[code] for code in codes) for codes in merging.classes if len(codes) > 1
        )
        if merging.chained:
            warnings.warn(
                f"merging {name!r} by components joined values that the chi-square test tells apart, in "
                f"{len(merging.chained)} of {len(merging.classes)} merged values. Look at them in the plan, or use "
                "merge='complete-linkage', which joins only values that are all alike.",
                stacklevel=3,
            )
    return {name: classes for name, classes in found.items() if classes}
