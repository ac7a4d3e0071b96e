"""What classes of rows must satisfy, from the promises that are to be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn

import numpy as np

from sfumato.errors import ParameterError
from sfumato.guarantees.beta_likeness import BetaLikeness
from sfumato.guarantees.delta_disclosure import DeltaDisclosure
from sfumato.guarantees.l_diversity import LDiversity, diversity
from sfumato.guarantees.t_closeness import TCloseness
from sfumato.methods.generalization.kernels.rows import Criterion
from sfumato.values.arrays import Booleans, Counts

Promise = LDiversity | TCloseness | BetaLikeness | DeltaDisclosure
"""A promise about the sensitive values of every class."""

Test = Callable[[Counts], Booleans]


def class_criterion(
    k: int, promises: Sequence[Promise], sizes: Mapping[str, int], overall: Counts
) -> Criterion:
    """The criterion that keeps k-anonymity and some promises.

    Parameters
    ----------
    k
        Fewest rows of a class.
    promises
        About the attributes of ``sizes``.
    sizes
        Sensitive attribute to its number of categories; classes are counted over all of them together.
    overall
        ``(product of sizes,)``: counts of the whole table, which classes are compared with.

    Examples
    --------
    >>> two_jobs = LDiversity(attribute="job", l_value=2, variant="distinct")
    >>> criterion = class_criterion(3, [two_jobs], {"job": 2}, np.array([5, 5]))
    >>> criterion.passes(np.array([4, 4, 2]), np.array([[2, 2], [4, 0], [1, 1]])).tolist()
    [True, False, False]
    """
    tests = tuple(_tests(promises, sizes, overall))
    # Different values stay different when classes merge; shares and distances may be made worse.
    survives = all(isinstance(each, LDiversity) and each.variant == "distinct" for each in promises)
    return Criterion(k, tests, survives_merging=survives)


def refuse_unreachable(promises: Sequence[Promise], sizes: Mapping[str, int], overall: Counts) -> NoReturn:
    """Say what could be reached, when not even one class of all rows keeps the promises.

    Only l-diversity can be out of reach: the whole table has no distance from itself.

    Raises
    ------
    ParameterError
        With the l that one class of all rows has.
    """
    for promise in promises:
        if isinstance(promise, LDiversity):
            reached = float(
                diversity(_margin(overall, sizes, promise.attribute), promise.variant, c=promise.c)[0]
            )
            if reached < promise.l_value * (1 - 1e-12):
                raise ParameterError(
                    f"l_value = {promise.l_value:.4g} ({promise.variant}) cannot be reached for "
                    f"{promise.attribute!r}: all rows in one class have {reached:.4g}. Lower l_value, or choose "
                    "another kind of diversity.",
                    parameter="l_value",
                )
    raise ParameterError(
        "no class of rows can keep these promises together. Lower k, or ask for less.", parameter="k"
    )


def _tests(promises: Sequence[Promise], sizes: Mapping[str, int], overall: Counts) -> Iterator[Test]:
    for promise in promises:
        whole = _margin(overall, sizes, promise.attribute)[0]
        yield _test(promise, sizes, whole)


def _test(promise: Promise, sizes: Mapping[str, int], whole: Counts) -> Test:
    def passes(counts: Counts) -> Booleans:
        margin = _margin(counts, sizes, promise.attribute)
        if isinstance(promise, LDiversity):
            reached = diversity(margin, promise.variant, c=promise.c)
            # As in the promise's own check: a share of exactly 1/l must pass.
            return np.asarray(reached >= promise.l_value * (1 - 1e-12))
        return promise.classes_that_hold(margin, whole)

    return passes


def _margin(counts: Counts, sizes: Mapping[str, int], name: str) -> Counts:
    """Counts of one sensitive attribute, ``(classes, values)``, from counts over all together."""
    others = tuple(place for place, each in enumerate(sizes, start=1) if each != name)
    return np.asarray(counts.reshape(-1, *sizes.values()).sum(axis=others))
