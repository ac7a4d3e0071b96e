"""Randomized response: chosen attributes of every row randomized at a published rate; expected accuracy and risk."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from sfumato.data.chunks import CodedBatch
from sfumato.data.long_format import LongTable, SparseUnits
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError, nearest
from sfumato.guarantees import Guarantee
from sfumato.guarantees.differential_privacy import retention_of_epsilon
from sfumato.guarantees.reconstruction_risk import (
    ReconstructionRisk,
    conditional_distribution_risks,
    posterior_risks,
    reconstruction_risks,
    risk_at_share,
)
from sfumato.immutable import LARGEST_EPSILON, SMALLEST_EPSILON
from sfumato.methods.base import Design
from sfumato.methods.planning import RETENTION_STEP, is_epsilon_on_grid, is_retention_on_grid
from sfumato.methods.randomized_response.kernels import RedrawCodes, RedrawItems
from sfumato.methods.randomized_response.law import (
    PerturbedItems,
    PerturbedRows,
    promises_of_distortions,
    promises_of_items,
)
from sfumato.randomness.distortion import (
    DenseDistortion,
    UniformDistortion,
    check_sizes,
    expected_squared_error,
    largest_epsilon,
)
from sfumato.randomness.streams import NoiseSource
from sfumato.release.publication import DrawnRows, MadeRows, Publication, PublishedTable
from sfumato.results import ResultTable
from sfumato.schema import LongForm, Role, Schema

# --------------------------------------------------------------------------------------------------
# Accuracy and risk to expect of perturbed rows, before publishing: the tables of a plan.


Distortions = Mapping[str, UniformDistortion | DenseDistortion]

LARGEST_NUMBER_OF_MARGINALS = 20
"""Marginals that a plan lists; with more perturbed attributes the pairs are left out."""

LONGEST_ITEM_SET = 4
"""Items of a set whose error a plan states."""

LARGEST_RISK_TABLE = 5_000_000
"""Cells up to which a plan computes risks: a few seconds."""


def promise_table(distortions: Distortions) -> ResultTable:
    """What each perturbed attribute gets."""
    return ResultTable(
        "What each perturbed attribute gets",
        ("attribute", "categories", "retention", "epsilon", "condition number"),
        tuple(
            (
                name,
                each.size,
                each.retention if isinstance(each, UniformDistortion) else "own matrix",
                largest_epsilon(each),
                each.condition_number,
            )
            for name, each in distortions.items()
        ),
    )


def marginal_table(distortions: Distortions, schema: Schema, rows: int) -> ResultTable:
    """L2 error of every perturbed attribute, and of marginals over several of them."""
    names = tuple(distortions)
    pairs = tuple(itertools.combinations(names, 2))
    listed = pairs if len(pairs) <= LARGEST_NUMBER_OF_MARGINALS else ()
    marginals = (*((name,) for name in names), *listed, *((names,) if len(names) > 2 else ()))
    return ResultTable(
        f"Expected error of marginals, of {rows:,} rows",
        ("marginal", "cells", "L2 error of its counts", "root mean square error of a cell"),
        tuple(_marginal_row(distortions, schema, each, rows) for each in marginals),
    )


def item_set_table(distortion: UniformDistortion | DenseDistortion, units: int) -> ResultTable:
    """Errors of the shares of rare item sets by their length: every further item multiplies the noise.

    A unit without an item adds row y of the inverse to it with the probability of publishing y; of a set that nearly
    nobody has, the second moments of its items multiply.
    """
    present = distortion.inverse()[:, 1:]
    moment = float((distortion.dense()[0] @ present**2).max())
    return ResultTable(
        f"Expected error of the share of a rare item set, of {units:,} units",
        ("items", "std. error of the share"),
        tuple((length, math.sqrt(moment**length / units)) for length in range(1, LONGEST_ITEM_SET + 1)),
    )


def l2_error(distortions: Distortions, schema: Schema, names: Sequence[str], rows: int) -> float:
    r"""Root of the expected sum of squared errors of a marginal's estimated counts, for the table itself.

    With the matrices of uniform perturbation it does not depend on the data:
    ``sqrt(N (product of (1 + (m - 1)/p^2)/m - 1))`` (Guo 2010, result 16, for a fixed table). Matrices of
    one's own make it depend on the data; the largest value over all tables is given then.

    Examples
    --------
    >>> schema = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
    >>> round(l2_error({"job": UniformDistortion(retention=0.5, size=2)}, schema, ("job",), 10_000), 3)
    122.474
    """
    moments = (
        float(expected_squared_error(distortions.get(name), schema[name].size).max()) for name in names
    )
    return math.sqrt(max(rows * (math.prod(moments) - 1), 0))


def risk_tables(distortions: Distortions, table: PrivateTable) -> tuple[ResultTable, ...]:
    """What attackers of three kinds find out about each sensitive attribute, from the true counts."""
    schema = table.schema
    quasi_identifiers = tuple(each.name for each in schema.with_role(Role.QUASI_IDENTIFIER))
    if not quasi_identifiers:
        return ()
    return tuple(
        _risk_table(distortions, table, quasi_identifiers, each.name)
        for each in schema.with_role(Role.SENSITIVE)
        if math.prod(schema[name].size for name in (*quasi_identifiers, each.name)) <= LARGEST_RISK_TABLE
    )


def _risk_table(
    distortions: Distortions, table: PrivateTable, quasi_identifiers: tuple[str, ...], sensitive: str
) -> ResultTable:
    names = (*quasi_identifiers, sensitive)
    counts = table.count_by(names).counts
    matrices = [distortions[name].on_axis if name in distortions else None for name in names]
    risks = (
        (
            "links, picks a row, redraws its truth (reconstruction risk)",
            reconstruction_risks(counts, matrices),
        ),
        (
            "reads the reconstructed distribution of the group (conditional-distribution risk)",
            conditional_distribution_risks(counts),
        ),
        ("knows which row is the target's (largest posterior)", posterior_risks(counts, matrices[-1])),
    )
    return ResultTable(
        f"How often an attacker who knows {', '.join(quasi_identifiers)} names a row's {sensitive}",
        ("attacker", "mean of rows", "99 % of rows at most", "largest"),
        tuple(
            (
                attacker,
                float((values * counts).sum() / counts.sum()),
                risk_at_share(values, counts, 0.99),
                risk_at_share(values, counts, 1),
            )
            for attacker, values in risks
        ),
        is_private=True,
    )


def _marginal_row(
    distortions: Distortions, schema: Schema, names: tuple[str, ...], rows: int
) -> tuple[str, int, float, float]:
    cells = math.prod(schema[name].size for name in names)
    error = l2_error(distortions, schema, names, rows)
    return ", ".join(names), cells, error, error / math.sqrt(cells)


# --------------------------------------------------------------------------------------------------
# Randomized response: every row's chosen attributes are redrawn by public chance.


UNIT_COLUMN = "unit"
"""Column of a long table that says whose a row is, by a number given at random."""

Probability = Annotated[float, Field(strict=True, gt=0, lt=1)]
Epsilon = Annotated[float, Field(strict=True, ge=SMALLEST_EPSILON, le=LARGEST_EPSILON)]
Rows = tuple[tuple[float, ...], ...]


class RandomizedResponse(Design):
    """Redraw each chosen value from the row of a public matrix.

    The matrix of an attribute comes from a retention (the value is kept with that probability, else
    replaced by one drawn uniformly), from an epsilon, or is given entry by entry. Any subset of the
    published attributes can be perturbed: the quasi-identifiers, the sensitive ones, or both.

    Promise
        Local differential privacy for the perturbed attributes of each row, and bounded amplification
        of any belief about them. Where a matrix of one's own has no bound, the promise says so.
    Against whom
        Anyone with the release, its parameters, and any knowledge of other rows.
    Weaknesses
        Attributes that are not perturbed are published as they are. In a large group of people alike,
        the group's distribution can be reconstructed well, and with it what is likely of a member.

    References
    ----------
    Warner (1965); Guo (2010), chapters 2 and 5; Han (2016), section 4.1.

    Examples
    --------
    >>> RandomizedResponse(retention=0.5).to_dict()
    {'method': 'randomized-response', 'retention': 0.5}
    """

    method: Literal["randomized-response"] = "randomized-response"
    retention: Probability | dict[str, Probability] | None = Field(
        default=None,
        description="probability of keeping a value: one number for every perturbed attribute, or one by attribute",
    )
    epsilon: Epsilon | dict[str, Epsilon] | None = Field(
        default=None,
        description="local epsilon: one number is the total of a row, split evenly over the perturbed attributes",
    )
    matrix: dict[str, Rows] | None = Field(
        default=None,
        description="own distortion matrix by attribute: one row for each true category, one entry for each published",
    )
    attributes: tuple[str, ...] | None = Field(
        default=None, description="attributes to perturb; the sensitive ones when not given"
    )
    chosen_for: ReconstructionRisk | None = Field(
        default=None,
        description="risk bound that the retentions were chosen for by looking at the private rows; set by plan --goal",
    )

    title: ClassVar[str] = "randomized response"
    summary: ClassVar[str] = (
        "Every row is published. In each chosen attribute its value is kept with a public probability and "
        "otherwise replaced by one drawn at random, independently of everything else, so that true counts can "
        "be estimated without bias and with known error."
    )
    weaknesses: ClassVar[tuple[str, ...]] = (
        "Attributes that are not perturbed are published as they are: a person who is unique on them can be found.",
        (
            "The distribution within a large group of people who are alike on the unperturbed attributes can be "
            "reconstructed well; what is true of nearly all of the group is then known of each member."
        ),
        "Publishing the same rows again with fresh noise adds up: the epsilons of all releases count together.",
    )
    reads_units: ClassVar[bool] = True
    published_twice: ClassVar[str] = (
        "Draws are fresh in every release, so the epsilons of an attribute add up: whoever links the rows by the public attributes averages the noise away."
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Warner, S. L. (1965). Randomized response: a survey technique for eliminating evasive answer bias.",
        "Guo, L. (2010). Randomization based privacy preserving categorical data analysis. UNC Charlotte.",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.retention is None and self.epsilon is None and not self.matrix:
            raise ValueError(
                "randomized response needs a retention (between 0 and 1), an epsilon (above 0), or a matrix. "
                "Try retention=0.5."
            )
        if isinstance(self.retention, float) and isinstance(self.epsilon, float):
            raise ValueError(
                "retention and epsilon say the same thing twice; give one of them, or one by attribute."
            )
        self._refuse_fine_choices()
        own = [*_keys(self.retention), *_keys(self.matrix)]
        if isinstance(self.epsilon, float) and own:
            raise ValueError(
                f"epsilon={self.epsilon:.4g} is the total of a row, which numbers of its own for {own[0]!r} would "
                "exceed. Give an epsilon for each of the other attributes instead, such as epsilon.NAME."
            )
        if len(set(self.attributes or ())) != len(self.attributes or ()):
            raise ValueError("attributes must be different from each other.")
        for name, rows in (self.matrix or {}).items():
            _own_matrix(name, rows)
        return self

    def _refuse_fine_choices(self) -> None:
        """A number chosen from the rows encodes them, the more digits the more."""
        for name in self.choices.keys() - {*PerturbedRows.chosen_from_rows}:
            raise ValueError(f"chosen_from_private_data: {nearest(name, PerturbedRows.chosen_from_rows)}")
        grids = (
            ("retention", self.retention, is_retention_on_grid, f"a multiple of {RETENTION_STEP:g}"),
            ("epsilon", self.epsilon, is_epsilon_on_grid, "1, 2 or 5 times a power of ten"),
        )
        for name, given, is_on_grid, allowed in grids:
            numbers = given.values() if isinstance(given, Mapping) else () if given is None else (given,)
            fine = next((each for each in numbers if not is_on_grid(each)), None)
            if name in self.choices and fine is not None:
                raise ValueError(
                    f"{name} was chosen from the private rows and must be {allowed}, got {fine}: more digits would tell about "
                    "single people. Round it down."
                )

    @classmethod
    def example(cls, schema: Schema) -> Self:
        """Half of all values kept."""
        del schema
        return cls(retention=0.5)

    def distortion_of_items(self, schema: Schema, long: LongForm) -> UniformDistortion | DenseDistortion:
        """The matrix of what a unit has of an item: none, then the values, or that it has it.

        Raises
        ------
        ParameterError
            When a number is given for another column, or there is one item only.
        """
        items = schema[long.item]
        outside = [
            *(name for each in (self.retention, self.epsilon, self.matrix) for name in _keys(each)),
            *(self.attributes or ()),
        ]
        wrong = next((name for name in outside if name != long.item), None)
        if wrong is not None or self.chosen_for is not None:
            raise ParameterError(
                "of unit-item-value data, what a unit has of each item is perturbed as a whole, and a number "
                f"{'chosen for a risk of rows' if wrong is None else f'for {wrong!r}'} says nothing about that. "
                f"Give one retention, epsilon or matrix, or one for {long.item!r}.",
                parameter="chosen_for" if wrong is None else "attributes",
            )
        if items.size < 2:
            raise ParameterError(
                f"the schema lists one category of {long.item!r}, and there must be two items or more. List them all.",
                parameter="attributes",
            )
        size = 2 if long.value is None else schema[long.value].size + 1
        found: UniformDistortion | DenseDistortion
        if self.matrix is not None and long.item in self.matrix:
            self._refuse_two_sources(long.item)
            found = _own_matrix(long.item, self.matrix[long.item])
        else:
            found = self._uniform(long.item, size, 1)
        check_sizes({long.item: found}, {long.item: size})
        return found

    def distortions(self, schema: Schema) -> dict[str, UniformDistortion | DenseDistortion]:
        """The matrix of every perturbed attribute, for a schema."""
        names = self._perturbed(schema)
        result: dict[str, UniformDistortion | DenseDistortion] = {}
        for name in names:
            if self.matrix is not None and name in self.matrix:
                self._refuse_two_sources(name)
                result[name] = _own_matrix(name, self.matrix[name])
            else:
                result[name] = self._uniform(name, schema[name].size, len(names))
        check_sizes(result, {name: schema[name].size for name in names})
        return result

    def _perturbed(self, schema: Schema) -> tuple[str, ...]:
        named = [*_keys(self.retention), *_keys(self.epsilon), *_keys(self.matrix)]
        if self.attributes is None:
            chosen = list(dict.fromkeys([*(each.name for each in schema.with_role(Role.SENSITIVE)), *named]))
        else:
            chosen = list(self.attributes)
        outside = [name for name in named if name not in chosen]
        if outside:
            raise ParameterError(
                f"{outside[0]!r} has a retention, epsilon or matrix but is not among the attributes to perturb. "
                "Add it to attributes, or leave its number out.",
                parameter="attributes",
            )
        if not chosen:
            raise ParameterError(
                "no attribute is marked sensitive, so there is nothing to perturb. "
                'Give one role = "sensitive" in the schema, or name some in attributes.',
                parameter="attributes",
            )
        for name in chosen:
            if not schema[name].role.is_published:
                raise ParameterError(
                    f"{name!r} is {schema[name].role.as_noun}: it is never published, so it cannot be perturbed. "
                    "Leave it out of attributes, or change its role.",
                    parameter="attributes",
                )
        # In the schema's order, so that the same design gives the same law however it was written.
        return tuple(name for name in schema.names if name in chosen)

    def _refuse_two_sources(self, name: str) -> None:
        sources = [self.retention, self.epsilon, self.matrix]
        if sum(name in _keys(each) for each in sources) > 1:
            raise ParameterError(
                f"{name!r} has more than one of retention, epsilon and matrix; give one.", parameter=name
            )

    def _uniform(self, name: str, size: int, number_perturbed: int) -> UniformDistortion:
        self._refuse_two_sources(name)
        if isinstance(self.retention, Mapping) and name in self.retention:
            return UniformDistortion(retention=self.retention[name], size=size)
        if isinstance(self.epsilon, Mapping) and name in self.epsilon:
            return _uniform_with_epsilon(self.epsilon[name], size)
        if isinstance(self.retention, float):
            return UniformDistortion(retention=self.retention, size=size)
        if isinstance(self.epsilon, float):
            # Rounded down, so that the shares do not add up to more than the total.
            return _uniform_with_epsilon(math.nextafter(self.epsilon / number_perturbed, 0), size)
        raise ParameterError(
            f"no retention, epsilon or matrix is given for {name!r}, which would be perturbed. "
            f"Set retention.{name}, or name the attributes to perturb without it.",
            parameter=f"retention.{name}",
        )

    def guarantees(self, schema: Schema) -> tuple[Guarantee, ...]:
        """Local differential privacy and amplification, from the whole numbers that are really drawn."""
        if schema.long is not None:
            return promises_of_items(self.distortion_of_items(schema, schema.long))
        return (
            *promises_of_distortions(self.distortions(schema), schema.publishable),
            *(() if self.chosen_for is None else (self.chosen_for,)),
        )

    def publish(self, table: PrivateTable, noise: NoiseSource) -> Publication:
        """Rows with their chosen attributes redrawn; of unit-item-value data, every item of every unit."""
        if table.schema.long is not None:
            return self._publish_items(table, table.schema.long, noise)
        schema = table.schema.publishable
        distortions = self.distortions(table.schema)
        self._refuse_broken_promise(table, distortions)
        rows = MadeRows(schema.names, RedrawCodes({name: each.drawn for name, each in distortions.items()}))
        return Publication(
            tables=(PublishedTable("rows", schema, rows),),
            law=PerturbedRows(distortions=distortions),
            published_as_they_are=tuple(name for name in schema.names if name not in distortions),
            chosen_from_private_data=self.choices,
        )

    def _publish_items(self, table: PrivateTable, long: LongForm, noise: NoiseSource) -> Publication:
        distortion = self.distortion_of_items(table.schema, long)
        value = None if long.value is None else table.schema[long.value]
        units = SparseUnits.from_rows(table.rows_of_units(), table.schema[long.item], value)
        codes = (units.values + 1).astype(np.min_scalar_type(distortion.size - 1))
        redrawn = RedrawItems(units.starts[1:], units.items, codes, units.number_of_items, distortion.drawn)
        unit = UNIT_COLUMN
        while unit in long.names:
            unit += "_"
        schema = Schema(attributes=table.schema.publishable.select(long.names))

        def batches() -> Iterator[CodedBatch]:
            for number, item, code in redrawn.batches(noise):
                columns = {long.item: item.astype(schema[long.item].code_type), unit: number}
                if long.value is not None:
                    columns[long.value] = code - 1
                yield CodedBatch(columns, number.size)

        rows = PublishedTable(
            "items",
            schema,
            DrawnRows(batches),
            integers=(unit,),
            may_be_empty=True,
            order_says_nothing=True,
        )
        described = LongTable(
            table="items",
            unit=unit,
            item=long.item,
            value=long.value,
            number_of_units=units.number_of_units,
        )
        return Publication(
            tables=(rows,),
            law=PerturbedItems(distortion=distortion, long=described),
            chosen_from_private_data=self.choices,
        )

    @property
    def choices(self) -> Mapping[str, str]:
        """What was chosen by looking at the private rows: said by the user, or by calibration."""
        chosen = dict(super().choices)
        if self.chosen_for is not None:
            how = f"the most accurate on the private rows with {self.chosen_for.sentence}"
            chosen.setdefault("retention", how)
        return chosen

    def _refuse_broken_promise(
        self, table: PrivateTable, distortions: Mapping[str, UniformDistortion | DenseDistortion]
    ) -> None:
        """Retentions chosen on one table need not keep the bound on another."""
        promise = self.chosen_for
        if promise is None:
            return
        matrices = [distortions[name].on_axis if name in distortions else None for name in promise.names]
        if promise.relative_risk(table.count_by(promise.names), matrices) > 1 + 1e-9:
            raise ParameterError(
                f"these retentions do not keep the {promise.sentence.split(' for ')[0]} on this table. "
                "Choose them anew for it (plan --goal), or leave chosen_for out.",
                parameter="chosen_for",
            )

    def planned_law(self, schema: Schema) -> PerturbedRows | None:
        """The law of the release itself; of unit-item-value data it holds the number of units, which is not known yet."""
        if schema.long is not None:
            return None
        return PerturbedRows(distortions=self.distortions(schema))

    def plan_tables(self, schema: Schema, rows: int, table: PrivateTable | None) -> tuple[ResultTable, ...]:
        """The promise by attribute, and errors of whole marginals; with the table, risks too."""
        if schema.long is not None:
            return (item_set_table(self.distortion_of_items(schema, schema.long), rows),)
        distortions = self.distortions(schema)
        risks = () if table is None else risk_tables(distortions, table)
        return (promise_table(distortions), marginal_table(distortions, schema, rows), *risks)


def _keys(value: object) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, Mapping) else ()


def _own_matrix(name: str, rows: Rows) -> DenseDistortion:
    """A matrix of the user's; what is wrong with it is said with the attribute's name."""
    try:
        return DenseDistortion(rows=rows)
    except ParameterError as error:
        raise ParameterError(f"matrix of attribute {name!r}: {error}", parameter="matrix") from None


def _uniform_with_epsilon(epsilon: float, size: int) -> UniformDistortion:
    """The largest retention whose draws really keep the epsilon, its promise rounded up included."""
    # The largest float below 1 stands for every epsilon beyond what 64-bit words can tell apart.
    retention = min(retention_of_epsilon(epsilon, size), math.nextafter(1, 0))
    step = 2.0**-52
    while largest_epsilon(distortion := UniformDistortion(retention=retention, size=size)) > epsilon:
        retention *= 1 - step
        step *= 2
    return distortion
