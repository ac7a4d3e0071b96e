"""Shrinkage of noisy counts toward zero (empirical Bayes)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from sfumato.analysis.counts import Countable, as_columns
from sfumato.arrays import Floats
from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.results import Charted, ResultTable, bar_chart
from sfumato.schema import Attribute
from sfumato.text import percent

# --------------------------------------------------------------------------------------------------
# Reading noisy counts better: estimators that shrink towards zero, at no cost of privacy.
#
# Everything here is computed from what is published. The estimates are biased on purpose: they trade
# bias for variance, which pays where many cells are near zero and costs where none is.


Mode = Literal["counts", "threshold", "signed", "printed", "exact"]
"""``counts``: cut at zero, then soft threshold (the useful one for counts). ``threshold``: soft threshold with
sign. ``signed``: shift towards zero, which may overshoot. ``printed``: the thesis's formula to the letter, which
shifts everything down. ``exact``: the posterior mean that the others approximate."""

LARGEST_DIFFUSE_RATIO = 0.3
"""Prior rate over noise rate up to which the shift is a fair approximation of the posterior mean."""

SMALLEST_THRESHOLDED_SHARE = 0.02
"""Share of cells set to zero below which shrinking can hardly change anything."""

_SEARCH_STEPS = 45
# 25 natural logarithms times 0.618^45 are 1e-8: finer than a flat likelihood can tell apart.


@dataclass(frozen=True, eq=False)
class Shrunken:
    """Shrunken counts, and what was done to them.

    Parameters
    ----------
    values
        Of the shape given.
    shift
        What was taken off a count, towards zero (0 for ``exact``, where it varies).
    share_thresholded
        Share of cells that came out as zero.
    rate_ratio
        Fitted rate of the prior over that of the noise (alpha over lambda): 0 is a flat prior, above
        ``LARGEST_DIFFUSE_RATIO`` the shift is a poor approximation and ``exact`` is better.
    caveats
        Sentences a reader must know.
    """

    values: Floats
    shift: float
    share_thresholded: float
    rate_ratio: float
    caveats: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"Shrunken({self.values.size} cells, shift {self.shift:.4g}, "
            f"{percent(self.share_thresholded)} at zero, rate ratio {self.rate_ratio:.3g})"
        )


def shrink(noisy: npt.ArrayLike, scale: float, *, mode: Mode = "counts") -> Shrunken:
    """Empirical-Bayes estimates of counts from noisy ones, with diagnostics.

    Parameters
    ----------
    noisy
        Noisy counts, of any shape.
    scale
        Of the Laplace noise (sigma in the thesis, 1 / lambda).
    mode
        See :data:`Mode`.

    References
    ----------
    Mothali (2011), eq. 7.8, 7.10 and 7.13.

    Examples
    --------
    >>> shrunken = shrink([120, 30, 5, 0, 45], 8.0)
    >>> shrunken.values.round(6).tolist(), round(shrunken.shift, 6)
    ([116.8, 26.8, 1.8, 0.0, 41.8], 3.2)
    """
    if mode not in get_args(Mode):
        raise ParameterError(
            f"mode must be one of {', '.join(get_args(Mode))}, got {mode!r}. Use 'counts' for counts.",
            parameter="mode",
        )
    counts = np.asarray(noisy, np.float64)
    flat = counts.ravel()
    if mode == "exact":
        rate = fit_prior_rate(flat, scale)
        values, shift = posterior_mean(flat, scale, rate), 0.0
        ratio = float(rate) * scale
    else:
        base = np.clip(flat, 0, None) if mode == "counts" else flat
        shift = float(_shifts(base, scale))
        values = _SHIFTED[mode](base, np.asarray(shift))
        # The shift is 2 alpha sigma^2 with alpha = p / |x| (7.11), so this is alpha sigma.
        ratio = shift / (2 * scale)
    thresholded = float(np.mean(values == 0)) if flat.size else 0.0
    return Shrunken(
        values.reshape(counts.shape),
        shift,
        thresholded,
        ratio,
        _caveats(mode, ratio, thresholded, flat, scale),
    )


def james_stein(noisy: npt.ArrayLike, noise_variance: float) -> Floats:
    """All counts times one factor: ``1 - noise_variance (p - 2) / |x|^2``.

    The thesis puts the squared *scale* of the Laplace law for the variance, which is half of it; pass
    ``scale**2`` to reproduce that. One factor for all cells leaves every proportion as it was, so that
    a classifier without pseudo-counts predicts the same.

    Parameters
    ----------
    noisy
        ``(..., p)``; vectors along the last axis.
    noise_variance
        Of one cell.

    References
    ----------
    James and Stein (1961); Mothali (2011), section 7.1.

    Examples
    --------
    >>> factor = james_stein([120, 30, 5, 0, 45], 8.0**2) / np.array([120, 30, 5, 1, 45])
    >>> factor[:3].round(6).tolist()
    [0.988934, 0.988934, 0.988934]
    """
    counts = np.asarray(noisy, np.float64)
    length = np.sum(counts**2, axis=-1, keepdims=True)
    dimension = counts.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = 1 - noise_variance * (dimension - 2) / length
    return np.asarray(np.where(length > 0, factor, 0) * counts)


def posterior_mean(noisy: npt.ArrayLike, scale: float, prior_rate: npt.ArrayLike) -> Floats:
    """Mean of the true value given a noisy one, Laplace noise and a Laplace prior about zero (7.8).

    Parameters
    ----------
    noisy
        x, of any shape.
    scale
        1 / lambda.
    prior_rate
        alpha, broadcast against ``noisy``; may be above lambda.

    Notes
    -----
    With ``u = (lambda - alpha) |x|`` and ``E = (1 - exp(-u)) / (lambda - alpha)`` the mean at |x| is
    ``lambda ((|x| - E) / (lambda - alpha) + E / (alpha + lambda)) / (1 + alpha E)``, which has no
    singularity left at alpha = lambda, where it is |x| / 2. Signs are put back.

    Examples
    --------
    >>> posterior_mean([3.0, -2.0], 1.0, 0.2).round(6).tolist()
    [2.669568, -1.737621]
    """
    x = np.asarray(noisy, np.float64)
    size, rate = np.broadcast_arrays(np.abs(x), np.asarray(prior_rate, np.float64))
    noise_rate = 1 / scale
    difference = noise_rate - rate
    u = difference * size
    # For alpha above lambda everything is multiplied by exp(u), which then is the small one.
    grown = np.exp(np.minimum(u, 0))
    first = size * _one_minus_exp_over(u)
    second = size**2 * _remainder_over(u)
    mean = noise_rate * (second + first / (rate + noise_rate)) / (grown + rate * first)
    return np.asarray(np.sign(x) * mean)


def fit_prior_rate(noisy: npt.ArrayLike, scale: float) -> Floats:
    """Rate alpha of the Laplace prior under which the noisy values are most likely (7.10, sign mended).

    Parameters
    ----------
    noisy
        ``(..., p)``; one rate for each vector along the last axis.
    scale
        Of the noise.

    Notes
    -----
    The marginal law (7.4), with |x| for x, is searched by golden sections over the logarithm of
    alpha / lambda from 1e-7 to 1e4; beyond that all noise or no prior is meant.

    Examples
    --------
    >>> rate = fit_prior_rate([0.5, 3.0, 10.0, 25.0], 1.0)
    >>> 0.05 < float(rate) < 0.2
    True
    """
    size = np.abs(np.asarray(noisy, np.float64)) / scale
    shrink_by = (np.sqrt(5) - 1) / 2
    low = np.full(size.shape[:-1], np.log(1e-7))
    high = np.full(size.shape[:-1], np.log(1e4))
    for _ in range(_SEARCH_STEPS):
        left, right = high - shrink_by * (high - low), low + shrink_by * (high - low)
        is_left = _log_likelihood(size, left) > _log_likelihood(size, right)
        low, high = np.where(is_left, low, left), np.where(is_left, right, high)
    return np.asarray(np.exp((low + high) / 2) / scale)


def _shifts(counts: Floats, scale: float) -> Floats:
    """``2 p sigma^2 / |x|_1`` along the last axis (7.13); infinite, so that all is cut, when x is zero."""
    length = np.sum(np.abs(counts), axis=-1, keepdims=counts.ndim > 1)
    with np.errstate(divide="ignore"):
        return np.asarray(2 * counts.shape[-1] * scale**2 / length)


def _soft_threshold(counts: Floats, shift: Floats) -> Floats:
    return np.asarray(np.sign(counts) * np.maximum(np.abs(counts) - shift, 0))


_SHIFTED: dict[str, Callable[[Floats, Floats], Floats]] = {
    "printed": lambda counts, shift: counts - shift,
    "signed": lambda counts, shift: counts - np.sign(counts) * shift,
    "threshold": _soft_threshold,
    "counts": _soft_threshold,
}


def _caveats(mode: Mode, ratio: float, thresholded: float, noisy: Floats, scale: float) -> tuple[str, ...]:
    found = []
    if mode == "printed":
        found.append(
            "As printed, the shift lowers negative counts too; in simulations it never beats the noisy counts."
        )
    if mode not in {"exact", "printed"} and ratio > LARGEST_DIFFUSE_RATIO:
        found.append(
            f"The prior is not diffuse (rate ratio {ratio:.2f}, above {LARGEST_DIFFUSE_RATIO}): the shift is a rough "
            "approximation here; mode 'exact' computes what it approximates."
        )
    near_zero = float(np.mean(np.abs(noisy) <= 2 * scale)) if noisy.size else 0.0
    if thresholded < SMALLEST_THRESHOLDED_SHARE and near_zero < SMALLEST_THRESHOLDED_SHARE:
        found.append("Few cells are near zero: shrinking cannot help here, and costs a little.")
    return tuple(found)


def _one_minus_exp_over(u: Floats) -> Floats:
    """``(1 - exp(-u)) / u`` times ``exp(min(u, 0))``, 1 at zero."""
    with np.errstate(invalid="ignore", divide="ignore"):
        # For u < 0 the product is (exp(u) - 1) / u: the same function of |u|.
        quotient = -np.expm1(-np.abs(u)) / np.abs(u)
    return np.asarray(np.where(u == 0, 1.0, quotient))


def _remainder_over(u: Floats) -> Floats:
    """``(u - 1 + exp(-u)) / u^2`` times ``exp(min(u, 0))``, 1/2 at zero."""
    is_small = np.abs(u) < 0.1
    near = np.where(is_small, u, 0.0)
    # Series of the quotient: sum of (-u)^k / (k + 2)!, nine terms leave 1e-17 below 0.1.
    term, series = np.full(u.shape, 0.5), np.full(u.shape, 0.5)
    for k in range(1, 10):
        term = -term * near / (k + 2)
        series = series + term
    far = np.where(is_small, 1.0, u)
    grown = np.exp(np.minimum(far, 0))
    direct = ((far - 1) * grown + np.exp(-np.maximum(far, 0))) / far**2
    return np.asarray(np.where(is_small, series * np.exp(np.minimum(near, 0)), direct))


def _log_likelihood(size: Floats, log_ratio: Floats) -> Floats:
    """Log of (7.4) summed over the last axis, up to a constant, in units of the noise's scale.

    With a the ratio, ``f = a / (2 (1+a)) exp(-m x) (1 + m (1 - exp(-d x)) / d)`` where m is the smaller
    of a and 1 and d their distance.
    """
    ratio = np.exp(log_ratio)[..., None]
    smaller, distance = np.minimum(ratio, 1), np.abs(ratio - 1)
    inner = size * _one_minus_exp_over(distance * size)
    each = np.log(ratio) - np.log1p(ratio) - smaller * size + np.log1p(smaller * inner)
    return np.asarray(each.sum(axis=-1))


# --------------------------------------------------------------------------------------------------
# Counts of a release moved towards zero.


ONE_SIZE = 1.01
"""Largest over smallest variance up to which all counts have the same noise."""


@dataclass(frozen=True, eq=False)
class ShrunkenCounts(Charted):
    """Counts of a release, moved towards zero.

    Parameters
    ----------
    attributes
        One for each axis.
    shrunken
        The counts and what was done to them.
    scale
        Of the noise on every count.
    mode
        How they were moved.
    """

    attributes: tuple[Attribute, ...]
    shrunken: Shrunken
    scale: float
    mode: Mode
    method: str
    law: str

    @property
    def values(self) -> Floats:
        """With one axis for each attribute."""
        return self.shrunken.values

    def __repr__(self) -> str:
        return f"ShrunkenCounts({', '.join(each.name for each in self.attributes)}: {self.shrunken!r})"

    def __str__(self) -> str:
        return self.summary()

    def _rows(self) -> list[dict[str, object]]:
        labels = [each.labels for each in self.attributes]
        return [
            {
                **{
                    each.name: texts[code]
                    for each, texts, code in zip(self.attributes, labels, cell, strict=True)
                },
                "shrunken_count": float(self.values[cell]),
            }
            for cell in np.ndindex(self.values.shape)
        ]

    def summary(self) -> str:
        """A table for people, with what was done."""
        rows = self._rows()
        table = ResultTable(
            f"Counts moved towards zero ({self.mode}): biased on purpose, without error bars",
            (*(each.name for each in self.attributes), "count"),
            tuple((*map(str, list(row.values())[:-1]), float(str(row["shrunken_count"]))) for row in rows),
        )
        said = (
            f"Noise of scale {self.scale:.4g}; {percent(self.shrunken.share_thresholded)} of the cells came out as zero; "
            f"rate ratio {self.shrunken.rate_ratio:.3g}"
        )
        caveats = [f"Note: {each}" for each in self.shrunken.caveats]
        return "\n".join([table.to_text(), said, f"({self.method}, law {self.law})", *caveats])

    def to_dict(self) -> dict[str, object]:
        """Plain data, as ``shrink --json`` prints it."""
        return {
            "attributes": [each.name for each in self.attributes],
            "mode": self.mode,
            "scale": self.scale,
            "shift": self.shrunken.shift,
            "share_thresholded": self.shrunken.share_thresholded,
            "rate_ratio": self.shrunken.rate_ratio,
            "caveats": list(self.shrunken.caveats),
            "rows": self._rows(),
            "method": self.method,
            "law": self.law,
        }

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each cell."""
        import pyarrow as pa

        return pa.table(as_columns(self._rows()))

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the counts, as plain data."""
        points = [
            {"label": ", ".join(map(str, list(row.values())[:-1])), "value": row["shrunken_count"]}
            for row in self._rows()
        ]
        return bar_chart(
            points, title=", ".join(each.name for each in self.attributes), unit="rows, moved towards zero"
        )


def shrink_counts(release: Countable, by: Sequence[str], *, mode: Mode = "counts") -> ShrunkenCounts:
    """Counts of a release moved towards zero; its noise must be of one size on every count.

    Parameters
    ----------
    release
        Such as one by noisy marginals.
    by
        Attributes to tabulate.
    mode
        See :data:`~sfumato.analysis.shrinkage.Mode`.

    Raises
    ------
    NotIdentifiableError
        When the counts are exact, or their errors differ from cell to cell: the estimators are made for equal noise.

    Notes
    -----
    The scale is that of the Laplace law with the variance of the estimates. Where a count adds up cells of a larger table, its
    noise is nearer to normal, and the scale is that of its variance all the same.
    """
    table = release.counts(tuple(by))
    variances = table.estimates.variances
    if not variances.all() or variances.max() > ONE_SIZE * variances.min():
        raise NotIdentifiableError(
            "shrinkage is made for counts with noise of one size on each, and these are exact or differ. Take the unbiased or the "
            "consistent counts; releases by noisy-marginals can be shrunken."
        )
    scale = float(np.sqrt(variances.mean() / 2))
    return ShrunkenCounts(
        table.attributes, shrink(table.values, scale, mode=mode), scale, mode, table.method, table.law
    )
