"""What is said of a release by sampling, perturbing and scaling besides its promise."""

from __future__ import annotations

import warnings

from sfumato.guarantees.reconstruction_privacy.guarantee import ReconstructionPrivacy

ASSUMPTIONS = (
    "The sensitive values of different people are not tied to each other.",
    "The attacker has no outside knowledge of how the quasi-identifiers go together with the sensitive attribute.",
)
ROUNDING_ASSUMPTION = (
    "Rounding may make a sample slightly larger than its cap, and scaling by its random size shifts estimates by less "
    "than a sampled row: promise and unbiasedness hold apart from that (strict = false)."
)


def warn_of_two_categories(promise: ReconstructionPrivacy) -> None:
    """Warn where the paper's assumption of three or more categories fails."""
    if promise.size == 2:
        warnings.warn(
            f"{promise.sensitive!r} has two categories; the paper assumes more, because an attacker who can rule out "
            "one of two values knows the other. The caps are as computed, the promise says less.",
            stacklevel=3,
        )


def about_people_alone(promise: ReconstructionPrivacy) -> str:
    """What a promise about reconstructed groups leaves of a person who is a group by himself."""
    # Kept, or redrawn as it was.
    shown = promise.retention + (1 - promise.retention) / promise.size
    return (
        f"people alone in their group: nobody is sampled away from it, and the published {promise.sensitive} is the true one "
        f"with probability {shown:.3g}"
    )
