"""Multiple imputation of true rows by data augmentation, pooled by Rubin's rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from sfumato.analysis.counts import Countable
from sfumato.analysis.loglinear import Model
from sfumato.arrays import Codes, Floats, Integers, MixedRadix
from sfumato.atomic_files import write_whole
from sfumato.data.arrow import ArrowRows, row_writer
from sfumato.data.chunks import CodedBatch
from sfumato.errors import NoSolutionError, NotIdentifiableError, ParameterError, QueryError, TooLargeError
from sfumato.estimates.estimates import normal_quantile
from sfumato.progress import steps as told_steps
from sfumato.randomness.distortion import TwoValued
from sfumato.release.release import Release
from sfumato.release.tabulation import axes_of
from sfumato.results import Charted, ResultTable, Tabular, interval_chart
from sfumato.schema import Schema
from sfumato.text import counted, listed, percent_as_stated, show

# --------------------------------------------------------------------------------------------------
# Results of several draws made one: Rubin's rules.


@dataclass(frozen=True)
class Pooled(Charted):
    """Numbers estimated from several draws, about the population.

    Parameters
    ----------
    names
        What each number is.
    estimates, std_errors, low, high
        One for each.
    degrees
        Of the t distribution behind each interval.
    missing_information
        Share of each number's variance that comes from not knowing the true rows.
    draws
        How many there were.
    confidence_level
        Of the intervals.
    """

    names: tuple[str, ...]
    estimates: tuple[float, ...]
    std_errors: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    degrees: tuple[float, ...]
    missing_information: tuple[float, ...]
    draws: int
    confidence_level: float

    def __repr__(self) -> str:
        return f"Pooled({', '.join(self.names)}: {self.draws} draws)"

    def __str__(self) -> str:
        return self.summary()

    def _rows(self) -> list[tuple[str, float, float, float, float, float, float]]:
        return list(
            zip(
                self.names,
                self.estimates,
                self.std_errors,
                self.low,
                self.high,
                self.degrees,
                self.missing_information,
                strict=True,
            )
        )

    def summary(self) -> str:
        """A table for people."""
        rows = tuple(
            (name, *(show(number, error) for number in (value, error, low, high)), f"{missing:.2f}")
            for name, value, error, low, high, _, missing in self._rows()
        )
        level = percent_as_stated(self.confidence_level)
        title = f"{self.draws} draws pooled, {level} intervals, about the population"
        columns = ("Number", "Estimate", "Std. error", "Low", "High", "Missing information")
        return ResultTable(title, columns, rows).to_text()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        keys = ("name", "estimate", "std_error", "low", "high", "degrees", "missing_information")
        return {
            "draws": self.draws,
            "confidence": self.confidence_level,
            "numbers": [dict(zip(keys, row, strict=True)) for row in self._rows()],
        }

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each number."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.to_dict()["numbers"])

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart, as plain data."""
        points = [
            {"label": name, "estimate": value, "low": low, "high": high}
            for name, value, _, low, high, _, _ in self._rows()
        ]
        return interval_chart(points, title="number", unit="pooled estimate")


