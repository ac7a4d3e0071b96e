"""How well an attacker guesses people's values in buckets, held against the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.attacks.anatomy_naive_bayes.attack import AnatomyNaiveBayes, Inference
from sfumato.attacks.anatomy_naive_bayes.guesses import Guesses
from sfumato.chance.randomness import NoiseSource
from sfumato.custody.audit.calibration import row_average_marginals
from sfumato.data.private_table import PrivateTable
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.anatomy.kernels import DealToBuckets
from sfumato.methods.anatomy.law.bucketed_rows import BucketedRows
from sfumato.methods.anatomy.law.composition import BUCKET, BucketComposition
from sfumato.methods.anatomy.law.people import BucketedPeople
from sfumato.release.making import make_rows
from sfumato.release.publication import MadeRows
from sfumato.values.arrays import Booleans, Floats
from sfumato.values.number_text import Cell, percent
from sfumato.values.result_tables import ResultTable

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
