"""Shrinkage of group shares: partial pooling through a distortion, spike priors, shrinkage targets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sfumato.arrays import Floats, Integers
from sfumato.errors import TooLargeError
from sfumato.estimates.counts import OccupiedCounts
from sfumato.randomness.distortion import AxisMatrix, contract, transposed

# --------------------------------------------------------------------------------------------------
# Published rows by the categories of one attribute at a time, those that were perturbed and those that were
# not.


def perturbed_axes(matrices: Sequence[AxisMatrix]) -> tuple[int, ...]:
    """Axes of the perturbed attributes that make groups."""
    return tuple(axis for axis, each in enumerate(matrices[:-1]) if each is not None)


def by_attribute(
    published: Floats, matrices: Sequence[AxisMatrix], codes: Integers | None
) -> Iterator[tuple[Floats, list[AxisMatrix], Integers]]:
    """Rows published of each attribute's categories and the last attribute, what distorts both, and the category of every group."""
    for each in () if codes is None else codes.T:
        different, place = np.unique(each, return_inverse=True)
        counts = np.zeros((different.size, published.shape[-1]))
        np.add.at(counts, place.ravel(), published.sum(axis=tuple(range(1, published.ndim - 1))))
        yield counts, [None, matrices[-1]], place.reshape(-1, *(1 for _ in published.shape[1:-1]))
    for axis in perturbed_axes(matrices):
        others = tuple(each for each in range(published.ndim - 1) if each != axis)
        shape = [1] * (published.ndim - 1)
        shape[axis] = -1
        place = np.arange(published.shape[axis]).reshape(shape)
        yield published.sum(axis=others), [matrices[axis], matrices[-1]], place


# --------------------------------------------------------------------------------------------------
# Shares of a last attribute within groups, each group leaning on all: partial pooling through a distortion.
#
# Estimates of a small group are mostly noise when its rows were perturbed, and the largest of several noisy
# shares is too large. Shares that lean on the overall ones, or on others, are not; ``leaning`` says how far,
# and on which.


LARGEST_NUMBER_OF_STEPS = 300
"""Steps after which the fit stops, converged or not."""

TOLERANCE = 1e-5
"""Share of all rows that the last step may still move."""


LARGEST_LINKED = 50_000_000
"""Cells that fit into memory, several times over."""

NOBODY = 1e-9
"""Overall rows that say what to believe of a group without any row, and nothing elsewhere."""


def pooled_counts(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    overall_rows: float,
    *,
    toward: Floats | None = None,
    start: Floats | None = None,
    steps: int = LARGEST_NUMBER_OF_STEPS,
) -> Floats:
    """Most plausible true counts when each group's shares are scattered around the overall ones.

    Parameters
    ----------
    published
        Counts, the groups on all axes but the last.
    matrices
        What each axis was distorted by.
    overall_rows
        Rows with the overall shares that every group is given beside its own: the concentration of the
        Dirichlet distribution from which the groups' shares are drawn.
    toward
        Shares that each group leans on instead, in the shape of ``published``.
    start
        Counts to start from; equal ones when not given.
    steps
        After how many to stop, converged or not.

    Returns
    -------
    numpy.ndarray
        The shape of ``published``, with its total. Groups keep the totals that the rows give them; the
        shares within each are pulled to the overall ones.

    Notes
    -----
    Expectation-maximization for the posterior mode. With x the counts and m the overall shares a step is

    ``z = x * P'(y / P x)``, ``x <- z_a (z + c m) / (z_a + c)``, z_a the total of z in the group.

    The c rows come in at *every* step. Added once, to finished estimates, they would be held against
    estimated rows as if these had been seen; a perturbed row says less than a row. Inside the iteration they
    are held against what the rows do say.

    Examples
    --------
    Nobody in a group: the overall shares are all there is to say, whatever its size.

    >>> pooled_counts(np.array([[30.0, 10.0], [0.0, 0.0]]), [None, None], 4.0).round(6).tolist()
    [[30.0, 10.0], [0.0, 0.0]]

    Four rows of one kind, and four overall ones, which are half and half.

    >>> pooled_counts(np.array([[4.0, 0.0], [0.0, 4.0]]), [None, None], 4.0).round(3).tolist()
    [[3.0, 1.0], [1.0, 3.0]]
    """
    total = float(published.sum())
    # The first step gives them the published total.
    current = np.ones(published.shape) if start is None else start
    given = None if toward is None else overall_rows * toward
    backward = [transposed(each) for each in matrices]
    # Tens of thousands of steps are usual where leanings are judged: each writes over what the last one left.
    ratio, move = np.empty(published.shape), np.empty(published.shape)
    for _ in range(steps):
        following = _linked(published, matrices, backward, current, ratio)
        groups = following.sum(axis=-1, keepdims=True)
        following += _rows_alike(following, overall_rows) if given is None else given
        following *= groups / (groups + overall_rows)
        np.subtract(following, current, out=move)
        moved = float(np.abs(move, out=move).sum())
        current = following
        if moved <= TOLERANCE * total:
            break
    return current