def pool(
    estimates: npt.ArrayLike,
    variances: npt.ArrayLike,
    *,
    names: Sequence[str] | None = None,
    confidence_level: float = 0.95,
) -> Pooled:
    """One estimate from those of several draws, with the error of drawing rows and that of not knowing them.

    Parameters
    ----------
    estimates, variances
        ``(draws, numbers)``, or ``(draws,)`` for one number: what an ordinary analysis says of each draw, taken for true rows.
    names
        What each number is.
    confidence_level
        Of the intervals.

    Notes
    -----
    With the mean variance U and the variance B of the m estimates, the total is ``T = U + (1 + 1/m) B``, on
    ``(m - 1) (1 + U / ((1 + 1/m) B))^2`` degrees.

    References
    ----------
    Rubin, D. B. (1987). Multiple imputation for nonresponse in surveys. Wiley, equations 3.1.4 to 3.1.6.

    Examples
    --------
    >>> found = pool([1.0, 2.0, 3.0], [0.5, 0.5, 0.5])
    >>> round(found.estimates[0], 6), round(found.std_errors[0] ** 2, 6), round(found.degrees[0], 6)
    (2.0, 1.833333, 3.78125)
    """
    from scipy.special import stdtrit

    normal_quantile(confidence_level)  # refuses a wrong level
    values, within = (np.array(each, dtype=np.float64) for each in (estimates, variances))
    if values.ndim == 1:
        values, within = values[:, None], within.reshape(-1, 1)
    if values.shape != within.shape or len(values) < 2:
        raise ParameterError(
            f"pooling takes an estimate and its variance of each of two draws or more, got {values.shape} and {within.shape}. "
            "Run the same analysis on every draw.",
            parameter="estimates",
        )
    if not (np.isfinite(values).all() and np.isfinite(within).all() and (within >= 0).all()):
        raise ParameterError(
            "an estimate or a variance of some draw is not a number, or negative. Pool only what every draw determines.",
            parameter="variances",
        )
    number = len(values)
    between = (1 + 1 / number) * values.var(axis=0, ddof=1)
    own = within.mean(axis=0)
    total = own + between
    missing = np.divide(between, total, out=np.zeros_like(total), where=total > 0)
    with np.errstate(divide="ignore"):
        degrees = (number - 1) / np.square(missing)
    error = np.sqrt(total)
    half = np.asarray(stdtrit(degrees, (1 + confidence_level) / 2)) * error
    middle = values.mean(axis=0)
    called = tuple(names) if names is not None else tuple(str(place + 1) for place in range(middle.size))
    if len(called) != middle.size:
        raise ParameterError(f"there are {middle.size} numbers and {len(called)} names.", parameter="names")
    columns = [
        tuple(each.tolist()) for each in (middle, error, middle - half, middle + half, degrees, missing)
    ]
    estimate, std_error, low, high, degree, share = columns
    return Pooled(called, estimate, std_error, low, high, degree, share, number, confidence_level)


# --------------------------------------------------------------------------------------------------
# Published rows as evidence of true ones: combinations that occur, and what each may have been.


LARGEST_CHANNEL = 2_000
"""Combinations of the perturbed attributes' categories: what a row may have been, each with its chance."""


