"""Settings of generalization that contradict each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.data.coarsening.building import FrequencyForm
from sfumato.methods.goals import PromiseGoal, crowd_of, crowd_size

PROMISE_GOALS: Mapping[str, PromiseGoal] = {
    "k": PromiseGoal("rows of a class", "k", "at least", crowd_size, protects_nothing=1),
    "match": PromiseGoal(
        "the largest probability that a row of a class is a person's",
        "k",
        "at least",
        crowd_of,
        most=1,
        protects_nothing=1,
    ),
    "belief": PromiseGoal(
        "the largest share of a sensitive value in a class",
        "l_value",
        "at least",
        lambda share: 1 / share,
        most=1,
        protects_nothing=1,
        besides={"diversity": "fraction"},
    ),
    "t": PromiseGoal(
        "distance of a class's sensitive values from those of all rows",
        "t",
        "at most",
        most=1,
        protects_nothing=1,
    ),
    "beta": PromiseGoal("growth of a sensitive value's share in a class", "beta", "at most"),
}
"""What parameters can be chosen for."""


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