def published_values(published: Floats, matrices: Sequence[AxisMatrix], prior: Floats) -> Floats:
    """Expected published values of the rows that truly belong to each group, in the shape of ``published``.

    Published rows are linked to true groups by Bayes, while their last attribute stays as it was published.

    Examples
    --------
    Groups that were not perturbed have their own.

    >>> published_values(np.array([[3.0, 1.0], [0.0, 2.0]]), [None, None], np.ones((2, 2))).tolist()
    [[3.0, 1.0], [0.0, 2.0]]
    """
    expected = contract(prior, matrices)
    ratio = np.divide(published, expected, out=np.zeros_like(expected), where=expected > 0)
    linked = contract(ratio, [*(transposed(each) for each in matrices[:-1]), None])
    shown = contract(prior, [*(None for _ in matrices[:-1]), matrices[-1]])
    return np.asarray(linked * shown)


def linked_counts(published: Floats, matrices: Sequence[AxisMatrix], prior: Floats) -> Floats:
    """Expected number of published rows that truly belong to each cell, by Bayes row by row.

    ``sum over published rows of Pr(true cell | published cell)``; the mean of the table's own true counts given
    the published ones, when each row was drawn from the prior.

    Parameters
    ----------
    published
        Counts of published rows.
    matrices
        What each axis was distorted by.
    prior
        Counts in proportion to which true cells are drawn.

    References
    ----------
    Guo (2010), eq. 5.4.

    Examples
    --------
    >>> kept = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> linked_counts(np.array([10.0, 0.0]), [kept], np.array([5.0, 5.0])).round(9).tolist()
    [9.0, 1.0]
    """
    backward = [transposed(each) for each in matrices]
    return _linked(published, matrices, backward, prior, np.empty(published.shape))


def _linked(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    backward: Sequence[AxisMatrix],
    prior: Floats,
    ratio: Floats,
) -> Floats:
    """The counts of :func:`linked_counts`; ``backward`` are the matrices transposed, and ``ratio`` is written over."""
    expected = contract(prior, matrices)
    if expected.min(initial=1.0) > 0:
        np.divide(published, expected, out=ratio)
    else:
        ratio.fill(0.0)
        np.divide(published, expected, out=ratio, where=expected > 0)
    linked = contract(ratio, backward)
    # Where no axis was distorted it is the ratio itself, which the next step writes over.
    return np.multiply(linked, prior, out=None if linked is ratio else linked)


def shares_with_overall(counts: Floats, overall_rows: float) -> Floats:
    """Shares within each group after some rows with the overall shares were added to it.

    Parameters
    ----------
    counts
        The groups on all axes but the last.
    overall_rows
        How many, above 0: an empty group would have no shares at all.

    Examples
    --------
    >>> shares_with_overall(np.array([[10.0, 30.0], [0.0, 0.0]]), 1.0)[1].tolist()
    [0.25, 0.75]
    """
    padded = counts + _rows_alike(counts, overall_rows)
    return np.asarray(padded / padded.sum(axis=-1, keepdims=True))