@dataclass(frozen=True, eq=False)
class SeenRows:
    """Published rows over some attributes, gathered by what they show.

    Parameters
    ----------
    exact, perturbed
        Names of attributes, published as they are and redrawn.
    exact_radix, perturbed_radix
        Number their combinations.
    groups
        Combinations of exact attributes that occur, ascending, ``(groups,)``.
    group_of, shown
        For every published combination that occurs, its group and its perturbed values, ``(cells,)``, ascending.
    rows
        How many rows show it, ``(cells,)``.
    channel
        Chance of every published combination of the perturbed attributes, ``matrix[true, published]``.
    shares_told
        Of the information of the true rows, the shares that published ones have: where they have least, and on average.
    """

    exact: tuple[str, ...]
    perturbed: tuple[str, ...]
    exact_radix: MixedRadix
    perturbed_radix: MixedRadix
    groups: Integers
    group_of: Integers
    shown: Integers
    rows: Integers
    channel: Floats
    shares_told: tuple[float, float]

    @classmethod
    def of(cls, release: Release, names: Sequence[str], matrices: Mapping[str, Floats | TwoValued]) -> Self:
        """Count the rows of a release.

        Raises
        ------
        TooLargeError
            When a row may have been too many things.
        """
        exact = tuple(name for name in names if name not in matrices)
        perturbed = tuple(name for name in names if name in matrices)
        exact_radix, perturbed_radix = (
            MixedRadix([release.schema[name].size for name in each]) for each in (exact, perturbed)
        )
        width = perturbed_radix.combinations
        if width > LARGEST_CHANNEL:
            raise TooLargeError(
                f"the perturbed attributes {', '.join(perturbed)} have {width:,} combinations of categories, and rows are drawn "
                f"for at most {LARGEST_CHANNEL:,}. Name fewer of them."
            )
        counted = release.count_occupied((*exact, *perturbed))
        keys = _encode(exact_radix, [counted.codes_of(name) for name in exact], counted.counts.size)
        groups, group_of = np.unique(keys, return_inverse=True)
        shown = perturbed_radix.encode([counted.codes_of(name) for name in perturbed])
        order = np.argsort(group_of * width + shown)
        dense = {name: _dense(matrices[name], release.schema[name].size) for name in perturbed}
        channel: Floats = np.eye(1)
        for name in perturbed:
            channel = np.asarray(np.kron(channel, dense[name]), dtype=np.float64)
        told = [told_shares(dense[name], _margin(release, name)) for name in perturbed]
        return cls(
            exact,
            perturbed,
            exact_radix,
            perturbed_radix,
            groups,
            group_of[order],
            shown[order],
            counted.counts[order],
            channel,
            (math.prod(least for least, _ in told), math.prod(mean for _, mean in told)),
        )

    @property
    def width(self) -> int:
        """What a row may have been: combinations of the perturbed attributes."""
        return len(self.channel)

    @property
    def number_of_rows(self) -> int:
        """Published rows."""
        return int(self.rows.sum())

    @cached_property
    def _seen_keys(self) -> Integers:
        return np.asarray(self.group_of * self.width + self.shown)

    @cached_property
    def starts(self) -> Integers:
        """Where the cells of each group begin, ``(groups,)``."""
        return np.searchsorted(self.group_of, np.arange(self.groups.size))

    def chances(self, shares: Floats) -> Floats:
        """What the rows of every published combination were, ``(cells, width)``, given the shares of true values in groups."""
        chances = shares[self.group_of] * self.channel.T[self.shown]
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def places(self, codes: Mapping[str, npt.NDArray[Any]], number: int) -> Integers:
        """For some rows the published combination each shows, ``(rows,)``."""
        keys = _encode(self.exact_radix, [codes[name] for name in self.exact], number)
        shown = self.perturbed_radix.encode([codes[name] for name in self.perturbed])
        return np.searchsorted(self._seen_keys, np.searchsorted(self.groups, keys) * self.width + shown)


def told_shares(matrix: Floats, margin: Floats) -> tuple[float, float]:
    """How much of a true value's information its published one has: where it has least, and on average.

    Parameters
    ----------
    matrix
        ``matrix[true, published]``.
    margin
        True counts, or estimates of them, ``(k,)``.

    Notes
    -----
    A function of the true value with variance 1 keeps, seen through the published one, a variance between the least and the
    largest squared singular value of ``sqrt(p) M / sqrt(p M)``, the first of which is 1 for the constant. What is kept in the worst
    direction also says how fast a chain of draws forgets: by one minus it a step.

    Examples
    --------
    >>> least, mean = told_shares(np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([50.0, 50.0]))
    >>> round(least, 6), round(mean, 6)
    (0.36, 0.36)
    """
    shares = np.clip(margin, 0, None) + 0.5
    shares = shares / shares.sum()
    scaled = np.sqrt(shares)[:, None] * matrix / np.sqrt(shares @ matrix)
    kept = np.square(np.linalg.svd(scaled, compute_uv=False))[1:]
    return (float(kept.min()), float(kept.mean())) if kept.size else (1.0, 1.0)


def _margin(release: Release, name: str) -> Floats:
    return np.asarray(release.consistent_counts(name).values, dtype=np.float64)


def _dense(matrix: Floats | TwoValued, size: int) -> Floats:
    return matrix.dense(size) if isinstance(matrix, TwoValued) else matrix


def _encode(radix: MixedRadix, codes: Sequence[Codes | npt.NDArray[Any]], number: int) -> Integers:
    """Keys of rows; without attributes all rows are alike."""
    return radix.encode(codes) if codes else np.zeros(number, dtype=np.int64)


