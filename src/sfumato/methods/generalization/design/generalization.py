"""Generalization: coarser values, so that every row has company (k-anonymity and its family)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, SerializeAsAny, field_validator, model_validator

from sfumato.chance.randomness import NoiseSource
from sfumato.data.coarsening.building import (
    FrequencyForm,
    HierarchyForm,
    OrderedForm,
    balanced_hierarchy,
    flat_hierarchy,
    read_hierarchy_form,
    stated_hierarchies,
)
from sfumato.data.coarsening.hierarchy import Hierarchy
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError, nearest
from sfumato.guarantees import Guarantee
from sfumato.guarantees.beta_likeness import BetaLikeness
from sfumato.guarantees.class_criterion import ClassCriterion
from sfumato.guarantees.delta_disclosure import DeltaDisclosure
from sfumato.guarantees.k_anonymity import KAnonymity
from sfumato.guarantees.l_diversity import LDiversity, Variant
from sfumato.guarantees.semantic_k_anonymity import SemanticKAnonymity
from sfumato.guarantees.t_closeness import Ground, TCloseness
from sfumato.methods.base import Design, Repetition
from sfumato.methods.generalization.design.criteria import (
    class_criterion,
    read_criterion,
    refuse_unreachable,
    require_fit,
)
from sfumato.methods.generalization.design.intersecting import intersected_classes
from sfumato.methods.generalization.design.recoding import (
    Recoded,
    count_rows,
    found_in_rows,
    recode_by_boxes,
    recode_by_levels,
    require_few_dropped,
    search_levels,
)
from sfumato.methods.generalization.design.settings import PROMISE_GOALS, contradiction
from sfumato.methods.generalization.design.widths import require_countable, require_searchable
from sfumato.methods.generalization.kernels.applying import ApplyRecoding
from sfumato.methods.generalization.kernels.domains import Domain, Nested, Ordered
from sfumato.methods.generalization.kernels.rows import Criterion, DistinctRows
from sfumato.methods.generalization.law import GeneralizedRows
from sfumato.release.publication import MadeRows, Publication, PublishedTable
from sfumato.values.bounds import LARGEST_ERROR, MOST_ROWS, SMALLEST_ERROR
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Attribute, Role, Schema

FANOUT_OF_NUMBERS = 2
"""Of the hierarchy that numeric attributes get where a tree is needed and none is stated."""


class Generalization(Design):
    """Publish every row with its quasi-identifiers made coarser, until each equals at least k - 1 others.

    Promise
        k-anonymity on the quasi-identifiers, and l-diversity, t-closeness, beta-likeness or
        delta-disclosure of the sensitive attributes, or any other promise about classes of rows, when asked for. With ``search="fixed"``, a recoding
        that does not look at the data and keeps only rows that at least k people share in all attributes:
        semantic k-anonymity, unless ``suppression`` or learned categories make it look at them after all.
    Against whom
        Someone who links the release with outside records on the quasi-identifiers.
    Weaknesses
        The promise is about the published table, not about how it was chosen; a recoding that was
        searched for can be run backwards. What all rows of a class have in common is known of each.

    References
    ----------
    Sweeney (2002); LeFevre, DeWitt and Ramakrishnan (2005, 2006); Li and Li, theorem 2 for the fixed recoding.

    Examples
    --------
    >>> Generalization(k=5).to_dict()["search"]
    'mondrian'
    """

    method: Literal["generalization"] = "generalization"
    k: Annotated[int, Field(strict=True, ge=1, le=MOST_ROWS)] = Field(description="fewest rows of a class")
    search: Literal["mondrian", "full-domain", "fixed"] = Field(
        default="mondrian",
        description="mondrian: local recoding; full-domain: the best level of every attribute; fixed: given levels",
    )
    suppression: Annotated[float, Field(strict=True, ge=0, lt=1)] | None = Field(
        default=None,
        description="largest share of rows that may be dropped; none for full-domain, any for fixed when not given",
    )
    boxes: Literal["cut", "tight"] = Field(
        default="cut",
        description="for search=mondrian: values as the cuts leave them, or tight around the rows (publishes extremes)",
    )
    l_value: Annotated[float, Field(ge=1, le=MOST_ROWS)] | None = Field(
        default=None, description="l of the l-diversity of every sensitive attribute"
    )
    diversity: Variant = Field(default="distinct", description="kind of l-diversity")
    diversity_constant: Annotated[float, Field(strict=True, ge=SMALLEST_ERROR, le=LARGEST_ERROR)] = Field(
        default=1.0, description="c of recursive (c, l)-diversity"
    )
    t: Annotated[float, Field(strict=True, ge=0, le=1)] | None = Field(
        default=None, description="t of the t-closeness of every sensitive attribute"
    )
    t_ground: Ground = Field(
        default="equal", description="distance of sensitive values for t-closeness: equal, or ordered"
    )
    beta: Annotated[float, Field(strict=True, ge=SMALLEST_ERROR, le=LARGEST_ERROR)] | None = Field(
        default=None, description="beta of the beta-likeness of every sensitive attribute"
    )
    disclosure_bound: Annotated[float, Field(strict=True, ge=SMALLEST_ERROR, le=LARGEST_ERROR)] | None = (
        Field(default=None, description="bound of the delta-disclosure of every sensitive attribute")
    )
    criteria: tuple[SerializeAsAny[ClassCriterion], ...] = Field(
        default=(),
        description="further promises about every class, each as {guarantee = NAME, ...}: `t-closeness` of one attribute, "
        "or one of another installed package",
    )
    hierarchies: dict[str, HierarchyForm] = Field(
        default_factory=dict,
        description="by attribute: a tree, paths, fanout, widths, frequency_fanout, ordered, or a file",
    )
    levels: dict[str, Annotated[int, Field(strict=True, ge=0, le=10_000)]] = Field(
        default_factory=dict, description="for search=fixed: the level of every generalized attribute"
    )

    promise_goals: ClassVar = PROMISE_GOALS
    title: ClassVar[str] = "generalization"
    summary: ClassVar[str] = (
        "Quasi-identifiers are published as coarser values (intervals, groups of categories), so that every row "
        "equals at least k - 1 others on them; some rows may be dropped. Counts of the original categories are "
        "bounded for certain, and estimated under an assumption that is named."
    )
    weaknesses: ClassVar[tuple[str, ...]] = (
        "What all rows of a class say is known of every member: k-anonymity alone does not hide a shared value.",
        (
            "A recoding found by search is as fine as the data allow; an attacker who knows the search can rule out "
            "tables for which it would have stopped elsewhere (minimality, downcoding). The fixed search avoids this."
        ),
        "Two releases of overlapping tables can be intersected; each may be k-anonymous and both together not.",
        "Attributes that are not quasi-identifiers are published as they are.",
    )
    draws_values: ClassVar[bool] = False
    published_twice: ClassVar[str] = (
        "A person is in a class of either release, and the rows that fit both classes may be far fewer than k: k-anonymity does not compose unless the recoding is the same."
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Sweeney, L. (2002). k-anonymity: a model for protecting privacy. IJUFKS 10(5).",
        "LeFevre, K., DeWitt, D. J., Ramakrishnan, R. (2006). Mondrian multidimensional k-anonymity. ICDE.",
        "Machanavajjhala, A. et al. (2007). l-diversity: privacy beyond k-anonymity. TKDD 1(1).",
        "Li, N., Li, T., Venkatasubramanian, S. (2007). t-closeness. ICDE.",
        "Cohen, A. (2022). Attacks on deidentification's defenses. USENIX Security.",
    )

    @field_validator("criteria", mode="before")
    @classmethod
    def _make_criteria(cls, value: Any) -> Any:
        """A mapping is a guarantee by its name; whether it can judge classes is seen here."""
        if not isinstance(value, list | tuple):
            return value
        return tuple(read_criterion(each) if isinstance(each, Mapping) else each for each in value)

    @field_validator("hierarchies", mode="before")
    @classmethod
    def _read_files(cls, value: Any) -> Any:
        """What a file holds is kept, its path is not. A text names no file: a manifest could hold one."""
        if not isinstance(value, Mapping):
            return value
        return {
            name: read_hierarchy_form(each) if isinstance(each, Path) else each
            for name, each in value.items()
        }

    @classmethod
    def resolve_files(cls, parameters: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """A text among the hierarchies is the path of a file."""
        forms = parameters.get("hierarchies")
        if not isinstance(forms, Mapping):
            return dict(parameters)
        files = {name: folder / each if isinstance(each, str) else each for name, each in forms.items()}
        return {**parameters, "hierarchies": files}

    @model_validator(mode="after")
    def _check(self) -> Self:
        problem = contradiction(dict(self))
        if problem:
            raise ValueError(problem)
        return self

    @classmethod
    def example(cls, schema: Schema) -> Self:
        """Local recoding to small classes."""
        del schema
        return cls(k=5)

    def to_dict(self) -> dict[str, Any]:
        """The method's name and every public parameter that is set, as plain data."""
        criteria = [each.model_dump(mode="json", exclude={"given"}) for each in self.criteria]
        return {
            "method": self.method,
            **self.model_dump(mode="json", exclude_defaults=True, exclude={"criteria"}),
            **({"criteria": criteria} if criteria else {}),
            "search": self.search,
        }

    @classmethod
    def published_again(cls, releases: Sequence[Repetition]) -> str:
        """How few rows fit a person's classes in all releases."""
        return f"{cls.published_twice} {intersected_classes(releases)}"

    def guarantees(self, schema: Schema) -> tuple[Guarantee, ...]:
        """k-anonymity, and what else was asked for."""
        return (
            KAnonymity(k=self.k, quasi_identifiers=self._class_names(schema)),
            *((SemanticKAnonymity(k=self.k),) if self._looks_at_nothing(schema) else ()),
            *self._promises(schema),
        )

    def _looks_at_nothing(self, schema: Schema) -> bool:
        """Whether nothing but the rows with k equals decides what is published (k-DGS; Li and Li, theorem 2)."""
        # Learned categories may be single people's; with a limit, rows that are in no release decide whether there is one.
        return self.search == "fixed" and self.suppression is None and not schema.publishable.learned

    def trees(self, schema: Schema) -> dict[str, Hierarchy]:
        """The hierarchies that are stated, and not built from private counts."""
        return stated_hierarchies(self.hierarchies, schema)

    def _promises(self, schema: Schema) -> tuple[ClassCriterion, ...]:
        """What classes must satisfy besides k: by every sensitive attribute, then the criteria by themselves."""
        sensitive = [each.name for each in schema.with_role(Role.SENSITIVE)]
        if not sensitive and self._promises_of("any"):
            raise ParameterError(
                "l-diversity, t-closeness and their like need a sensitive attribute, and none is marked. "
                'Give one role = "sensitive" in the schema.',
                parameter="l_value",
            )
        require_fit(self.criteria, self._class_names(schema), schema.publishable.names)
        return (*(made for name in sensitive for made in self._promises_of(name)), *self.criteria)

    def _promises_of(self, name: str) -> list[ClassCriterion]:
        made: list[ClassCriterion] = []
        if self.l_value is not None:
            made.append(
                LDiversity(
                    attribute=name, l_value=self.l_value, variant=self.diversity, c=self.diversity_constant
                )
            )
        if self.t is not None:
            made.append(TCloseness(attribute=name, t=self.t, ground=self.t_ground))
        if self.beta is not None:
            made.append(BetaLikeness(attribute=name, beta=self.beta))
        if self.disclosure_bound is not None:
            made.append(DeltaDisclosure(attribute=name, bound=self.disclosure_bound))
        return made

    def publish(self, table: PrivateTable, noise: NoiseSource) -> Publication:
        """Rows with their quasi-identifiers generalized."""
        del noise  # Nothing is drawn: the order of rows is the storage's affair.
        recoded = self.recode(table)
        schema = recoded.published_schema(table.schema)

        rows = MadeRows(table.schema.publishable.names, ApplyRecoding(recoded.recoding, schema.names))
        is_fixed = self.search == "fixed"
        return Publication(
            tables=(PublishedTable("rows", schema, rows),),
            law=GeneralizedRows(
                attributes=table.schema.publishable.attributes,
                covers=recoded.covers,
                # The number dropped depends on single rows; a fixed recoding promises that nothing does.
                suppressed_rows=None if is_fixed else recoded.suppressed,
                stated_classes_of=self.k if self._looks_at_nothing(table.schema) else None,
            ),
            published_as_they_are=tuple(name for name in schema.names if name not in recoded.columns),
            assumptions=(f"Point estimates: {GeneralizedRows.estimate_is}.",),
            chosen_from_private_data={} if is_fixed else found_in_rows(self.search, self.hierarchies),
        )

    def recode(self, table: PrivateTable) -> Recoded:
        """Find the recoding of a private table, and what it costs.

        Raises
        ------
        ParameterError
            When k is above the number of rows, or a criterion or the suppression limit cannot be met.
        """
        schema = table.schema
        names = self._class_names(schema)
        if self.k > table.number_of_rows:
            raise ParameterError(
                f"k = {self.k} is above the number of rows, {table.number_of_rows:,}: no class can be that large. "
                "Lower k, or publish more rows.",
                parameter="k",
            )
        promises = self._promises(schema)
        watched = {each.watched for each in promises}
        sensitive = tuple(name for name in schema.publishable.names if name in watched)
        if self.search == "fixed":
            hierarchies = {name: self._hierarchy(schema[name], table) for name in self._leveled(schema)}
            recoded = recode_by_levels(table, names, (), self.levels, hierarchies, Criterion(self.k))
            require_few_dropped(recoded, table.number_of_rows, self.suppression, self.k)
            return recoded
        if self.search == "full-domain":
            require_countable(
                {name: schema[name].size for name in names},
                self.search,
                watched=math.prod(schema[name].size for name in sensitive),
            )
        rows = count_rows(table, names, sensitive)
        overall = np.bincount(rows.sensitive, weights=rows.counts, minlength=rows.sensitive_size)
        sizes = {name: schema[name].size for name in sensitive}
        criterion = class_criterion(self.k, promises, sizes, overall)
        if self.search == "mondrian":
            domains = [self._domain(schema[name], table) for name in names]
            found = recode_by_boxes(schema, names, rows, domains, criterion, is_tight=self.boxes == "tight")
            if found is None:
                refuse_unreachable(promises, sizes, overall)
            return found
        hierarchies = {name: self._hierarchy(schema[name], table) for name in names}
        require_searchable({name: each.height + 1 for name, each in hierarchies.items()})
        # A share that is a whole number of rows must allow that number although the product may fall short.
        most = int((self.suppression or 0.0) * rows.total + 1e-6)
        assert isinstance(rows, DistinctRows)
        levels = search_levels(names, rows, hierarchies, criterion, most)
        if levels is None:
            refuse_unreachable(promises, sizes, overall)
        return recode_by_levels(table, names, sensitive, levels, hierarchies, criterion)

    def plan_tables(self, schema: Schema, rows: int, table: PrivateTable | None) -> tuple[ResultTable, ...]:
        """How every attribute may be generalized; with the table, what it costs."""
        del rows
        names = self._leveled(schema) if self.search == "fixed" else self._class_names(schema)
        possible = ResultTable(
            "How each attribute may be generalized",
            ("attribute", "categories", "by", "levels"),
            tuple((name, schema[name].size, *self._way(schema[name], table)) for name in names)
            or (("none", 0, "nothing is generalized", 0),),
        )
        if table is None:
            return (possible,)
        return possible, self.recode(table).cost_table()

    def _way(self, attribute: Attribute, table: PrivateTable | None) -> tuple[str, int]:
        form = self.hierarchies.get(attribute.name)
        if isinstance(form, FrequencyForm) and table is None:
            return "hierarchy by frequency", 0
        if self.search == "mondrian" and isinstance(self._domain(attribute, table), Ordered):
            return "any run of categories", attribute.size
        return "hierarchy", self._hierarchy(attribute, table).height

    def _class_names(self, schema: Schema) -> tuple[str, ...]:
        """Attributes on which rows of a class are equal: all of them for a fixed recoding."""
        for given in (self.hierarchies, self.levels):
            for name in given:
                if name not in schema.publishable:
                    raise ParameterError(
                        f"there is no attribute {name!r} to generalize; {nearest(name, schema.publishable.names)}",
                        parameter="hierarchies" if given is self.hierarchies else "levels",
                    )
        if self.search == "fixed":
            return schema.publishable.names
        names = tuple(each.name for each in schema.with_role(Role.QUASI_IDENTIFIER))
        outside = [name for name in self.hierarchies if name not in names]
        if not names or outside:
            reason = f"{outside[0]!r} has a hierarchy but is no" if outside else "no attribute is marked"
            raise ParameterError(
                f"{reason} quasi-identifier, so there is nothing to generalize. "
                'Give it role = "quasi-identifier" in the schema.',
                parameter="hierarchies" if outside else None,
            )
        return names

    def _leveled(self, schema: Schema) -> tuple[str, ...]:
        """Attributes that a fixed recoding generalizes, in the schema's order."""
        return tuple(name for name in schema.publishable.names if self.levels.get(name))

    def _hierarchy(self, attribute: Attribute, table: PrivateTable | None) -> Hierarchy:
        form = self.hierarchies.get(attribute.name)
        if isinstance(form, FrequencyForm):
            assert table is not None
            return form.build_from(attribute, table.count_by([attribute.name]).counts)
        if form is not None and not isinstance(form, OrderedForm):
            return form.build(attribute)
        if attribute.is_ordered or form is not None:
            return balanced_hierarchy(attribute, FANOUT_OF_NUMBERS)
        return flat_hierarchy(attribute)

    def _domain(self, attribute: Attribute, table: PrivateTable | None) -> Domain:
        form = self.hierarchies.get(attribute.name)
        if isinstance(form, OrderedForm) or (form is None and attribute.is_ordered):
            return Ordered(attribute.size)
        return Nested(self._hierarchy(attribute, table))