def _rows_alike(counts: Floats, rows: float) -> Floats:
    """So many rows with the overall shares, ``(values,)``."""
    overall = counts.reshape(-1, counts.shape[-1]).sum(axis=0)
    return np.asarray(rows * overall / overall.sum())


def occupied_groups(occupied: OccupiedCounts, number_of_exact: int) -> tuple[Integers | None, Floats]:
    """Published counts with the occupied combinations of the first attributes on one axis, and these combinations.

    Raises
    ------
    TooLargeError
        When the attributes that were perturbed, any of whose combinations may be a target's, have too many.
    """
    rest = [each.size for each in occupied.attributes[number_of_exact:]]
    codes = [each.astype(np.int64) for each in occupied.codes]
    exact = None
    if number_of_exact:
        exact, place = np.unique(np.stack(codes[:number_of_exact], axis=1), axis=0, return_inverse=True)
        codes, rest = [place.ravel(), *codes[number_of_exact:]], [len(exact), *rest]
    if math.prod(rest) > LARGEST_LINKED:
        names = ", ".join(each.name for each in occupied.attributes[number_of_exact:-1])
        raise TooLargeError(
            f"linking would weigh {math.prod(rest):,} cells, and at most {LARGEST_LINKED:,} fit. "
            f"Leave some of the perturbed attributes ({names or 'none'}) out of quasi_identifiers, or some others."
        )
    counts = np.zeros(rest)
    counts[tuple(codes)] = occupied.counts
    return exact, counts


# --------------------------------------------------------------------------------------------------
# What to expect of a group's shares when many groups have one frequent value of their own.
#
# Groups that lean on the overall shares alone are pulled away from a value that most of a group has,
# whichever it is: where
# every town has a job of its own, all of them are believed too little, and mixed groups too much. Here a
# share of each
# group's rows, from none to all, has one value, and the others have what is left in all groups when their
# peaks are taken
# away. How many groups have how large a peak, and what is left, is learned from all of them; which value it
# is, from the
# group's own published rows.


PEAKS = np.linspace(0.1, 1.0, 10)
"""Shares of a group's rows that may have one value beyond what is left."""

SPIKE_ROUNDS = 12
"""Rounds in which it is learned what is left without the peaks, and rows may be linked anew."""

STEPS = 5
"""Steps of a round in which it is learned how many groups have which peak."""

LEAST_MOVE = 1e-3
"""Share of what is left that a round must still move for another."""

LARGEST_NUMBER_OF_VALUES = 500
"""Values beyond which every peak at every value is too many."""

LARGEST_NUMBER_OF_LIKELIHOODS = 20_000_000
"""Of all groups under all peaks, which are held in memory at once."""

LIKELIHOODS_TO_LEARN_FROM = 1_000_000
"""Of groups under all peaks; of more groups a random part says how many have which peak, and what is left."""

NEGLIGIBLE = 1e-12


def can_have_peaks(groups: int, values: int) -> bool:
    """Whether so many groups and values are few enough to try every peak.

    Examples
    --------
    >>> can_have_peaks(1_000, 12), can_have_peaks(10, 5_000)
    (True, False)
    """
    is_small = groups * (values * PEAKS.size + 1) <= LARGEST_NUMBER_OF_LIKELIHOODS
    return is_small and 1 < values <= LARGEST_NUMBER_OF_VALUES


