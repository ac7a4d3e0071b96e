"""Naive Bayes models of buckets: expectation-maximization, Gibbs sampling (deFinetti), assignments, held-out buckets."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Floats, Integers
from sfumato.errors import DataError
from sfumato.methods.anatomy.permutations import (
    LARGEST_EXACT,
    Block,
    BucketedPeople,
    balanced_marginals,
    draw_permutations,
    permutation_marginals,
)
from sfumato.progress import steps

# --------------------------------------------------------------------------------------------------
# From likelihoods to guesses: the most probable assignment of each bucket, and how sure it is.


@dataclass(frozen=True, eq=False)
class Guesses:
    """What an attacker believes about everybody.

    Parameters
    ----------
    people
        The release.
    likelihoods
        For each block ``(size, size, buckets)``: weight of each person and value, rows scaled freely.
    marginals
        For each block ``(size, size, buckets)``: probability that each person holds each value.
    chosen
        For each block ``(size, buckets)``: the place of the value that each person is given.
    """

    people: BucketedPeople
    likelihoods: tuple[Floats, ...]
    marginals: tuple[Floats, ...]
    chosen: tuple[Integers, ...]

    @cached_property
    def values(self) -> Integers:
        """The value guessed for each person, ``(rows,)``."""
        return self._by_row(
            [
                np.take_along_axis(b.values, c, axis=0)
                for b, c in zip(self.people.blocks, self.chosen, strict=True)
            ]
        ).astype(np.int64)

    @cached_property
    def probabilities(self) -> Floats:
        """The probability that the attacker gives to that guess, ``(rows,)``."""
        return self.probabilities_by(self.marginals)

    def probabilities_by(self, marginals: tuple[Floats, ...]) -> Floats:
        """Probability of each guess under other marginals of the same shape, ``(rows,)``."""
        parts = []
        for block, matrix, chosen in zip(self.people.blocks, marginals, self.chosen, strict=True):
            guessed = np.take_along_axis(block.values, chosen, axis=0)
            # A value that a bucket holds twice has two places; both count.
            is_guess = block.values[np.newaxis] == guessed[:, np.newaxis]
            parts.append((matrix * is_guess).sum(axis=1))
        return self._by_row(parts)

    def probabilities_of(self, values: npt.NDArray[np.integer]) -> Floats:
        """Probability that the attacker gives to each person's holding a certain value, ``(rows,)``."""
        parts = []
        for block, matrix in zip(self.people.blocks, self.marginals, strict=True):
            is_value = block.values[np.newaxis] == values[block.rows][:, np.newaxis]
            parts.append((matrix * is_value).sum(axis=1))
        return self._by_row(parts)

    def _by_row(self, parts: list[Floats] | list[Integers]) -> Floats:
        result = np.empty(self.people.number_of_rows)
        for block, part in zip(self.people.blocks, parts, strict=True):
            result[block.rows] = part
        return result


def guess(people: BucketedPeople, likelihoods: Floats) -> Guesses:
    """Guesses from likelihoods of combinations and values, ``(combinations, values)``, not negative."""
    return guess_in_buckets(people, tuple(likelihoods.ravel()[block.cells] for block in people.blocks))


def guess_in_buckets(people: BucketedPeople, likelihoods: tuple[Floats, ...]) -> Guesses:
    """Guesses from the likelihoods of every bucket's people and values.

    Parameters
    ----------
    people
        The release.
    likelihoods
        For each block ``(size, size, buckets)``, not negative.

    Notes
    -----
    The most probable assignment maximizes the product of likelihoods, not of marginals: those already hold
    the evidence of the permutations and would count it twice. Marginals of buckets too large for the exact
    sum are balanced ones.
    """
    marginals = tuple(
        (permutation_marginals if len(matrix) <= LARGEST_EXACT else balanced_marginals)(matrix)[0]
        for matrix in likelihoods
    )
    chosen = tuple(best_permutations(matrix) for matrix in likelihoods)
    return Guesses(people, likelihoods, marginals, chosen)


