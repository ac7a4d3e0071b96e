"""Results of several draws made one: Rubin's rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.values.charts import interval_chart
from sfumato.values.estimates import normal_quantile
from sfumato.values.number_text import percent_as_stated, show
from sfumato.values.result_tables import ResultTable
from sfumato.values.tabular import Charted


@dataclass(frozen=True)
class Pooled(Charted):
    """Numbers estimated from several draws, about the population.

    Parameters
    ----------
    names
        What each number is.
    estimates, std_errors, low, high
        One for each.
    degrees
        Of the t distribution behind each interval.
    missing_information
        Share of each number's variance that comes from not knowing the true rows.
    draws
        How many there were.
    confidence_level
        Of the intervals.
    """

    names: tuple[str, ...]
    estimates: tuple[float, ...]
    std_errors: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    degrees: tuple[float, ...]
    missing_information: tuple[float, ...]
    draws: int
    confidence_level: float

    def __repr__(self) -> str:
        return f"Pooled({', '.join(self.names)}: {self.draws} draws)"

    def __str__(self) -> str:
        return self.summary()

    def _rows(self) -> list[tuple[str, float, float, float, float, float, float]]:
        return list(
            zip(
                self.names,
                self.estimates,
                self.std_errors,
                self.low,
                self.high,
                self.degrees,
                self.missing_information,
                strict=True,
            )
        )

    def summary(self) -> str:
        """A table for people."""
        rows = tuple(
            (name, *(show(number, error) for number in (value, error, low, high)), f"{missing:.2f}")
            for name, value, error, low, high, _, missing in self._rows()
        )
        level = percent_as_stated(self.confidence_level)
        title = f"{self.draws} draws pooled, {level} intervals, about the population"
        columns = ("Number", "Estimate", "Std. error", "Low", "High", "Missing information")
        return ResultTable(title, columns, rows).to_text()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        keys = ("name", "estimate", "std_error", "low", "high", "degrees", "missing_information")
        return {
            "draws": self.draws,
            "confidence": self.confidence_level,
            "numbers": [dict(zip(keys, row, strict=True)) for row in self._rows()],
        }

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each number."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.to_dict()["numbers"])

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart, as plain data."""
        points = [
            {"label": name, "estimate": value, "low": low, "high": high}
            for name, value, _, low, high, _, _ in self._rows()
        ]
        return interval_chart(points, title="number", unit="pooled estimate")


def pool(
    estimates: npt.ArrayLike,
    variances: npt.ArrayLike,
    *,
    names: Sequence[str] | None = None,
    confidence_level: float = 0.95,
) -> Pooled:
    """One estimate from those of several draws, with the error of drawing rows and that of not knowing them.

    Parameters
    ----------
    estimates, variances
        ``(draws, numbers)``, or ``(draws,)`` for one number: what an ordinary analysis says of each draw, taken for true rows.
    names
        What each number is.
    confidence_level
        Of the intervals.

    Notes
    -----
    With the mean variance U and the variance B of the m estimates, the total is ``T = U + (1 + 1/m) B``, on
    ``(m - 1) (1 + U / ((1 + 1/m) B))^2`` degrees.

    References
    ----------
    Rubin, D. B. (1987). Multiple imputation for nonresponse in surveys. Wiley, equations 3.1.4 to 3.1.6.

    Examples
    --------
    >>> found = pool([1.0, 2.0, 3.0], [0.5, 0.5, 0.5])
    >>> round(found.estimates[0], 6), round(found.std_errors[0] ** 2, 6), round(found.degrees[0], 6)
    (2.0, 1.833333, 3.78125)
    """
    from scipy.special import stdtrit

    normal_quantile(confidence_level)  # refuses a wrong level
    values, within = (np.array(each, dtype=np.float64) for each in (estimates, variances))
    if values.ndim == 1:
        values, within = values[:, None], within.reshape(-1, 1)
    if values.shape != within.shape or len(values) < 2:
        raise ParameterError(
            f"pooling takes an estimate and its variance of each of two draws or more, got {values.shape} and {within.shape}. "
            "Run the same analysis on every draw.",
            parameter="estimates",
        )
    if not (np.isfinite(values).all() and np.isfinite(within).all() and (within >= 0).all()):
        raise ParameterError(
            "an estimate or a variance of some draw is not a number, or negative. Pool only what every draw determines.",
            parameter="variances",
        )
    number = len(values)
    between = (1 + 1 / number) * values.var(axis=0, ddof=1)
    own = within.mean(axis=0)
    total = own + between
    missing = np.divide(between, total, out=np.zeros_like(total), where=total > 0)
    with np.errstate(divide="ignore"):
        degrees = (number - 1) / np.square(missing)
    error = np.sqrt(total)
    half = np.asarray(stdtrit(degrees, (1 + confidence_level) / 2)) * error
    middle = values.mean(axis=0)
    called = tuple(names) if names is not None else tuple(str(place + 1) for place in range(middle.size))
    if len(called) != middle.size:
        raise ParameterError(f"there are {middle.size} numbers and {len(called)} names.", parameter="names")
    columns = [
        tuple(each.tolist()) for each in (middle, error, middle - half, middle + half, degrees, missing)
    ]
    estimate, std_error, low, high, degree, share = columns
    return Pooled(called, estimate, std_error, low, high, degree, share, number, confidence_level)