def peaked_shares(
    published: Floats, matrices: Sequence[AxisMatrix], prior: Floats, *, relinks: bool = False
) -> Floats:
    """Shares to expect of each group before its rows are counted one by one, in the shape of ``published``.

    Parameters
    ----------
    published
        Counts, the groups on all axes but the last.
    matrices
        What each axis was distorted by.
    prior
        Counts by which published rows are linked to groups. Values have peaks as often as they have people there.
    relinks
        Link them anew in every round, by what was learned.

    Notes
    -----
    An empirical Bayes estimate: ``theta = (1 - p) r + p e_j`` with what is left r, a peak p of :data:`PEAKS` or none, and
    its value j with probability m_j, the overall shares. The probabilities of the peaks and r are the most likely ones
    (expectation-maximization); a group's shares are the mean over its posterior. Were r the overall shares, a peak that
    many people have would be expected of everybody else too: with 30 categories of which each value has one of its own,
    what few people of a rare value were believed to have was mostly the category of the most frequent value.

    References
    ----------
    Robbins (1956); Kiefer and Wolfowitz (1956) for the most likely prior.

    Examples
    --------
    Two groups with a value of their own, and one that is mixed.

    >>> counts = np.array([[90.0, 5.0, 5.0], [5.0, 90.0, 5.0], [40.0, 38.0, 22.0]])
    >>> peaked_shares(counts, [None, None], counts).round(1).tolist()
    [[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.4, 0.4, 0.2]]
    """
    size = published.shape[-1]
    overall = prior.reshape(-1, size).sum(axis=0) / max(float(prior.sum()), NOBODY)
    left, expected = overall, prior
    # Up to a factor, which every step divides out.
    probabilities = np.ones(PEAKS.size + 1)
    shown = published_values(published, matrices, prior).reshape(-1, size)
    part = shown if relinks else _some(shown)
    for _ in range(SPIKE_ROUNDS):
        shares = _peaked(left)
        posterior, probabilities = _posterior(part, matrices[-1], shares, overall, probabilities)
        expected = posterior @ shares
        before, left = left, _left(part, matrices[-1], shares, posterior, left)
        if np.abs(left - before).sum() <= LEAST_MOVE:
            break
        if relinks:
            current = (part.sum(axis=1, keepdims=True) * expected).reshape(published.shape)
            part = published_values(published, matrices, current).reshape(-1, size)
    if len(part) < len(shown):
        expected = _posterior(shown, matrices[-1], shares, overall, probabilities, steps=1)[0] @ shares
    return np.asarray(expected.reshape(published.shape))


def _some(shown: Floats) -> Floats:
    """Rows of all groups, or of a random part of very many; the same every time."""
    most = LIKELIHOODS_TO_LEARN_FROM // (shown.shape[1] * PEAKS.size + 1)
    if len(shown) <= most:
        return shown
    return np.asarray(shown[np.random.default_rng(0).choice(len(shown), most, replace=False)])


def _peaked(left: Floats) -> Floats:
    """Shares under every peak at every value, and in the last line under none."""
    size = left.size
    peaked = (1 - PEAKS)[:, None, None] * left + PEAKS[:, None, None] * np.eye(size)
    return np.concatenate([peaked.reshape(-1, size), left[None, :]])


def _posterior(
    shown: Floats,
    matrix: AxisMatrix,
    shares: Floats,
    overall: Floats,
    probabilities: Floats,
    *,
    steps: int = STEPS,
) -> tuple[Floats, Floats]:
    """Probability of every peak at every value in each group, and how many groups have which peak."""
    logarithms = np.log(np.maximum(contract(shares, [None, matrix]), NEGLIGIBLE))
    likelihoods = shown @ logarithms.T
    likelihoods = np.exp(likelihoods - likelihoods.max(axis=1, keepdims=True))
    is_seen = shown.sum(axis=1) > NEGLIGIBLE
    posterior = likelihoods
    for _ in range(steps):
        # The last is no peak at all.
        prior = np.append(np.outer(probabilities[:-1], overall), probabilities[-1])
        posterior = likelihoods * prior
        posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), NEGLIGIBLE)
        mean = posterior[is_seen].mean(axis=0) if is_seen.any() else prior
        probabilities = np.append(mean[:-1].reshape(PEAKS.size, -1).sum(axis=1), mean[-1])
    return posterior, probabilities


