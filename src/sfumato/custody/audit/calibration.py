"""Calibration of predicted probabilities: predicted against observed, in general and in buckets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Floats, Integers
from sfumato.attacks.anatomy_naive_bayes import AnatomyNaiveBayes, Inference
from sfumato.attacks.bucket_models import Guesses
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.methods.anatomy.buckets import BUCKET, BucketComposition
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.anatomy.kernels import DealToBuckets
from sfumato.methods.anatomy.law import BucketedRows
from sfumato.methods.anatomy.permutations import BucketedPeople
from sfumato.randomness.streams import NoiseSource
from sfumato.release.publication import MadeRows, make_rows
from sfumato.results import ResultTable
from sfumato.text import Cell, percent

# --------------------------------------------------------------------------------------------------
# Calibration: whether things said to be 80 % likely happen 80 % of the time.


Bins = Literal["equal-width", "equal-count"]
"""Bins of the same width on the scale of probability, or with the same number of events in each."""

Representative = Literal["mean", "midpoint"]
"""What stands for a bin's probabilities: their mean, or the middle of the bin."""


@dataclass(frozen=True, eq=False)
class Reliability:
    """Stated probabilities beside observed frequencies, bin by bin; empty bins are left out.

    Parameters
    ----------
    low, high
        Ends of each bin, ``(bins,)``.
    numbers
        Events in each bin.
    stated
        Mean stated probability of each bin.
    observed
        Share of the bin's events that happened.
    """

    low: Floats
    high: Floats
    numbers: Integers
    stated: Floats
    observed: Floats

    def to_table(self) -> ResultTable:
        """The bins as a table; computed from the truth, so private."""
        return ResultTable(
            "Stated probability beside observed frequency",
            ("from", "to", "events", "stated", "observed"),
            tuple(
                (float(low), float(high), int(number), float(stated), float(observed))
                for low, high, number, stated, observed in zip(
                    self.low, self.high, self.numbers, self.stated, self.observed, strict=True
                )
            ),
            is_private=True,
        )

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite reliability diagram as plain data: points against the diagonal, sized by events."""
        points = [
            {"stated": float(stated), "observed": float(observed), "events": int(number)}
            for stated, observed, number in zip(self.stated, self.observed, self.numbers, strict=True)
        ]
        scale = {"domain": [0, 1]}
        x = {"field": "stated", "type": "quantitative", "title": "stated probability", "scale": scale}
        y = {"field": "observed", "type": "quantitative", "title": "observed frequency", "scale": scale}
        return {
            "layer": [
                {
                    "data": {"values": [{"stated": 0, "observed": 0}, {"stated": 1, "observed": 1}]},
                    "mark": {"type": "line", "strokeDash": [4, 4], "color": "gray"},
                    "encoding": {"x": x, "y": y},
                },
                {
                    "data": {"values": points},
                    "mark": {"type": "line", "point": False},
                    "encoding": {"x": x, "y": y},
                },
                {
                    "data": {"values": points},
                    "mark": {"type": "point", "filled": True},
                    "encoding": {
                        "x": x,
                        "y": y,
                        "size": {"field": "events", "type": "quantitative", "title": "events"},
                    },
                },
            ]
        }


@dataclass(frozen=True)
class BrierParts:
    """The Brier score and its parts.

    Parameters
    ----------
    brier
        Mean squared distance of stated probability and outcome, as stated.
    quantised
        The same with each probability replaced by its bin's representative: calibration plus refinement.
    calibration
        Mean squared distance of representative and observed frequency; 0 is perfect.
    refinement
        Mean of ``r (1 - r)`` over the observed frequencies: what no calibration can mend.
    """

    brier: float
    quantised: float
    calibration: float
    refinement: float


def reliability(
    probabilities: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    *,
    number_of_bins: int = 10,
    bins: Bins = "equal-width",
) -> Reliability:
    """Observed frequency of events, by their stated probability.

    Parameters
    ----------
    probabilities
        Stated probability of each event, from 0 to 1.
    outcomes
        Whether each happened.
    number_of_bins
        Bins at most; equal-count bins that share an edge are joined.
    bins
        How bins are cut.

    Examples
    --------
    >>> found = reliability([0.9, 0.9, 0.6, 0.6, 0.2], [1, 0, 1, 1, 0])
    >>> found.observed.tolist(), found.numbers.tolist()
    ([0.0, 1.0, 0.5], [1, 2, 2])
    """
    stated, happened = _checked(probabilities, outcomes)
    edges = _edges(stated, number_of_bins, bins)
    place = _places(stated, edges)
    numbers = np.bincount(place, minlength=len(edges) - 1)
    kept = numbers > 0
    sums = [np.bincount(place, weights, minlength=len(edges) - 1)[kept] for weights in (stated, happened)]
    return Reliability(
        edges[:-1][kept], edges[1:][kept], numbers[kept], sums[0] / numbers[kept], sums[1] / numbers[kept]
    )


def brier_parts(
    probabilities: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    *,
    number_of_bins: int = 10,
    bins: Bins = "equal-width",
    representative: Representative = "mean",
) -> BrierParts:
    """The Brier score, and calibration and refinement over bins.

    The two parts add up to the score of the *quantised* probabilities exactly, and to the score as stated
    only where all probabilities of a bin are equal to its representative.

    References
    ----------
    Mothali (2011), section 5.1; Murphy (1973) for the decomposition.

    Examples
    --------
    >>> parts = brier_parts([0.9, 0.9, 0.6, 0.6, 0.2], [1, 0, 1, 1, 0])
    >>> round(parts.brier, 12), round(parts.calibration, 12), round(parts.refinement, 12)
    (0.236, 0.136, 0.1)
    """
    stated, happened = _checked(probabilities, outcomes)
    found = reliability(stated, happened, number_of_bins=number_of_bins, bins=bins)
    stand_in = found.stated if representative == "mean" else (found.low + found.high) / 2
    weights = found.numbers / found.numbers.sum()
    calibration = float(weights @ (found.observed - stand_in) ** 2)
    refinement = float(weights @ (found.observed * (1 - found.observed)))
    brier = float(np.mean((happened - stated) ** 2))
    return BrierParts(brier, calibration + refinement, calibration, refinement)


def row_average_marginals(likelihoods: Floats) -> Floats:
    """The thesis's calibration without ground truth: beliefs that average over people, not multiply.

    A permutation's probability is the average over people of their own normalised probability of the value
    it gives them. That is gentler than the product. No belief can exceed 2/g, so that a threshold such as
    0.95 is never reached in buckets of three and more.

    Parameters
    ----------
    likelihoods
        ``(size, size, buckets)``: person, value, bucket; rows may be scaled freely.

    Returns
    -------
    numpy.ndarray
        Probability that each person holds each value, in the same shape.

    Notes
    -----
    With r the likelihoods normalised by person, summing ``(1/g!) sum_m r[m, pi(m)]`` over the permutations
    that give person m value i leaves ``(1/g) (r[m, i] + 1 - mean over the others of r[., i])``.

    References
    ----------
    Mothali (2011), equation 5.3, with the denominator over the bucket's values for one person; as printed
    every permutation would have the same probability.

    Examples
    --------
    >>> matrix = np.array([[0.6, 0.2], [0.3, 0.4]])[:, :, np.newaxis]
    >>> row_average_marginals(matrix)[0, 0].round(6).tolist()
    [0.660714]
    """
    shares = likelihoods / likelihoods.sum(axis=1, keepdims=True)
    size = len(shares)
    if size == 1:
        return np.asarray(shares)
    others = (shares.sum(axis=0, keepdims=True) - shares) / (size - 1)
    return np.asarray((shares + 1 - others) / size)


@dataclass(frozen=True, eq=False)
class IsotonicCalibration:
    """A rising step-wise line from stated to calibrated probability, for those who have the truth.

    Parameters
    ----------
    stated, calibrated
        Corners of the line, each ``(corners,)``.
    """

    stated: Floats
    calibrated: Floats

    @classmethod
    def fit(cls, probabilities: npt.ArrayLike, outcomes: npt.ArrayLike) -> IsotonicCalibration:
        """Fit on events whose outcomes are known; judge it on others.

        Examples
        --------
        >>> line = IsotonicCalibration.fit([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
        >>> line.apply([0.15, 0.85]).tolist()
        [0.0, 1.0]
        """
        from scipy.optimize import isotonic_regression

        stated, happened = _checked(probabilities, outcomes)
        corners, place, events = np.unique(stated, return_inverse=True, return_counts=True)
        shares = np.bincount(place, weights=happened) / events
        return cls(corners, np.asarray(isotonic_regression(shares, weights=events).x))

    def apply(self, probabilities: npt.ArrayLike) -> Floats:
        """Calibrated probabilities, in the shape of the stated ones."""
        return np.asarray(np.interp(np.asarray(probabilities, np.float64), self.stated, self.calibrated))


def _checked(probabilities: npt.ArrayLike, outcomes: npt.ArrayLike) -> tuple[Floats, Floats]:
    stated = np.asarray(probabilities, np.float64).ravel()
    happened = np.asarray(outcomes, np.float64).ravel()
    if stated.shape != happened.shape or stated.size == 0:
        raise ParameterError(
            f"{stated.size} probabilities and {happened.size} outcomes do not fit. Give one outcome for each event."
        )
    # A sum of marginals may exceed one by rounding.
    if stated.min() < -1e-9 or stated.max() > 1 + 1e-9:
        raise ParameterError("probabilities must lie between 0 and 1. Normalise them first.")
    return np.clip(stated, 0, 1), happened


def _edges(stated: Floats, number_of_bins: int, bins: Bins) -> Floats:
    if bins == "equal-width":
        return np.arange(number_of_bins + 1) / number_of_bins
    edges = np.unique(np.quantile(stated, np.linspace(0, 1, number_of_bins + 1)))
    return edges if len(edges) > 1 else np.array([edges[0], edges[0]])


def _places(stated: Floats, edges: Floats) -> Integers:
    """Bin of each event; a bin holds its lower end, the last one its upper end too."""
    return np.clip(np.searchsorted(edges, stated, side="right") - 1, 0, len(edges) - 2)


# --------------------------------------------------------------------------------------------------
# How well an attacker guesses people's values in buckets, held against the truth.


THRESHOLDS = (0.5, 0.8, 0.9, 0.95)
"""Stated probabilities at which exposure and precision are reported."""


@dataclass(frozen=True, eq=False)
class BucketScore:
    """An attack on buckets, scored.

    Parameters
    ----------
    inference
        What the attacker came to believe.
    truth
        Everybody's true value, ``(rows,)``.
    """

    inference: Inference
    truth: npt.NDArray[Any]

    def __repr__(self) -> str:
        return f"BucketScore({self.inference.variant}: {percent(self.accuracy, decimals=1)} right, {percent(self.baseline, decimals=1)} by chance)"

    @property
    def guesses(self) -> Guesses:
        """Beliefs and guesses."""
        return self.inference.guesses

    @cached_property
    def is_right(self) -> Booleans:
        """Whether each guess is the true value, ``(rows,)``."""
        return np.asarray(self.guesses.values == self.truth)

    @property
    def accuracy(self) -> float:
        """Share of people guessed right, ties broken as they fell."""
        return float(self.is_right.mean())

    @property
    def baseline(self) -> float:
        """Expected accuracy of dealing each bucket's values at random."""
        return self.guesses.people.chance_of_random_guess

    @cached_property
    def expected_accuracy(self) -> float:
        """Accuracy averaged over the ties: people of a bucket who are alike get their values at random."""
        people = self.guesses.people
        expected = 0.0
        for block in people.blocks:
            alike = people.combination_of_row[block.rows]
            is_alike = alike[:, np.newaxis] == alike[np.newaxis]
            guessed = self.guesses.values[block.rows]
            is_hit = guessed[np.newaxis] == self.truth[block.rows][:, np.newaxis]
            expected += float(((is_alike & is_hit).sum(axis=1) / is_alike.sum(axis=1)).sum())
        return expected / people.number_of_rows

    @cached_property
    def row_averages(self) -> Floats:
        """Probability of each guess after the calibration without ground truth, ``(rows,)``."""
        marginals = tuple(row_average_marginals(each) for each in self.guesses.likelihoods)
        return self.guesses.probabilities_by(marginals)

    def exposure(self) -> ResultTable:
        """People whose value the attacker states with confidence, and how often rightly."""
        rows: list[tuple[Cell, ...]] = []
        for threshold in THRESHOLDS:
            is_sure = self.guesses.probabilities >= threshold
            precision = float(self.is_right[is_sure].mean()) if is_sure.any() else float("nan")
            rows.append((threshold, int(is_sure.sum()), float(is_sure.mean()), precision))
        return ResultTable(
            "People guessed with at least this probability, and the share of them guessed right",
            ("probability", "people", "share", "right"),
            tuple(rows),
            is_private=True,
        )

    def elimination(self, *, seed: int = 0) -> ResultTable:
        """What an attacker learns who can rule out some wrong values of the target's bucket, taken at random."""
        generator = np.random.default_rng(seed)
        people = self.guesses.people
        smallest = min(range(len(people.blocks)), key=lambda place: people.blocks[place].size)
        block, marginals = people.blocks[smallest], self.guesses.marginals[smallest]
        is_true = block.values[np.newaxis] == self.truth[block.rows][:, np.newaxis]
        of_truth = (marginals * is_true).sum(axis=1)
        # The wrong places of each person in a random order; the true ones come last and are never reached.
        order = np.argsort(generator.random(is_true.shape) + 2 * is_true, axis=1)
        ruled_out = np.cumsum(np.take_along_axis(np.where(is_true, 0, marginals), order, axis=1), axis=1)
        rows: list[tuple[Cell, ...]] = []
        for number in range(block.size):
            gone = ruled_out[:, number - 1] if number else np.zeros_like(of_truth)
            certainty = of_truth / np.maximum(1 - gone, np.finfo(float).tiny)
            rows.append((number, 1 / (block.size - number), float(np.minimum(certainty, 1).mean())))
        return ResultTable(
            f"Probability given to the true value when wrong values are ruled out (buckets of {block.size})",
            ("values ruled out", "one bucket alone", "this attack, mean"),
            tuple(rows),
            is_private=True,
        )


def arrange_with_truth(
    table: PrivateTable, design: Anatomy, noise: NoiseSource, *, seed: int = 0
) -> tuple[BucketedPeople, npt.NDArray[Any]]:
    """What a design would publish, and everybody's true value, row by row. Nothing is published."""
    publication = design.publish(table, noise)
    rows, values = publication.tables
    assert isinstance(publication.law, BucketedRows)
    sensitive = publication.law.sensitive
    assert isinstance(rows.rows, MadeRows)
    assert isinstance(rows.rows.gather, DealToBuckets)
    kept = (*rows.rows.gather.kept, sensitive)
    with_truth = replace(rows.rows, gather=replace(rows.rows.gather, kept=kept))
    batches = list(make_rows(with_truth, table.scan, noise))
    pairs = list(make_rows(values.rows, table.scan, noise))
    truth = np.concatenate([batch.codes[sensitive] for batch in batches])
    composition = BucketComposition.from_pairs(
        np.concatenate([batch.codes[BUCKET] for batch in pairs]).astype(np.int64),
        np.concatenate([batch.codes[sensitive] for batch in pairs]),
        table.schema[sensitive].size,
    )
    people = BucketedPeople.arrange(
        [np.concatenate([batch.codes[each.name] for batch in batches]) for each in rows.schema.attributes],
        [each.size for each in rows.schema.attributes],
        np.concatenate([batch.codes[BUCKET] for batch in batches]).astype(np.int64),
        composition.places,
        composition.number_of_values,
        seed=seed,
    )
    return people, truth


def score_anatomy(
    table: PrivateTable, design: Anatomy, attack: AnatomyNaiveBayes, noise: NoiseSource
) -> BucketScore:
    """Publish by a design in memory, attack it, and hold the guesses against the truth.

    Parameters
    ----------
    table
        The private rows.
    design
        Anatomy with its parameters.
    attack
        The attack with its parameters.
    noise
        Where the buckets come from.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sfumato import Schema, read_table
    >>> schema = Schema.from_toml('''
    ... [attributes.smoker]
    ... role = "quasi-identifier"
    ... categories = ["no", "yes"]
    ... [attributes.disease]
    ... role = "sensitive"
    ... categories = ["cancer", "flu", "none"]
    ... ''')
    >>> rows = pa.table({"smoker": ["yes", "no", "no"] * 200, "disease": ["cancer", "flu", "none"] * 200})
    >>> noise = NoiseSource.seeded(1)
    >>> score = score_anatomy(read_table(rows, schema), Anatomy(l_value=2), AnatomyNaiveBayes(), noise)
    >>> score.baseline, score.expected_accuracy > 0.6
    (0.5, True)
    """
    people, truth = arrange_with_truth(table, design, noise, seed=attack.seed)
    return BucketScore(attack.infer(people), truth)
