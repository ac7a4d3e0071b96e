"""``sfumato attack``: run one attack on a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, AttackName, ReleaseFolder, Settings
from sfumato.cli.showing import show

EXAMPLES = (
    "sfumato attack release --attack linking --knowledge known.csv",
    "sfumato attack release --attack linking --json",
)


def attack(
    release: ReleaseFolder,
    *,
    attack: AttackName,
    knowledge: Annotated[
        Path | None,
        typer.Option(
            "--knowledge",
            metavar="FILE",
            help="What the attacker knows: records with some of the attributes.",
        ),
    ] = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Attack a release with nothing but what is public, and what the attacker knows besides."""
    from sfumato.attacks import ATTACKS
    from sfumato.cli.parameters import member_from
    from sfumato.data.knowledge import read_knowledge
    from sfumato.release import load_release

    chosen = member_from(ATTACKS, attack, settings)
    target = load_release(release)
    known = None if knowledge is None else read_knowledge(knowledge, target.schema)
    show(chosen.run(target, known), as_json=as_json)
