"""A fitted loglinear model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.analysis.coefficients import SHOWN, Coefficient, Fitted
from sfumato.analysis.residuals import ResidualTest
from sfumato.laws import Target
from sfumato.values.arrays import Floats
from sfumato.values.number_text import percent_as_stated, show_cell
from sfumato.values.result_tables import ResultTable


@dataclass(frozen=True, eq=False)
class Loglinear(Fitted):
    """A loglinear model fitted to a release.

    Parameters
    ----------
    model
        As it is written.
    generators
        The margins that it fits.
    coefficients
        Logarithms of counts, taken apart; empty where the model was fitted to published rows.
    test
        Whether the model fits; None where it fits any table.
    fitted
        Counts of the model, flattened in the order of its attributes.
    counts
        ``"estimated"`` through the law, or ``"published"`` as they stand.
    """

    model: str
    generators: tuple[tuple[str, ...], ...]
    coefficients: tuple[Coefficient, ...]
    test: ResidualTest | None
    fitted: Floats
    target: Target
    confidence_level: float
    counts: str
    method: str
    law: str
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        fits = "fits any table" if self.test is None else f"p = {self.test.p_value:.3g}"
        return f"Loglinear({self.model}: {fits})"

    @property
    def p_value(self) -> float | None:
        """Of the test whether it fits; None where it fits any table."""
        return None if self.test is None else self.test.p_value

    def summary(self) -> str:
        """Fit, and a table of parameters, for people."""
        lines = [f"Loglinear model {self.model}"]
        if self.test is not None:
            lines.append(
                f"Fit: corrected chi-square {show_cell(self.test.statistic)} on {show_cell(self.test.degrees)} degrees, "
                f"p = {self.test.p_value:.3g} (model's degrees {self.test.free}, design effect {show_cell(self.test.design_effect)})"
            )
        if self.coefficients:
            rows = tuple(each.shown() for each in self.coefficients)
            level = percent_as_stated(self.confidence_level)
            title = f"Parameters, {level} intervals, about the {self.target}"
            lines.append(ResultTable(title, SHOWN, rows).to_text())
        lines.append(f"({self.method}, law {self.law})")
        return "\n".join([*lines, *(f"Note: {each}" for each in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``loglinear --json`` prints it."""
        return {
            "model": self.model,
            "generators": [list(each) for each in self.generators],
            "coefficients": [each.to_dict() for each in self.coefficients],
            "test": None if self.test is None else dict(vars(self.test)),
            "fitted": self.fitted.tolist(),
            "target": self.target,
            "confidence": self.confidence_level,
            "counts": self.counts,
            "method": self.method,
            "law": self.law,
            "notes": list(self.notes),
        }

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the parameters, as plain data."""
        return self.chart(title="parameter", unit=self.model)
