"""Sample-perturb-scale: a limited number of every group's rows, randomized and scaled up; expected accuracy."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, field_validator, model_validator

from sfumato.arrays import Integers
from sfumato.data.equivalence_classes import CellParts, PersonalGroups
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError, nearest
from sfumato.guarantees import Guarantee
from sfumato.guarantees.reconstruction_privacy import (
    Bound,
    Cap,
    ReconstructionPrivacy,
    repeated,
    require_achievable,
)
from sfumato.immutable import LARGEST_ERROR, SMALLEST_ERROR
from sfumato.methods.base import Design, Repetition
from sfumato.methods.planning import PromiseGoal
from sfumato.methods.sample_perturb_scale.kernels import (
    SIGNIFICANCE,
    Copies,
    DegreesOfFreedom,
    Linkage,
    SampleRows,
    fixed_size_quotas,
    independent_quotas,
    merge_values,
    recode,
    share_out,
    strict_group_sizes,
)
from sfumato.methods.sample_perturb_scale.law import LEFT_OUT, MERGED, SampledRows
from sfumato.randomness.distortion import UniformDistortion
from sfumato.randomness.streams import NoiseSource
from sfumato.release.publication import MadeRows, Publication, PublishedTable
from sfumato.results import ResultTable
from sfumato.schema import Attribute, Role, Schema
from sfumato.schema.recoding import BETWEEN_LABELS, classes_of_groups, merge_classes
from sfumato.text import percent

# --------------------------------------------------------------------------------------------------
# Public attributes after merging values: the coarser attribute, and the new code of each old one.


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
        if attribute.name not in merged_values:
            attributes.append(attribute)
            continue
        classes = merged_values[attribute.name]
        if not classes:
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


# --------------------------------------------------------------------------------------------------
# What is said of a release by sampling, perturbing and scaling besides its promise.


ASSUMPTIONS = (
    "The sensitive values of different people are not tied to each other.",
    "The attacker has no outside knowledge of how the quasi-identifiers go together with the sensitive attribute.",
)
ROUNDING_ASSUMPTION = (
    "Rounding may make a sample slightly larger than its cap, and scaling by its random size shifts estimates by less "
    "than a sampled row: promise and unbiasedness hold apart from that (strict = false)."
)


def warn_of_two_categories(promise: ReconstructionPrivacy) -> None:
    """Warn where the paper's assumption of three or more categories fails."""
    if promise.size == 2:
        warnings.warn(
            f"{promise.sensitive!r} has two categories; the paper assumes more, because an attacker who can rule out "
            "one of two values knows the other. The caps are as computed, the promise says less.",
            stacklevel=3,
        )


def about_people_alone(promise: ReconstructionPrivacy) -> str:
    """What a promise about reconstructed groups leaves of a person who is a group by himself."""
    # Kept, or redrawn as it was.
    shown = promise.retention + (1 - promise.retention) / promise.size
    return (
        f"people alone in their group: nobody is sampled away from it, and the published {promise.sensitive} is the true one "
        f"with probability {shown:.3g}"
    )


# --------------------------------------------------------------------------------------------------
# What to expect of sampling, perturbing and scaling, before anything is published.


FREQUENCIES = (1.0, 0.9, 0.7, 0.5, 0.3, 0.1)
"""Largest frequencies of a group for which a plan states the cap and its true tails."""

GROUP_SIZES = (10, 100, 1_000, 10_000)
"""Sizes of equal groups for which a plan states what is kept and the errors."""

SHARES = (0.01, 0.1, 0.5)
"""Shares of all rows for which a plan states the error of a count over many groups."""


def cap_table(promise: ReconstructionPrivacy) -> ResultTable:
    """Largest sample by the group's largest frequency, with what the bound is really worth there."""
    rows = []
    for frequency in FREQUENCIES:
        # A group cannot have a largest frequency below an even split.
        if frequency * promise.size < 1:
            continue
        kept = promise.uniform_cap if promise.cap == "uniform" else cap_at_frequency(promise, frequency)
        tails = promise.true_tails(kept, frequency)
        rows.append((frequency, kept, tails.lower, tails.upper, tails.within))
    error = percent(promise.relative_error)
    return ResultTable(
        f"Rows of a group that are used at most ({promise.cap} cap, {promise.bound} bound), and true probabilities "
        "of its reconstruction",
        ("largest frequency", "rows", f"over {error} too low", f"over {error} too high", f"within {error}"),
        tuple(rows),
    )