# --------------------------------------------------------------------------------------------------
# Models of the joint of some attributes, whose parameters are drawn given true counts.


PRIOR_ROWS = 0.5
"""Rows that a model's prior counts for, for each parameter: Jeffreys' for a table of cells without a model."""

LARGEST_TABLE = 100_000
"""Cells of a declared model, all of which are kept; without a model only combinations that occur are."""

SMALLEST_SHARE = 1e-300
"""Of a cell; smaller ones are no numbers to divide by."""


class Parameters(Protocol):
    """A model's parameters, as an array that only it reads."""

    @property
    def prior_rows(self) -> float:
        """Rows that the prior counts for."""

    def start(self) -> Floats:
        """Parameters to begin with: all true values alike."""

    def shares(self, parameters: Floats) -> Floats:
        """Shares of true values within each group of exact ones, ``(groups, width)``."""

    def draw(self, parameters: Floats, counts: Floats, generator: np.random.Generator) -> Floats:
        """Parameters drawn anew, given the last ones and counts of true rows, ``(groups, width)``."""


@dataclass(frozen=True)
class Saturated:
    """No model: every group has shares of its own.

    Parameters
    ----------
    groups, width
        Combinations of exact attributes that occur, and combinations of perturbed ones.
    """

    groups: int
    width: int

    @property
    def prior_rows(self) -> float:
        """Half a row for each cell."""
        return PRIOR_ROWS * self.groups * self.width

    def start(self) -> Floats:
        """All alike."""
        return np.full((self.groups, self.width), 1 / self.width)

    def shares(self, parameters: Floats) -> Floats:
        """The parameters themselves."""
        return parameters

    def draw(self, parameters: Floats, counts: Floats, generator: np.random.Generator) -> Floats:
        """From Dirichlet distributions, whatever came before."""
        del parameters
        drawn = generator.standard_gamma(counts + PRIOR_ROWS)
        return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Hierarchical:
    """A hierarchical loglinear model.

    Parameters
    ----------
    margins
        For each of its generators the margin's cell of every cell of the whole table, ``(cells,)``.
    places
        Cells of the whole table of every group and combination of perturbed values, ``(groups, width)``.
    cells
        Of the whole table.
    parameters
        Free ones.

    Notes
    -----
    Bayesian iterative fitting: margin after margin is drawn from its Dirichlet distribution, and the shares within it are
    kept; the shares of the whole table are then a Gibbs draw from the model's constrained Dirichlet distribution.

    References
    ----------
    Schafer, J. L. (1997). Analysis of incomplete multivariate data. Chapman & Hall, section 8.4.
    """

    margins: tuple[Integers, ...]
    places: Integers
    cells: int
    parameters: int

    @classmethod
    def of(cls, model: Model, schema: Schema, codes: Mapping[str, Integers]) -> Hierarchical:
        """From the model, and the codes of every group and combination of perturbed values, ``(groups, width)`` each.

        Raises
        ------
        TooLargeError
            When the whole table is too large to keep.
        """
        sizes = {name: schema[name].size for name in codes}
        cells = math.prod(sizes.values())
        if cells > LARGEST_TABLE:
            raise TooLargeError(
                f"the model's attributes have {cells:,} combinations of categories, and at most {LARGEST_TABLE:,} are kept. "
                "Leave attributes out."
            )
        grid = dict(zip(sizes, np.indices(list(sizes.values())).reshape(len(sizes), -1), strict=True))
        margins = tuple(
            np.ravel_multi_index(tuple(grid[name] for name in each), [sizes[name] for name in each])
            for each in model.generators
        )
        places = np.ravel_multi_index(tuple(codes.values()), list(sizes.values()))
        free = sum(math.prod(sizes[each.name] - 1 for each in term) for term in model.terms)
        return cls(margins, np.asarray(places), cells, free)

    @property
    def prior_rows(self) -> float:
        """Half a row for each parameter."""
        return PRIOR_ROWS * (self.parameters + 1)

    def start(self) -> Floats:
        """All alike, which every model allows."""
        return np.full(self.cells, 1 / self.cells)

    def shares(self, parameters: Floats) -> Floats:
        """Those of the table, within groups."""
        found = parameters[self.places]
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def draw(self, parameters: Floats, counts: Floats, generator: np.random.Generator) -> Floats:
        """One round over the margins."""
        table = parameters
        rows = np.full(self.cells, self.prior_rows / self.cells)
        rows[self.places.ravel()] += counts.ravel()
        for margin in self.margins:
            drawn = generator.standard_gamma(np.bincount(margin, rows))
            table = table * (drawn / np.bincount(margin, table))[margin]
        # Shares as small as that are zero; they must not become what nothing can be divided by.
        return np.asarray(np.maximum(table / table.sum(), SMALLEST_SHARE))


