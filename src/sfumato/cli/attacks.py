"""``sfumato attacks``: the known attacks, what they assume, and their parameters."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.completion import complete_attacks
from sfumato.cli.options import AsJson
from sfumato.cli.showing import show, show_json, talk, tell

EXAMPLES = (
    "sfumato attacks",
    "sfumato attacks linking",
)


def attacks(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="One attack, in full.", autocompletion=complete_attacks, show_default=False
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List the attacks, or describe one with all its parameters."""
    from sfumato.attacks import ATTACKS
    from sfumato.cli.describing import Description, parameters_of

    if name is None:
        if not ATTACKS.members:
            talk("This version has no attacks.")
        rows = [
            {"name": each, "title": member.title, "laws": list(member.laws)}
            for each, member in ATTACKS.members.items()
        ]
        if as_json:
            show_json(rows)
        else:
            tell(
                "\n\n".join(f"{row['name']}\n  {row['title']} (on {', '.join(row['laws'])})" for row in rows)
            )
        return
    member = ATTACKS.get(name)
    texts = {
        "Summary": (member.summary,),
        "Assumptions": member.assumptions,
        "Laws": member.laws,
        "Citations": member.citations,
    }
    show(Description(name, member.title, texts, parameters_of(member, ATTACKS.tag)), as_json=as_json)
