"""The scale-factor leak: how often rows were repeated tells how large a sample was, and so what is in the group."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.attacks.base import Attack, AttackResult
from sfumato.attacks.group_frequency import attacked_attributes, blocks_of_groups
from sfumato.data.knowledge import Knowledge
from sfumato.errors import NotIdentifiableError
from sfumato.guarantees.reconstruction_privacy.guarantee import ReconstructionPrivacy
from sfumato.methods.sample_perturb_scale.law.sampled_rows import SampledRows
from sfumato.release import Release
from sfumato.values.arrays import Floats
from sfumato.values.result_tables import ResultTable

LARGEST_DEVIATION = 4.0
"""Standard deviations of the copies' rounding that a count may lie off a multiple of the scale factor."""

LARGEST_LATTICE_SHARE = 0.5
"""Share of all counts that may fit by chance before a lattice says nothing."""


class ScaleFactor(Attack):
    """Find how many rows of each large group were sampled, and from it the group's largest frequency.

    In a group that was cut to n of N rows every published count is a multiple of about N/n. Where the factor
    is large, the counts of the values give n away; where n depends on the group's largest frequency, so does
    n give that frequency away, far more accurately than the perturbed values do.
    """

    attack: Literal["scale-factor"] = "scale-factor"
    smallest_factor: Annotated[float, Field(gt=1, le=1e9)] = Field(
        default=100.0, description="groups are attacked whose rows may stand for at least this many rows"
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
                "largest frequency alone. This attack reads releases of bound 'chernoff'."
            )
        groups, sensitive, distortion = attacked_attributes(release)
        blocks = blocks_of_groups(release, groups, sensitive, distortion)
        sizes = blocks.rows.sum(axis=1)
        # The smallest sample is public, so the largest possible factor is; the true one may be smaller.
        places = np.flatnonzero(law.scale_factors(sizes) >= self.smallest_factor)
        found = [(place, sample_size(blocks.rows[place], int(law.rows_per_group))) for place in places]
        resolved = [(place, size) for place, size in found if size is not None]
        frequencies = frequency_of_sample_size(
            np.array([size for _, size in resolved], dtype=float), promises[0]
        )
        different = len({size for _, size in resolved})
        order = sorted(range(len(resolved)), key=lambda each: -sizes[resolved[each][0]])[: self.shown]
        rows = tuple(
            (
                ", ".join(
                    release.schema[name].labels[blocks.codes[name][resolved[each][0]]] for name in groups
                ),
                int(sizes[resolved[each][0]]),
                resolved[each][1],
                float(sizes[resolved[each][0]] / resolved[each][1]),
                float(frequencies[each]),
            )
            for each in order
        )
        return AttackResult(
            attack=self.attack,
            findings={
                "groups attacked": len(found),
                "groups whose sample size was found": len(resolved),
                "different sample sizes": different,
            },
            tables=(
                ResultTable(
                    "Sample sizes found in the largest groups",
                    ("group", "rows", "sampled rows", "scale factor", "largest frequency"),
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


def sample_size(counts: Floats, smallest: int) -> int | None:
    """Rows that a group was cut to, from its published counts by value; None where nothing stands out.

    Every value's count is a sum of k copies' numbers, each floor(w) or one more: about k w, with a deviation of
    at most sqrt(k)/2. The smallest sample whose lattice all counts fit is taken: a lattice twice as fine fits
    too, whatever the truth.

    Parameters
    ----------
    counts
        ``(m,)``, published rows by value, copies included.
    smallest
        Samples are at least this large.

    Examples
    --------
    >>> sample_size(np.array([12_000.0, 9_000.0, 4_500.0]), 10)
    17
    """
    total = counts.sum()
    occupied = counts[counts > 0]
    for size in range(smallest, int(total // 2) + 1):
        factor = total / size
        rows = np.maximum(1.0, np.rint(occupied / factor))
        off = np.abs(occupied - rows * factor)
        # Copies are rounded by a variance of frac(w) (1 - frac(w)) each; half a row for the rounding of the sum.
        fraction = factor % 1
        allowed = LARGEST_DEVIATION * np.sqrt(rows * fraction * (1 - fraction)) + 0.5
        if (2 * allowed > LARGEST_LATTICE_SHARE * factor).all():
            return None
        if (off <= allowed).all() and rows.sum() == size:
            return size
    return None


def frequency_of_sample_size(sizes: Floats, promise: ReconstructionPrivacy) -> Floats:
    """Largest frequency of groups that were cut to these sizes, by the promise's cap.

    Notes
    -----
    Corollary 6 at equality is ``n (lambda p)^2 f^2 = -2 ln(delta) (p f + (1-p)/m)``, a quadratic in f. Samples are
    whole rows, so the cap lies half a row above them on average.

    Examples
    --------
    >>> promise = ReconstructionPrivacy(
    ...     sensitive="job", groups=("sex",), retention=0.5, size=10, relative_error=0.3, error_probability=0.3
    ... )
    >>> frequency_of_sample_size(np.floor(promise.caps_at([0.4, 1.0])), promise).round(2).tolist()
    [0.4, 1.0]
    """
    quadratic = (np.asarray(sizes, float) + 0.5) * (promise.relative_error * promise.retention) ** 2
    linear = -2 * np.log(promise.error_probability) * promise.retention
    constant = -2 * np.log(promise.error_probability) * (1 - promise.retention) / promise.size
    frequencies = (linear + np.sqrt(linear**2 + 4 * quadratic * constant)) / (2 * quadratic)
    return np.asarray(np.minimum(1.0, frequencies))