# --------------------------------------------------------------------------------------------------
# Data augmentation: parameters drawn given true rows, true rows given parameters, in turns.


FORGETTING = 5.0
"""Steps of a chain, times the share of the information that is told: the start is then forgotten to a hundredth."""

LEAST_STEPS = 20

MOST_STEPS = 4_000
"""Of a chain; below a share told of about a thousandth, draws would show where the chain began."""

MOST_WORK = 3_000_000_000
"""Numbers of rows that are drawn in all, zeros included: a few minutes."""

MOST_LEANING = 1.0
"""Rows of the prior, over the square root of the rows' worth: how many standard errors it may move a share."""


def steps_needed(seen: SeenRows, parameters: Parameters, draws: int) -> int:
    """Steps after which a chain has forgotten its start.

    Raises
    ------
    NoSolutionError
        When the published rows tell too little, so that the prior would show, or the start of the chain.
    TooLargeError
        When it would take too long.
    """
    least, mean = seen.shares_told
    worth = seen.number_of_rows * mean
    leaning = parameters.prior_rows / math.sqrt(max(worth, 1.0))
    if leaning > MOST_LEANING:
        raise NoSolutionError(
            f"{seen.number_of_rows:,} published rows tell as much as {worth:,.0f} true ones, too few for a model with "
            f"{parameters.prior_rows * 2:,.0f} parameters: draws would follow what is assumed before the rows are seen. About "
            f"{parameters.prior_rows**2 / MOST_LEANING**2 / mean:,.0f} rows would do. Name fewer attributes, declare a smaller model, or "
            "ask through the law, which assumes none.",
            reason="weak",
        )
    if least * MOST_STEPS < FORGETTING:
        raise NoSolutionError(
            f"published rows tell {least:.2g} of what true ones would of the rarest differences: draws would take more than "
            f"{MOST_STEPS:,} steps each to forget where they began. Name fewer perturbed attributes, or ask through the law.",
            reason="weak",
        )
    steps = max(LEAST_STEPS, math.ceil(FORGETTING / least))
    work = steps * draws * seen.rows.size * seen.width
    if work > MOST_WORK:
        raise TooLargeError(
            f"{draws} draws of {steps:,} steps over {seen.rows.size:,} combinations that occur, with {seen.width:,} true ones behind each, "
            "take too long. Name fewer attributes, or ask for fewer draws."
        )
    return steps


def draw_shares(seen: SeenRows, parameters: Parameters, steps: int, generator: np.random.Generator) -> Floats:
    """Shares of true values within groups, ``(groups, width)``, drawn from what the rows say of them.

    Every draw is the end of a chain of its own, so that draws are independent.

    Notes
    -----
    Tanner and Wong's two steps. Rows of one published combination fall on true ones by a multinomial draw; the chance of each is its
    share in the group, times the chance to be published so.

    References
    ----------
    Tanner, M. A. and Wong, W. H. (1987). The calculation of posterior distributions by data augmentation. JASA 82, 528-540.
    """
    state = parameters.start()
    for _ in range(steps):
        true = generator.multinomial(seen.rows, seen.chances(parameters.shares(state)))
        counts = np.add.reduceat(true, seen.starts, axis=0)
        state = parameters.draw(state, counts.astype(np.float64), generator)
    return parameters.shares(state)