def best_permutations(likelihoods: Floats) -> Integers:
    """The permutation with the largest product in each bucket, by the Hungarian method.

    Parameters
    ----------
    likelihoods
        ``(size, size, buckets)``.

    Returns
    -------
    numpy.ndarray
        ``(size, buckets)``: the place of the value that each person gets.

    Examples
    --------
    >>> matrix = np.array([[0.6, 0.4, 0.9], [0.6, 0.9, 0.1], [0.5, 0.8, 0.7]])
    >>> best_permutations(matrix[:, :, np.newaxis]).ravel().tolist()
    [2, 0, 1]
    """
    from scipy.optimize import linear_sum_assignment

    with np.errstate(divide="ignore"):
        costs = -np.log(np.ascontiguousarray(np.moveaxis(likelihoods, 2, 0)))
    return np.array([linear_sum_assignment(each)[1] for each in costs], np.int64).reshape(costs.shape[:2]).T


def require_possible(people: BucketedPeople, allowed: Booleans) -> None:
    """Refuse knowledge under which some bucket's values cannot be given to its people.

    Parameters
    ----------
    people
        The release.
    allowed
        ``(combinations, values)``: False where outside knowledge rules a pair out.

    Raises
    ------
    DataError
        With the number of buckets that have no assignment left.
    """
    from scipy.optimize import linear_sum_assignment

    number = 0
    for block in people.blocks:
        for matrix in np.moveaxis(allowed.ravel()[block.cells], 2, 0):
            # The assignment with the most allowed pairs; possible when all its pairs are.
            number += int(matrix[linear_sum_assignment(matrix, maximize=True)].sum()) < block.size
    if number:
        raise DataError(
            f"what is ruled out leaves {number:,} buckets without a possible assignment. "
            "Some of it contradicts the release; rule out less."
        )


def sorted_beliefs(block: Block, marginals: Floats) -> Floats:
    """Each person's probabilities of the bucket's different values, largest first, ``(size, size, buckets)``.

    A value with several places has its probability at one of them and zero at the others.
    """
    same = block.values[:, np.newaxis] == block.values[np.newaxis]
    is_first = ~np.tril(np.moveaxis(same, 2, 0), -1).any(axis=2)
    joined = np.einsum("mqb,qpb->mpb", marginals, same.astype(np.float64)) * is_first.T[np.newaxis]
    return -np.sort(-joined, axis=1)


# --------------------------------------------------------------------------------------------------
# Naive Bayes with unknown values, fitted by expectation-maximization within buckets.


Expectation = Literal["exact", "balanced", "restricted", "approximate"]
"""``exact``: over the permutations of each bucket. ``balanced``: likelihoods of a bucket scaled so that people and
values both add up, for any size. ``restricted``: each person by themselves over the bucket's values. ``approximate``: each person by themselves over all values, buckets ignored (the thesis's Case 2)."""


SLACK: dict[Expectation, float] = {"exact": 1e-9, "balanced": 1e-4, "restricted": 1e-9, "approximate": 1e-9}
"""Relative fall of the objective that is rounding; balancing stops early and so rounds more."""

