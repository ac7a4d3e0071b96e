"""What somebody believes of a member of a public group whose rows went through a matrix.

A group's composition is estimated from its published rows, leaning on what is believed of such people anyway. Somebody
known to be in the table is one of the group's rows besides, and that row must not count twice: the composition of the
others is what is believed beforehand, and the own row, whichever it is, the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sfumato.laws.believing.grouped_rows import GroupedRows
from sfumato.laws.believing.prior import SharedPrior
from sfumato.laws.believing.targets import places_among
from sfumato.values.arrays import Floats, Integers
from sfumato.values.parts import in_parts

CONCENTRATIONS = (1e4, 1e3, 250.0, 60.0, 15.0, 4.0, 1.0, 0.3)
"""Rows of prior belief tried, from groups that say nothing of their own to groups by themselves; each about a quarter of the one
before, so that groups of a hundred rows that are nearly alike need not be taken for quite alike."""

STEPS = 200
"""Steps of a fit at most."""

TOLERANCE = 1e-6
"""Largest change of a share at which a fit stops."""

CELLS_AT_ONCE = 4_000_000
"""Numbers worked on at a time."""


def compositions(
    counts: Floats,
    channel: Floats,
    prior: Floats,
    concentration: float,
    *,
    start: Floats | None = None,
    steps: int = STEPS,
) -> Floats:
    """Most plausible shares of the values among each group's true rows, ``(groups, values)``.

    Parameters
    ----------
    counts
        ``(groups, values)``: published rows.
    channel
        ``matrix[true, published]``.
    prior
        ``(groups, values)``: shares believed beforehand.
    concentration
        Rows that these count for, above 0.
    start
        Shares to begin with.
    steps
        After how many to stop, converged or not.

    Notes
    -----
    Expectation-maximization for the mode under a Dirichlet distribution: with n rows published as y, prior shares q
    and a rows of them, ``p <- (a q + p * ((y / pT) T')) / (a + n)``.

    Examples
    --------
    Nothing distorted: the group's rows and the prior ones, added up.

    >>> compositions(np.array([[3.0, 0.0]]), np.eye(2), np.array([[0.5, 0.5]]), 1.0).tolist()
    [[0.875, 0.125]]
    """
    shares = (prior if start is None else start).copy()
    moving = np.arange(len(shares))
    for _ in range(steps):
        if not moving.size:
            return shares
        now = shares[moving]
        expected = now @ channel
        ratio = np.divide(counts[moving], expected, out=np.zeros_like(expected), where=expected > 0)
        linked = now * (ratio @ channel.T)
        following = concentration * prior[moving] + linked
        # By the sum itself, a + n: rounding over many steps would leave it.
        following /= following.sum(axis=1, keepdims=True)
        shares[moving] = following
        moving = moving[np.abs(following - now).max(axis=1) > TOLERANCE]
    return shares


def choose_concentration(
    counts: Floats, channel: Floats, prior: Floats, generator: np.random.Generator
) -> float:
    """How many rows the prior shares should count for, by predicting one half of the rows from the other.

    Parameters
    ----------
    counts, channel, prior
        As for :func:`compositions`; counts that are no whole numbers are rounded.
    generator
        Deals the published rows into halves.

    Notes
    -----
    A fit judged by the rows it was made of would choose to believe them alone: each row explains itself. Half of the
    rows is fitted with half of the concentration's weight beside it, so that the choice is about the whole.

    Examples
    --------
    Groups that are what was believed lean on it; groups of their own do not.

    >>> generator = np.random.default_rng(1)
    >>> even = np.full((60, 2), 0.5)
    >>> choose_concentration(np.full((60, 2), 10.0), np.eye(2), even, generator) >= 60
    True
    >>> choose_concentration(np.array([[20.0, 0.0], [0.0, 20.0]] * 30), np.eye(2), even, generator)
    0.3
    """
    whole = np.round(counts).astype(np.int64)
    useful = whole.sum(axis=1) >= 2
    whole, shares = whole[useful], prior[useful]
    if not len(whole):
        return CONCENTRATIONS[0]
    half: Integers = generator.binomial(whole, 0.5)
    halves = (half.astype(np.float64), (whole - half).astype(np.float64))

    def fit(kept: Floats, held_out: Floats, concentration: float) -> float:
        found = compositions(kept, channel, shares, concentration / 2)
        return float((held_out * np.log(np.maximum(found @ channel, np.finfo(float).tiny))).sum())

    judged = [fit(*halves, each) + fit(*halves[::-1], each) for each in CONCENTRATIONS]
    return CONCENTRATIONS[int(np.argmax(judged))]


@dataclass(frozen=True, eq=False)
class GroupBeliefs:
    """What is believed of people by their public group, with and without their own row.

    Parameters
    ----------
    rows
        The published rows.
    prior
        ``(groups, values)``: what is believed of people of each group before its rows are looked at.
    concentration
        Rows that the prior counts for.
    without
        Groups and published values ``(n,)`` to what is believed there without a row that shows the value, ``(n, values)``;
        the prior itself where it does not rest on single rows.

    Examples
    --------
    Two rows of one group, each kept with 3/4 in place of an even draw of two: one shows each value.

    >>> kept = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> rows = GroupedRows(np.array([[0]]), np.array([[1.0, 1.0]]), kept, np.ones(1))
    >>> GroupBeliefs(rows, np.array([[0.5, 0.5]]), 4.0).of_members(np.array([0])).tolist()
    [[0.5, 0.5]]
    """

    rows: GroupedRows
    prior: Floats = field(repr=False)
    concentration: float
    without: Callable[[Integers, Integers], Floats] | None = None

    @classmethod
    def fitted(cls, rows: GroupedRows, prior: SharedPrior, names: Sequence[str]) -> GroupBeliefs:
        """On a prior of the whole release, with the concentration that published rows bear out; the same every time."""
        before = prior.at(names, rows.combinations)
        generator = np.random.default_rng(0)
        chosen = choose_concentration(rows.counts, rows.channel, before, generator)
        # What a published row adds to the estimates of its categories: its row of the inverse, as often as it counts.
        inverse = np.linalg.pinv(rows.channel)

        def without(groups: Integers, shown: Integers) -> Floats:
            added = inverse[shown] / rows.kept[groups][:, np.newaxis]
            return prior.without_rows(names, rows.combinations[groups], added)

        return cls(rows, before, chosen, without)

    @cached_property
    def compositions(self) -> Floats:
        """Of the groups as published, ``(groups, values)``: what to believe of somebody like them."""
        return compositions(self.rows.counts, self.rows.channel, self.prior, self.concentration)

    def places(self, combinations: Integers) -> Integers:
        """Group of each combination, -1 where no row is published of it."""
        return places_among(combinations, self.rows.combinations)

    def of_members(self, groups: Integers) -> Floats:
        """Beliefs about members of some groups, ``(groups asked, values)``.

        For each published value the composition of the other rows times the chance to show it, averaged over
        the rows of the group: which one is the target's is not known. Where a sample was taken, the target may be
        outside of it, and is then like the group.
        """
        found = np.empty((len(groups), len(self.rows.channel)))
        for part, cells in self._blocks(groups):
            own = np.zeros((part.stop - part.start, len(self.rows.channel)))
            np.add.at(own, cells.place, cells.weight[:, np.newaxis] * cells.believed)
            kept = self.rows.kept[groups[part], np.newaxis]
            found[part] = kept * own + (1 - kept) * self.compositions[groups[part]]
        return found

    def left_out(
        self, groups: Integers, values: Integers, generator: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Beliefs about people of some groups who have these values, had their row not been published.

        For the custodian, who knows everybody's value: which published row is a person's own is drawn by its probability.
        A belief averaged over rows that may be the own one would be nobody's: it tells the value that the average knows.

        Parameters
        ----------
        groups, values
            ``(people,)`` each: group and true value, of everybody in the groups or of many.
        generator
            Draws the own rows.

        Returns
        -------
        tuple
            ``(people, values)`` each: the composition of the group's others, and the prior without the row.

        Notes
        -----
        A row that shows w is the own one of somebody who has v with odds ``T[v, w] / (c T)[w]``, c being the true shares among the
        group's others: the own row shows w by the first, any of theirs by the second. For groups of two this is exact.
        """
        size = len(self.rows.channel)
        found, before = np.empty((len(groups), size)), np.empty((len(groups), size))
        different, of_person = np.unique(groups, return_inverse=True)
        people = np.argsort(of_person.ravel(), kind="stable")
        starts = np.searchsorted(of_person.ravel()[people], np.arange(len(different) + 1))
        for part in in_parts(len(different), each=size**2, at_once=CELLS_AT_ONCE):
            cells = self._cells(different[part])
            asked = people[starts[part.start] : starts[part.stop]]
            place = of_person.ravel()[asked] - part.start
            shown = self._own_rows(different[part], place, values[asked], generator)
            row = np.full((part.stop - part.start, size), -1)
            row[cells.place, cells.shown] = np.arange(len(cells.place))
            # Of a row that is not among them, the -1 stands for any: it is not looked at.
            is_in, own = (shown >= 0)[:, np.newaxis], row[place, shown]
            found[asked] = np.where(is_in, cells.others[own], self.compositions[groups[asked]])
            before[asked] = np.where(is_in, cells.before[own], self.prior[groups[asked]])
        return found, before

    def _own_rows(
        self, groups: Integers, place: Integers, values: Integers, generator: np.random.Generator
    ) -> Integers:
        """The published value of each person's own row, drawn; -1 where it is not among those counted, ``(people,)``."""
        counts, kept, channel = self.rows.counts[groups], self.rows.kept[groups], self.rows.channel
        others = np.zeros_like(counts)
        np.add.at(others, (place, values), 1.0)
        # Where only some of a group were asked about, the rest is like what is believed of it.
        missing = np.maximum(counts.sum(axis=1) / kept - others.sum(axis=1), 0.0)
        others += missing[:, np.newaxis] * self.compositions[groups]
        of_others = others[place]
        of_others[np.arange(len(place)), values] -= 1
        shown = of_others @ channel
        weights = counts[place] * channel[values]
        weights = np.divide(weights, shown, out=weights, where=shown > 0)
        # What none of the others can show is the own row, or nobody's.
        certain = (shown <= 0) & (weights > 0)
        weights = np.where(certain.any(axis=1, keepdims=True), weights * certain, weights)
        # A value that no published row can hide: any row may be the own one.
        weights = np.where(weights.any(axis=1, keepdims=True), weights, counts[place])
        cumulative = np.cumsum(weights, axis=1)
        drawn = generator.random((len(place), 1)) * cumulative[:, -1:] >= cumulative
        is_in = generator.random(len(place)) < kept[place]
        return np.where(is_in, drawn.sum(axis=1), -1)

    def _blocks(self, groups: Integers) -> Iterator[tuple[slice, _Cells]]:
        """Some groups at a time, with the cells of each that hold rows."""
        parts = in_parts(len(groups), each=len(self.rows.channel) ** 2, at_once=CELLS_AT_ONCE)
        return ((part, self._cells(groups[part])) for part in parts)

    def _cells(self, groups: Integers) -> _Cells:
        # People asked about may share a group; its cells are worked out once.
        different, of_asked = np.unique(groups, return_inverse=True)
        counts = self.rows.counts[different]
        group, shown = np.nonzero(counts > 0)
        others = counts[group]
        others[np.arange(len(group)), shown] = np.maximum(counts[group, shown] - 1, 0)
        whose = different[group]
        before = self.prior[whose] if self.without is None else self.without(whose, shown)
        shares = compositions(others, self.rows.channel, before, self.concentration)
        evidence = shares * self.rows.channel[:, shown].T
        total = evidence.sum(axis=1, keepdims=True)
        # What can show nothing else is certain, however unlikely it was believed to be.
        likely = np.where(total > 0, evidence, self.rows.channel[:, shown].T)
        believed = likely / likely.sum(axis=1, keepdims=True)
        weight = counts[group, shown] / counts.sum(axis=1)[group]
        return _expanded(
            _Cells(group, shown, weight, before, shares, believed), of_asked.ravel(), len(different)
        )


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells with rows: of which group and value, what share of its rows; without one of them the prior and the others' shares."""

    place: Integers
    shown: Integers
    weight: Floats
    before: Floats
    others: Floats
    believed: Floats


def _expanded(cells: _Cells, of_asked: Integers, number: int) -> _Cells:
    """The cells of every group asked for, groups that are asked for twice twice."""
    if len(of_asked) == number and (of_asked == np.arange(number)).all():
        return cells
    order = np.argsort(cells.place, kind="stable")
    sizes = np.bincount(cells.place, minlength=number)
    starts = np.cumsum(sizes) - sizes
    taken = sizes[of_asked]
    place = np.repeat(np.arange(len(of_asked)), taken)
    within = np.arange(len(place)) - np.repeat(np.cumsum(taken) - taken, taken)
    chosen = order[starts[of_asked][place] + within]
    parts = (cells.shown, cells.weight, cells.before, cells.others, cells.believed)
    return _Cells(place, *(each[chosen] for each in parts))