# --------------------------------------------------------------------------------------------------
# Tables drawn from what a release says of its true rows.


README_NAME = "README.md"


@dataclass(frozen=True, eq=False)
class Draw(Tabular):
    """One table of rows as they may have been: made of published rows, in their order.

    Parameters
    ----------
    of
        What it is a draw of.
    place
        Which one, from 0.
    """

    of: Imputations
    place: int

    def __repr__(self) -> str:
        return (
            f"Draw({self.place + 1} of {self.of.draws}: {listed(self.of.names)}; {counted(len(self), 'row')})"
        )

    def __str__(self) -> str:
        return self.summary()

    def __len__(self) -> int:
        return self.of.seen.number_of_rows

    def summary(self) -> str:
        """One line for people."""
        return (
            f"Draw {self.place + 1} of {self.of.draws}: {listed(self.of.names)}; {counted(len(self), 'row')}"
        )

    @cached_property
    def shares(self) -> Floats:
        """The parameters drawn: shares of true values within groups of exact ones, ``(groups, width)``."""
        return draw_shares(self.of.seen, self.of.parameters, self.of.steps, self._generator("parameters"))

    def batches(self) -> Iterator[CodedBatch]:
        """The rows as codes; memory does not grow with their number."""
        seen = self.of.seen
        chances = np.cumsum(seen.chances(self.shares), axis=1)
        generator = self._generator("rows")
        for batch in self.of.release.scan(self.of.release.tables[0].name, (*seen.exact, *seen.perturbed)):
            number = batch.number_of_rows
            below = chances[seen.places(batch.codes, number)]
            # The last one takes what rounding leaves of the sum.
            true = (generator.random(number)[:, None] >= below[:, :-1]).sum(axis=1)
            redrawn = {
                **batch.codes,
                **dict(zip(seen.perturbed, seen.perturbed_radix.decode(true), strict=True)),
            }
            yield CodedBatch({name: redrawn[name] for name in self.of.names}, number)

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each published one."""
        import pyarrow as pa

        rows = ArrowRows(self.of.release.schema.select(self.of.names))
        return pa.Table.from_batches([rows.convert(each) for each in self.batches()], schema=rows.schema)

    def _generator(self, use: str) -> np.random.Generator:
        # Nothing is protected by these numbers: they are drawn from what is public.
        return np.random.default_rng([self.of.seed, self.place, 0 if use == "parameters" else 1])


@dataclass(frozen=True, eq=False)
class Imputations:
    """Several tables of rows as they may have been, for tools that know multiple imputation.

    About the population: an analysis of every draw by itself, taken for true rows, is made one by :meth:`pool`. A single draw is no
    estimate of anything.

    Parameters
    ----------
    release
        What they were drawn from.
    names
        Columns, in order.
    seen, parameters, steps
        Evidence, model, and steps of each chain.
    model
        As it was declared; empty for none.
    draws
        How many tables.
    seed
        The same draws follow from the same seed.
    """

    release: Release
    names: tuple[str, ...]
    seen: SeenRows
    parameters: Parameters
    steps: int
    model: str
    draws: int
    seed: int

    def __repr__(self) -> str:
        return f"Imputations({self.draws} draws of {listed(self.names)}; {counted(self.seen.number_of_rows, 'row')})"

    def __str__(self) -> str:
        return self.summary()

    def __len__(self) -> int:
        return self.draws

    def __getitem__(self, place: int) -> Draw:
        if not -self.draws <= place < self.draws:
            raise IndexError(place)
        return Draw(self, place % self.draws)

    def __iter__(self) -> Iterator[Draw]:
        return (Draw(self, place) for place in range(self.draws))

    @property
    def congenial(self) -> str:
        """Which analyses the draws are for."""
        if not self.model:
            return f"any analysis of {' and '.join(self.names)} and of nothing else: no model of how they go together was assumed"
        return (
            f"analyses of {' and '.join(self.names)} that ask for nothing beyond {self.model}: whatever goes together otherwise, "
            "the draws show none of it"
        )

    def summary(self) -> str:
        """A few lines for people."""
        least, mean = self.seen.shares_told
        return "\n".join(
            [
                f"{self.draws} draws of {counted(self.seen.number_of_rows, 'row')}: {', '.join(self.names)}",
                f"Drawn anew: {', '.join(self.seen.perturbed)}; {', '.join(self.seen.exact) or 'nothing else'} as published",
                f"Congenial with {self.congenial}",
                f"Published rows tell {mean:.2g} of what true ones would on average, {least:.2g} where least; {self.steps:,} steps a draw",
                "About the population. Analyse every draw as if its rows were true ones, then pool: one draw estimates nothing",
                f"({self.release.method}, law {self.release.manifest.law['law']})",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``impute --json`` prints it."""
        return {
            "draws": self.draws,
            "rows": self.seen.number_of_rows,
            "attributes": list(self.names),
            "drawn_anew": list(self.seen.perturbed),
            "model": self.model or None,
            "congenial": self.congenial,
            "target": "population",
            "information_told": {"least": self.seen.shares_told[0], "mean": self.seen.shares_told[1]},
            "steps": self.steps,
            "seed": self.seed,
            "method": self.release.method,
            "law": str(self.release.manifest.law["law"]),
        }

    def pool(
        self,
        analyse: Callable[[Draw], tuple[npt.ArrayLike, npt.ArrayLike]],
        *,
        names: Sequence[str] | None = None,
        confidence_level: float = 0.95,
    ) -> Pooled:
        """Run an analysis on every draw, and make its results one.

        Parameters
        ----------
        analyse
            Gives estimates and their variances, as of true rows.
        names, confidence_level
            As for :func:`sfumato.analysis.imputation.pool`.
        """
        found = [analyse(each) for each in self]
        return pool(
            np.array([np.atleast_1d(each[0]) for each in found]),
            np.array([np.atleast_1d(each[1]) for each in found]),
            names=names,
            confidence_level=confidence_level,
        )

    def write(self, out: Path | str) -> Path:
        """Write every draw as a Parquet file of a new folder, whole or not at all; memory does not grow with rows.

        Raises
        ------
        ParameterError
            When the folder exists, or cannot be written.
        """
        out = Path(out)
        columns = ArrowRows(self.release.schema.select(self.names))
        with write_whole(out, parameter="out") as (folder,):
            folder.mkdir()
            for each in told_steps("Drawing", list(self)):
                with row_writer(folder / self.file_name(each.place), columns, "parquet") as write:
                    for batch in each.batches():
                        write(batch)
            (folder / README_NAME).write_text(self._readme(), encoding="utf-8")
        return out

    def file_name(self, place: int) -> str:
        """Of a draw, counted from one.

        All have as many digits, so that they sort.
        """
        return f"draw-{place + 1:0{len(str(self.draws))}d}.parquet"

    def _readme(self) -> str:
        return (
            f"# Draws from a release\n\n{self.summary()}.\n\n"
            "No row of these files is anybody's: values were drawn from what the release says of them. Results of all files together, "
            "pooled by Rubin's rules, are about the population behind the table; of one file alone they say nothing.\n"
        )