def _left(shown: Floats, matrix: AxisMatrix, shares: Floats, posterior: Floats, left: Floats) -> Floats:
    """Shares of all rows that are no part of a peak.

    A row that shows w under a peak p at j is none of it, and of value x, with probability ``(1 - p) r_x T[x, w] / (theta T)[w]``.
    """
    outside = np.append(np.repeat(1 - PEAKS, left.size), 1.0)
    expected = np.maximum(contract(shares, [None, matrix]), NEGLIGIBLE)
    ratio = outside @ ((posterior.T @ shown) / expected)
    following = left * contract(ratio, [transposed(matrix)])
    total = float(following.sum())
    return np.asarray(following / total) if total > 0 else left


# --------------------------------------------------------------------------------------------------
# What groups lean on, and counts fitted so.
#
# On the overall shares; where many groups have a frequent value of their own, on what such groups have (see
# ``peaked_shares``); on what a group's categories say of the values one by one; and groups that only a
# perturbed attribute
# tells apart, on each other. A published row is of one of these siblings, and of which is a guess: linked to
# the one that
# shows its value most, it would make that one purer and the others emptier of it than they are.


SHRINKAGE_ROUNDS = 2
"""How often peaks are worked out: from a fit without them, and from one with them. Rows are linked to the groups whose
peak they show and so confirm it; more rounds made beliefs too sure, a single one too modest."""

ROWS_BEFORE_PEAKS = 16.0
"""Overall rows of the fit that a fit with peaks starts from."""


class Leaning(NamedTuple):
    """What each group leans on: so many overall rows, of what groups with its peak have, of its siblings, or of its categories.

    Siblings are alike in all that was not perturbed. Together they are told apart from others with certainty and lean
    as ``siblings`` says. ``attributes`` say how values lean when it is asked which category of each attribute goes with which
    value: a group then leans on what its categories say, each by itself. Categories that repeat each other would be believed
    twice, so that the share ``aside`` of people is taken to be like all people. Of the others what is said may be true to
    a ``power``: where a trait that makes the categories is not quite the value, they say more of the trait.

    Rows are linked anew by every peak that is learned where it ``relinks``.
    """

    rows: float
    has_peaks: bool = False
    siblings: Leaning | None = None
    attributes: tuple[Leaning, ...] = ()
    aside: float = 0.0
    power: float = 1.0
    relinks: bool = False


def leaning_counts(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    leaning: Leaning,
    *,
    codes: Integers | None = None,
    start: Floats | None = None,
    steps: int = LARGEST_NUMBER_OF_STEPS,
) -> Floats:
    """The same for any leaning: toward what groups with a peak have, what siblings have together, what attributes say.

    Parameters
    ----------
    codes
        ``(groups, attributes)``: categories of the groups on the first axis, for a leaning on what attributes say.

    Examples
    --------
    >>> counts = np.array([[90.0, 5.0, 5.0], [5.0, 90.0, 5.0], [40.0, 38.0, 22.0]])
    >>> leaning_counts(counts, [None, None], Leaning(50.0, has_peaks=True))[0].round().tolist()
    [89.0, 6.0, 5.0]
    >>> leaning_counts(counts, [None, None], Leaning(50.0))[0].round().tolist()
    [75.0, 18.0, 7.0]
    """
    current, rounds = start, 1
    if leaning.has_peaks:
        current, rounds = pooled_counts(published, matrices, ROWS_BEFORE_PEAKS, steps=steps), SHRINKAGE_ROUNDS
    for _ in range(rounds):
        toward = leant_on(published, matrices, leaning, codes, current)
        current = pooled_counts(published, matrices, leaning.rows, toward=toward, start=current, steps=steps)
    return np.asarray(current)


def siblings_together(published: Floats, matrices: Sequence[AxisMatrix]) -> tuple[Floats, list[AxisMatrix]]:
    """Published rows of all siblings added up, with the axes of perturbed attributes of length 1, and what is left to distort.

    Examples
    --------
    >>> counts = np.arange(8.0).reshape(2, 2, 2)
    >>> siblings_together(counts, [None, np.eye(2), np.eye(2)])[0].tolist()
    [[[2.0, 4.0]], [[10.0, 12.0]]]
    """
    # The rows of a matrix sum to 1: published rows of all categories are the true rows of all categories.
    perturbed = perturbed_axes(matrices)
    return published.sum(axis=perturbed, keepdims=True), [*(None for _ in matrices[:-1]), matrices[-1]]