ROUNDS_OF_BALANCE = 20
IMBALANCE = 1e-3
"""A cycle need not balance further: the next one balances again, and the fit ends in the same place."""


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """Shares of the sensitive values, and of public categories given them.

    Parameters
    ----------
    shares
        ``(values,)``, summing to 1 (psi).
    conditionals
        For each public attribute ``(categories, values)``, columns summing to 1 (w).
    """

    shares: Floats
    conditionals: tuple[Floats, ...]

    @classmethod
    def uniform(cls, people: BucketedPeople) -> NaiveBayes:
        """The start that favours nothing."""
        values = people.number_of_values
        return cls(
            np.full(values, 1 / values),
            tuple(np.full((size, values), 1 / size) for size in people.attribute_sizes),
        )

    @classmethod
    def random(
        cls, people: BucketedPeople, generator: np.random.Generator, alpha: float, beta: float
    ) -> NaiveBayes:
        """A start drawn from the prior: Dirichlet with parameters one plus the pseudo-counts."""
        values = people.number_of_values
        return cls(
            generator.dirichlet(np.full(values, 1 + alpha)),
            tuple(generator.dirichlet(np.full(size, 1 + beta), values).T for size in people.attribute_sizes),
        )

    @classmethod
    def from_expected_counts(
        cls, people: BucketedPeople, counts: Floats, alpha: float, beta: float
    ) -> NaiveBayes:
        """The maximization step: smoothed effective shares (Mothali 2011, section 4.1.2).

        Parameters
        ----------
        people
            Whose public values.
        counts
            ``(combinations, values)``: expected number of people with each pair.
        alpha, beta
            Pseudo-counts added to each value, and to each category of each value.
        """
        totals = counts.sum(axis=0)
        conditionals = []
        for place, size in enumerate(people.attribute_sizes):
            found = np.zeros((size, people.number_of_values))
            np.add.at(found, people.combinations[:, place], counts)
            denominators = totals + size * beta
            # A value that nobody holds, without smoothing, says nothing about categories.
            conditionals.append(
                np.divide(
                    found + beta, denominators, out=np.full_like(found, 1 / size), where=denominators > 0
                )
            )
        shares = (totals + alpha) / (totals.sum() + people.number_of_values * alpha)
        return cls(shares, tuple(conditionals))

    def log_likelihoods(self, people: BucketedPeople) -> Floats:
        """``ln L``: log probability of each value together with each combination, ``(combinations, values)``."""
        with np.errstate(divide="ignore"):
            result = np.log(self.shares)[np.newaxis] + np.zeros((len(people.combinations), 1))
            for place, conditional in enumerate(self.conditionals):
                result += np.log(conditional)[people.combinations[:, place]]
        return result

    def log_prior(self, alpha: float, beta: float) -> float:
        """``alpha sum ln psi + beta sum ln w``, constants left out."""
        terms = [(alpha, self.shares), *((beta, each) for each in self.conditionals)]
        return float(sum(weight * np.log(each).sum() for weight, each in terms if weight > 0))


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model and how it came about.

    Parameters
    ----------
    model
        After the last maximization step.
    objectives
        Log posterior before each maximization step and after the last.
    has_converged
        The objective settled before the cycles ran out.
    """

    model: NaiveBayes
    objectives: tuple[float, ...]
    has_converged: bool

    @property
    def objective(self) -> float:
        """What starts are compared by; never the truth."""
        return self.objectives[-1]


def row_shares(likelihoods: Floats) -> Floats:
    """Each person's likelihoods over the bucket's places, scaled to sum to 1, in the same shape."""
    sums = likelihoods.sum(axis=1, keepdims=True)
    return np.asarray(likelihoods / np.where(sums > 0, sums, 1))


def expected_counts(
    people: BucketedPeople,
    model: NaiveBayes,
    expectation: Expectation,
    allowed: Booleans | None = None,
) -> tuple[Floats, float]:
    """The expectation step: expected pairs ``(combinations, values)``, and the log likelihood.

    Some assignment of every bucket must be allowed.
    """
    logs = model.log_likelihoods(people)
    if allowed is not None:
        logs = np.where(allowed, logs, -np.inf)
    scales = logs.max(axis=1, keepdims=True)
    scales[~np.isfinite(scales)] = 0
    likelihoods = np.exp(logs - scales)
    rows = people.rows_of_combination
    log_likelihood = float(rows @ scales[:, 0])
    if expectation == "approximate":
        sums = likelihoods.sum(axis=1, keepdims=True)
        return rows[:, np.newaxis] * likelihoods / sums, log_likelihood + float(rows @ np.log(sums[:, 0]))
    counts = np.zeros(likelihoods.size)
    for block in people.blocks:
        matrix = likelihoods.ravel()[block.cells]
        if expectation == "exact":
            marginals, weights = permutation_marginals(matrix)
        elif expectation == "balanced":
            marginals, weights = balanced_marginals(matrix, rounds=ROUNDS_OF_BALANCE, imbalance=IMBALANCE)
        else:
            marginals = row_shares(matrix)
            with np.errstate(divide="ignore"):
                weights = np.log(matrix.sum(axis=1)).sum(axis=0)
        log_likelihood += float(weights.sum())
        counts += np.bincount(block.cells.ravel(), marginals.ravel(), minlength=counts.size)
    return counts.reshape(likelihoods.shape), log_likelihood


def fit(
    people: BucketedPeople,
    start: NaiveBayes,
    *,
    expectation: Expectation = "exact",
    alpha: float = 1.0,
    beta: float = 1.0,
    cycles: int = 500,
    tolerance: float = 1e-8,
    allowed: Booleans | None = None,
) -> Fit:
    """Expectation-maximization from one start.

    Parameters
    ----------
    people
        The release.
    start
        First model.
    expectation
        Which expectation step.
    alpha, beta
        Pseudo-counts of values, and of categories given values.
    cycles
        Maximization steps at most.
    tolerance
        Relative change of the objective at which it has settled; 0 runs all cycles.
    allowed
        ``(combinations, values)``: False where outside knowledge rules a pair out.

    Raises
    ------
    ArithmeticError
        When a cycle lowers the objective, which the method cannot do: a fault of this program.

    References
    ----------
    Mothali (2011), tables 4.1 and 4.2, with the index of the product over people corrected.
    """
    model = start
    objectives: list[float] = []
    has_converged = False
    for cycle in steps("Fitting, at most", range(cycles + 1)):
        counts, log_likelihood = expected_counts(people, model, expectation, allowed)
        objective = log_likelihood + model.log_prior(alpha, beta)
        if objectives and objective < objectives[-1] - SLACK[expectation] * max(abs(objective), 1):
            raise ArithmeticError(
                f"expectation-maximization lowered its objective from {objectives[-1]} to {objective}."
            )
        has_converged = bool(objectives) and objective - objectives[-1] <= tolerance * abs(objective)
        objectives.append(objective)
        if cycle == cycles or (has_converged and tolerance > 0):
            break
        model = NaiveBayes.from_expected_counts(people, counts, alpha, beta)
    return Fit(model, tuple(objectives), has_converged)


# --------------------------------------------------------------------------------------------------
# Beliefs about each bucket from a model fitted to other buckets, trusted as far as held-out buckets bear it
# out.
#
# A model fitted to a bucket has already bent itself to it, and is sure of noise where there is nothing to
# learn.
# So buckets are dealt into parts; what is believed of a part comes from the others, and three numbers that
# say how far a model is trusted are chosen by how well it tells held-out buckets.


PARTS = 5
"""Parts into which buckets are dealt; beliefs about each come from a model of the others."""

POWERS = (0.15, 0.3, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0, 4.0)
OVERALL_PEOPLE = (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)
DOUBTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)

LEAST_GAIN = 8.0
"""Gain of log score below which nothing was learned: three numbers chosen to fit noise gain as much once in a
thousand times (chi-square with three degrees of freedom, above twice this)."""


@dataclass(frozen=True)
class Trust:
    """How far a model's evidence is believed.

    Parameters
    ----------
    power
        The evidence is raised to it: 0 believes nothing, and less than 1 makes up for public attributes that
        say the same thing.
    overall_people
        People with the overall shares that are added to those of each value: a value that few hold has said
        little about its public categories.
    doubt
        Share of people whose public values have nothing to do with the sensitive one.

    Examples
    --------
    >>> evidence, shares = np.log([[4.0, 1.0]]), np.array([0.5, 0.5])
    >>> Trust(1.0, 1.0, 0.0).ratios(evidence, shares).tolist()
    [[1.6, 0.4]]
    >>> Trust(1.0, 1.0, 0.5).ratios(evidence, shares).round(9).tolist()
    [[1.3, 0.7]]
    """

    power: float
    overall_people: float
    doubt: float

    def ratios(self, evidence: Floats, shares: Floats, allowed: Booleans | None = None) -> Floats:
        """Probability of each value given each combination over the value's share, ``(combinations, values)``.

        Parameters
        ----------
        evidence
            ``(combinations, values)``: log probability of the combination given the value, up to what all
            values of a combination have in common.
        shares
            ``(values,)``, of all people.
        allowed
            ``(combinations, values)``: False where outside knowledge rules a pair out.
        """
        powered = self.power * evidence
        weights = np.exp(powered - powered.max(axis=1, keepdims=True))
        even = np.ones_like(weights)
        if allowed is not None:
            weights, even = weights * allowed, even * allowed
        return np.asarray(
            (1 - self.doubt) * _normalized(weights, shares) + self.doubt * _normalized(even, shares)
        )


NOTHING_LEARNED = Trust(power=0.0, overall_people=OVERALL_PEOPLE[-1], doubt=0.0)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Models of the parts' complements, and how far they are trusted.

    Parameters
    ----------
    parts
        For each block ``(buckets,)``: the part that each bucket is in.
    fits
        For each part every start's, in order.
    trust
        Chosen by all parts, each held out from the model that is judged by it.
    gain
        Mean log score of a person over knowing nothing, in nats.
    likelihoods
        For each block ``(size, size, buckets)``.
    """

    parts: tuple[Integers, ...]
    fits: tuple[tuple[Fit, ...], ...]
    trust: Trust
    gain: float
    likelihoods: tuple[Floats, ...]