# --------------------------------------------------------------------------------------------------
# Drawing true rows from a release whose rows were redrawn one by one.


MOST_DRAWS = 1_000
LARGEST_SEED = 2**63 - 1


def impute(
    release: Countable,
    by: str | Sequence[str] | None = None,
    *,
    model: str = "",
    draws: int = 20,
    seed: int = 0,
) -> Imputations:
    """Tables of rows as they may have been, drawn from what the release and a model say of them.

    Parameters
    ----------
    release
        One whose rows are the true ones, with values redrawn by public matrices.
    by
        Attributes to draw; all of them when neither they nor a model are given.
    model
        A hierarchical loglinear model of the attributes it names, such as ``"age*sex + sex*job"``: the draws are congenial with analyses that
        ask for nothing beyond it. When not given nothing is assumed of how the attributes go together.
    draws
        How many tables; the less the published rows tell, the more are worth while.
    seed
        The same draws follow from the same seed.

    Raises
    ------
    NotIdentifiableError
        When the release's rows are not of this kind.
    NoSolutionError
        When they tell too little, so that what is assumed beforehand would show in the draws.
    TooLargeError
        When there are too many combinations, or the draws would take too long.

    Notes
    -----
    Parameters are drawn first, then rows, so that what is not known of the parameters is in the draws: data augmentation under Jeffreys'
    prior, half a row for each parameter. The draws are about the population. Everything that the law answers by
    itself (counts, means, regressions) it answers with smaller errors and about the table too.
    """
    _refuse_numbers(draws, seed)
    rows = _rows_of(release)
    read = Model.read(model, rows.schema) if model.strip() else None
    names = _names(rows, by, read)
    matrices = {name: each for name, each in rows.law.matrices().items() if name in names}
    if not matrices:
        raise QueryError(
            f"nothing of {', '.join(names)} was redrawn: the published rows are the true ones. Analyse them as they are, or name "
            f"an attribute that was redrawn: {', '.join(rows.law.changed_attributes)}."
        )
    seen = SeenRows.of(rows, names, matrices)
    parameters = _parameters(rows, seen, names, read)
    steps = steps_needed(seen, parameters, draws)
    return Imputations(rows, names, seen, parameters, steps, "" if read is None else read.text, draws, seed)