def cap_at_frequency(promise: ReconstructionPrivacy, frequency: float) -> int:
    """Largest sample of a group whose most frequent value has this frequency, under a cap by group."""
    if promise.bound != "exact":
        return int(promise.caps_at(frequency))
    # The exact test looks at every value; the others are taken to share the rest evenly.
    others = round(10_000 * (1 - frequency) / (promise.size - 1))
    counts = [round(10_000 * frequency), *([others] * (promise.size - 1) if others else [])]
    return int(promise.group_caps(np.array(counts), np.array([0]))[0])


def expected_tables(law: SampledRows, rows: int) -> tuple[ResultTable, ...]:
    """Share of rows kept, and the error of an aggregate count, if all groups were of one size."""
    table = []
    for size in GROUP_SIZES:
        if size > rows:
            continue
        factor = float(law.scale_factors(size))
        errors = [_aggregate_error(law, size, rows // size, share) for share in SHARES]
        table.append((size, 1 / factor, *errors))
    return (
        ResultTable(
            f"Expected share of rows kept, and standard error of a count over all groups by its share of {rows:,} rows, "
            "if groups were equal in size",
            ("rows of a group", "share kept", *(f"{share:.4g}" for share in SHARES)),
            tuple(table),
        ),
    )


def _aggregate_error(law: SampledRows, size: int, groups: int, share: float) -> float:
    """Standard error of the count of one value, over groups of one size and composition."""
    categories = law.distortion.size
    counts = np.full((1, categories), size * (1 - share) / (categories - 1))
    counts[0, 0] = size * share
    return math.sqrt(groups * float(law.expected_variances(counts)[0, 0]))


def merged_table(merged_values: MergedValues) -> ResultTable:
    """What merging would join."""
    rows = tuple((name, ", ".join(labels)) for name, classes in merged_values.items() for labels in classes)
    return ResultTable("Public values to be merged", ("attribute", "values"), rows, is_private=True)


def private_tables(
    promise: ReconstructionPrivacy,
    law: SampledRows,
    schema: Schema,
    groups: PersonalGroups,
    quotas: Integers,
) -> tuple[ResultTable, ...]:
    """What becomes of a table's own groups: violations without sampling, rows kept, errors of its counts."""
    possible = math.prod(schema[name].size for name in promise.groups)
    kept = np.add.reduceat(quotas, groups.starts)
    summary = ResultTable(
        "Rows that would be kept",
        ("rows", "rows kept", "share kept", "groups cut", "rows in groups cut"),
        (
            (
                int(groups.sizes.sum()),
                int(kept.sum()),
                float(kept.sum() / groups.sizes.sum()),
                int(np.count_nonzero(kept < groups.sizes)),
                int(groups.sizes[kept < groups.sizes].sum()),
            ),
        ),
        is_private=True,
    )
    return violation_table(promise, groups, possible), summary, _value_errors(law, schema, groups)


def violation_table(promise: ReconstructionPrivacy, groups: PersonalGroups, possible: int) -> ResultTable:
    """Groups that would break the promise if every row were perturbed and published (v_g, v_r)."""
    violated = promise.are_violated(groups.counts, groups.starts)
    number, rows = int(np.count_nonzero(violated)), int(groups.sizes[violated].sum())
    return ResultTable(
        "Violations of reconstruction privacy by plain perturbation",
        ("", "all", "violating", "share"),
        (
            ("occupied groups", int(groups.starts.size), number, number / groups.starts.size),
            ("possible groups", possible, number, number / possible),
            ("rows", int(groups.sizes.sum()), rows, rows / int(groups.sizes.sum())),
        ),
        is_private=True,
    )


def _value_errors(law: SampledRows, schema: Schema, groups: PersonalGroups) -> ResultTable:
    """Standard error to expect for the count of every sensitive value in the whole table."""
    sensitive = schema[law.sensitive]
    counts = np.zeros((groups.starts.size, sensitive.size))
    counts[groups.group_of_cell, groups.values] = groups.counts
    totals = np.sqrt(law.expected_variances(counts).sum(axis=0))
    return ResultTable(
        f"Expected standard error of each count of {law.sensitive}, from the private table",
        ("category", "true count", "expected std. error"),
        tuple(
            (label, int(count), float(error))
            for label, count, error in zip(sensitive.labels, counts.sum(axis=0), totals, strict=True)
        ),
        is_private=True,
    )


# --------------------------------------------------------------------------------------------------
# Sample, perturb, scale: a limited number of every group's rows, redrawn by chance and scaled up again.


WEIGHT = "weight"
"""Name of the published column that says how many rows a row stands for."""


class SamplePerturbScale(Design):
    """Cut every large group to a sample, perturb the sample, and scale it back to the group's size.

    Promise
        Reconstruction privacy: how often each sensitive value occurs among the people who are alike on all
        quasi-identifiers can be reconstructed from a limited number of perturbed rows only.
    Against whom
        Someone who knows a person's quasi-identifiers, and nothing else of how they go together with the
        sensitive attribute.
    Weaknesses
        The paper's bound promises much less than it seems to; see the true probabilities that plans and
        manifests state. Unions of groups are reconstructed well on purpose. With ``cap="group"`` the scale
        factor of a large group tells its largest frequency.

    References
    ----------
    Han (2016), chapter 4.

    Examples
    --------
    >>> SamplePerturbScale(retention=0.5).cap
    'uniform'
    """

    method: Literal["sample-perturb-scale"] = "sample-perturb-scale"
    retention: Annotated[float, Field(strict=True, ge=SMALLEST_ERROR, lt=1)] = Field(
        description="probability of keeping a sensitive value; otherwise one is drawn uniformly"
    )
    relative_error: Annotated[float, Field(strict=True, ge=SMALLEST_ERROR, le=LARGEST_ERROR)] = Field(
        default=0.3, description="error of a reconstructed frequency, relative to the true one (lambda)"
    )
    error_probability: Annotated[float, Field(strict=True, ge=0, le=1)] = Field(
        default=0.3, description="least bound on the probability of a larger error (delta), between 0 and 1"
    )
    cap: Cap = Field(
        default="uniform",
        description="'uniform': one public largest sample for all groups; 'group': by each group's own frequencies, as in "
        "the paper, which leaks them",
    )
    bound: Bound = Field(
        default="chernoff",
        description="'chernoff': the paper's bound on the error probability; 'exact': the probability itself, far stricter; 'normal': "
        "its normal approximation",
    )
    strict: bool = Field(
        default=True,
        description="samples never exceed the cap and groups keep their exact sizes; false rounds as the paper does",
    )
    publish_as: Literal["duplicates", "weights"] = Field(
        default="duplicates",
        description="scale by repeating rows, or by a public column that says how many rows each stands for",
    )
    merge: Literal["none", "components", "complete-linkage"] = Field(
        default="none",
        description="merge public values that go together with the sensitive attribute in the same way (chi-square)",
    )
    degrees_of_freedom: DegreesOfFreedom = Field(
        default="m-1", description="of the chi-square test, for m sensitive categories; the paper prints 'm'"
    )
    merged_values: MergedValues | None = Field(
        default=None,
        description="classes of labels to merge, by attribute, an empty list for all of them; found in the private rows by merge when not given",
    )

    title: ClassVar[str] = "sample, perturb, scale"
    summary: ClassVar[str] = (
        "Rows are grouped by their quasi-identifiers. Of every group larger than a cap only a sample is used; the "
        "sensitive value of every sampled row is kept with a public probability and otherwise redrawn; the sample is "
        "then scaled up to the size of the group. Counts over many groups stay estimable without bias, those of a "
        "single group become inaccurate."
    )
    promise_goals: ClassVar[Mapping[str, PromiseGoal]] = {
        "relative_error": PromiseGoal(
            "of a frequency that is reconstructed in a group", "relative_error", "exactly"
        ),
        "error_probability": PromiseGoal(
            "least bound on the probability of a larger error", "error_probability", "exactly", most=1
        ),
    }
    weaknesses: ClassVar[tuple[str, ...]] = (
        (
            "The quasi-identifiers are published as they are: a person who is unique on them can be found, and the "
            "size of every group is public."
        ),
        (
            "Chernoff's bound is far above the true error probability: at the cap for 0.3 and 0.3 a reconstruction is "
            "within 30 % of the truth with a probability of 88 % to nearly 100 %; the promise states it for this design."
        ),
        (
            "With cap 'group' the number of copies in a large group reveals its sample's size, and with it the "
            "largest frequency of the group; cap 'uniform' does not have this leak."
        ),
        "Groups with the same distribution of the sensitive attribute can be pooled by an attacker, as by anyone.",
        "Publishing the same rows again with fresh noise lets an attacker average the releases.",
    )
    published_twice: ClassVar[str] = (
        "Samples and draws are fresh in every release: averaged, m releases reconstruct a group as well as one with m times the sample, and the promise for one no longer holds."
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Han, C. (2016). Sensitive disclosures under differential privacy guarantees. Simon Fraser University.",
    )

    @field_validator("error_probability")
    @classmethod
    def _check_error_probability(cls, value: float) -> float:
        if not 0 < value < 1:
            raise ValueError(
                f"error_probability must lie strictly between 0 and 1, got {value:.6g}: at 0 every group passes and "
                "nothing is sampled, at 1 no row may be published. Try 0.3."
            )
        return value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.cap == "group" and self.publish_as == "weights":
            raise ValueError(
                "publish_as 'weights' states how far every group was cut, and with cap 'group' that tells the group's "
                "largest frequency. Use cap 'uniform', or publish duplicates."
            )
        return self

    @classmethod
    def example(cls, schema: Schema) -> Self:
        """Half of all values kept, the paper's numbers, one cap for all groups."""
        del schema
        return cls(retention=0.5)

    def guarantees(self, schema: Schema) -> tuple[Guarantee, ...]:
        """Reconstruction privacy within the groups of the schema's quasi-identifiers."""
        merged = merge_schema(schema.publishable, self.merged_values or {}, learned=False)
        return (self.promise(schema, published=merged.schema),)

    def promise(self, schema: Schema, *, published: Schema | None = None) -> ReconstructionPrivacy:
        """The promise for a schema; refuses one that the method does not fit.

        Parameters
        ----------
        schema
            Of the private table.
        published
            What is left of it after merging, where values were merged.
        """
        groups, sensitive = personal_roles(schema)
        if self.publish_as == "weights" and WEIGHT in schema.publishable:
            raise ParameterError(
                f"publish_as 'weights' adds a column {WEIGHT!r}, and the schema has an attribute of that name. "
                "Rename the attribute, or publish duplicates.",
                parameter="publish_as",
            )
        numbers: dict[str, Any] = {
            "retention": self.retention,
            "size": sensitive.size,
            "relative_error": self.relative_error,
            "error_probability": self.error_probability,
        }
        # Said here as an error of the parameters; the guarantee would say it as one of the manifest.
        require_achievable(**numbers, bound=self.bound)
        kept = schema if published is None else published
        return ReconstructionPrivacy(
            sensitive=sensitive.name,
            groups=tuple(each.name for each in groups if each.name in kept),
            **numbers,
            bound=self.bound,
            cap=self.cap,
        )

    def unperturbed(self, schema: Schema) -> tuple[str, ...]:
        """All but the sensitive attribute, unless values are merged."""
        if self.merge != "none" or self.merged_values is not None:
            return ()
        sensitive = personal_roles(schema)[1].name
        return tuple(name for name in schema.publishable.names if name != sensitive)

    def law(self, promise: ReconstructionPrivacy) -> SampledRows:
        """How published counts relate to true ones."""
        return SampledRows(
            sensitive=promise.sensitive,
            distortion=UniformDistortion(retention=self.retention, size=promise.size),
            groups=promise.groups,
            rows_per_group=float(promise.uniform_cap if self.strict else promise.uniform_limit),
            is_smallest=self.cap == "group",
            caps_fall_with_frequency=self.cap == "group" and self.bound == "chernoff",
            has_exact_sizes=self.strict,
            weight=WEIGHT if self.publish_as == "weights" else None,
        )

    def merge_values(self, table: PrivateTable) -> tuple[MergedSchema, MergedValues]:
        """The schema to publish, and what was merged in it."""
        groups, sensitive = personal_roles(table.schema)
        merged = self.merged_values or {}
        is_learned = False
        if self.merge != "none" and self.merged_values is None:
            is_learned = True
            merged = learn_merged_values(
                table,
                [each.name for each in groups],
                sensitive.name,
                linkage=self.merge,
                degrees_of_freedom=self.degrees_of_freedom,
            )
        outside = [name for name in merged if name not in {each.name for each in groups}]
        if outside:
            raise ParameterError(
                f"merged_values names {outside[0]!r}, which is no quasi-identifier; only those are merged. "
                "Leave it out, or change its role.",
                parameter="merged_values",
            )
        return merge_schema(table.schema.publishable, merged, learned=is_learned), merged

    def quotas(self, groups: PersonalGroups, promise: ReconstructionPrivacy, noise: NoiseSource) -> Integers:
        """Rows to keep of every cell of every group, ``(cells,)``."""
        stream = noise.named("quotas").stream(0)
        if self.strict:
            sizes = (
                strict_group_sizes(groups, promise)
                if self.cap == "group"
                else np.minimum(groups.sizes, promise.uniform_cap)
            )
            return fixed_size_quotas(groups, sizes, stream)
        caps = (
            promise.group_caps(groups.counts, groups.starts)
            if self.cap == "group"
            else np.full(groups.starts.size, promise.uniform_limit)
        )
        return independent_quotas(groups, caps, stream)

    def publish(self, table: PrivateTable, noise: NoiseSource) -> Publication:
        """Sampled, perturbed and scaled rows; one pass counts the groups, another makes the rows."""
        merged, merged_values = self.merge_values(table)
        promise = self.promise(table.schema, published=merged.schema)
        warn_of_two_categories(promise)
        groups, parts = count_groups(table, merged, promise)
        quotas = self.quotas(groups, promise, noise)
        copies = Copies.of(groups, quotas, is_exact=self.strict)
        law = self.law(promise)
        step = SampleRows(
            groups,
            copies,
            merged.schema.names,
            merged.recoding,
            promise.sensitive,
            law.distortion.drawn,
            law.weight,
        )
        shares = share_out(groups, parts, quotas, copies, noise.named("shares"))
        rows = MadeRows(table.schema.publishable.names, step, shares)
        integers = (WEIGHT,) if self.publish_as == "weights" else ()
        return Publication(
            tables=(PublishedTable("rows", merged.schema, rows, integers=integers),),
            law=law,
            published_as_they_are=tuple(name for name in merged.schema.names if name != promise.sensitive),
            assumptions=ASSUMPTIONS if self.strict else (*ASSUMPTIONS, ROUNDING_ASSUMPTION),
            not_protected=(about_people_alone(promise),),
            chosen_from_private_data=self._chosen(merged_values, merged.schema),
            # Of a column that is not published no value is listed.
            settled={
                "merged_values": {
                    name: each if name in merged.schema else () for name, each in merged_values.items()
                }
            }
            if merged_values
            else {},
        )

    @property
    def choices(self) -> Mapping[str, str]:
        """That values are merged by looking at the private rows; which, only a table tells."""
        if self.merge == "none" or self.merged_values is not None:
            return super().choices
        reason = (
            f"values whose distributions of the sensitive attribute a chi-square test ({self.degrees_of_freedom} degrees "
            f"of freedom, level {SIGNIFICANCE}) does not tell apart, joined by {self.merge}"
        )
        return {**super().choices, MERGED: reason}

    def _chosen(self, merged_values: MergedValues, published: Schema) -> dict[str, str]:
        """What a manifest says of them, by attribute; one whose values are all alike is not in the release."""
        how = self.choices.get(MERGED)
        merged = () if how is None else merged_values
        return {f"{MERGED} of {name}" if name in published else LEFT_OUT: str(how) for name in merged}

    @classmethod
    def published_again(cls, releases: Sequence[Repetition]) -> str:
        """How often a reconstruction of a group that all share a value is right, from all samples together."""
        promises = [
            each for one in releases for each in one.promises if isinstance(each, ReconstructionPrivacy)
        ]
        return f"{cls.published_twice} {repeated(promises)}"

    def plan_tables(self, schema: Schema, rows: int, table: PrivateTable | None) -> tuple[ResultTable, ...]:
        """Caps with their true tails, rows kept and errors to expect; with a table, what becomes of its groups."""
        promise = self.promise(schema)
        tables = (cap_table(promise), *expected_tables(self.law(promise), rows))
        if table is None:
            return tables
        merged, merged_values = self.merge_values(table)
        promise = self.promise(schema, published=merged.schema)
        groups, _ = count_groups(table, merged, promise)
        quotas = self.quotas(groups, promise, NoiseSource.from_operating_system())
        shown = (merged_table(merged_values),) if merged_values else ()
        return (*tables, *shown, *private_tables(promise, self.law(promise), merged.schema, groups, quotas))


def personal_roles(schema: Schema) -> tuple[tuple[Attribute, ...], Attribute]:
    """The quasi-identifiers that make personal groups, and the one sensitive attribute.

    Raises
    ------
    ParameterError
        When there is no quasi-identifier, or not exactly one sensitive attribute.
    """
    sensitive = schema.sensitive(
        parameter="schema",
        advice="The caps of sample-perturb-scale bound the reconstruction of one attribute; a second one would be "
        "reconstructed from the same rows together with it. Combine them into one attribute, or give the others "
        "another role.",
    )
    groups = schema.with_role(Role.QUASI_IDENTIFIER)
    if not groups:
        raise ParameterError(
            "sample-perturb-scale needs a quasi-identifier: the groups whose reconstruction it limits are the rows "
            'equal on them. Give one attribute role = "quasi-identifier".',
            parameter="schema",
        )
    return groups, sensitive


def count_groups(
    table: PrivateTable, merged: MergedSchema, promise: ReconstructionPrivacy
) -> tuple[PersonalGroups, CellParts]:
    """The personal groups of a table after merging, and the rows of their cells in each portion."""
    counted = table.count_portions((*promise.groups, promise.sensitive))
    if not counted.number_of_portions:
        # The same refusal as everywhere else.
        _ = table.number_of_rows
    groups, cells = PersonalGroups.with_cells(
        counted.occupied,
        merged.schema.select(promise.groups),
        merged.schema[promise.sensitive],
        recoding=merged.recoding,
    )
    return groups, CellParts.of(cells, counted.portions, counted.occupied.counts)


# --------------------------------------------------------------------------------------------------
# Which personal groups plain perturbation would leave open to reconstruction.


@dataclass(frozen=True, eq=False)
class ViolationReport:
    """Groups too large for reconstruction privacy when every row is perturbed and published. Private.

    Parameters
    ----------
    occupied_groups, possible_groups
        Groups that have rows, and combinations of the quasi-identifiers' values, after merging.
    violating_groups
        Groups with more rows than their cap.
    rows, violating_rows
        All rows, and those in violating groups.
    table
        The same as a table.
    """

    occupied_groups: int
    possible_groups: int
    violating_groups: int
    rows: int
    violating_rows: int
    table: ResultTable

    def __repr__(self) -> str:
        return (
            f"ViolationReport({self.violating_groups:,} of {self.occupied_groups:,} groups, "
            f"{percent(self.share_of_rows, decimals=1)} of rows)"
        )

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The table as text."""
        return self.table.to_text()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return self.table.to_dict()

    @property
    def share_of_groups(self) -> float:
        """Violating groups among the occupied ones (v_g)."""
        return self.violating_groups / self.occupied_groups

    @property
    def share_of_possible_groups(self) -> float:
        """Violating groups among the possible ones, as the thesis counts them."""
        return self.violating_groups / self.possible_groups

    @property
    def share_of_rows(self) -> float:
        """Rows in violating groups (v_r)."""
        return self.violating_rows / self.rows


def find_violations(table: PrivateTable, design: SamplePerturbScale) -> ViolationReport:
    r"""Violations of a design's promise if its perturbation were applied to all rows, without sampling.

    Parameters
    ----------
    table
        The private rows.
    design
        Its retention, relative error, error probability, bound and merging are used; each group is tested
        by its own composition, whatever the cap.

    Returns
    -------
    ViolationReport
        Shares of groups and rows; for the custodian's eyes.

    References
    ----------
    Han (2016), section 4.4.2 (v_g and v_r).

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sfumato import Schema, read_table
    >>> schema = Schema.from_toml('''
    ... [attributes.sex]
    ... role = "quasi-identifier"
    ... categories = ["F", "M"]
    ... [attributes.job]
    ... role = "sensitive"
    ... categories = ["a", "b", "c"]
    ... ''')
    >>> rows = pa.table({"sex": ["F"] * 900 + ["M"] * 30, "job": ["a", "b", "c"] * 310})
    >>> find_violations(read_table(rows, schema), SamplePerturbScale(retention=0.5))
    ViolationReport(1 of 2 groups, 96.8 % of rows)
    """
    merged, _ = design.merge_values(table)
    promise = design.promise(table.schema, published=merged.schema)
    groups, _ = count_groups(table, merged, promise)
    violated = promise.are_violated(groups.counts, groups.starts)
    possible = math.prod(merged.schema[name].size for name in promise.groups)
    return ViolationReport(
        occupied_groups=int(groups.starts.size),
        possible_groups=possible,
        violating_groups=int(np.count_nonzero(violated)),
        rows=int(groups.sizes.sum()),
        violating_rows=int(groups.sizes[violated].sum()),
        table=violation_table(promise, groups, possible),
    )