def learn_from_others(
    people: BucketedPeople,
    fits_to: Callable[[BucketedPeople], tuple[Fit, ...]],
    generator: np.random.Generator,
    *,
    learn_from: int,
    allowed: Booleans | None = None,
) -> HeldOut:
    """Likelihoods of everybody, from models fitted to other buckets.

    Parameters
    ----------
    people
        The release.
    fits_to
        Fits models to people, one for each start.
    generator
        Deals the buckets.
    learn_from
        People that a model is fitted to, and that trust is judged by, at most.
    allowed
        ``(combinations, values)``: False where outside knowledge rules a pair out.

    Notes
    -----
    A person x in a bucket with the values S has the conditional likelihood ``p(S | x)``. Which values share a
    bucket does not depend on public values, and each is equally likely to be the person's, so with r = p(v | x) / p(v)

    ``p(S | x) / p(S) = mean over v in S of r(x, v)``,

    whose logarithm scores a model by what is published alone. It is largest in expectation for the true r.
    """
    parts = tuple(generator.permutation(block.rows.shape[1]) % PARTS for block in people.blocks)
    shares = people.rows_of_value / people.number_of_rows
    trusts = [Trust(power, overall, 0.0) for overall, power in itertools.product(OVERALL_PEOPLE, POWERS)]
    scores = np.zeros((len(trusts), len(DOUBTS)))
    fits, models, judged = [], [], 0
    for part in steps("Learning from other buckets", range(PARTS)):
        others = people.only([each != part for each in parts], most=learn_from, generator=generator)
        held_out = people.only([each == part for each in parts], most=learn_from, generator=generator)
        tried = fits_to(others)
        model = max(tried, key=lambda each: each.objective).model
        scores += _scores(people, held_out, model, others.rows_of_value, trusts, allowed)
        fits.append(tried)
        models.append((model, others.rows_of_value))
        judged += held_out.number_of_rows
    place, doubt = np.unravel_index(scores.argmax(), scores.shape)
    gain = float(scores[place, doubt])
    found = Trust(trusts[place].power, trusts[place].overall_people, DOUBTS[doubt])
    trust = found if gain > LEAST_GAIN else NOTHING_LEARNED
    tables = [
        trust.ratios(_evidence(people, model, rows, trust.overall_people), shares, allowed)
        for model, rows in models
    ]
    likelihoods = tuple(_by_part(people, parts, tables))
    return HeldOut(parts, tuple(fits), trust, max(gain, 0.0) / max(judged, 1), likelihoods)


