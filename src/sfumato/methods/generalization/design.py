"""Generalization: coarser values, so that equivalence classes satisfy k-anonymity and its family."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from pydantic import Field, SerializeAsAny, field_validator, model_validator

from sfumato.arrays import Booleans, Counts
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError, nearest
from sfumato.guarantees import GUARANTEES, Guarantee
from sfumato.guarantees.class_criteria import ClassCriterion, Merging
from sfumato.guarantees.k_anonymity import (
    BetaLikeness,
    DeltaDisclosure,
    Ground,
    KAnonymity,
    LDiversity,
    SemanticKAnonymity,
    TCloseness,
    Variant,
)
from sfumato.immutable import LARGEST_ERROR, MOST_ROWS, SMALLEST_ERROR
from sfumato.methods.base import Design, Repetition
from sfumato.methods.generalization.count_phase import (
    Recoded,
    count_rows,
    found_in_rows,
    recode_by_boxes,
    recode_by_levels,
    require_countable,
    require_few_dropped,
    require_searchable,
    search_levels,
)
from sfumato.methods.generalization.kernels import ApplyRecoding, Criterion, DistinctRows
from sfumato.methods.generalization.law import GeneralizedRows
from sfumato.methods.generalization.search import Domain, Nested, Ordered
from sfumato.methods.planning import PromiseGoal, crowd_of, crowd_size
from sfumato.randomness.streams import NoiseSource
from sfumato.release.publication import MadeRows, Publication, PublishedTable
from sfumato.results import ResultTable
from sfumato.schema import Attribute, Role, Schema
from sfumato.schema.hierarchies import (
    FrequencyForm,
    Hierarchy,
    HierarchyForm,
    OrderedForm,
    PathsForm,
    TreeForm,
    balanced_hierarchy,
    flat_hierarchy,
    read_hierarchy_form,
    stated_hierarchies,
)
from sfumato.text import percent

# --------------------------------------------------------------------------------------------------
# What classes of rows must satisfy: promises that judge themselves, each on the counts of its own attribute.


def read_criterion(form: Mapping[str, Any]) -> ClassCriterion:
    """A promise about classes by its name and numbers, of this package or another.

    Raises
    ------
    ParameterError
        When there is no such guarantee, or it is about something else.
    """
    made = GUARANTEES.make(str(form.get("guarantee")), {key: form[key] for key in form if key != "guarantee"})
    if not isinstance(made, ClassCriterion):
        known = [name for name, each in GUARANTEES.members.items() if issubclass(each, ClassCriterion)]
        raise ParameterError(
            f"criteria must be promises about classes of rows, and {form['guarantee']} is none. "
            f"Those are {', '.join(known)}; leave the others out.",
            parameter="criteria",
        )
    return made


def require_fit(criteria: Sequence[ClassCriterion], classes: Sequence[str], names: Sequence[str]) -> None:
    """Refuse criteria about other classes than those of rows equal on ``classes``, or about what does not vary in them.

    Raises
    ------
    ParameterError
        Naming the attribute.
    """
    varying = [name for name in names if name not in classes]
    for each in criteria:
        outside = [name for name in each.class_attributes or () if name not in classes]
        if outside:
            raise ParameterError(
                f"a criterion is about classes of rows equal on {outside[0]!r}, which is no quasi-identifier. "
                "Leave it out of the criterion, or change its role.",
                parameter="criteria",
            )
        if each.watched is not None and each.watched not in varying:
            raise ParameterError(
                f"a criterion is about {each.watched!r}, which is no published attribute beside the quasi-identifiers; "
                f"{nearest(each.watched, varying)}",
                parameter="criteria",
            )


def class_criterion(
    k: int, promises: Sequence[ClassCriterion], sizes: Mapping[str, int], overall: Counts
) -> Criterion:
    """The criterion that keeps k-anonymity and some promises.

    Parameters
    ----------
    k
        Fewest rows of a class.
    promises
        Those that watch an attribute watch one of ``sizes``.
    sizes
        Watched attribute to its number of categories; classes are counted over all of them together.
    overall
        ``(product of sizes,)``: counts of the whole table, which classes are compared with.

    Examples
    --------
    >>> from sfumato.guarantees.k_anonymity import LDiversity
    >>> two_jobs = LDiversity(attribute="job", l_value=2, variant="distinct")
    >>> criterion = class_criterion(3, [two_jobs], {"job": 2}, np.array([5, 5]))
    >>> criterion.passes(np.array([4, 4, 2]), np.array([[2, 2], [4, 0], [1, 1]])).tolist()
    [True, False, False]
    """

    def test_of(promise: ClassCriterion) -> Callable[[Counts], Booleans]:
        whole = _margin(overall, sizes, promise.watched)[0]
        return lambda counts: promise.classes_that_hold(_margin(counts, sizes, promise.watched), whole)

    weakest_first: tuple[Merging, ...] = ("none", "keeping", "any")
    survived = {each.survives_merging for each in promises}
    merging: Merging = next((each for each in weakest_first if each in survived), "any")
    return Criterion(k, tuple(map(test_of, promises)), merging)


def refuse_unreachable(
    promises: Sequence[ClassCriterion], sizes: Mapping[str, int], overall: Counts
) -> NoReturn:
    """Say what could be reached, when not even one class of all rows keeps the promises.

    Raises
    ------
    ParameterError
        With what the first promise that is broken says of it.
    """
    for promise in promises:
        whole = _margin(overall, sizes, promise.watched)
        if not promise.holds_for(whole):
            raise ParameterError(promise.shortfall(whole[0]))
    raise ParameterError(
        "no class of rows can keep these promises together. Lower k, or ask for less.", parameter="k"
    )


def _margin(counts: Counts, sizes: Mapping[str, int], name: str | None) -> Counts:
    """Counts of one watched attribute, ``(classes, values)``, from counts over all together; sizes for none."""
    others = tuple(place for place, each in enumerate(sizes, start=1) if each != name)
    summed = np.asarray(counts.reshape(-1, *sizes.values()).sum(axis=others))
    return summed if name is not None else summed[:, None]


# --------------------------------------------------------------------------------------------------
# What is left of classes of rows when several recodings of the same rows are put together.


def intersected_classes(releases: Sequence[Repetition]) -> str:
    """How many rows besides a person's own are in all of the person's classes, in a sentence.

    Notes
    -----
    Of the ``N - 1`` other rows, a smallest class holds ``k - 1``. Where one recoding has nothing to do with the other, a row
    is in all classes with the product of ``(k - 1) / (N - 1)``. A person is alone at least where the mean number of such
    rows falls short of one (Markov). Recodings of the same attributes are seldom that unlike, and classes seldom that
    small: it is what cannot be ruled out, not what happens to everybody.
    """
    different = {(str(each.design.to_dict()), str(sorted(each.sizes.items()))): each for each in releases}
    found = [
        (promise.k, each.number_of_rows)
        for each in different.values()
        for promise in each.promises
        if isinstance(promise, KAnonymity)
    ]
    smallest = min(k for k, _ in found)
    if len(different) == 1:
        return f"Nothing is drawn: the same design makes the same classes of the same rows again, and k = {smallest} stays."
    others = max(rows for _, rows in found) - 1
    shared = others * math.prod(min((k - 1) / others, 1.0) for k, _ in found) if others > 0 else 0.0
    return (
        f"Classes of {' and '.join(str(k) for k, _ in found)} of {others + 1:,} rows, cut in ways that have nothing to do with each "
        f"other, share {shared:.2g} rows besides the person's own on average, so that at least {percent(max(0.0, 1 - shared))} of the "
        f"people would be alone, where every release by itself leaves {smallest} rows or more."
    )


# --------------------------------------------------------------------------------------------------
# Settings of generalization that contradict each other.


PROMISE_GOALS: Mapping[str, PromiseGoal] = {
    "k": PromiseGoal("rows of a class", "k", "at least", crowd_size, protects_nothing=1),
    "match": PromiseGoal(
        "the largest probability that a row of a class is a person's",
        "k",
        "at least",
        crowd_of,
        most=1,
        protects_nothing=1,
    ),
    "belief": PromiseGoal(
        "the largest share of a sensitive value in a class",
        "l_value",
        "at least",
        lambda share: 1 / share,
        most=1,
        protects_nothing=1,
        besides={"diversity": "fraction"},
    ),
    "t": PromiseGoal(
        "distance of a class's sensitive values from those of all rows",
        "t",
        "at most",
        most=1,
        protects_nothing=1,
    ),
    "beta": PromiseGoal("growth of a sensitive value's share in a class", "beta", "at most"),
}
"""What parameters can be chosen for."""


def contradiction(settings: Mapping[str, Any]) -> str | None:
    """What is asked for that the chosen search does not do, in a sentence; None when nothing is.

    A setting without effect is refused: whoever gives it believes that it has one.

    Parameters
    ----------
    settings
        Parameter to value.
    """
    if settings["search"] == "fixed":
        for name in ("l_value", "t", "beta", "disclosure_bound", "criteria"):
            if settings[name] not in (None, ()):
                return f"{name} needs a search; a fixed recoding drops classes by k alone. Leave it out."
        private = [name for name, form in settings["hierarchies"].items() if isinstance(form, FrequencyForm)]
        if private:
            return (
                f"the hierarchy of {private[0]!r} is built from private counts, but a fixed recoding must not "
                "look at the data. State a tree, widths or a fanout."
            )
    elif settings["levels"]:
        return 'levels are for search = "fixed"; the other searches find them. Leave them out.'
    if settings["search"] == "mondrian" and settings["suppression"] is not None:
        return 'suppression is for the other searches: search = "mondrian" drops no row. Leave it out.'
    if settings["search"] != "mondrian" and settings["boxes"] != "cut":
        return 'boxes are for search = "mondrian"; the other searches publish levels. Leave them out.'
    return None


# --------------------------------------------------------------------------------------------------
# Generalization: coarser values, so that every row has company (k-anonymity and its family).


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

        # Of a column that is not published no list that was learned is either; a public one gives bounds.
        learned = table.schema.publishable.learned
        left_out = tuple(name for name in recoded.columns if name not in schema and name in learned)
        kept = [
            each
            for each in table.schema.publishable.attributes
            if each.name in schema or (each.name in recoded.columns and each.name not in left_out)
        ]
        stated = {
            name: form
            for name, form in self.hierarchies.items()
            if name not in left_out or not isinstance(form, TreeForm | PathsForm)
        }
        rows = MadeRows(table.schema.publishable.names, ApplyRecoding(recoded.recoding, schema.names))
        is_fixed = self.search == "fixed"
        return Publication(
            tables=(PublishedTable("rows", schema, rows),),
            law=GeneralizedRows(
                attributes=tuple(kept),
                covers={name: each for name, each in recoded.covers.items() if name not in left_out},
                left_out=left_out,
                # The number dropped depends on single rows; a fixed recoding promises that nothing does.
                suppressed_rows=None if is_fixed else recoded.suppressed,
                stated_classes_of=self.k if self._looks_at_nothing(table.schema) else None,
            ),
            published_as_they_are=tuple(name for name in schema.names if name not in recoded.columns),
            assumptions=(f"Point estimates: {GeneralizedRows.estimate_is}.",),
            settled={} if stated == self.hierarchies else {"hierarchies": stated},
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
