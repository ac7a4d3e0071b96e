"""What is said in numbers beside constants follows from them: by tables of other libraries, or by arithmetic.

Left out are bytes of arrays, which are products, and what was timed on a machine.
"""

from __future__ import annotations

import importlib
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import sfumato

WORDS = {
    "once in a thousand times": 1 / 1_000,
    "once in twenty": 1 / 20,
    "3 in 100,000": 3 / 100_000,
    "0.0015": 0.0015,
    "about a tenth of a standard error": 1 / 10,
    "by hundredths": 1 / 100,
    "about a fortieth of itself": 1 / 40,
    "one in two hundred and fifty": 1 / 250,
    "forgotten to a hundredth": 1 / 100,
    "below two hundredths of a standard deviation": 2 / 100,
    "half of the square of 1.96": 1.96**2 / 2,
    "140 MB": 140e6,
    "1.1 of it": 1.1,
    "less than 1 / (2 scale)": 1.0,
}


def quantile_error(replicates):
    """Standard error of the end of a 95 % range of normal draws, in standard deviations."""
    return math.sqrt(0.025 * 0.975 / replicates) / stats.norm.pdf(1.96)


def share_error(share, number):
    """Relative, of a share of so many that are sampled."""
    return math.sqrt((1 - share) / share / number)


def lattice_change(scale):
    """Largest probability of one integer under the discrete Laplace law, times twice the scale."""
    places = np.arange(-40 * scale, 40 * scale + 1)
    weights = np.exp(-np.abs(places) / scale)
    return weights.max() / weights.sum() * 2 * scale


@pytest.mark.parametrize(
    ("place", "name", "said", "follows", "tolerance"),
    [
        ("attacks/bucket_models", "LEAST_GAIN", "once in a thousand times", lambda gain: stats.chi2.sf(2 * gain, 3), 0.2),
        ("custody/audit/scores", "BEYOND_CHANCE", "once in twenty", lambda gain: stats.chi2.sf(2 * gain, 2), 0.02),
        ("attacks/small_sums", "STANDARD_ERRORS", "3 in 100,000", stats.norm.sf, 0.1),
        ("release/tabulation", "DRAWS", "0.0015", lambda draws: math.sqrt(0.05 * 0.95 / draws), 0.05),
        ("analysis/measures", "REPLICATES", "about a tenth of a standard error", quantile_error, 0.2),
        ("laws/cross_validation", "LEVELS", "by hundredths", lambda levels: 1 / levels, 0.01),
        # Sampling halves what is kept when it is full, so that half of it is left at worst.
        ("data/sample_uniques", "MOST_KEYS_OF_SETS", "about a fortieth of itself", lambda keys: share_error(0.05, keys / 2), 0.05),
        ("data/sample_uniques", "FEWEST_SAMPLED", "one in two hundred and fifty", lambda number: share_error(0.5, number / 2), 0.05),
        ("methods/sample_perturb_scale/law", "UNSEEN_ROWS", "half of the square of 1.96", float, 0.05),
        ("release/publication", "PILES", "140 MB", lambda piles: 1e9 / piles * 9, 0.01),
        ("datasets/census_population", "SALARY_NOISE", "1.1 of it", lambda scale: stats.logistic.ppf(0.75, scale=scale) / scale, 0.01),
    ],
)  # fmt: skip
def test_what_is_said_beside_a_constant_follows_from_it(place, name, said, follows, tolerance):
    """Within the rounding of the words."""
    assert said in text_beside(place, name)
    assert follows(value_of(place, name)) == pytest.approx(WORDS[said], rel=tolerance)


@pytest.mark.parametrize(
    ("place", "name", "said", "follows"),
    [
        # A chain that is told a share of the information forgets by one less that share a step.
        ("analysis/imputation", "FORGETTING", "forgotten to a hundredth", lambda steps: 0.7 ** (steps / 0.3)),
        # The Gaussian law is the narrower one at a scale.
        ("estimates/exact_intervals", "FINEST_SCALE", "below two hundredths of a standard deviation", lambda scale: 1 / scale),
        ("attacks/ratio_law", "LARGEST_SUMMED_SCALE", "less than 1 / (2 scale)", lattice_change),
    ],
)  # fmt: skip
def test_what_is_bounded_beside_a_constant_stays_below(place, name, said, follows):
    """At most what the words say."""
    assert said in text_beside(place, name)
    assert follows(value_of(place, name)) <= WORDS[said]


def value_of(place, name):
    """The constant."""
    return getattr(importlib.import_module(f"sfumato.{place.replace('/', '.')}"), name)


def text_beside(place, name):
    """What is written under a constant, lines run together."""
    text = (Path(sfumato.__file__).parent / f"{place}.py").read_text(encoding="utf-8")
    after = text.split(f"\n{name}", 1)[1].split('"""')[1]
    return " ".join(after.split())
