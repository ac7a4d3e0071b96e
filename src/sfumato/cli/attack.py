"""``sfumato attack``: run one attack on a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, AttackName, ReleaseFolder, Settings
from sfumato.cli.reading import Reading, with_options
from sfumato.cli.showing import show

EXAMPLES = (
    "sfumato attack release --attack linking --knowledge known.csv",
    "sfumato attack release --attack linking --json",
)


@with_options
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
    people: Annotated[
        Path | None,
        typer.Option(
            "--people",
            metavar="FILE",
            help="Write the guesses about single people to a private file; they are never shown.",
        ),
    ] = None,
    settings: Settings = None,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Attack a release with nothing but what is public, and what the attacker knows besides."""
    from sfumato.attacks import ATTACKS
    from sfumato.cli.parameters import member_from
    from sfumato.data.knowledge import read_knowledge
    from sfumato.errors import ParameterError
    from sfumato.writing import refuse_existing

    chosen = member_from(ATTACKS, attack, settings)
    target = reading.load_release(release)
    known = (
        None
        if knowledge is None
        else read_knowledge(knowledge, target.schema, **reading.source_options, engine=reading.make_engine())
    )
    if people is not None:
        refuse_existing(people, parameter="people")
    result = chosen.run(target, known)
    if people is not None:
        if result.people is None:
            raise ParameterError(
                f"people: the attack {attack} makes no guesses about single people. Leave --people out, or choose "
                "anatomy-naive-bayes, or linking with --knowledge.",
                parameter="people",
            )
        result.people.write(people)
    show(result, as_json=as_json)
