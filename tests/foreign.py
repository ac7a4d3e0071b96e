"""Releases as a stranger could have made them: a manifest changed in one place, its checksum made anew."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfumato.release.manifest import checksum

Block = dict[str, Any]


def rewritten(folder: Path, change: Callable[[Block], None]) -> Path:
    """The release in a folder, its own block of the manifest changed; the checksum fits again."""
    path = folder / "datapackage.json"
    path.write_text(
        json.dumps(changed(json.loads(path.read_text(encoding="utf-8")), change)), encoding="utf-8"
    )
    return folder


def changed(descriptor: Block, change: Callable[[Block], None]) -> Block:
    """A manifest whose own block was changed, with the checksum that then fits."""
    other = copy.deepcopy(descriptor)
    change(other["sfumato"])
    other["sfumato"].pop("checksum", None)
    other["sfumato"]["checksum"] = checksum(other)
    return other
