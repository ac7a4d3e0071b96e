"""Reconstruction of a person's group: its frequencies, and the scale factor that gives a sample's size away."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.arrays import Floats, Integers
from sfumato.attacks.base import Attack, AttackResult, Knowledge
from sfumato.errors import NotIdentifiableError
from sfumato.guarantees.reconstruction_privacy import ReconstructionPrivacy, publishing_probabilities
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.methods.sample_perturb_scale.law import SampledRows
from sfumato.methods.sample_perturb_scale.variances import GroupBlocks
from sfumato.randomness.distortion import UniformDistortion
from sfumato.release import Release
from sfumato.results import ResultTable
from sfumato.schema import Role
from sfumato.text import percent

# --------------------------------------------------------------------------------------------------
# Personal reconstruction: what the group of a person tells about that person.


GRID = 401
"""Frequencies at which a posterior is evaluated."""

GROUPS_AT_A_TIME = 4_096
"""Groups whose posteriors are held in memory together."""


class GroupFrequency(Attack):
    """Reconstruct every personal group, and say how likely each reconstruction is within an error.

    Against every group of published rows that are equal on the quasi-identifiers, the attacker estimates
    the frequency of its most frequent sensitive value, which is then what is likely of each member.
    """

    attack: Literal["group-frequency"] = "group-frequency"
    relative_error: Annotated[float, Field(gt=0, le=1e6)] | None = Field(
        default=None,
        description="error to stay within; that of the release's promise when not given, else 0.3",
    )
    shown: Annotated[int, Field(ge=1, le=100_000)] = Field(default=10, description="largest groups to show")

    title: ClassVar[str] = "reconstruction of personal groups"
    summary: ClassVar[str] = (
        "Rows that are equal on all quasi-identifiers are taken together, and the frequency of each sensitive value among "
        "them is reconstructed from the published values and the public law. Of a large group that is accurate, and "
        "tells what is likely of everyone in it."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "The attacker knows a target's quasi-identifiers and that the target is in the table.",
        "Before looking, every frequency between 0 and 1 is as likely as any other.",
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Han, C. (2016). Sensitive disclosures under differential privacy guarantees. Simon Fraser University, chapter 4.",
    )
    laws: ClassVar[tuple[str, ...]] = ("perturbed-rows", "sampled-rows")

    def run(self, release: Release, knowledge: Knowledge | None = None) -> AttackResult:
        """Attack every group of a release."""
        told = () if knowledge is None else knowledge.sentences(())
        groups, sensitive, distortion = attacked_attributes(release)
        error = self.relative_error if self.relative_error is not None else _promised_error(release)
        blocks = blocks_of_groups(release, groups, sensitive, distortion)
        sizes = blocks.rows.sum(axis=1)
        effective = effective_rows(release, sizes)
        frequencies = (blocks.rows / sizes[:, None]) @ distortion.inverse()
        value = frequencies.argmax(axis=1)
        estimate = frequencies[np.arange(value.size), value]
        probability = probability_within(estimate, effective, distortion, error)
        is_sure = probability >= 0.95
        labels = release.schema[sensitive].labels
        largest = np.argsort(-sizes, kind="stable")[: self.shown]
        rows = tuple(
            (
                ", ".join(release.schema[name].labels[blocks.codes[name][place]] for name in groups)
                or "all rows",
                int(sizes[place]),
                labels[value[place]],
                float(estimate[place]),
                float(probability[place]),
            )
            for place in largest
        )
        return AttackResult(
            attack=self.attack,
            findings={
                "groups": int(sizes.size),
                "relative error": error,
                "median probability of being within it": float(np.median(probability)),
                "groups within it with probability 95 %": int(np.count_nonzero(is_sure)),
                "share of rows in those groups": float(sizes[is_sure].sum() / sizes.sum()),
            },
            tables=(
                ResultTable(
                    f"Most frequent {sensitive} of the largest groups",
                    ("group", "rows", "value", "estimated frequency", f"probability within {percent(error)}"),
                    rows,
                ),
            ),
            caveats=(*_caveats(release), *told),
        )


def attacked_attributes(release: Release) -> tuple[tuple[str, ...], str, UniformDistortion]:
    """The attributes that make a group, the perturbed one, and its matrix.

    Raises
    ------
    NotIdentifiableError
        When the release is not of one uniformly perturbed attribute.
    """
    law = release.law
    if isinstance(law, SampledRows):
        return law.groups, law.sensitive, law.distortion
    distortions = law.distortions if isinstance(law, PerturbedRows) else {}
    if len(distortions) == 1:
        sensitive, distortion = next(iter(distortions.items()))
        if isinstance(distortion, UniformDistortion):
            known = release.schema.with_role(Role.QUASI_IDENTIFIER)
            return tuple(each.name for each in known if each.name != sensitive), sensitive, distortion
    raise NotIdentifiableError(
        "this attack reconstructs one uniformly perturbed attribute within groups; the release has another law or "
        f"{len(distortions)} perturbed attributes. Attack a release of randomized-response or sample-perturb-scale."
    )


def blocks_of_groups(
    release: Release, groups: tuple[str, ...], sensitive: str, distortion: UniformDistortion
) -> GroupBlocks:
    """Published rows of every group by sensitive value."""
    weight = release.law.weight if isinstance(release.law, SampledRows) else None
    occupied = release.count_occupied((*groups, sensitive), weight=weight)
    return GroupBlocks.of(occupied, groups, groups, sensitive, distortion.size)


def effective_rows(release: Release, sizes: Floats) -> Floats:
    """Independent rows behind the published rows of each group; at least, where samples are unpublished."""
    return sizes / release.law.scale_factors(sizes) if isinstance(release.law, SampledRows) else sizes


def probability_within(
    estimates: npt.ArrayLike, rows: npt.ArrayLike, distortion: UniformDistortion, relative_error: float
) -> Floats:
    """Probability that each true frequency lies so that its estimate is within the relative error of it.

    Parameters
    ----------
    estimates
        Reconstructed frequencies F, ``(groups,)``.
    rows
        Independent rows behind each, ``(groups,)``.

    Returns
    -------
    numpy.ndarray
        ``(groups,)``.

    Notes
    -----
    The posterior of the true frequency f under an even prior on [0, 1], F being normal around f with variance
    ``(f q1 (1-q1) + (1-f) q0 (1-q0)) / (rows p^2)``; what is added up is the posterior of |F - f| <= lambda f.

    Examples
    --------
    >>> distortion = UniformDistortion(retention=0.5, size=10)
    >>> few, many = probability_within([0.4, 0.4], [20, 2_000], distortion, 0.3)
    >>> bool(few < 0.6), bool(many > 0.99)
    (True, True)
    """
    reconstructed, number = np.asarray(estimates, float), np.asarray(rows, float)
    own, elsewhere = publishing_probabilities(distortion.retention, distortion.size)
    frequency = (np.arange(GRID) + 0.5) / GRID
    variance = frequency * own * (1 - own) + (1 - frequency) * elsewhere * (1 - elsewhere)
    variance /= distortion.retention**2
    result = np.empty(reconstructed.size)
    for start in range(0, reconstructed.size, GROUPS_AT_A_TIME):
        part = slice(start, start + GROUPS_AT_A_TIME)
        deviation = reconstructed[part, None] - frequency
        exponent = -0.5 * number[part, None] * deviation**2 / variance - 0.5 * np.log(variance)
        posterior = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        is_within = np.abs(deviation) <= relative_error * frequency
        result[part] = (posterior * is_within).sum(axis=1) / posterior.sum(axis=1)
    return result


def _promised_error(release: Release) -> float:
    promised = [each.relative_error for each in release.guarantees if isinstance(each, ReconstructionPrivacy)]
    return promised[0] if promised else 0.3


def _caveats(release: Release) -> tuple[str, ...]:
    even = "Probabilities assume that every frequency was equally likely before."
    if isinstance(release.law, SampledRows) and release.law.is_smallest:
        return (
            even,
            "Samples' sizes are unpublished; the smallest possible were assumed, so probabilities are too low.",
        )
    return (even,)


# --------------------------------------------------------------------------------------------------
# The scale-factor leak: how often rows were repeated tells how large a sample was, and so what is in the
# group.


NEIGHBOURS = np.arange(-2, 3)
"""Numbers of sampled rows that a count may stand for, beside the nearest one."""

ROUNDING_VARIANCE = 1e-3
"""Keeps a count of equal copies, which has no variance at all, apart from a division by zero."""

NUMBERS_AT_ONCE = 2**20
"""Sizes times values that are weighed at a time."""


class ScaleFactor(Attack):
    """Find how many rows of each large group were sampled, and from it the group's largest frequency.

    In a group that was cut to n of N rows every published count is a multiple of about N/n. Where the factor
    is large, the counts of the values give n away; where n depends on the group's largest frequency, so does
    n give that frequency away, far more accurately than the perturbed values do. Every size that the public
    parameters allow is weighed, so the attack says how sure it is.
    """

    attack: Literal["scale-factor"] = "scale-factor"
    smallest_factor: Annotated[float, Field(gt=1, le=1e9)] = Field(
        default=10.0, description="groups are attacked whose rows may stand for at least this many rows"
    )
    smallest_probability: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.9, description="probability from which a sample size counts as found"
    )
    shown: Annotated[int, Field(ge=1, le=100_000)] = Field(default=10, description="largest groups to show")

    title: ClassVar[str] = "leak of the scale factor"
    summary: ClassVar[str] = (
        "The counts of a group that was sampled and scaled lie on a lattice, whose width tells the sample's size. Under a "
        "cap by group that size is a function of the largest frequency in the group, which the attacker inverts."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "The attacker sees the release and knows every public parameter.",
        "Groups are far larger than their samples.",
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Han, C. (2016). Sensitive disclosures under differential privacy guarantees. Simon Fraser University, section 4.3.",
    )
    laws: ClassVar[tuple[str, ...]] = ("sampled-rows",)

    def run(self, release: Release, knowledge: Knowledge | None = None) -> AttackResult:
        """Attack the large groups of a release."""
        told = () if knowledge is None else knowledge.sentences(())
        law = release.law
        promises = [each for each in release.guarantees if isinstance(each, ReconstructionPrivacy)]
        if not isinstance(law, SampledRows) or not promises:
            raise NotIdentifiableError(
                "this attack reads the scale factors of sampled groups, and the release has none. "
                "Attack a release of sample-perturb-scale."
            )
        if promises[0].bound == "exact":
            raise NotIdentifiableError(
                "under the exact bound a sample's size follows from the whole composition of the group, not from its "
                "largest frequency alone. This attack reads releases of bound 'chernoff' or 'normal'."
            )
        groups, sensitive, distortion = attacked_attributes(release)
        blocks = blocks_of_groups(release, groups, sensitive, distortion)
        sizes = blocks.rows.sum(axis=1)
        # The smallest sample is public, so the largest possible factor is; the true one may be smaller.
        places = np.flatnonzero(law.scale_factors(sizes) >= self.smallest_factor)
        smallest = int(law.rows_per_group)
        # A group's largest frequency is at least that of equal shares, which is where the cap is largest.
        largest = int(promises[0].caps_at(1 / promises[0].size)) if law.is_smallest else smallest
        found = [(place, *likeliest_sample_size(blocks.rows[place], smallest, largest)) for place in places]
        resolved = [(place, size, sure) for place, size, sure in found if sure >= self.smallest_probability]
        frequencies = frequency_of_sample_size(
            np.array([size for _, size, _ in resolved], dtype=float), promises[0]
        )
        different = len({size for _, size, _ in resolved})
        order = sorted(range(len(resolved)), key=lambda each: -sizes[resolved[each][0]])[: self.shown]
        rows = tuple(
            (
                ", ".join(
                    release.schema[name].labels[blocks.codes[name][resolved[each][0]]] for name in groups
                ),
                int(sizes[resolved[each][0]]),
                resolved[each][1],
                resolved[each][2],
                float(sizes[resolved[each][0]] / resolved[each][1]),
                float(frequencies[each]),
            )
            for each in order
        )
        return AttackResult(
            attack=self.attack,
            findings={
                "groups attacked": len(found),
                f"groups whose sample size was found, with probability {self.smallest_probability:.4g} or more": len(
                    resolved
                ),
                "of these expected to be right": float(sum(sure for _, _, sure in resolved)),
                "different sample sizes": different,
            },
            tables=(
                ResultTable(
                    "Sample sizes found in the largest groups",
                    ("group", "rows", "sampled rows", "probability", "scale factor", "largest frequency"),
                    rows,
                ),
            ),
            caveats=(
                (
                    "Where every group was cut to the same public size, the frequency that follows is the same for all "
                    "groups and says nothing about any of them."
                ),
                *told,
            ),
        )


def likeliest_sample_size(counts: Floats, smallest: int, largest: int) -> tuple[int, float]:
    """The likeliest number of rows that a group was cut to, and its probability.

    Parameters
    ----------
    counts
        ``(m,)``, published rows by value, copies included.
    smallest, largest
        Sizes that the public parameters allow; beforehand all are equally likely.

    Examples
    --------
    >>> likeliest_sample_size(np.array([602.0, 1084.0, 361.0]), 2, 40)[0]
    17
    """
    sizes = np.arange(smallest, max(min(largest, int(counts.sum())), smallest) + 1)
    logarithms = _log_likelihoods(counts[counts > 0], sizes)
    probabilities = np.exp(logarithms - logarithms.max())
    place = int(probabilities.argmax())
    return int(sizes[place]), float(probabilities[place] / probabilities.sum())


def _log_likelihoods(counts: Floats, sizes: Integers) -> Floats:
    """Log probability of a group's counts for each size of its sample, up to a constant."""
    turn = max(1, NUMBERS_AT_ONCE // (len(counts) * len(NEIGHBOURS)))
    parts = [_of_some(counts, sizes[start : start + turn]) for start in range(0, len(sizes), turn)]
    return np.concatenate(parts)


def _of_some(counts: Floats, sizes: Integers) -> Floats:
    """The same for a few sizes.

    Notes
    -----
    With w = N/n, the k sampled rows of a value have about k w copies, each row floor(w) or one more: normal with
    variance k frac(w) (1 - frac(w)), given that all copies add up to N. The numbers k of the values add up to n, so
    the probabilities of neighbouring k are multiplied out as polynomials, of which the term with the right sum is
    taken. Beforehand k is spread evenly: a lattice point stands for the w counts around it, for all values but one.
    """
    from scipy.special import ndtr

    factors = counts.sum() / sizes
    fraction = factors % 1
    spread = fraction * (1 - fraction)
    lowest = np.rint(counts / factors[:, np.newaxis]).astype(np.int64) + NEIGHBOURS[0]
    terms = np.zeros((len(sizes), (len(NEIGHBOURS) - 1) * len(counts) + 1))
    terms[:, 0] = 1
    result = (len(counts) - 1) * np.log(factors)
    tiny = np.finfo(np.float64).tiny
    for place, count in enumerate(counts):
        product = np.zeros_like(terms)
        for step in range(len(NEIGHBOURS)):
            rows = lowest[:, place] + step
            deviation = np.sqrt(np.maximum(rows, 0) * spread + ROUNDING_VARIANCE)
            off = count - rows * factors
            chance = np.where(rows >= 1, ndtr((off + 0.5) / deviation) - ndtr((off - 0.5) / deviation), 0)
            product[:, step:] += terms[:, : terms.shape[1] - step] * chance[:, np.newaxis]
        scale = np.maximum(product.max(axis=1), tiny)
        terms = product / scale[:, np.newaxis]
        result += np.log(scale)
    missing = sizes - lowest.sum(axis=1)
    is_within = (missing >= 0) & (missing < terms.shape[1])
    right_sum = terms[np.arange(len(sizes)), np.clip(missing, 0, terms.shape[1] - 1)]
    deviation = np.sqrt(sizes * spread + ROUNDING_VARIANCE)
    of_the_total = ndtr(0.5 / deviation) - ndtr(-0.5 / deviation)
    return np.asarray(
        result + np.log(np.maximum(np.where(is_within, right_sum, 0), tiny)) - np.log(of_the_total)
    )


def frequency_of_sample_size(sizes: Floats, promise: ReconstructionPrivacy) -> Floats:
    """Largest frequency of groups that were cut to these sizes, by the promise's cap.

    Notes
    -----
    Corollary 6 at equality is ``n (lambda p)^2 f^2 = -2 ln(delta) (p f + (1-p)/m)``, a quadratic in f; so is the normal
    cap, with ``z^2`` and the variances of a row with and without the value. Samples are whole rows, so the cap lies half
    a row above them on average.

    Examples
    --------
    >>> promise = ReconstructionPrivacy(
    ...     sensitive="job", groups=("sex",), retention=0.5, size=10, relative_error=0.3, error_probability=0.3
    ... )
    >>> frequency_of_sample_size(np.floor(promise.caps_at([0.4, 1.0])), promise).round(2).tolist()
    [0.4, 1.0]
    """
    quadratic = (np.asarray(sizes, float) + 0.5) * (promise.relative_error * promise.retention) ** 2
    # Both caps are a constant times a line in f, over the square of f: two points give the line.
    at_one, at_half = (
        float(promise.caps_at(each)) * (promise.relative_error * promise.retention * each) ** 2
        for each in (1.0, 0.5)
    )
    linear = 2 * (at_one - at_half)
    constant = at_one - linear
    frequencies = (linear + np.sqrt(linear**2 + 4 * quadratic * constant)) / (2 * quadratic)
    return np.asarray(np.minimum(1.0, frequencies))
