"""Reconstruction risk: probability that linking a person and undoing the distortion finds the sensitive value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.arrays import Floats
from sfumato.estimates.counts import CountTable
from sfumato.guarantees.base import Guarantee, PublishedTables
from sfumato.randomness.distortion import AxisMatrix, TwoValued, contract, squared, transposed
from sfumato.schema import Attribute
from sfumato.text import percent, percent_as_stated

# --------------------------------------------------------------------------------------------------
# Reconstruction risk: whether linking, picking a row and redrawing its truth finds a sensitive value.


Bound = Annotated[float, Field(ge=1e-12, lt=1)]


class ReconstructionRisk(Guarantee):
    """One particular attacker, who links and redraws, names the sensitive value rarely.

    Promise
        An attacker who knows a person's quasi-identifiers, picks among the rows that truly have them,
        and redraws both the row's quasi-identifiers and its sensitive value from the posterior that the
        public matrices give, is right about all of it with probability at most the bound, for the given
        share of the private table's rows.
    Against whom
        That attacker and no other.
    Weaknesses
        It understates disclosure. Who simply reads the reconstructed distribution of the sensitive
        attribute among people like the target is right with the true share of the value in that group,
        however strong the perturbation; see :mod:`sfumato.guarantees.reconstruction_risk`.
        The bound 1/l is therefore not l-diversity. It is a property of one private table, so parameters
        that are chosen for it depend on that table.

    References
    ----------
    Guo (2010), result 15 (eq. 5.6), where it is called attribute disclosure risk.

    Examples
    --------
    >>> promise = ReconstructionRisk(sensitive="disease", quasi_identifiers=("sex",), bound=0.5)
    >>> promise.sentence
    'reconstruction risk of disease given sex at most 0.5 for every row of the private table...'
    """

    guarantee: Literal["reconstruction-risk"] = "reconstruction-risk"
    sensitive: str
    quasi_identifiers: Annotated[tuple[str, ...], Field(min_length=1)]
    bound: Bound
    bound_by_value: dict[str, Bound] = Field(default_factory=dict)
    share: Annotated[float, Field(gt=0, le=1)] = 1.0

    protected_unit: ClassVar[str] = "the sensitive value of one row of the private table"
    neighbours: ClassVar[str] = "none: it bounds the success of one attacker"
    attacker: ClassVar[str] = (
        "knows the target's quasi-identifiers and all matrices, picks a row and redraws its true values"
    )
    reference: ClassVar[str] = "Guo (2010), result 15"

    @property
    def names(self) -> tuple[str, ...]:
        """The quasi-identifiers, then the sensitive attribute: the axes of the counts it is about."""
        return (*self.quasi_identifiers, self.sensitive)

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        rows = "every row" if self.share == 1 else f"{percent_as_stated(self.share)} of the rows"
        lower = "".join(f", {value} at most {bound:.4g}" for value, bound in self.bound_by_value.items())
        return (
            f"reconstruction risk of {self.sensitive} given {', '.join(self.quasi_identifiers)} at most "
            f"{self.bound:.4g}{lower} for {rows} of the private table; it says nothing about an attacker who "
            "reads the reconstructed distribution."
        )

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        return (
            f"Someone who looks for a person's row by {', '.join(self.quasi_identifiers)} and works out from it "
            f"what its {self.sensitive} was is right at most {percent(self.bound)} of the time. What is true of most "
            "people like that person can still be learned."
        )

    def follows_from(self, premises: Sequence[Guarantee], published: PublishedTables) -> bool:
        """Whether it is about published attributes; the private table decides the rest, so no law can."""
        del premises
        return {*self.names} <= {*published.schema.names}

    def bounds(self, attribute: Attribute) -> Floats:
        """The bound of every category of the sensitive attribute, ``(size,)``."""
        result = np.full(attribute.size, self.bound)
        for label, bound in self.bound_by_value.items():
            result[attribute.code_of(label)] = bound
        return result

    def relative_risk(self, true_counts: CountTable, matrices: Sequence[AxisMatrix]) -> float:
        """Risk over bound, at the share of rows that is covered; the promise is kept up to 1.

        Parameters
        ----------
        true_counts
            Over :attr:`names`, in that order.
        matrices
            What each axis was perturbed by.
        """
        risks = reconstruction_risks(true_counts.counts, matrices) / self.bounds(true_counts.attributes[-1])
        return risk_at_share(risks, true_counts.counts, self.share)


def reconstruction_risks(counts: npt.NDArray[np.generic], matrices: Sequence[AxisMatrix]) -> Floats:
    """Reconstruction risk of every cell of a table; zero where nobody is.

    Parameters
    ----------
    counts
        ``(quasi-identifiers..., sensitive)``: true counts or proportions.
    matrices
        One for each axis, ``[true, published]``, or None where the attribute is not perturbed.

    Returns
    -------
    numpy.ndarray
        The shape of ``counts``.

    Notes
    -----
    ``risk(a, u) = share of u in group a * rec(a) * rec(u | a)`` (Guo 2010, eq. 5.6), where rec is the
    probability that a value, distorted and redrawn from its posterior, comes back as it was.

    Examples
    --------
    >>> table = np.array([[8, 16, 48], [12, 14, 2]])
    >>> risks = reconstruction_risks(table, [None, None])
    >>> round(float(risks[1, 0]), 4)
    0.4286
    """
    cells = np.asarray(counts, dtype=np.float64)
    groups = cells.sum(axis=-1)
    *quasi_identifiers, sensitive = matrices
    shares = np.divide(cells, groups[..., None], out=np.zeros_like(cells), where=cells > 0)
    linked = recovery_probabilities(groups, quasi_identifiers)
    if sensitive is None:
        return np.asarray(shares * linked[..., None])
    # A group is a table of its own here, so every axis but the last stays as it is.
    redrawn = recovery_probabilities(cells, [None] * groups.ndim + [sensitive])
    return np.asarray(shares * linked[..., None] * redrawn)


def recovery_probabilities(counts: Floats, matrices: Sequence[AxisMatrix]) -> Floats:
    """Probability that a cell, distorted and redrawn from its posterior, comes back as it was.

    Parameters
    ----------
    counts
        True counts or proportions; axes without a matrix separate tables of their own.
    matrices
        One for each axis, or None.

    Notes
    -----
    ``rec(a) = pi_a * sum_b P[a, b]^2 / lambda_b`` with lambda = pi P (Guo 2010, eqs. 5.5 and 5.14).

    Examples
    --------
    >>> from sfumato.randomness.distortion import TwoValued
    >>> recovery_probabilities(np.array([72.0, 28.0]), [TwoValued(0.8, 0.2)]).round(5).tolist()
    [0.80737, 0.50468]
    """
    if all(matrix is None for matrix in matrices):
        return np.ones_like(counts)
    expected = contract(counts, matrices)
    # What is never published is never looked back from.
    reciprocal = np.divide(1, expected, out=np.zeros_like(expected), where=expected > 0)
    return np.asarray(counts * contract(reciprocal, [transposed(squared(each)) for each in matrices]))


def risk_at_share(risks: Floats, counts: npt.NDArray[np.generic], share: float) -> float:
    """Smallest level that the risk of at least this share of the rows does not exceed.

    Parameters
    ----------
    risks, counts
        Of one shape; cells without rows do not count.
    share
        1 for the largest risk of all.

    Examples
    --------
    >>> risk_at_share(np.array([0.1, 0.9]), np.array([99, 1]), 0.99)
    0.1
    """
    occupied = np.asarray(counts) > 0
    values = risks[occupied]
    order = np.argsort(values)
    covered = np.cumsum(np.asarray(counts)[occupied][order])
    # The comparison is of whole numbers of rows, up to the rounding of share * total.
    place = int(np.searchsorted(covered, share * covered[-1] * (1 - 1e-12)))
    return float(values[order][place])


# --------------------------------------------------------------------------------------------------
# What an attacker learns from distributions alone: the risks that reconstruction risk leaves out.


def conditional_distribution_risks(counts: npt.NDArray[np.generic]) -> Floats:
    """How often a guess drawn from the true distribution of the target's group is right, by cell.

    A release from which the joint distribution can be reconstructed lets an attacker make this guess,
    however strongly its rows were perturbed; more rows make it better. It is the share of the sensitive
    value in its group, the risk of publishing the table as it is.

    Parameters
    ----------
    counts
        ``(quasi-identifiers..., sensitive)``.

    Returns
    -------
    numpy.ndarray
        The shape of ``counts``; zero in empty groups.

    Examples
    --------
    >>> conditional_distribution_risks(np.array([[8, 16, 48], [12, 14, 2]])).round(4)[1].tolist()
    [0.4286, 0.5, 0.0714]
    """
    cells = np.asarray(counts, dtype=np.float64)
    groups = cells.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(cells, groups, out=np.zeros_like(cells), where=groups > 0))


def posterior_risks(counts: npt.NDArray[np.generic], sensitive: AxisMatrix) -> Floats:
    """Largest belief in a cell's sensitive value when the attacker knows which published row is the target's.

    ``max over published v of Pr(S = u | group, v)``: what the perturbation of the sensitive attribute hides
    once linking has succeeded. This is the level rho of a privacy breach (Guo 2010, definition 5).

    Parameters
    ----------
    counts
        ``(quasi-identifiers..., sensitive)``.
    sensitive
        Matrix of the last axis, or None where it was not perturbed.

    Examples
    --------
    >>> posterior_risks(np.array([[3, 7]]), TwoValued(0.8, 0.2)).round(5).tolist()
    [[0.63158, 0.90323]]
    """
    cells = np.asarray(counts, dtype=np.float64)
    if sensitive is None:
        return np.asarray((cells > 0).astype(np.float64))
    size = cells.shape[-1]
    matrix = sensitive.dense(size) if isinstance(sensitive, TwoValued) else sensitive
    expected = contract(cells, [None] * (cells.ndim - 1) + [matrix])
    result = np.zeros_like(cells)
    # One published category at a time, so that memory stays that of the table.
    for published in range(size):
        seen = expected[..., published, None]
        belief = np.divide(cells * matrix[:, published], seen, out=np.zeros_like(cells), where=seen > 0)
        np.maximum(result, belief, out=result)
    return result
