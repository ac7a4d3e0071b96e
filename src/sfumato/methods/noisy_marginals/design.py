"""Noisy marginals: differentially private tables of counts; which marginals share the budget, and expected errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from sfumato.arrays import Floats, Integers
from sfumato.attacks.ratio_law import (
    RULE_OF_THUMB,
    SMALLEST_CLOSENESS,
    SMALLEST_JUMP,
    TOLERANCE,
    approximate_moments,
    closeness_probability,
    find_disclosures,
    gaussian_closeness,
)
from sfumato.data.chunks import CodedBatch
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError, TooLargeError
from sfumato.estimates.counts import LARGEST_TABLE, CountTable
from sfumato.guarantees import Guarantee
from sfumato.guarantees.differential_privacy import (
    DifferentialPrivacy,
    Neighbours,
    marginal_sensitivity,
    rho_of_epsilon,
)
from sfumato.immutable import LARGEST_ERROR, SMALLEST_EPSILON
from sfumato.methods.base import Design
from sfumato.methods.noisy_marginals.kernels import CountSelected
from sfumato.methods.noisy_marginals.law import COUNT_COLUMN, NoisyAnswer, NoisyCounts, NoisyMarginal
from sfumato.methods.planning import PromiseGoal, is_epsilon_on_grid
from sfumato.query.selection import Selection
from sfumato.randomness.noise import (
    LARGEST_SUMMED_GAUSSIAN,
    DiscreteGaussian,
    DiscreteLaplace,
    draw_with_opendp,
    scale_at_least,
)
from sfumato.randomness.streams import NoiseSource
from sfumato.release.publication import DrawnRows, Publication, PublishedTable
from sfumato.results import ResultTable
from sfumato.schema import Role, Schema
from sfumato.text import Cell, percent

# --------------------------------------------------------------------------------------------------
# Which marginals are published, and how a privacy budget is shared out over them.


MARGINAL_SETS = ("two-way", "two-way-with-sensitive", "naive-bayes")
"""Sets of marginals that have a name."""

Budget = Literal["uniform", "cells"]


@dataclass(frozen=True)
class Measurement:
    """Something that gets noise.

    Parameters
    ----------
    names
        Attributes of a marginal, or the text of a query.
    cells
        Counts in it.
    changed_by_row
        Counts that one row can change, by one each.
    """

    names: tuple[str, ...]
    cells: int
    changed_by_row: int


def choose_marginals(
    schema: Schema,
    marginals: str | Sequence[Sequence[str]],
    attributes: Sequence[str] | None = None,
    class_attribute: str | None = None,
) -> tuple[tuple[str, ...], ...]:
    """The sets of attributes to tabulate.

    Parameters
    ----------
    schema
        Of the private table.
    marginals
        ``two-way``: every pair. ``two-way-with-sensitive``: every pair without the class attribute,
        and the same pairs with it (Han 2016, section 3.4). ``naive-bayes``: the class attribute with
        each other one. Or the sets themselves.
    attributes
        What a named set is made of; all publishable ones when not given.
    class_attribute
        The only sensitive attribute when not given.

    Raises
    ------
    ParameterError, TooLargeError
        When a set repeats, or names what cannot be tabulated, or has more cells than memory holds.

    Examples
    --------
    >>> schema = Schema.from_toml('''
    ... [attributes.sex]
    ... role = "quasi-identifier"
    ... categories = ["F", "M"]
    ... [attributes.age]
    ... role = "quasi-identifier"
    ... bins = [0, 40, 120]
    ... [attributes.job]
    ... role = "sensitive"
    ... categories = ["a", "b", "c"]
    ... ''')
    >>> choose_marginals(schema, "two-way-with-sensitive")
    (('sex', 'age'), ('sex', 'age', 'job'))
    """
    if isinstance(marginals, str):
        chosen = _named_set(schema, marginals, attributes, class_attribute)
    else:
        chosen = tuple(tuple(each) for each in marginals)
    _check(schema, chosen)
    return chosen


def _named_set(
    schema: Schema, name: str, attributes: Sequence[str] | None, class_attribute: str | None
) -> tuple[tuple[str, ...], ...]:
    names = schema.publishable.names if attributes is None else tuple(attributes)
    if name == "two-way":
        pairs = tuple(itertools.combinations(names, 2))
        if not pairs:
            raise ParameterError(
                "two-way marginals need two attributes, and there is one. Name the marginals as a list.",
                parameter="marginals",
            )
        return pairs
    target = schema.sensitive(
        class_attribute,
        parameter="class_attribute",
        advice="Set class_attribute to the one that the others are crossed with.",
    ).name
    others = tuple(each for each in names if each != target)
    needed = 2 if name == "two-way-with-sensitive" else 1
    if len(others) < needed:
        raise ParameterError(
            f"{name} marginals need {needed} attributes besides {target!r}, and there are {len(others)}. "
            "Name more attributes, or the marginals as a list.",
            parameter="marginals",
        )
    if name == "naive-bayes":
        return tuple((target, each) for each in others)
    pairs = tuple(itertools.combinations(others, 2))
    return pairs + tuple((*pair, target) for pair in pairs)


def _check(schema: Schema, marginals: Sequence[tuple[str, ...]]) -> None:
    for names in marginals:
        if not names or len(set(names)) < len(names):
            raise ParameterError(
                f"a marginal is over one or more different attributes, got {', '.join(names) or 'none'}. "
                "Name each attribute once.",
                parameter="marginals",
            )
        for each in schema.select(names):
            if not each.role.is_published or each.name == COUNT_COLUMN:
                reason = (
                    f"is {each.role.as_noun}, which is never published"
                    if not each.role.is_published
                    else "has the name of the published column of counts"
                )
                raise ParameterError(
                    f"{each.name!r} {reason}, so it cannot be tabulated. Leave it out, or rename it.",
                    parameter="marginals",
                )
        cells = math.prod(schema[name].size for name in names)
        if cells > LARGEST_TABLE:
            raise TooLargeError(
                f"the marginal over {', '.join(names)} has {cells:,} cells; at most {LARGEST_TABLE:,} fit in memory. "
                "Name fewer attributes, split it into smaller marginals, or merge categories in the schema."
            )
    different = {frozenset(names) for names in marginals}
    if len(different) < len(marginals):
        raise ParameterError(
            "two marginals are over the same attributes; each takes a part of the budget. Leave one out.",
            parameter="marginals",
        )


def laplace_noises(
    measurements: Sequence[Measurement], epsilon: float, budget: Budget
) -> tuple[DiscreteLaplace, ...]:
    """Discrete Laplace noise for each measurement, together within epsilon exactly.

    With scales b, the total is the sum of ``changed / b``. ``uniform`` makes all scales equal to the
    sum of what a row changes over epsilon (Han 2016, eq. 3.12). ``cells`` minimises the sum of all
    variances, ``sum of cells * 2 b^2``: by Lagrange, epsilons proportional to
    ``(cells * changed^2)^(1/3)``.

    Examples
    --------
    >>> table = Measurement(("a", "b"), 6, 2)
    >>> [each.scale for each in laplace_noises([table] * 12, 0.5, "uniform")][:2]
    [48.0, 48.0]
    """
    if budget == "uniform":
        weights = [Fraction(each.changed_by_row) for each in measurements]
    else:
        weights = [Fraction((each.cells * each.changed_by_row**2) ** (1 / 3)) for each in measurements]
    total = sum(weights)
    return tuple(
        # Rounded up, so that the epsilons of all measurements sum to no more than the budget.
        DiscreteLaplace(scale=scale_at_least(each.changed_by_row * total / (weight * Fraction(epsilon))))
        for each, weight in zip(measurements, weights, strict=True)
    )


def gaussian_noises(
    measurements: Sequence[Measurement], rho: float, budget: Budget
) -> tuple[DiscreteGaussian, ...]:
    """Discrete Gaussian noise for each measurement, together within rho.

    A row moves a measurement by ``sqrt(changed)`` in Euclidean length, which costs
    ``changed / (2 s^2)``. ``cells`` minimises the sum of ``cells * s^2``: rhos proportional to
    ``sqrt(cells * changed)``.

    Examples
    --------
    >>> round(gaussian_noises([Measurement(("a",), 3, 2)], 0.02, "uniform")[0].scale, 6)
    7.071068
    """
    weights = [
        float(each.changed_by_row) if budget == "uniform" else math.sqrt(each.cells * each.changed_by_row)
        for each in measurements
    ]
    return tuple(
        DiscreteGaussian(
            # A few units in the last place above, for the rounding of the quotient and the root.
            scale=math.sqrt(each.changed_by_row * sum(weights) / (2 * rho * weight)) * (1 + 1e-15)
        )
        for each, weight in zip(measurements, weights, strict=True)
    )


# --------------------------------------------------------------------------------------------------
# What noisy marginals will be worth, and what they will give away, before they are published.


Noise = DiscreteLaplace | DiscreteGaussian

SIZES = (1, 10, 100, 1_000, 10_000, 100_000)
"""True counts for which a plan states the expected error."""

GROUP_SIZES = (20, 50, 100, 200, 500, 1_000, 5_000, 20_000)
"""Group sizes for which a plan states whether the ratio attack succeeds."""

SHARES = (0.5, 0.7, 0.9)
"""Shares of a sensitive value in the group."""

SANITY_SHARE = 1e-4
"""Share of all rows below which a count is taken as this share when its error is made relative (Han 2016)."""


def precision_table(measurements: Sequence[Measurement], noises: Sequence[Noise]) -> ResultTable:
    """Noise of every published table and answer."""
    return ResultTable(
        "Noise on every count, by published table",
        ("counts of", "cells", "scale", "std. error", "95 % of noise within"),
        tuple(
            (
                " by ".join(each.names),
                each.cells,
                noise.scale,
                math.sqrt(noise.variance),
                noise.half_width(0.95),
            )
            for each, noise in zip(measurements, noises, strict=True)
        ),
    )


def size_table(noises: Sequence[Noise], rows: int) -> ResultTable:
    """Relative standard error of a published count, by its true size."""
    deviations = [math.sqrt(each.variance) for each in noises]
    return ResultTable(
        f"Expected relative error of a published count (std. error over count), {rows:,} rows",
        ("true count", "least noisy table", "noisiest table"),
        tuple((size, min(deviations) / size, max(deviations) / size) for size in SIZES if size <= rows),
    )


def exposure_table(noises: Sequence[Noise], rows: int) -> ResultTable:
    """How close the ratio of two noisy counts comes, by the size of the group (least noisy table).

    Lemma 1 of Han (2016) gives the relative bias V / group^2 with V the variance of the noise, which
    is its table 3.2 for Laplace noise; beside it the rule of thumb, and the exact probability.
    """
    noise = min(noises, key=lambda each: each.variance)
    equivalent_scale = math.sqrt(noise.variance / 2)
    body: list[tuple[Cell, ...]] = []
    for size in GROUP_SIZES:
        if size > rows:
            break
        exact = [
            float(closeness_probability(round(share * size), size, noise, tolerance=TOLERANCE))
            for share in SHARES
        ]
        relative_scale = equivalent_scale / size
        bias = approximate_moments(size, size, noise.variance)[0] - 1
        is_accurate = "yes" if relative_scale <= RULE_OF_THUMB else "no"
        body.append((size, relative_scale, bias, is_accurate, *exact))
    return ResultTable(
        f"Ratio attack: probability that a noisy share is within {percent(TOLERANCE)} of the true one",
        (
            "group size",
            "scale / size",
            "bias (lemma 1)",
            "accurate (rule of thumb)",
            *(f"exact, share {share}" for share in SHARES),
        ),
        tuple(body),
    )


def private_tables(
    table: PrivateTable,
    marginals: Sequence[tuple[str, ...]],
    noises: Sequence[Noise],
    class_attribute: str | None,
) -> tuple[ResultTable, ...]:
    """Expected errors of the real tables, and what the ratio attack would disclose of them."""
    schema = table.schema
    rows = table.number_of_rows
    sensitive = [each.name for each in schema.with_role(Role.SENSITIVE)]
    targets = [class_attribute] if class_attribute else sensitive
    body: list[tuple[Cell, ...]] = []
    counted = table.count_tables(marginals)
    priors_of = {name: table.count_by([name]).counts / rows for name in targets}
    for place, (names, noise) in enumerate(zip(marginals, noises, strict=True)):
        counts = counted[place].counts
        errors = expected_relative_errors(counts, noise, rows)
        disclosed = 0
        for target in (each for each in targets if each in names and len(names) > 1):
            priors = priors_of[target]
            parts = np.moveaxis(counts, names.index(target), -1).reshape(-1, schema[target].size)
            is_group_published = any(set(each) == set(names) - {target} for each in marginals)
            disclosed += (
                find_disclosures(parts, parts.sum(axis=1), priors, noise).number
                if is_group_published
                else number_disclosed_by_sums(parts, priors, noise)
            )
        nonempty = errors[counts > 0]
        body.append((" by ".join(names), float(nonempty.mean()), float(errors.mean()), disclosed))
    return (
        ResultTable(
            "Expected relative error over the cells of each table, and values the ratio attack would disclose",
            ("table", "error, cells with rows", "error, all cells", "disclosed"),
            tuple(body),
            is_private=True,
        ),
    )


def number_disclosed_by_sums(parts: Floats, priors: Floats, noise: Noise) -> int:
    """Values the ratio attack would disclose where a group is known only as the sum of its noisy parts.

    The sum is noisier than a published group, and shares the noise of the part; both noises are taken as
    normal, as the attack itself does there.

    Examples
    --------
    >>> parts = np.array([[900.0, 100.0], [100.0, 900.0]])
    >>> number_disclosed_by_sums(parts, np.array([0.2, 0.8]), DiscreteLaplace(scale=2.0))
    1
    """
    groups = np.broadcast_to(parts.sum(axis=1, keepdims=True), parts.shape)
    occurs = parts > 0
    part, group = parts[occurs], groups[occurs]
    jump = part / group / np.broadcast_to(priors, parts.shape)[occurs]
    worth = jump >= SMALLEST_JUMP
    own = math.sqrt(noise.variance)
    close = gaussian_closeness(
        part[worth],
        group[worth],
        own,
        own * math.sqrt(parts.shape[1]),
        tolerance=TOLERANCE,
        covariance=noise.variance,
    )
    return int(np.count_nonzero(close >= SMALLEST_CLOSENESS))


def expected_relative_errors(counts: Floats, noise: Noise, rows: int) -> Floats:
    """``E|noise| / max(count, sanity)`` for every cell (Han 2016, section 3.4).

    Examples
    --------
    >>> noise = DiscreteLaplace(scale=48.0)
    >>> expected_relative_errors(np.array([480.0, 0.0]), noise, 100_000).round(2).tolist()
    [0.1, 4.8]
    """
    return np.asarray(mean_size(noise) / np.maximum(counts, SANITY_SHARE * rows))


def mean_size(noise: Noise) -> float:
    """``E|noise|``, without a sum over its support, which grows with the scale.

    Examples
    --------
    >>> round(mean_size(DiscreteLaplace(scale=48.0)), 3), f"{mean_size(DiscreteLaplace(scale=1e9)):.4g}"
    (47.997, '1e+09')
    """
    if isinstance(noise, DiscreteLaplace):
        # 2q / (1 - q^2) with q = exp(-1/scale), with no exponential that overflows.
        return 2 * noise.ratio / -math.expm1(-2 / noise.scale)
    if noise.scale > LARGEST_SUMMED_GAUSSIAN:
        # Half of E|k| is sum k exp(-k^2 / 2 s^2) = s^2 - 1/12 + O(1/s^2), by Euler and Maclaurin.
        return 2 * (noise.scale**2 - 1 / 12) / (math.sqrt(2 * math.pi) * noise.scale)
    support = np.arange(1, math.ceil(40 * noise.scale) + 2)
    return float(2 * np.sum(support * noise.probability(support)))


# --------------------------------------------------------------------------------------------------
# Noisy marginals: differentially private counts of chosen tables, zeros included.


CELLS_PER_BATCH = 2**20
"""Cells of a marginal that get their noise and are handed over at once."""

DISCRETE_FORM = {"laplace": "discrete-laplace", "gaussian": "discrete-gaussian"}
"""Floating mechanisms, which are refused, and what to use instead."""

SCHEMA_TABLE = "attributes"
"""A table of one made-up row, which declares attributes that only declared queries are about."""


class NoisyMarginals(Design):
    """Publish the counts of chosen tables, each cell with discrete noise of a public law.

    Promise
        Differential privacy of the whole release: pure epsilon with discrete Laplace noise, epsilon
        and delta with discrete Gaussian noise. Every cell of the full product of categories is
        published, so that which cells are empty is hidden too.
    Against whom
        Anyone, with any knowledge of the other rows and any other data.
    Weaknesses
        What holds of a whole group shows, and is likely of each of its members (the ratio attack). The
        more tables, the more noise in each. Tables published with independent noise disagree.

    References
    ----------
    Dwork and others (2006); Han (2016), chapter 3; Mothali (2011), chapters 6 to 8.

    Examples
    --------
    >>> NoisyMarginals(epsilon=0.5).to_dict()["mechanism"]
    'discrete-laplace'
    >>> NoisyMarginals(epsilon=0.5, mechanism="laplace")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: mechanism 'laplace' draws floating-point numbers...
    """

    method: Literal["noisy-marginals"] = "noisy-marginals"
    epsilon: Annotated[
        float,
        Field(
            ge=SMALLEST_EPSILON,
            le=LARGEST_ERROR,
            description="privacy budget of the whole release; above 0",
        ),
    ]
    delta: Annotated[
        float, Field(ge=0, lt=1, description="of discrete Gaussian noise; 0 with discrete Laplace noise")
    ] = 0.0
    mechanism: Literal["discrete-laplace", "discrete-gaussian"] = Field(
        default="discrete-laplace", description="law of the noise on every count"
    )
    marginals: str | tuple[tuple[str, ...], ...] = Field(
        default="two-way",
        description=f"tables to publish: {', '.join(MARGINAL_SETS)}, or a list of lists of attributes",
    )
    attributes: tuple[str, ...] | None = Field(
        default=None, description="attributes that a named set of tables is made of; all when not given"
    )
    class_attribute: str | None = Field(
        default=None,
        description="attribute that two-way-with-sensitive and naive-bayes cross with the others; "
        "the sensitive one when not given",
    )
    queries: tuple[str, ...] = Field(
        default=(), description="conditions whose numbers of rows are published with noise, beside the tables"
    )
    neighbours: Neighbours = Field(
        default="replace-one",
        description="what epsilon is about: one row replaced (the number of rows is public), or one more or less",
    )
    budget: Literal["uniform", "cells"] = Field(
        default="uniform",
        description="the same noise in every table, or less noise in tables of many cells (least total variance)",
    )
    sampler: Literal["sfumato", "opendp"] = Field(
        default="sfumato", description="who draws the noise; opendp needs the extra of that name"
    )

    title: ClassVar[str] = "noisy marginals"
    summary: ClassVar[str] = (
        "No row is published. For each chosen set of attributes the table of counts over all their categories is "
        "published, empty cells included, with independent discrete noise on every count. Counts within a table "
        "are estimated without bias and with known error."
    )
    weaknesses: ClassVar[tuple[str, ...]] = (
        (
            "The ratio of two noisy counts comes close to the true share when the group is large beside the noise: "
            "a sensitive value that most of a group has is then known of each member, whatever epsilon says."
        ),
        "Each further table takes a part of the budget, so that all counts get noisier.",
        "Questions about attributes that share no table cannot be answered.",
        "Publishing the same rows again adds up: the epsilons of all releases count together.",
    )
    published_twice: ClassVar[str] = "Epsilons and deltas add up."
    citations: ClassVar[tuple[str, ...]] = (
        "Dwork, C., McSherry, F., Nissim, K. and Smith, A. (2006). Calibrating noise to sensitivity in private data analysis.",
        "Canonne, C., Kamath, G. and Steinke, T. (2020). The discrete Gaussian for differential privacy.",
        "Han, C. (2016). Sensitive disclosures under differential privacy guarantees. Simon Fraser University.",
    )

    promise_goals: ClassVar[Mapping[str, PromiseGoal]] = {
        "epsilon": PromiseGoal("of the whole release, one row replaced", "epsilon", "at most"),
        "delta": PromiseGoal(
            "of the whole release", "delta", "exactly", most=1, besides={"mechanism": "discrete-gaussian"}
        ),
    }

    @field_validator("mechanism", mode="before")
    @classmethod
    def _refuse_floats(cls, value: Any) -> Any:
        if isinstance(value, str) and value in DISCRETE_FORM:
            raise ValueError(
                f"mechanism {value!r} draws floating-point numbers, whose last digits give the count away, so no "
                f"promise can rest on it. Allowed are discrete-laplace and discrete-gaussian; use {DISCRETE_FORM[value]!r}."
            )
        return value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.choices and not is_epsilon_on_grid(self.epsilon):
            raise ValueError(
                f"epsilon was chosen from the private rows and must be 1, 2 or 5 times a power of ten, got {self.epsilon}: more "
                "digits would tell about single people. Round it down."
            )
        if self.mechanism == "discrete-laplace" and self.delta > 0:
            raise ValueError(
                f"discrete Laplace noise gives pure epsilon, so delta must be 0, got {self.delta}. "
                "Leave delta out, or set mechanism = 'discrete-gaussian'."
            )
        if self.mechanism == "discrete-gaussian" and self.delta == 0:
            raise ValueError(
                "discrete Gaussian noise gives no pure epsilon, so delta must be above 0. "
                "Set delta well below 1 / number of rows, for example 1e-6."
            )
        if isinstance(self.marginals, str) and self.marginals not in MARGINAL_SETS:
            raise ValueError(
                f"marginals must be {', '.join(MARGINAL_SETS)} or a list of lists of attributes, got {self.marginals!r}."
            )
        if not self.marginals and not self.queries:
            raise ValueError("there is nothing to publish: name marginals, or queries, or both.")
        return self

    @classmethod
    def example(cls, schema: Schema) -> Self:
        """Every pair of attributes, or the one attribute there is, at epsilon 1."""
        names = schema.publishable.names
        return cls(epsilon=1.0) if len(names) > 1 else cls(epsilon=1.0, marginals=(names,))

    def measurements(self, schema: Schema) -> tuple[Measurement, ...]:
        """Everything that gets noise for a table of this schema: marginals, then queries."""
        marginals = choose_marginals(schema, self.marginals, self.attributes, self.class_attribute)
        changed_by_row = marginal_sensitivity(1, self.neighbours)
        tables = tuple(
            Measurement(names, math.prod(schema[name].size for name in names), changed_by_row)
            for names in marginals
        )
        # Replacing a row changes the number that satisfies a condition by one at most, as adding does.
        return tables + tuple(Measurement((question,), 1, 1) for question in self._questions(schema))

    def protects_nothing(self, schema: Schema) -> str:
        """Where noise is 0 nine times of ten in every table."""
        is_none = all(each.half_width(0.9) == 0 for each in self.noises(schema))
        return "nine of ten counts would be published as they are" if is_none else ""

    def noises(self, schema: Schema) -> tuple[DiscreteLaplace | DiscreteGaussian, ...]:
        """The law of the noise of every measurement, in their order."""
        measurements = self.measurements(schema)
        if self.mechanism == "discrete-laplace":
            return laplace_noises(measurements, self.epsilon, self.budget)
        return gaussian_noises(measurements, rho_of_epsilon(self.epsilon, self.delta), self.budget)

    def law(
        self, schema: Schema, answers: Sequence[int] = (), *, number_of_rows: int | None = None
    ) -> NoisyCounts:
        """The public link between what is published and the true counts."""
        measurements, noises = self.measurements(schema), self.noises(schema)
        number = len(measurements) - len(self.queries)
        marginals = tuple(
            NoisyMarginal(
                table=f"marginal-{place}",
                attributes=each.names,
                sizes=tuple(schema[name].size for name in each.names),
                noise=noise,
            )
            for place, (each, noise) in enumerate(
                zip(measurements[:number], noises[:number], strict=True), start=1
            )
        )
        questions = zip(self._questions(schema), answers, noises[number:], strict=bool(answers))
        return NoisyCounts(
            marginals=marginals,
            answers=tuple(NoisyAnswer(question=q, count=count, noise=noise) for q, count, noise in questions),
            number_of_rows=number_of_rows,
        )

    def guarantees(self, schema: Schema) -> tuple[Guarantee, ...]:
        """Differential privacy, with the budget that is really spent."""
        _ = self.noises(schema)
        rho = None if self.mechanism == "discrete-laplace" else rho_of_epsilon(self.epsilon, self.delta)
        return (
            DifferentialPrivacy(epsilon=self.epsilon, delta=self.delta, rho=rho, relation=self.neighbours),
        )

    def publish(self, table: PrivateTable, noise: NoiseSource) -> Publication:
        """One table of noisy counts for each marginal; answers to queries stand in the law."""
        if self.sampler == "opendp" and noise.is_reproducible:
            raise ParameterError(
                "OpenDP's samplers take no seed, so a seeded release cannot use them. "
                "Leave the seed out, or set sampler = 'sfumato'.",
                parameter="sampler",
            )
        schema = table.schema.publishable
        # By counting, which does not refuse a table without rows.
        size = int(table.count_by(()).counts) if self.neighbours == "replace-one" else None
        law = self.law(table.schema, self._answers(table, noise), number_of_rows=size)
        counts = table.count_tables([each.attributes for each in law.marginals])
        tables = tuple(
            self._published_table(each, partial(counts.__getitem__, place), schema, noise)
            for place, each in enumerate(law.marginals)
        )
        in_tables = {name for each in law.marginals for name in each.attributes}
        selections = [Selection.parse(each, schema) for each in self.queries]
        elsewhere = [name for each in selections for name in each.names if name not in in_tables]
        if elsewhere or not tables:
            # The first category of everything: a row that says nothing of any person.
            row = CodedBatch({each.name: np.zeros(1, each.code_type) for each in schema.attributes}, 1)
            tables = (*tables, PublishedTable(SCHEMA_TABLE, schema, DrawnRows(lambda: iter([row]))))
        return Publication(
            tables=tables,
            law=law,
            not_protected=("the number of rows, which neighbouring tables share",)
            if self.neighbours == "replace-one"
            else (),
        )

    def planned_law(self, schema: Schema) -> NoisyCounts | None:
        """The law of the release, of which the answers to declared queries are not known yet."""
        return self.law(schema) if self.marginals else None

    def plan_tables(self, schema: Schema, rows: int, table: PrivateTable | None) -> tuple[ResultTable, ...]:
        """Noise by table, errors by size of count, and the groups that the ratio attack reaches."""
        measurements, noises = self.measurements(schema), self.noises(schema)
        public = (
            precision_table(measurements, noises),
            size_table(noises, rows),
            exposure_table(noises, rows),
        )
        if table is None:
            return public
        number = len(measurements) - len(self.queries)
        marginals = [each.names for each in measurements[:number]]
        return public + private_tables(table, marginals, noises[:number], self.class_attribute)

    def _questions(self, schema: Schema) -> tuple[str, ...]:
        """Declared queries in canonical form, so that the same question asked later is recognised."""
        known = schema.publishable
        questions = tuple(Selection.parse(each, known).describe(known) for each in self.queries)
        if len(set(questions)) < len(questions):
            raise ParameterError(
                "two of the queries ask the same; each takes a part of the budget. Leave one out.",
                parameter="queries",
            )
        return questions

    def _answers(self, table: PrivateTable, noise: NoiseSource) -> list[int]:
        """Noisy numbers of rows for the declared queries, in one pass over the rows."""
        if not self.queries:
            return []
        schema = table.schema.publishable
        selections = [Selection.parse(each, schema) for each in self.queries]
        names = tuple(dict.fromkeys(name for each in selections for name in each.names))
        portions = table.map_portions(names or schema.names[:1], CountSelected.of(selections, schema))
        counts = sum(portions, np.zeros(len(selections), np.int64))
        noises = self.noises(table.schema)[-len(selections) :]
        return [
            int(count + self._draw(each, noise.named("noise of queries"), place, 1)[0])
            for place, (count, each) in enumerate(zip(counts, noises, strict=True))
        ]

    def _published_table(
        self, marginal: NoisyMarginal, count: Callable[[], CountTable], schema: Schema, noise: NoiseSource
    ) -> PublishedTable:
        attributes = schema.select(marginal.attributes)
        bits = noise.named(f"noise of {marginal.table}")

        def batches() -> Iterator[CodedBatch]:
            counts = count().counts.ravel()
            for number, start in enumerate(range(0, counts.size, CELLS_PER_BATCH)):
                part = counts[start : start + CELLS_PER_BATCH]
                places = np.unravel_index(np.arange(start, start + part.size), marginal.sizes)
                columns: dict[str, Any] = {
                    each.name: codes.astype(each.code_type)
                    for each, codes in zip(attributes, places, strict=True)
                }
                columns[COUNT_COLUMN] = part + self._draw(marginal.noise, bits, number, part.size)
                yield CodedBatch(columns, part.size)

        return PublishedTable(
            marginal.table, Schema(attributes=attributes), DrawnRows(batches), (COUNT_COLUMN,)
        )

    def _draw(
        self, law: DiscreteLaplace | DiscreteGaussian, noise: NoiseSource, number: int, count: int
    ) -> Integers:
        if self.sampler == "opendp":
            return draw_with_opendp(law, count)
        return law.draw(noise.stream(number), count)
