"""Publish categorical microdata so that statistics survive and no one person can be picked out.

Names are loaded when they are first used, so that ``import sfumato`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sfumato._version import __version__

if TYPE_CHECKING:
    from sfumato.answers import Answer, AnswerTable
    from sfumato.counts import CountTable
    from sfumato.errors import SfumatoError
    from sfumato.estimates import Estimates
    from sfumato.methods import METHODS, Design
    from sfumato.methods.randomized_response import RandomizedResponse
    from sfumato.private_table import PrivateTable, read_table
    from sfumato.publishing import publish
    from sfumato.release import Release, load_release
    from sfumato.schema import Attribute, Role, Schema

_HOMES = {
    "METHODS": "sfumato.methods",
    "Answer": "sfumato.answers",
    "AnswerTable": "sfumato.answers",
    "Attribute": "sfumato.schema",
    "CountTable": "sfumato.counts",
    "Design": "sfumato.methods",
    "Estimates": "sfumato.estimates",
    "PrivateTable": "sfumato.private_table",
    "RandomizedResponse": "sfumato.methods.randomized_response",
    "Release": "sfumato.release",
    "Role": "sfumato.schema",
    "Schema": "sfumato.schema",
    "SfumatoError": "sfumato.errors",
    "load_release": "sfumato.release",
    "publish": "sfumato.publishing",
    "read_table": "sfumato.private_table",
}

__all__ = [
    "METHODS",
    "Answer",
    "AnswerTable",
    "Attribute",
    "CountTable",
    "Design",
    "Estimates",
    "PrivateTable",
    "RandomizedResponse",
    "Release",
    "Role",
    "Schema",
    "SfumatoError",
    "__version__",
    "load_release",
    "publish",
    "read_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
