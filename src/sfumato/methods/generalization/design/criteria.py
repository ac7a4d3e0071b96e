"""What classes of rows must satisfy: promises that judge themselves, each on the counts of its own attribute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from sfumato.errors import ParameterError, nearest
from sfumato.guarantees import GUARANTEES
from sfumato.guarantees.class_criterion import ClassCriterion, Merging
from sfumato.methods.generalization.kernels.rows import Criterion
from sfumato.values.arrays import Booleans, Counts


def read_criterion(form: Mapping[str, Any]) -> ClassCriterion:
    """A promise about classes by its name and numbers, of this package or another.

    Raises
    ------
    ParameterError
        When there is no such guarantee, or it is about something else.
    """
    made = GUARANTEES.make(str(form.get("guarantee")), {key: form[key] for key in form if key != "guarantee"})
    if not isinstance(made, ClassCriterion):
        known = [name for name, each in GUARANTEES.members.items() if issubclass(each, ClassCriterion)]
        raise ParameterError(
            f"criteria must be promises about classes of rows, and {form['guarantee']} is none. "
            f"Those are {', '.join(known)}; leave the others out.",
            parameter="criteria",
        )
    return made


def require_fit(criteria: Sequence[ClassCriterion], classes: Sequence[str], names: Sequence[str]) -> None:
    """Refuse criteria about other classes than those of rows equal on ``classes``, or about what does not vary in them.

    Raises
    ------
    ParameterError
        Naming the attribute.
    """
    varying = [name for name in names if name not in classes]
    for each in criteria:
        outside = [name for name in each.class_attributes or () if name not in classes]
        if outside:
            raise ParameterError(
                f"a criterion is about classes of rows equal on {outside[0]!r}, which is no quasi-identifier. "
                "Leave it out of the criterion, or change its role.",
                parameter="criteria",
            )
        if each.watched is not None and each.watched not in varying:
            raise ParameterError(
                f"a criterion is about {each.watched!r}, which is no published attribute beside the quasi-identifiers; "
                f"{nearest(each.watched, varying)}",
                parameter="criteria",
            )


def class_criterion(
    k: int, promises: Sequence[ClassCriterion], sizes: Mapping[str, int], overall: Counts
) -> Criterion:
    """The criterion that keeps k-anonymity and some promises.

    Parameters
    ----------
    k
        Fewest rows of a class.
    promises
        Those that watch an attribute watch one of ``sizes``.
    sizes
        Watched attribute to its number of categories; classes are counted over all of them together.
    overall
        ``(product of sizes,)``: counts of the whole table, which classes are compared with.

    Examples
    --------
    >>> from sfumato.guarantees.l_diversity import LDiversity
    >>> two_jobs = LDiversity(attribute="job", l_value=2, variant="distinct")
    >>> criterion = class_criterion(3, [two_jobs], {"job": 2}, np.array([5, 5]))
    >>> criterion.passes(np.array([4, 4, 2]), np.array([[2, 2], [4, 0], [1, 1]])).tolist()
    [True, False, False]
    """

    def test_of(promise: ClassCriterion) -> Callable[[Counts], Booleans]:
        whole = _margin(overall, sizes, promise.watched)[0]
        return lambda counts: promise.classes_that_hold(_margin(counts, sizes, promise.watched), whole)

    weakest_first: tuple[Merging, ...] = ("none", "keeping", "any")
    survived = {each.survives_merging for each in promises}
    merging: Merging = next((each for each in weakest_first if each in survived), "any")
    return Criterion(k, tuple(map(test_of, promises)), merging)


def refuse_unreachable(
    promises: Sequence[ClassCriterion], sizes: Mapping[str, int], overall: Counts
) -> NoReturn:
    """Say what could be reached, when not even one class of all rows keeps the promises.

    Raises
    ------
    ParameterError
        With what the first promise that is broken says of it.
    """
    for promise in promises:
        whole = _margin(overall, sizes, promise.watched)
        if not promise.holds_for(whole):
            raise ParameterError(promise.shortfall(whole[0]))
    raise ParameterError(
        "no class of rows can keep these promises together. Lower k, or ask for less.", parameter="k"
    )


def _margin(counts: Counts, sizes: Mapping[str, int], name: str | None) -> Counts:
    """Counts of one watched attribute, ``(classes, values)``, from counts over all together; sizes for none."""
    others = tuple(place for place, each in enumerate(sizes, start=1) if each != name)
    summed = np.asarray(counts.reshape(-1, *sizes.values()).sum(axis=others))
    return summed if name is not None else summed[:, None]
