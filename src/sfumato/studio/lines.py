"""Lines of JSON between a server and the processes that work for it."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any, TextIO


def own_output() -> TextIO:
    """Where this process writes its lines; whatever a library prints to stdout goes to stderr from now on."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


def write_line(out: TextIO, content: dict[str, Any]) -> None:
    """One line, at once; nobody may be there any more to read it."""
    with suppress(BrokenPipeError):
        out.write(json.dumps(content) + "\n")
        out.flush()
