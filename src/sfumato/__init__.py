"""Publish categorical microdata with stated privacy guarantees and honest error bars.

Names are loaded when they are first used, so that ``import sfumato`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sfumato._version import __version__

if TYPE_CHECKING:
    from sfumato.attacks import ATTACKS
    from sfumato.compare.run import compare_designs
    from sfumato.custody.audit.audit import audit
    from sfumato.custody.audit.falsify import falsify
    from sfumato.custody.calibrate import choose
    from sfumato.custody.inspect import inspect_table
    from sfumato.custody.plan import plan
    from sfumato.custody.publish import publish
    from sfumato.custody.rules import mine_table
    from sfumato.custody.schemas.inference import check_schema, infer_schema
    from sfumato.data.private_table import PrivateTable, read_table
    from sfumato.errors import SfumatoError
    from sfumato.estimates.answers import Answer, AnswerTable
    from sfumato.estimates.counts import CountTable
    from sfumato.estimates.estimates import Estimates
    from sfumato.methods.anatomy.design import Anatomy
    from sfumato.methods.base import METHODS, Design
    from sfumato.methods.columnized_counts.design import ColumnizedCounts
    from sfumato.methods.distribution_resampling.design import DistributionResampling
    from sfumato.methods.generalization.design import Generalization
    from sfumato.methods.noisy_marginals.design import NoisyMarginals
    from sfumato.methods.randomized_response.design import RandomizedResponse
    from sfumato.methods.sample_perturb_scale.design import SamplePerturbScale
    from sfumato.methods.splu_gen.design import SPLUGen
    from sfumato.release import Release, load_release
    from sfumato.report import write_report
    from sfumato.schema import Attribute, Role, Schema

_HOMES = {
    "ATTACKS": "sfumato.attacks",
    "Anatomy": "sfumato.methods.anatomy.design",
    "Answer": "sfumato.estimates.answers",
    "AnswerTable": "sfumato.estimates.answers",
    "Attribute": "sfumato.schema",
    "ColumnizedCounts": "sfumato.methods.columnized_counts.design",
    "CountTable": "sfumato.estimates.counts",
    "Design": "sfumato.methods.base",
    "DistributionResampling": "sfumato.methods.distribution_resampling.design",
    "Estimates": "sfumato.estimates.estimates",
    "Generalization": "sfumato.methods.generalization.design",
    "METHODS": "sfumato.methods.base",
    "NoisyMarginals": "sfumato.methods.noisy_marginals.design",
    "PrivateTable": "sfumato.data.private_table",
    "RandomizedResponse": "sfumato.methods.randomized_response.design",
    "Release": "sfumato.release",
    "Role": "sfumato.schema",
    "SPLUGen": "sfumato.methods.splu_gen.design",
    "SamplePerturbScale": "sfumato.methods.sample_perturb_scale.design",
    "Schema": "sfumato.schema",
    "SfumatoError": "sfumato.errors",
    "audit": "sfumato.custody.audit.audit",
    "check_schema": "sfumato.custody.schemas.inference",
    "choose": "sfumato.custody.calibrate",
    "compare_designs": "sfumato.compare.run",
    "falsify": "sfumato.custody.audit.falsify",
    "infer_schema": "sfumato.custody.schemas.inference",
    "inspect_table": "sfumato.custody.inspect",
    "load_release": "sfumato.release",
    "mine_table": "sfumato.custody.rules",
    "plan": "sfumato.custody.plan",
    "publish": "sfumato.custody.publish",
    "read_table": "sfumato.data.private_table",
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
    "audit",
    "check_schema",
    "choose",
    "compare_designs",
    "falsify",
    "infer_schema",
    "inspect_table",
    "load_release",
    "mine_table",
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
