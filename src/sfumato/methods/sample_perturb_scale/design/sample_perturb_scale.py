"""Sample, perturb, scale: a limited number of every group's rows, redrawn by chance and scaled up again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from sfumato.chance.distortion import UniformDistortion
from sfumato.chance.randomness import NoiseSource
from sfumato.data.personal_groups import CellParts, PersonalGroups
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.guarantees import Guarantee
from sfumato.guarantees.reconstruction_privacy.guarantee import (
    Bound,
    Cap,
    ReconstructionPrivacy,
    repeated,
    require_achievable,
)
from sfumato.methods.base import Design, Repetition
from sfumato.methods.goals import PromiseGoal
from sfumato.methods.sample_perturb_scale.design.merged_attributes import (
    MergedSchema,
    MergedValues,
    learn_merged_values,
    merge_schema,
)
from sfumato.methods.sample_perturb_scale.design.told import (
    ASSUMPTIONS,
    ROUNDING_ASSUMPTION,
    about_people_alone,
    warn_of_two_categories,
)
from sfumato.methods.sample_perturb_scale.kernels.group_sampling import (
    fixed_size_quotas,
    independent_quotas,
    strict_group_sizes,
)
from sfumato.methods.sample_perturb_scale.kernels.sampled_portions import (
    Copies,
    SampleRows,
    share_out,
)
from sfumato.methods.sample_perturb_scale.kernels.value_merging import SIGNIFICANCE, DegreesOfFreedom
from sfumato.methods.sample_perturb_scale.law.sampled_rows import LEFT_OUT, MERGED, SampledRows
from sfumato.methods.sample_perturb_scale.plan.expectations import (
    cap_table,
    expected_tables,
    merged_table,
    private_tables,
)
from sfumato.release.publication import MadeRows, Publication, PublishedTable
from sfumato.values.arrays import Integers
from sfumato.values.bounds import LARGEST_ERROR, SMALLEST_ERROR
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Attribute, Role, Schema

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
        description="classes of labels to merge, by attribute; found in the private rows by merge when not given",
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
            settled={"merged_values": merged_values} if merged_values else {},
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
