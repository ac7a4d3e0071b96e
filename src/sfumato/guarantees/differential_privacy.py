"""Differential privacy: central, local, and of single items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from sfumato.errors import ParameterError
from sfumato.guarantees.base import LARGEST_EXPONENT, WHOLE_UNIT, Guarantee
from sfumato.immutable import LARGEST_ERROR, MOST_ROWS

# --------------------------------------------------------------------------------------------------
# Differential privacy: one person more, less or other hardly changes what is published.


LARGEST_PROTECTIVE_EPSILON = 10.0
"""Epsilon above which differential privacy protects nobody by itself: odds may change by a factor of 22,000."""


def weakness_of_epsilon(epsilon: float | None) -> str:
    """What an epsilon above 10 is; empty for others. None is no finite one.

    Examples
    --------
    >>> weakness_of_epsilon(38.81), weakness_of_epsilon(10)
    ('epsilon is 38.81, no protection by itself', '')
    """
    if epsilon is None or math.isinf(epsilon):
        return "no epsilon is finite, no protection by itself"
    return (
        f"epsilon is {epsilon:.4g}, no protection by itself" if epsilon > LARGEST_PROTECTIVE_EPSILON else ""
    )


def _called(epsilon: float) -> str:
    """An epsilon in a sentence is followed by this."""
    return ", no protection by itself" if epsilon > LARGEST_PROTECTIVE_EPSILON else ""


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
        return f"{numbers}{pointwise}{concentrated}{_called(self.epsilon)}; neighbours: {self._neighbours}."

    @property
    def weakness(self) -> str:
        """An epsilon above 10."""
        return weakness_of_epsilon(self.epsilon)

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
        if self.weakness:
            return f"No protection by itself: epsilon is {self.epsilon:.4g}."
        odds = f"{math.exp(self.epsilon):,.2f}"
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
    follows from their sum, which is less. It is taken at the smallest delta: at a larger one a further release could
    lower the stated epsilon. It is never below the largest epsilon of one promise: small rhos at a large delta would
    give 0.

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
    smallest = min(each.delta for each in promises)
    if len(rhos) < len(promises) or smallest == 0:
        return DifferentialPrivacy(
            epsilon=epsilon,
            delta=delta,
            form=form,
            given=given,
            **alike,
        )
    rho = sum(rhos)
    return DifferentialPrivacy(
        epsilon=min(epsilon, max(epsilon_of_rho(rho, smallest), *(each.epsilon for each in promises))),
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


# --------------------------------------------------------------------------------------------------
# Local differential privacy: each published row hides its own true value.


class LocalDifferentialPrivacy(Guarantee):
    """Every published value could come from any true value, by a factor of at most exp(epsilon).

    Promise
        For every perturbed attribute, every two true categories and every published one, the
        probabilities of publishing it differ by a factor of at most exp(epsilon of the attribute).
        The attributes of one row are perturbed independently, so their epsilons add up.
    Against whom
        Anyone who sees the release, knows the method and the matrices, and may know everything about
        all other rows.
    Weaknesses
        It covers the perturbed attributes only: the others are published as they are. It does not
        stop an attacker from learning what is true of a *group*, and so likely of its members. An
        attribute whose matrix makes some published category impossible for some true one has no
        finite epsilon; it is listed as unbounded, and then the row as a whole has none either. Of several
        releases together, an attribute that one perturbs and another publishes unperturbed is both
        unprotected and unbounded.

    References
    ----------
    Evfimievski, Gehrke and Srikant (2003), amplification; Duchi, Jordan and Wainwright (2013).

    Examples
    --------
    >>> promise = LocalDifferentialPrivacy(epsilon_by_attribute={"job": 1.0, "pay": 0.5}, unprotected=("sex",))
    >>> promise.epsilon
    1.5
    """

    guarantee: Literal["local-differential-privacy"] = "local-differential-privacy"
    epsilon_by_attribute: dict[str, Annotated[float, Field(gt=0)]]
    unprotected: tuple[str, ...] = ()
    unbounded: tuple[str, ...] = ()
    rows_per_unit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 1

    protected_unit: ClassVar[str] = "the true values of one row's perturbed attributes"
    neighbours: ClassVar[str] = "any two combinations of true values of one row"
    attacker: ClassVar[str] = "sees the release and all public parameters, and may know every other row"
    reference: ClassVar[str] = "Evfimievski, Gehrke and Srikant (2003); Duchi, Jordan and Wainwright (2013)"

    def is_within(self, other: LocalDifferentialPrivacy) -> bool:
        """Whether the other's epsilons, for units of as many rows, are no larger, and it leaves no more uncovered."""
        if self.rows_per_unit % other.rows_per_unit:
            return False
        other = other.for_units(self.rows_per_unit // other.rows_per_unit)
        return (
            self.is_under(other.given)
            and set(other.unbounded) <= set(self.unbounded)
            and set(other.unprotected) <= set(self.unprotected)
            and all(
                epsilon >= other.epsilon_by_attribute.get(name, math.inf)
                for name, epsilon in self.epsilon_by_attribute.items()
            )
        )

    @property
    def epsilon(self) -> float:
        """The total over a row's perturbed attributes, never rounded down; infinite when one of them has no bound."""
        if self.unbounded:
            return math.inf
        parts = self.epsilon_by_attribute.values()
        total = math.fsum(parts)
        return total if total >= sum(map(Fraction, parts)) else math.nextafter(total, math.inf)

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        parts = ", ".join(f"{name} {value:.4g}" for name, value in self.epsilon_by_attribute.items())
        by_attribute = f" (epsilon by attribute: {parts})" if parts else ""
        bare, ruled_out = self._without_bound
        never = [name for name in self.unprotected if name not in bare]
        uncovered = f"; published unperturbed and not covered: {', '.join(never)}" if never else ""
        if not self.unbounded:
            weak = _called(self.epsilon)
            return f"{self.epsilon:.4g}-local differential privacy for each {self._unit}{weak}{by_attribute}{uncovered}."
        reasons = []
        if ruled_out:
            reasons.append(f"some published categories of {_joined(ruled_out)} rule out some true ones")
        if bare:
            is_one = len(bare) == 1
            reasons.append(
                f"{_joined(bare)} {'is' if is_one else 'are'} published unperturbed: no bound for {'it' if is_one else 'them'}"
            )
        return f"no finite epsilon for each {self._unit}, because {', and because '.join(reasons)}{by_attribute}{uncovered}."

    @property
    def _without_bound(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Unbounded attributes: published unperturbed elsewhere, and with categories that rule out others."""
        bare = tuple(name for name in self.unbounded if name in self.unprotected)
        return bare, tuple(name for name in self.unbounded if name not in bare)

    @property
    def weakness(self) -> str:
        """An epsilon above 10, or none."""
        return weakness_of_epsilon(self.epsilon)

    @property
    def _unit(self) -> str:
        return "row" if self.rows_per_unit == 1 else f"unit of at most {self.rows_per_unit} rows"

    def for_units(self, rows_per_unit: int) -> LocalDifferentialPrivacy:
        """The same promise for units of at most so many rows: rows are perturbed independently, so epsilons add up.

        Examples
        --------
        >>> LocalDifferentialPrivacy(epsilon_by_attribute={"job": 0.5}).for_units(3).sentence
        '1.5-local differential privacy for each unit of at most 3 rows (epsilon by attribute: job 1.5).'
        """
        if rows_per_unit == 1:
            return self
        epsilons = {
            name: math.nextafter(rows_per_unit * epsilon, math.inf)
            for name, epsilon in self.epsilon_by_attribute.items()
        }
        return self.model_copy(
            update={"epsilon_by_attribute": epsilons, "rows_per_unit": self.rows_per_unit * rows_per_unit}
        )

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        covered = tuple(self.epsilon_by_attribute)
        changed = (
            f"Each person's {_joined((*covered, *self.unbounded))} was randomly changed before publication."
        )
        bare, ruled_out = self._without_bound
        exception = (
            f" There is no such limit for {_joined(ruled_out)}: some published values rule out some true ones."
            if ruled_out
            else ""
        ) + (f" There is no limit for {_joined(bare)}, which was also published unperturbed." if bare else "")
        if not covered:
            return changed + exception
        epsilon = math.fsum(self.epsilon_by_attribute.values())
        if weakness_of_epsilon(epsilon):
            return f"{changed} No protection by itself: epsilon is {epsilon:.4g}.{exception}"
        odds = f"{math.exp(epsilon):,.1f}"
        return (
            f"{changed} Whatever anyone believed about a person's {_joined(covered)}, seeing that person's "
            f"published {'row' if self.rows_per_unit == 1 else 'rows'} can change the odds by a factor of at most {odds}.{exception}"
        )

    def describe(self) -> dict[str, str]:
        """What a manifest states beside the numbers, about the units that the promise is made for."""
        described = super().describe()
        if self.rows_per_unit > 1:
            whose = f"one unit, a person with at most {self.rows_per_unit} rows"
            described["protected_unit"] = (
                f"the true values of the perturbed attributes in all rows of {whose}"
            )
            described["neighbours"] = f"any two combinations of true values of the rows of {whose}"
        return described


def _joined(names: tuple[str, ...]) -> str:
    return " and ".join(names)


def epsilon_of_retention(retention: float, size: int) -> float:
    """Epsilon of uniform perturbation: ln(1 + p m / (1 - p)).

    The diagonal entry over any other of its column is (p + (1-p)/m) / ((1-p)/m) = 1 + p m/(1-p).

    Examples
    --------
    >>> round(epsilon_of_retention(0.5, 2), 12) == round(math.log(3), 12)
    True
    """
    return math.log1p(retention * size / (1 - retention))


def retention_of_epsilon(epsilon: float, size: int) -> float:
    """Retention probability that gives uniform perturbation this epsilon: (e^epsilon - 1) / (e^epsilon - 1 + m).

    Examples
    --------
    >>> round(retention_of_epsilon(math.log(3), 2), 12)
    0.5
    """
    if epsilon <= 0:
        raise ParameterError(
            f"epsilon must be above 0, got {epsilon}. Zero would publish pure noise; try 1.",
            parameter="epsilon",
        )
    # Divided by e^epsilon, so that a large epsilon cannot overflow.
    grown = -math.expm1(-epsilon)
    return grown / (grown + size * math.exp(-epsilon))


# --------------------------------------------------------------------------------------------------
# Local differential privacy of single items: what a unit has of one item stays hidden.


class ItemDifferentialPrivacy(Guarantee):
    """What is published of a unit could come from any unit that differs in one item, by a factor of at most exp(epsilon).

    Promise
        For every item, for any two things that a unit may have of it (none included) and for everything that may be
        published, the probabilities differ by a factor of at most exp(epsilon). Items are distorted independently, so
        that between two units that differ in d items the factor is at most exp(d epsilon).
    Against whom
        Anyone who sees the release and the matrix, and may know all other units and all other items of this one.
    Weaknesses
        It is about one item. Two baskets of ten items can differ in twenty, and whoever knows some items of a person
        may find the person's row: what is then hidden is each further item by itself. Units that have no item are not in
        the data, and how many units are is published: that a unit has some item is not hidden.

    References
    ----------
    Rizvi and Haritsa (2002); Evfimievski, Gehrke and Srikant (2003).

    Examples
    --------
    >>> ItemDifferentialPrivacy(epsilon=2.0).sentence
    '2-local differential privacy for each item of a unit; for two units that differ in d items, 2 d; that a unit has some item is not hidden.'
    """

    guarantee: Literal["item-differential-privacy"] = "item-differential-privacy"
    epsilon: Annotated[float, Field(gt=0)] | None
    """None where some of what is published rules out some of what is true."""

    protected_unit: ClassVar[str] = "what one unit has of one item"
    neighbours: ClassVar[str] = (
        "two units that differ in one item, each with some item; the number of units is public"
    )
    attacker: ClassVar[str] = (
        "sees the release and all public parameters, and may know all else, other items included"
    )
    reference: ClassVar[str] = "Rizvi and Haritsa (2002); Evfimievski, Gehrke and Srikant (2003)"

    def is_within(self, other: Self) -> bool:
        """Whether the other's epsilon is no larger."""
        if not self.is_under(other.given):
            return False
        return self.epsilon is None or (other.epsilon is not None and self.epsilon >= other.epsilon)

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        if self.epsilon is None:
            return "no finite epsilon for an item of a unit: some of what is published rules out some of what is true."
        return (
            f"{self.epsilon:.4g}-local differential privacy for each item of a unit{_called(self.epsilon)}; for two units that differ in d items, "
            f"{self.epsilon:.4g} d; that a unit has some item is not hidden."
        )

    @property
    def weakness(self) -> str:
        """An epsilon above 10, or none."""
        return weakness_of_epsilon(self.epsilon)

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        changed = "Items of every unit were randomly left out, added or changed before publication."
        if self.epsilon is None:
            return f"{changed} Some of what is published shows for certain what a unit has of an item."
        if self.weakness:
            return f"{changed} No protection by itself: epsilon is {self.epsilon:.4g}."
        odds = f"{math.exp(self.epsilon):,.1f}"
        return (
            f"{changed} Whatever anyone believed about a unit and one item, what is published of them can change the odds by a "
            f"factor of at most {odds}. Several items together tell more."
        )
