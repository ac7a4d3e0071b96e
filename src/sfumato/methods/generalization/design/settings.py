"""Settings of generalization that contradict each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.data.coarsening.building import FrequencyForm


def contradiction(settings: Mapping[str, Any]) -> str | None:
    """What is asked for that the chosen search does not do, in a sentence; None when nothing is.

    A setting without effect is refused: whoever gives it believes that it has one.

    Parameters
    ----------
    settings
        Parameter to value.
    """
    if settings["search"] == "fixed":
        for name in ("l_value", "t", "beta", "disclosure_bound", "criteria"):
            if settings[name] not in (None, ()):
                return f"{name} needs a search; a fixed recoding drops classes by k alone. Leave it out."
        private = [name for name, form in settings["hierarchies"].items() if isinstance(form, FrequencyForm)]
        if private:
            return (
                f"the hierarchy of {private[0]!r} is built from private counts, but a fixed recoding must not "
                "look at the data. State a tree, widths or a fanout."
            )
    elif settings["levels"]:
        return 'levels are for search = "fixed"; the other searches find them. Leave them out.'
    if settings["search"] == "mondrian" and settings["suppression"] is not None:
        return 'suppression is for the other searches: search = "mondrian" drops no row. Leave it out.'
    if settings["search"] != "mondrian" and settings["boxes"] != "cut":
        return 'boxes are for search = "mondrian"; the other searches publish levels. Leave them out.'
    return None
