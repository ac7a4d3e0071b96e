"""Puts the drawing library of reports into the package, so that a report needs no converter installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY = Path("src/sfumato/report/templates/vega.js")


class VegaBundle(BuildHookInterface):  # type: ignore[type-arg]
    """Asks vl-convert, which is needed at no other time, for Vega, Vega-Lite and vega-embed in one file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file beside the page's template and name it, since version control ignores it."""
        del version
        import vl_convert

        (Path(self.root) / LIBRARY).write_text(vl_convert.javascript_bundle(), encoding="utf-8")
        build_data["artifacts"].append(f"/{LIBRARY}")
