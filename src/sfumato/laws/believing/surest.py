"""How far the likeliest value of each group is to be believed, as published rows that were held out bear it out.

Whatever groups lean on is a model, and no model has every table's form: beliefs in the likeliest value may be too modest in
all groups, or too sure. Of a group's rows held out as many show that value as its true share and the public matrix say.
Shares that a fit to the other rows states can therefore be held against them without any truth, and be corrected.

No single correction is taken: where rows were perturbed strongly, many explain those held out nearly as well, and the best of
them follows the noise of the few largest groups. Beliefs are the mean over all corrections that were tried, each counting as
much as it makes the rows likely.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.chance.distortion import AxisMatrix, contract
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.parts import in_parts

OFFSETS = np.linspace(-1.0, 1.0, 9)
"""Added to the log odds of a belief."""

SLOPES = 2.0 ** (np.arange(-3, 5) / 3)
"""Factors of the log odds, from one half to two and a half."""

CEILINGS = np.linspace(0.7, 1.0, 7)
"""Shares of the likeliest value that no group is believed to go beyond."""

CARE = 0.5
"""Standard deviation of an offset, and of the logarithm of a slope, that are expected before rows are looked at."""

ROOM = 0.1
"""How fast ceilings become unlikely below one, by a factor of e each time, before rows are looked at."""

LEVELS = 100
"""Beliefs told apart when corrections are judged: by hundredths."""

CERTAIN = 1 - 1e-9
"""Share from which a value is the only one, and nothing is corrected."""

NEGLIGIBLE = 1e-4
"""Weight beside the largest below which a correction is left out."""

NUMBERS_AT_ONCE = 10_000_000
"""Corrected beliefs, or probabilities of rows held out, that are worked on at a time."""

TRIED = np.array(list(itertools.product(OFFSETS, SLOPES, CEILINGS)))
"""``(corrections, 3)``: offset, slope and ceiling of every one."""

UNCHANGED = int(np.flatnonzero((TRIED == (0.0, 1.0, 1.0)).all(axis=1))[0])
"""Place of the one that corrects nothing."""


def _expected_beforehand() -> Floats:
    """Log probabilities without any row: small offsets, slopes and ceilings near one."""
    offsets, slopes, ceilings = TRIED.T
    weights = np.exp(-(offsets**2 + np.log(slopes) ** 2) / (2 * CARE**2) - (1 - ceilings) / ROOM)
    return np.asarray(np.log(weights / weights.sum()))


@dataclass(frozen=True, eq=False)
class Corrections:
    """Of beliefs in the likeliest value: the mean of ``ceiling / (1 + exp(-offset) odds^-slope)``, the other values in proportion.

    Parameters
    ----------
    weights
        Of every correction in :data:`TRIED`, with the sum 1.
    evidence
        Logarithm of the probability of the rows held out, the mean over what was expected of corrections beforehand.

    Examples
    --------
    None: beliefs stay what they are.

    >>> counts = np.array([[2.0, 1.0, 1.0], [1.0, 6.0, 1.0]])
    >>> Corrections.none().apply(counts).tolist()
    [[2.0, 1.0, 1.0], [1.0, 6.0, 1.0]]
    """

    weights: Floats = field(repr=False)
    evidence: float = 0.0

    @classmethod
    def none(cls, evidence: float = 0.0) -> Corrections:
        """The one that changes nothing."""
        return cls(np.eye(1, len(TRIED), UNCHANGED)[0], evidence)

    def believed(self, shares: Floats) -> Floats:
        """What shares of likeliest values, below 1, are to be believed; in their shape.

        Examples
        --------
        >>> float(Corrections.none().believed(np.array([0.75]))[0])
        0.75
        """
        is_kept = self.weights > NEGLIGIBLE * self.weights.max()
        weights, corrections = self.weights[is_kept] / self.weights[is_kept].sum(), TRIED[is_kept]
        flat, found = shares.ravel(), np.empty(shares.size)
        for part in in_parts(flat.size, each=len(weights), at_once=NUMBERS_AT_ONCE):
            found[part] = _corrected(flat[part], corrections) @ weights
        return found.reshape(shares.shape)

    def apply(self, counts: Floats) -> Floats:
        """Counts corrected, the groups on all axes but the last; groups keep their totals, and likeliest values stay so."""
        fit = _Likeliest.of(counts)
        shares = fit.shares
        # A belief of two values that are as likely cannot be lowered: one of them is the likeliest.
        others = np.sort(counts, axis=-1)[..., -2:-1] if counts.shape[-1] > 1 else np.zeros_like(fit.totals)
        second = np.divide(others, fit.totals, out=np.zeros_like(shares), where=fit.totals > 0)
        least = np.divide(second, 1 - shares + second, out=np.zeros_like(shares), where=fit.is_open)
        believed = np.maximum(
            self.believed(np.where(fit.is_open, shares, 0.5)[..., 0])[..., np.newaxis], least
        )
        factors = np.divide(1 - believed, 1 - shares, out=np.ones_like(shares), where=fit.is_open)
        result = np.asarray(counts * factors)
        own = np.where(fit.is_open, believed * fit.totals, counts.max(axis=-1, keepdims=True))
        np.put_along_axis(result, fit.places, own, axis=-1)
        return result


@dataclass(frozen=True, eq=False)
class _Likeliest:
    """Of every group its rows, its likeliest value, that value's share, and whether others are left; the last axis has length 1."""

    totals: Floats
    places: Integers
    shares: Floats
    is_open: Booleans

    @classmethod
    def of(cls, counts: Floats) -> _Likeliest:
        totals = counts.sum(axis=-1, keepdims=True)
        shares = np.divide(
            counts.max(axis=-1, keepdims=True), totals, out=np.ones_like(totals), where=totals > 0
        )
        return cls(totals, counts.argmax(axis=-1)[..., np.newaxis], shares, shares < CERTAIN)