def sibling_shares(
    published: Floats, matrices: Sequence[AxisMatrix], leaning: Leaning, *, codes: Integers | None = None
) -> Floats:
    """Shares of all siblings together for each of them, in the shape of ``published``; they lean as is said."""
    together = leaning_counts(*siblings_together(published, matrices), leaning, codes=codes)
    return np.broadcast_to(shares_with_overall(together, NOBODY), published.shape)


def attribute_shares(
    published: Floats, matrices: Sequence[AxisMatrix], leaning: Leaning, *, codes: Integers | None = None
) -> Floats:
    """What a group's categories say of the values, each by itself, in the shape of ``published``.

    Notes
    -----
    ``Pr(v | x1, x2, ...) ~ Pr(v) (Pr(x1 | v) Pr(x2 | v) ...)^power`` for most people, and ``Pr(v)`` for those set aside. Where
    that is not so, held-out rows say that groups should lean on something else.

    Examples
    --------
    Half of the people have each value; three in four of those with a value have either category that goes with it.

    >>> counts = np.array([[9.0, 1.0], [3.0, 3.0], [3.0, 3.0], [1.0, 9.0]])
    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> leaning = Leaning(1.0, attributes=(Leaning(1e-6), Leaning(1e-6)))
    >>> attribute_shares(counts, [None, None], leaning, codes=codes).round(3).tolist()
    [[0.9, 0.1], [0.5, 0.5], [0.5, 0.5], [0.1, 0.9]]
    """
    return believed_shares(*what_is_said(published, matrices, leaning.attributes, codes), leaning)


def what_is_said(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    attributes: Sequence[Leaning],
    codes: Integers | None,
) -> tuple[Floats, Floats]:
    """Overall shares, and the product of what every attribute says of each value, both in the shape of ``published``."""
    everybody = tuple(range(published.ndim - 1))
    values = leaning_counts(published.sum(axis=everybody), [matrices[-1]], Leaning(NOBODY))
    said = np.ones(published.shape)
    for (counts, both, of_group), each in zip(
        by_attribute(published, matrices, codes), attributes, strict=True
    ):
        said *= _given_values(counts, both, each)[of_group]
    return np.broadcast_to(values / max(float(values.sum()), NOBODY), published.shape), said


def believed_shares(overall: Floats, said: Floats, leaning: Leaning) -> Floats:
    """What is said, to a power, of all people but those set aside."""
    tilted = overall * said**leaning.power
    totals = tilted.sum(axis=-1, keepdims=True)
    believed = np.divide(tilted, totals, out=overall.copy(), where=totals > 0)
    return np.asarray((1 - leaning.aside) * believed + leaning.aside * overall)


def leant_on(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    leaning: Leaning,
    codes: Integers | None,
    before: Floats | None,
) -> Floats | None:
    """What groups lean on; None for the overall shares. Peaks are worked out from the fit before."""
    if leaning.siblings is not None:
        return sibling_shares(published, matrices, leaning.siblings, codes=codes)
    if leaning.attributes:
        return attribute_shares(published, matrices, leaning, codes=codes)
    if leaning.has_peaks and before is not None:
        return peaked_shares(published, matrices, before, relinks=leaning.relinks)
    return None


def _given_values(counts: Floats, matrices: Sequence[AxisMatrix], leaning: Leaning) -> Floats:
    """Probability of each category among people of each value, from rows published of ``(categories, values)``.

    It is the values that lean here, and on all people: of a rare value few rows tell anything, of a frequent one its own.
    """
    fitted = leaning_counts(counts.T, matrices[::-1], leaning)
    return shares_with_overall(fitted, NOBODY).T
