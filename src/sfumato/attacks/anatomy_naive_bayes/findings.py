"""What an attack on buckets shows: headline tables and the sentences a reader must know."""

from __future__ import annotations

import numpy as np

from sfumato.attacks.anatomy_naive_bayes.guesses import Guesses, sorted_beliefs
from sfumato.attacks.anatomy_naive_bayes.naive_bayes import Fit
from sfumato.methods.anatomy.law.people import BucketedPeople
from sfumato.methods.anatomy.law.permutations import LARGEST_EXACT
from sfumato.values.arrays import Floats
from sfumato.values.number_text import Cell
from sfumato.values.result_tables import ResultTable

FITTED = ("exact", "balanced", "restricted", "approximate")
"""Variants that fit a model."""

THRESHOLDS = (0.5, 0.8, 0.9, 0.95, 0.99)
"""Probabilities for which the number of people known with at least that probability is reported."""


def exposure(probabilities: Floats) -> ResultTable:
    """How many people are known how surely."""
    numbers = [int(np.count_nonzero(probabilities >= threshold)) for threshold in THRESHOLDS]
    return ResultTable(
        "People whose value is guessed with at least this probability (in the attacker's own reckoning)",
        ("probability", "people", "share"),
        tuple(
            (threshold, number, number / len(probabilities))
            for threshold, number in zip(THRESHOLDS, numbers, strict=True)
        ),
    )


def elimination(guesses: Guesses) -> ResultTable:
    """What ruling out other values of the target's bucket does, by how many, in the smallest buckets.

    Given that a person does not hold some values, the probabilities of the others grow in proportion; so
    the best guess p becomes ``p / (1 - ruled out)``. Ruled out are the strongest rivals of the guess.
    """
    place = int(np.argmin([block.size for block in guesses.people.blocks]))
    block = guesses.people.blocks[place]
    beliefs = sorted_beliefs(block, guesses.marginals[place])
    rows: list[tuple[Cell, ...]] = []
    for number in range(block.size):
        left = 1 - beliefs[:, 1 : number + 1].sum(axis=1)
        sure = beliefs[:, 0] / np.maximum(left, np.finfo(float).tiny)
        rows.append((number, 1 / (block.size - number), float(sure.mean()), float((sure >= 0.9).mean())))
    return ResultTable(
        f"When an attacker can rule out values of the target's bucket (buckets of {block.size})",
        ("values ruled out", "one bucket alone", "mean probability of the guess", "share at 0.9 or more"),
        tuple(rows),
    )


def starts_table(fits: tuple[tuple[Fit, ...], ...]) -> tuple[ResultTable, ...]:
    """Every fit: by the part of the buckets that it is applied to, and by start."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (part, start, each.objective, len(each.objectives) - 1, "yes" if each.has_converged else "no")
        for part, of_part in enumerate(fits, start=1)
        for start, each in enumerate(of_part, start=1)
    )
    if not rows:
        return ()
    return (
        ResultTable(
            "Starts (in each part of the buckets the best objective is used)",
            ("part", "start", "objective", "cycles", "settled"),
            rows,
        ),
    )


def caveats(people: BucketedPeople, variant: str, beliefs: str, *, has_knowledge: bool) -> tuple[str, ...]:
    """Sentences about the variant that ran and what its probabilities mean."""
    sentences = [
        "Probabilities are the attacker's own; an audit against the truth says how often they are right."
    ]
    if beliefs == "in-sample" and variant in FITTED:
        sentences.append(
            "Each bucket's beliefs come from a model that was fitted to it as well: where there is little to learn they "
            "are far too sure. beliefs=held-out is not."
        )
    if people.number_of_value_sets == 1:
        sentences.append(
            "All buckets hold the same set of values: the values are interchangeable, and there is nothing to learn."
        )
    if variant != "exact" and people.largest_bucket > LARGEST_EXACT:
        sentences.append(
            f"Buckets of up to {people.largest_bucket} are too large for the exact variant (at most {LARGEST_EXACT}); "
            f"the variant {variant} ran, and the probabilities are approximate."
        )
    if variant == "approximate":
        sentences.append(
            "This variant ignores buckets while learning, so which cluster is called which value is arbitrary: it is "
            "a baseline, not a threat."
        )
    if has_knowledge:
        sentences.append("Combinations that the knowledge lists were taken as impossible.")
    return tuple(sentences)