def _corrected(shares: Floats, corrections: Floats) -> Floats:
    """Shares after each correction, ``(..., corrections)``."""
    offsets, slopes, ceilings = corrections.T
    logits = np.log(shares / (1 - shares))[..., np.newaxis]
    return np.asarray(ceilings / (1 + np.exp(-offsets - slopes * logits)))


def judge_corrections(
    fits: Sequence[Floats], held_out: Sequence[Floats], matrices: Sequence[AxisMatrix]
) -> Corrections:
    """How much every correction counts, by the rows held out.

    Parameters
    ----------
    fits
        True counts as fitted to all rows but those held out, one for each part.
    held_out
        Published rows of each part.
    matrices
        What each axis was distorted by.

    Notes
    -----
    Platt's scaling with a ceiling, through the matrices, and averaged: a correction's weight is the probability of the rows held
    out under the corrected fits, times what is expected of it beforehand. Where the rows say little, all count, and beliefs
    become modest.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines.

    Examples
    --------
    Two in three were believed to have the likeliest value; of 3,000 rows held out nine in ten do.

    >>> fit, rows = np.array([[20.0, 10.0], [10.0, 20.0]]), np.array([[1350.0, 150.0], [150.0, 1350.0]])
    >>> found = judge_corrections([fit], [rows], [None, None]).apply(fit)
    >>> (found / 30).round(1).tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """
    logarithms = _expected_beforehand()
    for fit, rows in zip(fits, held_out, strict=True):
        logarithms += _log_probabilities(fit, rows, matrices)
    largest = float(logarithms.max())
    weights = np.exp(logarithms - largest)
    return Corrections(weights / weights.sum(), largest + float(np.log(weights.sum())))


def _log_probabilities(fit: Floats, rows: Floats, matrices: Sequence[AxisMatrix]) -> Floats:
    """Of rows held out under every correction of a fit, ``(corrections,)``.

    What is expected to be published is linear in what each level of belief becomes: what groups have besides, and what
    moves from there to their likeliest values.
    """
    likeliest, occupied = _Likeliest.of(fit), rows > 0
    own = np.zeros_like(fit)
    np.put_along_axis(own, likeliest.places, likeliest.totals, axis=-1)
    besides = fit.copy()
    np.put_along_axis(besides, likeliest.places, 0.0, axis=-1)
    # Of groups with one value only nothing is left, and nothing moves.
    besides = np.divide(besides, 1 - likeliest.shares, out=own.copy(), where=likeliest.is_open)
    moved = own - besides
    levels = np.clip(np.rint(likeliest.shares * LEVELS), 1, LEVELS - 1)
    present = np.unique(levels[likeliest.is_open])
    moves = [contract(moved * (levels == level), matrices)[occupied] for level in present]
    stays = contract(besides, matrices)[occupied]
    believed = _corrected(present / LEVELS, TRIED)
    total, counted = max(float(fit.sum()), 1.0), rows[occupied]
    found = np.zeros(len(TRIED))
    by_level = np.reshape(moves, (len(present), stays.size))
    for part in in_parts(len(stays), each=len(TRIED), at_once=NUMBERS_AT_ONCE):
        expected = (stays[part] + believed.T @ by_level[:, part]) / total
        found += np.log(np.maximum(expected, np.finfo(np.float64).tiny)) @ counted[part]
    return found
