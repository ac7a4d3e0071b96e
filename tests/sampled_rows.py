"""Rows sampled by group, and their law."""

from __future__ import annotations

from sfumato.methods.sample_perturb_scale.law import SampledRows
from sfumato.randomness.distortion import UniformDistortion
from sfumato.schema import Attribute, Role, Schema

SCHEMA = Schema(
    attributes=(
        Attribute(name="place", role=Role.QUASI_IDENTIFIER, categories=tuple("abcde")),
        Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("f", "m")),
        Attribute(name="note", role=Role.OTHER, categories=("x", "y", "z")),
        Attribute(name="job", role=Role.SENSITIVE, categories=("s", "t", "u", "v")),
    )
)
DISTORTION = UniformDistortion(retention=0.5, size=4)


def law(**changes):
    """The law for the schema above."""
    settings = {
        "sensitive": "job", "distortion": DISTORTION, "groups": ("place", "sex"), "rows_per_group": 10_000.0,
    }  # fmt: skip
    return SampledRows(**{**settings, **changes})