def _refuse_numbers(draws: int, seed: int) -> None:
    if not 2 <= draws <= MOST_DRAWS:
        raise ParameterError(
            f"draws must lie between 2 and {MOST_DRAWS:,}, got {draws}. Twenty do for most analyses; one alone has no error.",
            parameter="draws",
        )
    if not 0 <= seed <= LARGEST_SEED:
        raise ParameterError(f"seed must lie between 0 and 2^63 - 1, got {seed}.", parameter="seed")


def _rows_of(release: Countable) -> Release:
    """The release, where each of its rows was redrawn by itself and by matrices that are told."""
    if isinstance(release, Release):
        law = release.law
        if law.is_row_by_row and law.rows_are_independent and law.matrices():
            return release
        if law.is_withheld:
            raise NotIdentifiableError(
                "true rows cannot be drawn: the matrices by which values were redrawn are withheld, so that nobody can tell what a "
                "published value may have been. Test what stays valid (sfumato advise)."
            )
        raise NotIdentifiableError(
            f"true rows cannot be drawn from this release: {law.sentence} Only where each row was redrawn by itself, by a public matrix, "
            "does a published row say by itself what it may have been. Ask through the law instead: counts, means and regressions "
            "have their errors from it."
        )
    raise NotIdentifiableError("only a release has published rows. Ask for estimates of the counts instead.")


def _names(release: Release, by: str | Sequence[str] | None, model: Model | None) -> tuple[str, ...]:
    if model is None:
        return axes_of(release.schema, release.schema.names if by is None else by)
    if by is not None:
        raise ParameterError(
            "the model names the attributes to draw. Give the attributes or a model, one of them.",
            parameter="by",
        )
    return model.names


def _parameters(release: Release, seen: SeenRows, names: Sequence[str], model: Model | None) -> Parameters:
    if model is None:
        return Saturated(seen.groups.size, seen.width)
    known = seen.exact_radix.decode(seen.groups) if seen.exact else ()
    redrawn = seen.perturbed_radix.decode(np.arange(seen.width))
    shape = (seen.groups.size, seen.width)
    codes = {
        name: np.broadcast_to(each[:, None], shape) for name, each in zip(seen.exact, known, strict=True)
    }
    codes |= {
        name: np.broadcast_to(each[None, :], shape)
        for name, each in zip(seen.perturbed, redrawn, strict=True)
    }
    return Hierarchical.of(model, release.schema, {name: codes[name] for name in names})