def _normalized(weights: Floats, shares: Floats) -> Floats:
    """Weights over their mean, so that a person's probabilities add up to one."""
    means = weights @ shares
    return np.asarray(weights / np.where(means > 0, means, 1)[:, np.newaxis])


def _scores(
    people: BucketedPeople,
    held_out: BucketedPeople,
    model: NaiveBayes,
    rows_of_value: Integers,
    trusts: Sequence[Trust],
    allowed: Booleans | None,
) -> Floats:
    """Sums over held-out people of ``ln p(S | x) / p(S)``, ``(trusts, doubts)``; doubt mixes in a ratio of one."""
    shares = people.rows_of_value / people.number_of_rows
    # Tables are made for the combinations that held-out people have; their cells are renumbered.
    used = np.flatnonzero(held_out.rows_of_combination)
    places = np.zeros(len(people.combinations), np.int64)
    places[used] = np.arange(len(used))
    values = people.number_of_values
    cells = [places[block.cells // values] * values + block.cells % values for block in held_out.blocks]
    possible = None if allowed is None else allowed[used]
    evidence = {each: _evidence(people, model, rows_of_value, each)[used] for each in OVERALL_PEOPLE}
    scores = np.zeros((len(trusts), len(DOUBTS)))
    for number, trust in enumerate(trusts):
        ratios = trust.ratios(evidence[trust.overall_people], shares, possible).ravel()
        means = np.concatenate([ratios[each].mean(axis=1).ravel() for each in cells] or [np.ones(0)])
        for place, doubt in enumerate(DOUBTS):
            mixed = (1 - doubt) * means + doubt
            scores[number, place] = np.log(np.maximum(mixed, np.finfo(float).tiny)).sum()
    return scores


def _evidence(
    people: BucketedPeople, model: NaiveBayes, rows_of_value: Integers, overall_people: float
) -> Floats:
    """``sum over attributes of ln p(category | value) / p(category)``, each value leaning on all people."""
    result = np.zeros((len(people.combinations), people.number_of_values))
    for place, conditional in enumerate(model.conditionals):
        codes = people.combinations[:, place]
        found = np.bincount(codes, people.rows_of_combination, minlength=len(conditional))
        overall = (found / people.number_of_rows)[:, np.newaxis]
        leaning = (rows_of_value * conditional + overall_people * overall) / (rows_of_value + overall_people)
        # A category that nobody has is no row's, so its logarithm is never used.
        ratios = np.divide(leaning, overall, out=np.ones_like(leaning), where=overall > 0)
        result += np.log(ratios)[codes]
    return result


def _by_part(people: BucketedPeople, parts: Sequence[Integers], tables: Sequence[Floats]) -> Iterator[Floats]:
    """Each bucket's likelihoods, read off the table of its part."""
    for block, part in zip(people.blocks, parts, strict=True):
        matrix = np.empty(block.cells.shape)
        for number, table in enumerate(tables):
            chosen = part == number
            matrix[:, :, chosen] = table.ravel()[block.cells[:, :, chosen]]
        yield matrix


# --------------------------------------------------------------------------------------------------
# The de Finetti attack as block Gibbs sampling: model given assignment, assignment given model.


def sample(
    people: BucketedPeople,
    generator: np.random.Generator,
    *,
    beta: float = 1.0,
    burn_in: int = 50,
    sweeps: int = 100,
    allowed: Booleans | None = None,
) -> Guesses:
    """Average beliefs over models drawn together with the people's values.

    Parameters
    ----------
    people
        The release.
    generator
        Where the draws come from.
    beta
        Pseudo-count of each category given a value: the parameter of the Dirichlet prior.
    burn_in
        Sweeps before the average begins.
    sweeps
        Sweeps that are averaged.
    allowed
        ``(combinations, values)``: False where outside knowledge rules a pair out.

    Notes
    -----
    The assignment of a bucket is drawn exactly, from all its permutations at once. Averaged are the
    marginals given the model, not the draws, which has the same mean and less noise. How often each value
    occurs is known, so the shares of values play no part.

    References
    ----------
    Kifer (2009), attacks on privacy and de Finetti's theorem.
    """
    counts = _random_counts(people)
    totals = [np.zeros(block.cells.shape) for block in people.blocks]
    for sweep in steps("Drawing assignments", range(burn_in + sweeps)):
        likelihoods = _draw_likelihoods(people, counts, generator, beta, allowed)
        matrices = [likelihoods.ravel()[block.cells] for block in people.blocks]
        drawn = [draw_permutations(matrix, generator) for matrix in matrices]
        counts = _count(people, drawn)
        if sweep >= burn_in:
            for place, matrix in enumerate(matrices):
                totals[place] += permutation_marginals(matrix)[0]
    marginals = tuple(total / sweeps for total in totals)
    return Guesses(people, marginals, marginals, tuple(best_permutations(each) for each in marginals))


def _draw_likelihoods(
    people: BucketedPeople,
    counts: Floats,
    generator: np.random.Generator,
    beta: float,
    allowed: Booleans | None,
) -> Floats:
    """Conditionals given an assignment, one Dirichlet for each attribute and value; then likelihoods."""
    conditionals = []
    for place, size in enumerate(people.attribute_sizes):
        found = np.zeros((size, people.number_of_values))
        np.add.at(found, people.combinations[:, place], counts)
        # A Dirichlet draw is gamma draws scaled to sum to one.
        gammas = generator.standard_gamma(found + beta)
        conditionals.append(gammas / gammas.sum(axis=0))
    shares = np.full(people.number_of_values, 1 / people.number_of_values)
    logs = NaiveBayes(shares, tuple(conditionals)).log_likelihoods(people)
    if allowed is not None:
        logs = np.where(allowed, logs, -np.inf)
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def _random_counts(people: BucketedPeople) -> Floats:
    """Pairs of an arbitrary assignment: people and values of a bucket are in random order already."""
    order = [np.tile(np.arange(block.size)[:, np.newaxis], block.rows.shape[1]) for block in people.blocks]
    return _count(people, order)


def _count(people: BucketedPeople, assignment: list[Integers]) -> Floats:
    """How many people of each combination an assignment gives each value, ``(combinations, values)``."""
    shape = (len(people.combinations), people.number_of_values)
    counts = np.zeros(shape[0] * shape[1])
    for block, places in zip(people.blocks, assignment, strict=True):
        pairs = np.take_along_axis(block.cells, places[:, np.newaxis], axis=1)
        counts += np.bincount(pairs.ravel(), minlength=counts.size)
    return counts.reshape(shape)
