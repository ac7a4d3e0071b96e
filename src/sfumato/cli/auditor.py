"""The auditor's verbs: verify, check-matrix, attacks, attack, audit, falsify."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.analyst import category_number
from sfumato.cli.options import (
    AsJson,
    AttackName,
    DesignFile,
    MethodName,
    Reading,
    ReleaseFolder,
    Running,
    SchemaFile,
    Settings,
    TargetName,
    complete_attacks,
    with_options,
)
from sfumato.cli.output import REFUTED, show_json, show_result, talk, tell

# --------------------------------------------------------------------------------------------------
# ``sfumato verify``: everything about a release that can be checked without the private rows.


VERIFY_EXAMPLES = (
    "sfumato verify release",
    "sfumato verify release --key custodian.pub --at-least 3 --json",
)


@with_options
def verify(
    release: ReleaseFolder,
    *,
    key: Annotated[
        Path | None,
        typer.Option(
            "--key", metavar="PUBLIC", help="Public Ed25519 key that must have signed it (PEM or OpenSSH)."
        ),
    ] = None,
    at_least: Annotated[
        int | None,
        typer.Option(
            "--at-least", metavar="N", help="With --key: refuse a signature with a smaller serial number."
        ),
    ] = None,
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Check a release by itself: files, rows, promises against law and tables, signature."""
    from sfumato.release.verification import verify_release

    found = verify_release(release, key=key, at_least=at_least, engine=reading.make_engine())
    show_result(found, as_json=as_json)
    if not found.is_kept:
        raise typer.Exit(REFUTED)


# --------------------------------------------------------------------------------------------------
# ``sfumato check-matrix``: a suspected distortion matrix against the published margin.


CHECK_MATRIX_EXAMPLES = (
    "sfumato check-matrix release occupation --retention 0.8",
    "sfumato check-matrix release sex --retention 0.8 \\",
    "    --margin Female=0.51 --margin Male=0.49",
    "sfumato check-matrix release occupation --matrix @matrix.csv",
)


@with_options
def check_matrix(
    release: ReleaseFolder,
    attribute: Annotated[
        str, typer.Argument(metavar="ATTRIBUTE", help="A perturbed attribute.", show_default=False)
    ],
    *,
    retention: Annotated[
        float | None,
        typer.Option(
            "--retention", metavar="P", help="Suspected: a value is kept with this probability, else redrawn."
        ),
    ] = None,
    matrix: Annotated[
        str | None,
        typer.Option(
            "--matrix",
            metavar="@FILE",
            help="Suspected matrix: .csv, .json or .toml; rows are true categories.",
        ),
    ] = None,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            "--margin", metavar="CATEGORY=NUMBER", help="True share or count; for all categories, or none."
        ),
    ] = None,
    target: TargetName = "population",
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Test whether the published margin of an attribute could come from a suspected matrix."""
    from sfumato.cli.parameters import parse_value

    numbers = None if margin is None else dict(category_number(each, "--margin") for each in margin)
    rows = None if matrix is None else parse_value(matrix)
    if rows is not None and not isinstance(rows, list):
        raise typer.BadParameter("--matrix takes @FILE, or a list of rows as TOML writes it.")
    found = reading.load_release(release).check_matrix(
        attribute, retention=retention, matrix=rows, margin=numbers, target=target
    )
    show_result(found, as_json=as_json)


# --------------------------------------------------------------------------------------------------
# ``sfumato attacks``: the known attacks, what they assume, and their parameters.


ATTACKS_EXAMPLES = (
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
    from sfumato.cli.parameters import Description, parameters_of

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
    show_result(Description(name, member.title, texts, parameters_of(member, ATTACKS.tag)), as_json=as_json)


# --------------------------------------------------------------------------------------------------
# ``sfumato attack``: run one attack on a release.


ATTACK_EXAMPLES = (
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
    from sfumato.atomic_files import refuse_existing
    from sfumato.attacks import ATTACKS
    from sfumato.attacks.base import read_knowledge
    from sfumato.cli.parameters import member_from
    from sfumato.errors import ParameterError

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
    show_result(result, as_json=as_json)


# --------------------------------------------------------------------------------------------------
# ``sfumato audit``: attack a release and hold the attacks against the private rows.


AUDIT_EXAMPLES = (
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
    from sfumato.atomic_files import refuse_existing
    from sfumato.custody.audit.audit import audit as audit_releases
    from sfumato.schema import Schema

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
        from sfumato.report.risk_pages import write_audit

        # Names without folders: where files lie is nobody else's business.
        names = [each.name for each in (*releases, Path(against), schema)]
        words = ["sfumato", "audit", *names[:-2], "--against", names[-2], "--schema", names[-1]]
        write_audit(found, opened, report, command=shlex.join(words))
        talk(f"Wrote {report}: for your eyes alone.")
    talk("Computed from the private rows: for your eyes, not for publication.")
    show_result(found, as_json=as_json)
    if found.is_refuted:
        raise typer.Exit(REFUTED)


# --------------------------------------------------------------------------------------------------
# ``sfumato falsify``: try to refute what a method claims.


FALSIFY_EXAMPLES = (
    "sfumato falsify --method noisy-marginals --set epsilon=1",
    "sfumato falsify people.csv --schema schema.toml \\",
    "    --method randomized-response --set retention=0.5",
)


@with_options
def falsify(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            help="Private rows to test the law on besides; nothing of them is published.",
            show_default=False,
        ),
    ] = None,
    *,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", metavar="FILE", help="Schema file (TOML); a toy's when not given."),
    ] = None,
    method: MethodName = None,
    settings: Settings = None,
    design: DesignFile = None,
    trials: Annotated[
        int, typer.Option("--trials", metavar="N", help="Releases of each of two neighbouring tables.")
    ] = 4_000,
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="N", help="Releases of every other table.")
    ] = 20,
    level: Annotated[
        float,
        typer.Option("--level", metavar="A", help="Probability of refuting a method that is what it says."),
    ] = 1e-4,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Repeats everything.")] = None,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Try to refute what a method claims, by publishing tables made for it again and again."""
    from sfumato.cli.parameters import design_from
    from sfumato.custody.audit.falsify import falsify as try_to_refute
    from sfumato.schema import Schema

    chosen = design_from(method, settings, design)
    if data is not None and schema is None:
        raise typer.BadParameter("give --schema with DATA.")
    declared = None if schema is None else Schema.read(schema)
    private = None if data is None or declared is None else reading.read_table(data, declared)
    found = try_to_refute(
        chosen, schema=declared, table=private, trials=trials, repeats=repeats, level=level, seed=seed
    )
    if private is not None:
        talk("Computed from the private rows too: for your eyes, not for publication.")
    show_result(found, as_json=as_json)
    if found.is_refuted:
        raise typer.Exit(REFUTED)
