"""``sfumato methods``: the methods, their parameters and promises."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.completion import complete_methods
from sfumato.cli.options import AsJson
from sfumato.cli.showing import show, show_json, tell

EXAMPLES = (
    "sfumato methods",
    "sfumato methods randomized-response",
)


def methods(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="One method, in full.", autocompletion=complete_methods, show_default=False
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List the methods, or describe one with all its parameters."""
    from sfumato.cli.describing import Description, parameters_of, section_of, wrapped
    from sfumato.methods.base import METHODS

    if name is None:
        rows = [
            {"name": each, "title": member.title, "promise": section_of(member, "Promise")}
            for each, member in METHODS.members.items()
        ]
        if as_json:
            show_json(rows)
        else:
            tell(
                "\n\n".join(
                    f"{row['name']}: {row['title']}\n{wrapped(row['promise'], indent=2)}" for row in rows
                )
            )
        return
    member = METHODS.get(name)
    texts = {
        "Summary": (member.summary,),
        "Promise": (section_of(member, "Promise"),),
        "Against whom": (section_of(member, "Against whom"),),
        "Weaknesses": member.weaknesses,
        "Citations": member.citations,
    }
    show(Description(name, member.title, texts, parameters_of(member, METHODS.tag)), as_json=as_json)
