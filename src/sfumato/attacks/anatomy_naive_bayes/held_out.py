"""Beliefs about each bucket from a model fitted to other buckets, trusted as far as held-out buckets bear it out.

A model fitted to a bucket has already bent itself to it, and is sure of noise where there is nothing to learn.
So buckets are dealt into parts; what is believed of a part comes from the others, and three numbers that
say how far a model is trusted are chosen by how well it tells held-out buckets.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.attacks.anatomy_naive_bayes.naive_bayes import Fit, NaiveBayes
from sfumato.methods.anatomy.law.people import BucketedPeople
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.watching import steps

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
