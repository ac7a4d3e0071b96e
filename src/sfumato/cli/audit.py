"""``sfumato audit``: attack a release and hold the attacks against the private rows."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.guard import REFUTED
from sfumato.cli.options import AsJson, SchemaFile
from sfumato.cli.reading import Reading, with_options
from sfumato.cli.showing import show, talk

EXAMPLES = (
    "sfumato audit release --against people.csv --schema schema.toml",
    "sfumato audit release --against people.csv --schema schema.toml \\",
    "    --control others.csv --people exposed.csv --report audit.html",
    "sfumato audit first second --against people.csv --schema schema.toml",
)


@with_options
def audit(
    releases: Annotated[
        list[Path],
        typer.Argument(
            metavar="RELEASE...",
            help="Folder of a release; several of one table are attacked together.",
            show_default=False,
        ),
    ],
    *,
    against: Annotated[
        str,
        typer.Option(
            "--against",
            metavar="DATA",
            help="The private rows that it was published from.",
            show_default=False,
        ),
    ],
    schema: SchemaFile,
    control: Annotated[
        str | None,
        typer.Option(
            "--control",
            metavar="DATA",
            help="People like those in the table who are known not to be in it. Without: own rows left out, where "
            "the law allows it, else the design published again.",
        ),
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option(
            "--people",
            metavar="FILE",
            help="Write the exposed people to a private file; they are never shown.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write all of it as a page, which you alone can read."),
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="N", help="Releases, where the design is published again.")
    ] = 5,
    classifier: Annotated[
        bool,
        typer.Option(
            "--classifier", help="Train a classifier on what was released as well; needs scikit-learn."
        ),
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", help="Repeats splits and draws; nothing is published."),
    ] = None,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Attack a release, and compare people in it with people who are not in it: what being in the table costs."""
    from sfumato.custody.audit.auditing import audit as audit_releases
    from sfumato.values.schema import Schema
    from sfumato.writing import refuse_existing

    declared = Schema.read(schema)
    opened = [reading.load_release(each) for each in releases]
    private = reading.read_table(against, declared)
    others = None if control is None else reading.read_table(control, declared)
    for path, name in ((people, "people"), (report, "report")):
        if path is not None:
            refuse_existing(path, parameter=name)
    found = audit_releases(opened, private, control=others, repeats=repeats, classifier=classifier, seed=seed)
    if people is not None:
        number = found.write_people(people)
        talk(f"Wrote {number:,} exposed people to {people}: for your eyes alone.")
    if report is not None:
        from sfumato.report.audit_page import write_audit

        # Names without folders: where files lie is nobody else's business.
        names = [each.name for each in (*releases, Path(against), schema)]
        words = ["sfumato", "audit", *names[:-2], "--against", names[-2], "--schema", names[-1]]
        write_audit(found, opened, report, command=shlex.join(words))
        talk(f"Wrote {report}: for your eyes alone.")
    talk("Computed from the private rows: for your eyes, not for publication.")
    show(found, as_json=as_json)
    if found.is_refuted:
        raise typer.Exit(REFUTED)
