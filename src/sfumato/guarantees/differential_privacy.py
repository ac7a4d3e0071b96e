"""Differential privacy: one person more, less or other hardly changes what is published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from sfumato.errors import ParameterError
from sfumato.guarantees.base import LARGEST_EXPONENT, WHOLE_UNIT, Guarantee
from sfumato.values.bounds import LARGEST_ERROR, MOST_ROWS

Neighbours = Literal["replace-one", "add-remove"]
"""Which two tables are neighbours: one row replaced by any other, or one row more or less."""

RELATIONS: dict[Neighbours, str] = {
    "replace-one": "two tables of the same number of rows that differ in one row",
    "add-remove": "two tables of which one has one row more than the other",
}
"""The relations in words."""

RELATIONS_OF_UNITS: dict[Neighbours, str] = {
    "replace-one": "two tables of the same number of rows that differ in the rows of one unit",
    "add-remove": "two tables of which one has one unit more than the other",
}
"""The relations in words, where a unit has several rows."""

RELATIONS_OF_WHOLE_UNITS: dict[Neighbours, str] = {
    "replace-one": "two tables of the same number of units that differ in one unit, all its rows included",
    "add-remove": "two tables of which one has one unit more than the other, all its rows included",
}
"""The relations in words, where a unit has any number of rows."""

Form = Literal["additive", "pointwise"]
"""How delta enters: added to the probability of every set of outputs, or as the probability of outputs whose
ratio is not bounded at all (Li and Li, definition 2). The pointwise form implies the additive one."""


class DifferentialPrivacy(Guarantee):
    """Whatever is published is nearly as likely with one person's row changed.

    Promise
        For every two neighbouring tables and every set of possible releases, the probabilities of the
        set differ by a factor of at most exp(epsilon), and by delta besides. With ``rho`` the stronger
        statement of zero-concentrated differential privacy holds too, from which epsilon follows. In the
        pointwise form the ratio of every single output is bounded, but for outputs of probability delta.
    Against whom
        Anyone, with any knowledge of the other rows, any other data and any computing power.
    Weaknesses
        It limits what one row changes, not what the rows together say. What is true of nearly everyone
        alike is published on purpose, and is then likely of each of them: the ratio attack shows when.
        A person with several rows gets a multiple of epsilon. Releases of the same rows add up.

    References
    ----------
    Dwork, McSherry, Nissim and Smith (2006); Bun and Steinke (2016) for rho.

    Examples
    --------
    >>> promise = DifferentialPrivacy(epsilon=0.5, relation="replace-one")
    >>> promise.sentence
    '0.5-differential privacy; neighbours: two tables of the same number of rows that differ in one row.'
    """

    guarantee: Literal["differential-privacy"] = "differential-privacy"
    epsilon: Annotated[float, Field(gt=0)]
    delta: Annotated[float, Field(ge=0, lt=1)] = 0.0
    rho: Annotated[float, Field(gt=0, le=LARGEST_ERROR)] | None = None
    relation: Neighbours = "replace-one"
    form: Form = "additive"
    rows_per_unit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 1
    whole_units: bool = False
    """It is about units with all their rows, however many, and not about rows."""

    protected_unit: ClassVar[str] = "one row of the private table: one person, when each has one row"
    neighbours: ClassVar[str] = "two tables that differ in one row, as the relation says"
    attacker: ClassVar[str] = "sees the release and all public parameters, and may know every other row"
    reference: ClassVar[str] = "Dwork, McSherry, Nissim and Smith (2006); Bun and Steinke (2016)"

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        numbers = (
            f"{self.epsilon:.4g}-differential privacy"
            if self.delta == 0
            else f"({self.epsilon:.4g}, {self.delta:.3g})-differential privacy"
        )
        concentrated = (
            "" if self.rho is None else f", from {self.rho:.4g}-zero-concentrated differential privacy"
        )
        pointwise = ", pointwise" if self.form == "pointwise" else ""
        return f"{numbers}{pointwise}{concentrated}; neighbours: {self._neighbours}."

    def for_replacing(self) -> DifferentialPrivacy:
        """The same promise for tables with one row replaced, where outputs are unsafe under the larger table alone.

        Replacing removes one row and adds another: epsilon doubles, and delta is spent when removing only.
        """
        return self.model_copy(update={"epsilon": 2 * self.epsilon, "relation": "replace-one"})

    def is_within(self, other: DifferentialPrivacy) -> bool:
        """Whether the other, for units of as many rows, bounds the same neighbours by no more."""
        if self.rows_per_unit % other.rows_per_unit or not self.is_under(other.given):
            return False
        if self.whole_units and not other.whole_units:
            return False
        other = other.for_units(self.rows_per_unit // other.rows_per_unit)
        if other.relation != self.relation or (self.form == "pointwise" and other.form != "pointwise"):
            return False
        if self.rho is not None and (other.rho is None or other.rho > self.rho):
            return False
        if self.epsilon >= other.epsilon and self.delta >= other.delta:
            return True
        # Concentration gives every epsilon its delta; nextafter would be finer than the search for it.
        return other.rho is not None and delta_of_rho(other.rho, self.epsilon) <= self.delta * (1 + 1e-9)

    @property
    def _neighbours(self) -> str:
        if self.whole_units:
            return RELATIONS_OF_WHOLE_UNITS[self.relation]
        if self.rows_per_unit == 1:
            return RELATIONS[self.relation]
        return f"{RELATIONS_OF_UNITS[self.relation]}, at most {self.rows_per_unit} rows"

    def for_units(self, rows_per_unit: int) -> DifferentialPrivacy:
        """The same promise for units of at most so many rows.

        Changing a unit is changing its rows one after the other: epsilons add up, rho grows with the square
        (Bun and Steinke 2016, proposition 27), and delta becomes ``k exp((k - 1) epsilon) delta`` (Dwork and
        Roth 2014, theorem 2.2 and lemma 2.3); delta in the additive form.

        Examples
        --------
        >>> DifferentialPrivacy(epsilon=0.5, relation="add-remove").for_units(3).sentence
        '1.5-differential privacy; neighbours: two tables of which one has one unit more than the other, at most 3 rows.'
        """
        if rows_per_unit == 1:
            return self
        # Rounded up in the last place each: a promise may never be better than what is kept.
        epsilon = math.nextafter(rows_per_unit * self.epsilon, math.inf)
        growth = math.exp(min((rows_per_unit - 1) * self.epsilon, LARGEST_EXPONENT))
        delta = math.nextafter(rows_per_unit * growth * self.delta, math.inf) if self.delta else 0.0
        if delta >= 1:
            raise ParameterError(
                f"delta = {self.delta:.3g} for a row says nothing about a unit of {rows_per_unit} rows. Lower delta or epsilon.",
                parameter="delta",
            )
        rho = None if self.rho is None else math.nextafter(rows_per_unit**2 * self.rho, math.inf)
        return self.model_copy(
            update={
                "epsilon": epsilon,
                "delta": delta,
                "rho": rho,
                "form": "additive",
                "rows_per_unit": self.rows_per_unit * rows_per_unit,
            }
        )

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        factor = math.exp(min(self.epsilon, LARGEST_EXPONENT))
        odds = f"{factor:,.2f}" if factor < 1e6 else f"{factor:.1e}"
        besides = "" if self.delta == 0 else f", except with a probability of at most about {self.delta:.1g}"
        is_one_row = self.rows_per_unit == 1 and not self.whole_units
        whose = "one person's row is" if is_one_row else "one person's rows are"
        what = "that row" if is_one_row else "those rows"
        as_it = "it is" if is_one_row else "they are"
        return (
            f"Whether {whose} as {as_it} or different hardly shows: seeing the release changes the odds "
            f"of anything about {what} by a factor of at most {odds}{besides}. What holds of whole groups shows."
        )

    def describe(self) -> dict[str, str]:
        """What a manifest states beside the numbers, with the relation that holds here."""
        described = {**super().describe(), "neighbours": self._neighbours}
        if self.whole_units:
            described["protected_unit"] = WHOLE_UNIT
        if self.rows_per_unit > 1:
            described["protected_unit"] = (
                f"one unit of the private table: a person with at most {self.rows_per_unit} rows"
            )
        return described


def marginal_sensitivity(number_of_marginals: int, relation: Neighbours) -> int:
    """How much one person changes a set of marginals, summed over all cells (L1 sensitivity).

    A row is in one cell of each marginal: adding or removing it changes |M| counts by one, replacing
    it at most 2 |M| (Han 2016, eq. 3.12). The Euclidean sensitivity is the square root of this number,
    since every changed count changes by one.

    Examples
    --------
    >>> marginal_sensitivity(12, "replace-one"), marginal_sensitivity(12, "add-remove")
    (24, 12)
    """
    return number_of_marginals * (2 if relation == "replace-one" else 1)


def compose(promises: Sequence[DifferentialPrivacy]) -> DifferentialPrivacy:
    """The promise of several releases of the same rows together.

    Epsilons and deltas add up, in either form (Li and Li, theorem 6: ratios multiply and unsafe outputs
    add); forms that differ give the additive one. Where every promise has a rho, the rhos add up instead, and epsilon
    follows from their sum at the sum of the deltas, which is less.

    Raises
    ------
    ParameterError
        When the relations differ: their epsilons mean different things.

    Examples
    --------
    >>> half = DifferentialPrivacy(epsilon=0.5)
    >>> compose([half, half]).epsilon
    1.0
    """
    relations = {each.relation for each in promises}
    if len(relations) != 1:
        raise ParameterError(
            f"promises compose when they share one neighbouring relation, got {len(relations)} different ones. "
            "State them under the same relation first: replacing is removing and adding, so it doubles epsilon."
        )
    bounds = {each.rows_per_unit for each in promises}
    if len(bounds) != 1 or len({each.whole_units for each in promises}) != 1:
        raise ParameterError(
            f"promises compose when they are about the same units, got units of {' and '.join(map(str, sorted(bounds)))} rows, "
            f"{'some' if any(each.whole_units for each in promises) else 'none'} with all their rows. "
            "State them for the same number of rows first."
        )
    alike: dict[str, Any] = {
        name: getattr(promises[0], name) for name in ("relation", "rows_per_unit", "whole_units")
    }
    form: Form = "pointwise" if all(each.form == "pointwise" for each in promises) else "additive"
    given = tuple(dict.fromkeys(condition for each in promises for condition in each.given))
    epsilon, delta = sum(each.epsilon for each in promises), sum(each.delta for each in promises)
    rhos = [each.rho for each in promises if each.rho is not None]
    if len(rhos) < len(promises) or delta == 0:
        return DifferentialPrivacy(
            epsilon=epsilon,
            delta=delta,
            form=form,
            given=given,
            **alike,
        )
    rho = sum(rhos)
    return DifferentialPrivacy(
        epsilon=min(epsilon, epsilon_of_rho(rho, delta)),
        delta=delta,
        rho=rho,
        given=given,
        **alike,
    )


def epsilon_of_rho(rho: float, delta: float) -> float:
    """Epsilon that rho-zero-concentrated differential privacy gives at a delta.

    References
    ----------
    Canonne, Kamath and Steinke (2020), corollary 13; never above Bun and Steinke's
    ``rho + 2 sqrt(rho ln(1/delta))``.

    Examples
    --------
    >>> epsilon_of_rho(0.1, 1e-6) < 0.1 + 2 * math.sqrt(0.1 * math.log(1e6))
    True
    """
    from scipy.optimize import brentq

    largest = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    if _log_delta(rho, 0.0) <= math.log(delta):
        return 0.0
    # The delta of a given epsilon falls as epsilon grows.
    epsilon = float(brentq(lambda each: _log_delta(rho, each) - math.log(delta), 0.0, largest))
    # Never below, however the search ended.
    while _log_delta(rho, epsilon) > math.log(delta):
        epsilon += 1e-12 * largest
    return min(epsilon, largest)


def delta_of_rho(rho: float, epsilon: float) -> float:
    """Smallest delta, over all orders, that rho-zero-concentration gives at an epsilon.

    ``min over a > 1 of exp((a-1)(a rho - epsilon)) / (a-1) (1 - 1/a)^a``.

    Examples
    --------
    >>> delta_of_rho(0.1, 0.5) > delta_of_rho(0.1, 1.0)
    True
    """
    return math.exp(min(_log_delta(rho, epsilon), 0.0))


def rho_of_epsilon(epsilon: float, delta: float) -> float:
    """Largest rho whose promise is within (epsilon, delta); rounded down.

    Examples
    --------
    >>> epsilon_of_rho(rho_of_epsilon(1.0, 1e-6), 1e-6) <= 1.0
    True
    """
    from scipy.optimize import brentq

    def excess(log_rho: float) -> float:
        return _log_delta(math.exp(log_rho), epsilon) - math.log(delta)

    high = math.log(epsilon)
    while excess(high) <= 0:
        high += 1
    low = high - 1
    while excess(low) > 0:
        low -= 1
    # A part in a billion below, for the rounding of the two searches inside one another.
    return math.exp(brentq(excess, low, high)) * (1 - 1e-9)


def _log_delta(rho: float, epsilon: float) -> float:
    from scipy.optimize import minimize_scalar

    def at(log_order: float) -> float:
        above = math.exp(log_order)
        order = 1 + above
        return above * (order * rho - epsilon) - log_order + order * math.log1p(-1 / order)

    # Convex in the order, so that there is one valley. Short of its ground the delta is larger: still a promise.
    ends = (-20.0, math.log(max(epsilon / rho, 1.0)) + 20)
    return float(minimize_scalar(at, bounds=ends, method="bounded", options={"xatol": 1e-9}).fun)
