"""Publish categorical microdata so that statistics survive and no one person can be picked out.

Names are loaded when they are first used, so that ``import sfumato`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sfumato._version import __version__

if TYPE_CHECKING:
    from sfumato.answers import Answer, AnswerTable
    from sfumato.attacks import ATTACKS
    from sfumato.counts import CountTable
    from sfumato.errors import SfumatoError
    from sfumato.estimates import Estimates
    from sfumato.inspection import infer_schema, inspect_table
    from sfumato.methods import METHODS, Design
    from sfumato.methods.anatomy import Anatomy
    from sfumato.methods.columnized_counts.design import ColumnizedCounts
    from sfumato.methods.distribution_resampling import DistributionResampling
    from sfumato.methods.generalization import Generalization
    from sfumato.methods.noisy_marginals import NoisyMarginals
    from sfumato.methods.randomized_response import RandomizedResponse
    from sfumato.methods.sample_perturb_scale import SamplePerturbScale
    from sfumato.methods.splu_gen import SPLUGen
    from sfumato.planning.choosing import choose
    from sfumato.planning.plan import plan
    from sfumato.private_table import PrivateTable, read_table
    from sfumato.publishing import publish
    from sfumato.release import Release, load_release
    from sfumato.report import write_report
    from sfumato.schema import Attribute, Role, Schema

_HOMES = {
    "ATTACKS": "sfumato.attacks",
    "Anatomy": "sfumato.methods.anatomy",
    "Answer": "sfumato.answers",
    "AnswerTable": "sfumato.answers",
    "Attribute": "sfumato.schema",
    "ColumnizedCounts": "sfumato.methods.columnized_counts.design",
    "CountTable": "sfumato.counts",
    "Design": "sfumato.methods",
    "DistributionResampling": "sfumato.methods.distribution_resampling",
    "Estimates": "sfumato.estimates",
    "Generalization": "sfumato.methods.generalization",
    "METHODS": "sfumato.methods",
    "NoisyMarginals": "sfumato.methods.noisy_marginals",
    "PrivateTable": "sfumato.private_table",
    "RandomizedResponse": "sfumato.methods.randomized_response",
    "Release": "sfumato.release",
    "Role": "sfumato.schema",
    "SPLUGen": "sfumato.methods.splu_gen",
    "SamplePerturbScale": "sfumato.methods.sample_perturb_scale",
    "Schema": "sfumato.schema",
    "SfumatoError": "sfumato.errors",
    "choose": "sfumato.planning.choosing",
    "infer_schema": "sfumato.inspection",
    "inspect_table": "sfumato.inspection",
    "load_release": "sfumato.release",
    "plan": "sfumato.planning.plan",
    "publish": "sfumato.publishing",
    "read_table": "sfumato.private_table",
    "write_report": "sfumato.report",
}

__all__ = [
    "ATTACKS",
    "METHODS",
    "Anatomy",
    "Answer",
    "AnswerTable",
    "Attribute",
    "ColumnizedCounts",
    "CountTable",
    "Design",
    "DistributionResampling",
    "Estimates",
    "Generalization",
    "NoisyMarginals",
    "PrivateTable",
    "RandomizedResponse",
    "Release",
    "Role",
    "SPLUGen",
    "SamplePerturbScale",
    "Schema",
    "SfumatoError",
    "__version__",
    "choose",
    "infer_schema",
    "inspect_table",
    "load_release",
    "plan",
    "publish",
    "read_table",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
