"""Cross-validation of naive Bayes from noisy counts: three ways to read the same noise, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.analysis.naive_bayes import count_classes, log_joint, log_probabilities
from sfumato.analysis.shrinkage import james_stein, shrink
from sfumato.arrays import Codes, Floats, Integers, MixedRadix
from sfumato.errors import ParameterError
from sfumato.randomness.noise import DiscreteGaussian, DiscreteLaplace
from sfumato.randomness.streams import NoiseSource
from sfumato.results import ResultTable

ESTIMATORS: dict[str, Callable[[Floats, float], Floats]] = {
    "noisy": lambda noisy, scale: np.clip(noisy, 0, None) + 0 * scale,
    "shrunken": lambda noisy, scale: shrink(noisy, scale, mode="counts").values,
    "james-stein": lambda noisy, scale: james_stein(np.clip(noisy, 0, None), scale**2),
}
"""Ways to read noisy counts: cut at zero (ML), the empirical-Bayes threshold (EB), one factor for all (JS)."""


@dataclass(frozen=True, eq=False)
class ClassifierTrial:
    """Accuracy of each estimator over folds and draws of noise.

    Parameters
    ----------
    folds, draws
        Folds of the rows, and draws of noise in each.
    accuracy
        Estimator to ``(folds, draws)``: rows that every class makes impossible get the majority class.
    accuracy_minority
        The same when they get the rarest class instead: how much such rows matter.
    impossible
        Estimator to ``(folds, draws)``: share of rows that every class makes impossible.
    majority, without_noise
        Share of the largest class, and mean accuracy over the folds without noise.
    epsilon
        What the model of one fold spends. Rows are in the training part of all folds but one, so that
        publishing every fold's model would spend ``epsilon_if_published``.
    """

    folds: int
    draws: int
    accuracy: dict[str, Floats]
    accuracy_minority: dict[str, Floats]
    impossible: dict[str, Floats]
    majority: float
    without_noise: float
    epsilon: float

    @property
    def epsilon_if_published(self) -> float:
        """Budget that publishing the models of all folds would spend, by composition."""
        return self.epsilon * (self.folds - 1)

    def dominance(self, first: str = "shrunken", second: str = "noisy") -> tuple[float, float, float]:
        """Percentages of fold and draw pairs in which the first is better than, equal to, worse than the second."""
        return dominance(self.accuracy[first], self.accuracy[second])

    def mean(self, estimator: str) -> tuple[float, float]:
        """Mean accuracy and its standard error over draws, the folds being given."""
        each = self.accuracy[estimator]
        variances = each.var(axis=1, ddof=1) / self.draws
        return float(each.mean()), math.sqrt(float(variances.sum())) / self.folds

    def table(self) -> ResultTable:
        """Every estimator beside the majority class and the accuracy without noise."""
        rows = []
        for name in self.accuracy:
            mean, error = self.mean(name)
            minority, impossible = (
                float(self.accuracy_minority[name].mean()),
                float(self.impossible[name].mean()),
            )
            rows.append((name, 100 * mean, 100 * error, 100 * minority, 100 * impossible))
        rows += [
            ("without noise", 100 * self.without_noise, 0.0, 100 * self.without_noise, 0.0),
            ("majority class", 100 * self.majority, 0.0, 100 * self.majority, 0.0),
        ]
        return ResultTable(
            f"Accuracy in %, epsilon {self.epsilon:g}, {self.folds} folds, {self.draws} draws each",
            ("counts", "accuracy", "std. error", "impossible rows to rarest class", "impossible rows"),
            tuple(rows),
            is_private=True,
        )


def dominance(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[float, float, float]:
    """Percentages of pairs in which the first is above, equal to and below the second.

    Examples
    --------
    >>> dominance([3, 2, 1, 1], [1, 2, 2, 0])
    (50.0, 25.0, 25.0)
    """
    one, other = np.asarray(first), np.asarray(second)
    above, equal = 100 * float(np.mean(one > other)), 100 * float(np.mean(one == other))
    return above, equal, 100 - above - equal


def cross_validate(
    codes: Codes,
    class_codes: Codes,
    sizes: Sequence[int],
    number_of_classes: int,
    *,
    epsilon: float,
    folds: int,
    draws: int,
    noise: NoiseSource,
    pseudo_count: float = 0.0,
    changed_by_row: int = 1,
    mechanism: type[DiscreteLaplace | DiscreteGaussian] = DiscreteLaplace,
) -> ClassifierTrial:
    """Train on noisy counts of all folds but one, test on that one; fresh noise for every fold and draw.

    For the custodian, who holds the rows: nothing of a trial is covered by a promise.

    Parameters
    ----------
    codes, class_codes
        Category codes, ``(rows, features)``, and codes of the class, ``(rows,)``.
    sizes, number_of_classes
        Categories of each feature and of the class, fixed beforehand.
    epsilon
        Of the model of one fold: all of it is spent on its class-by-feature counts.
    folds, draws
        Parts of the rows, and draws of noise for each.
    noise
        Where the split and the noise come from.
    pseudo_count
        Added to every count; 0 as in the thesis.
    changed_by_row
        Counts of one table that a row changes: 1 when rows are added or removed, 2 when replaced.
    mechanism
        Law of the noise.

    References
    ----------
    Mothali (2011), sections 8.2 and 8.3; the sensitivity is the number of features.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> labels = generator.integers(0, 2, 200)
    >>> rows = np.stack([labels ^ (generator.random(200) < 0.1), generator.integers(0, 3, 200)], axis=1)
    >>> trial = cross_validate(
    ...     rows, labels, [2, 3], 2, epsilon=1.0, folds=4, draws=5, noise=NoiseSource.seeded(1)
    ... )
    >>> trial.accuracy["noisy"].shape, trial.epsilon_if_published
    ((4, 5), 3.0)
    """
    rows = len(codes)
    if not 2 <= folds <= rows or draws < 2:
        raise ParameterError(
            f"there must be 2 or more folds, at most one for each of the {rows} rows, and 2 or more draws; "
            f"got {folds} and {draws}. Try 5 and 100.",
            parameter="folds",
        )
    law = mechanism(scale=changed_by_row * len(sizes) / epsilon)
    # Files are often sorted by class, so that contiguous folds would be badly unlike each other.
    order = noise.named("folds").stream(0).permutation(rows)
    frequencies = np.bincount(class_codes, minlength=number_of_classes)
    shape = (folds, draws)
    accuracy, minority, impossible = ({name: np.empty(shape) for name in ESTIMATORS} for _ in range(3))
    without_noise = []
    for fold, test in enumerate(np.array_split(order, folds)):
        is_test = np.zeros(rows, np.bool_)
        is_test[test] = True
        tables = count_classes(codes[~is_test], class_codes[~is_test], sizes, number_of_classes)
        judge = _Judge(codes[is_test], class_codes[is_test], frequencies, pseudo_count)
        without_noise.append(judge.score(tables)[0])
        flat = np.concatenate([each.ravel() for each in tables])
        for draw in range(draws):
            stream = noise.named(f"fold {fold}").stream(draw)
            noisy = np.asarray(flat + law.draw(stream, flat.size), np.float64)
            for name, estimate in ESTIMATORS.items():
                read = _split(estimate(noisy, law.scale), sizes, number_of_classes)
                scores = judge.score(read)
                accuracy[name][fold, draw], minority[name][fold, draw], impossible[name][fold, draw] = scores
    return ClassifierTrial(
        folds,
        draws,
        accuracy,
        minority,
        impossible,
        float(frequencies.max() / rows),
        float(np.mean(without_noise)),
        epsilon,
    )


class _Judge:
    """Scores models on one test part, each different row once."""

    def __init__(self, codes: Codes, class_codes: Codes, frequencies: Integers, pseudo_count: float) -> None:
        self.different, place = np.unique(codes, axis=0, return_inverse=True)
        number = len(frequencies)
        pairs = MixedRadix([len(self.different), number]).tabulate([place.ravel(), class_codes])
        self.by_class = pairs.reshape(-1, number)
        self.majority, self.rarest = int(np.argmax(frequencies)), int(np.argmin(frequencies))
        self.pseudo_count = pseudo_count
        self.rows = len(codes)

    def score(self, tables: Sequence[Floats]) -> tuple[float, float, float]:
        """Accuracy with impossible rows as the majority and as the rarest class, and their share."""
        joint = log_joint(self.different, *log_probabilities(tables, self.pseudo_count))
        is_impossible = np.isneginf(joint).all(axis=1)
        predicted = np.argmax(joint, axis=1)
        right = self.by_class[np.arange(len(predicted)), predicted][~is_impossible].sum()
        left_over = self.by_class[is_impossible].sum(axis=0)
        return (
            float(right + left_over[self.majority]) / self.rows,
            float(right + left_over[self.rarest]) / self.rows,
            float(left_over.sum()) / self.rows,
        )


def _split(flat: Floats, sizes: Sequence[int], number_of_classes: int) -> list[Floats]:
    ends = np.cumsum([number_of_classes * size for size in sizes])[:-1]
    return [
        part.reshape(number_of_classes, size) for part, size in zip(np.split(flat, ends), sizes, strict=True)
    ]
