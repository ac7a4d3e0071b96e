"""Loads scripts that are no part of the package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def load_script(path: Path) -> ModuleType:
    """A script as a module under a name of its own; it is not run."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    # Data classes look their module up by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
