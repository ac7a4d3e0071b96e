"""The custodian's verbs: schema, inspect, methods, plan, calibrate, hiding-noise, compare, publish, ledger."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfumato.cli.analyst import attribute_names
from sfumato.cli.options import (
    AsJson,
    Data,
    DesignFile,
    LedgerFile,
    MethodName,
    QuestionsFile,
    Reading,
    SchemaFile,
    Settings,
    WorkloadKind,
    complete_methods,
    ledger_named,
    with_options,
)
from sfumato.cli.output import REFUSED, ask_password, progress_bar, show_json, show_result, talk, tell, warn
from sfumato.text import FEW_LISTED, capital, counted, listed

if TYPE_CHECKING:
    from sfumato.compare.calibrate import ExpectedChoice, MeasuredChoice
    from sfumato.custody.calibrate import PromisedChoice
    from sfumato.custody.checks import Unperturbed
    from sfumato.custody.ledger import Entry
    from sfumato.methods.randomized_response.plan import Calibration
    from sfumato.methods.splu_gen.plan import GammaAdvice
    from sfumato.release import Release

# --------------------------------------------------------------------------------------------------
# ``sfumato schema``: first schemas from data, what does not fit one, and what its keys mean.


EXPLAIN_EXAMPLES = ("sfumato schema explain", "sfumato schema explain dates")
CHECK_EXAMPLES = ("sfumato schema check people.csv schema.toml",)
SCHEMA_EXAMPLES = (
    "sfumato schema infer people.csv --out schema.toml",
    "sfumato schema infer sqlite:///people.db --table people --out schema.toml",
)


@with_options
def infer(
    data: Data,
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FILE", help="Schema file to make; must not exist.", show_default=False
        ),
    ],
    header: Annotated[
        bool,
        typer.Option(
            "--header", help="The first line does hold the column names, though they look like values."
        ),
    ] = False,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Guess roles and categories from data, and say what a person must check."""
    from sfumato.atomic_files import refuse_existing, write_whole
    from sfumato.custody.schemas.inference import infer_schema

    refuse_existing(out, parameter="out")
    guess = infer_schema(data, **reading.source_options, has_header=header, engine=reading.make_engine())
    with write_whole(out, parameter="out", is_private=True) as (temporary,):
        temporary.write_text(guess.to_toml(), encoding="utf-8")
    if as_json:
        show_json({"schema": str(out), **guess.to_dict()})
    else:
        tell(guess.summary())
    warn(f"{out} holds values from the data. Keep it private until a person has checked it.")
    title = "Decide before publishing, most harmful first; the file says everything there is to check:"
    talk("\n".join([title, *(f"{place}. {each}" for place, each in enumerate(guess.decisions, 1))]))


@with_options
def check(
    data: Data,
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="Schema file (TOML).", show_default=False)],
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Name everything in which data and a schema do not fit, with numbers of rows; exit 1 when something does not."""
    from sfumato.custody.schemas.inference import check_schema
    from sfumato.schema import Schema

    found = check_schema(data, Schema.read(schema), **reading.source_options, engine=reading.make_engine())
    show_result(found, as_json=as_json)
    if not found.fits:
        talk("\n".join(f"- {sentence}" for sentence in found.sentences))
        raise typer.Exit(REFUSED)


def explain(
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="A key of a schema file; all without it.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Explain what can stand in a schema file."""
    from sfumato.schema.schema import explain_key, schema_language

    show_result(schema_language() if key is None else explain_key(key), as_json=as_json)


# --------------------------------------------------------------------------------------------------
# ``sfumato inspect``: the risk before anything is done.


INSPECT_EXAMPLES = (
    "sfumato inspect people.csv --schema schema.toml",
    "sfumato inspect people.duckdb::people --schema schema.toml --json",
)


@with_options
def inspect(
    data: Data,
    *,
    schema: SchemaFile,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Show columns, group sizes and uniqueness of private rows as they stand."""
    from sfumato.custody.inspect import inspect_table

    found = inspect_table(reading.read_table(data, schema))
    talk("Everything below was computed from the private rows: for your eyes, not for publication.")
    show_result(found, as_json=as_json)


# --------------------------------------------------------------------------------------------------
# ``sfumato methods``: the methods, their parameters and promises.


METHODS_EXAMPLES = (
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
    from sfumato.cli.parameters import Description, parameters_of, section_of, wrapped
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
    show_result(Description(name, member.title, texts, parameters_of(member, METHODS.tag)), as_json=as_json)


# --------------------------------------------------------------------------------------------------
# ``sfumato plan``: promise and expected accuracy, before publishing.


PLAN_EXAMPLES = (
    "sfumato plan --schema schema.toml --rows 50000 \\",
    "    --method randomized-response --set retention=0.5",
    "sfumato plan people.csv --schema schema.toml --design design.toml",
)


@with_options
def plan(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            help="The private rows, for errors at the true counts; without them give --rows.",
            show_default=False,
        ),
    ] = None,
    *,
    schema: SchemaFile,
    method: MethodName = None,
    settings: Settings = None,
    design: DesignFile = None,
    rows: Annotated[
        int | None, typer.Option("--rows", metavar="N", help="Rows to plan for, instead of DATA.")
    ] = None,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Show what a design promises and how accurate estimates from its release will be."""
    from sfumato.cli.parameters import design_from
    from sfumato.custody.plan import plan as make_plan
    from sfumato.schema import Schema

    chosen = design_from(method, settings, design)
    if (data is None) == (rows is None):
        raise typer.BadParameter("give either DATA or --rows, one of them.")
    declared = Schema.read(schema)
    private = None if data is None else reading.read_table(data, declared)
    number_of_rows = private.number_of_rows if private is not None else rows
    assert number_of_rows is not None
    expected = make_plan(chosen, declared, number_of_rows, table=private)
    if expected.is_private:
        talk("Tables marked private were computed from the rows: for your eyes, not for publication.")
    show_result(expected, as_json=as_json)


# --------------------------------------------------------------------------------------------------
# ``sfumato calibrate``: the parameters that lose least while a goal is kept.


CALIBRATE_EXAMPLES = (
    "sfumato calibrate --schema schema.toml --goal epsilon=1 --out design.toml",
    "sfumato calibrate people.csv --schema schema.toml \\",
    "    --goal max-risk=0.2 --out design.toml",
    "sfumato calibrate people.csv --schema schema.toml --method anatomy \\",
    "    --goal risk=0.1 --out design.toml",
    "sfumato calibrate people.csv --schema schema.toml --method anatomy \\",
    "    --goal std-error=200 --questions questions.txt --out design.toml",
    "sfumato calibrate --schema schema.toml --method generalization \\",
    "    --goal match=0.1 --goal belief=0.5 --out design.toml",
    "sfumato calibrate --schema schema.toml --method splu-gen \\",
    "    --goal wanted_error_probability=0.6 --out design.toml",
)


@with_options
def calibrate(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]", help="The private rows; needed for a goal on risk.", show_default=False
        ),
    ] = None,
    *,
    schema: SchemaFile,
    method: Annotated[
        str,
        typer.Option("--method", metavar="NAME", help="Method whose parameters are chosen."),
    ] = "randomized-response",
    goal: Annotated[
        list[str],
        typer.Option(
            "--goal",
            metavar="NAME=VALUE",
            help="For randomized-response: epsilon=E; or prior=P and posterior=Q; or max-risk=R, with "
            "sensitive=ATTRIBUTE, share=S, value-risk.CATEGORY=R, quasi-identifiers=[...]. For splu-gen: "
            "relative_error, largest_small_count, wanted_error_probability, smallest_large_count, "
            "allowed_error_probability. For anatomy: l_value, belief. For generalization: k, match, belief, t, beta. For "
            "noisy-marginals: epsilon, delta. For columnized-counts: epsilon, delta, k. For sample-perturb-scale: "
            "relative_error, error_probability. For every method, measured on the rows: risk=R, error=E, relative-error=E, "
            "absolute-error=ROWS, std-error=ROWS. May be repeated.",
            show_default=False,
        ),
    ],
    attributes: Annotated[
        list[str] | None,
        typer.Option("--attributes", metavar="NAMES", help="What may be perturbed, separated by commas."),
    ] = None,
    sensitive: Annotated[
        str | None,
        typer.Option(
            "--sensitive", metavar="NAME", help="Attribute that is attacked, where a goal is measured."
        ),
    ] = None,
    workload: WorkloadKind = "strata",
    questions: QuestionsFile = None,
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            metavar="N",
            min=1,
            help="Without DATA, for std-error=ROWS: rows of the table, for errors that the method's formulas let expect.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the design to a new file.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Repeats what is measured.")] = None,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Choose the parameters of a method that lose least while a goal is kept."""
    from sfumato.atomic_files import write_whole
    from sfumato.cli.analyst import questions_in
    from sfumato.cli.parameters import parse_settings
    from sfumato.compare.calibrate import choose_by_formula, choose_by_measuring, is_measured
    from sfumato.custody.calibrate import choose
    from sfumato.errors import ParameterError
    from sfumato.schema import Schema

    declared = Schema.read(schema)
    private = None if data is None else reading.read_table(data, declared)
    names = None if attributes is None else attribute_names(attributes)
    settings = parse_settings(goal)
    chosen: Calibration | GammaAdvice | MeasuredChoice | PromisedChoice | ExpectedChoice
    if private is None and rows is not None:
        chosen = choose_by_formula(method, settings, declared, rows)
    elif is_measured(method, settings):
        if private is None:
            raise ParameterError(
                "this goal is kept by measuring risk and error, for which the private rows are needed. Give DATA; for "
                "std-error, --rows N lets the method's formulas answer.",
                parameter="goal",
            )
        chosen = choose_by_measuring(
            private,
            method,
            settings,
            sensitive=sensitive,
            workload=workload,  # type: ignore[arg-type]
            questions=None if questions is None else questions_in(questions),
            seed=seed,
        )
    else:
        chosen = choose(method, settings, declared, attributes=names, table=private)
    if any(each.is_private for each in chosen.tables):
        talk("Tables marked private were computed from the rows: for your eyes, not for publication.")
    show_result(chosen, as_json=as_json)
    # Refused here when nothing keeps the goal, after what could be had was shown.
    design = chosen.design
    if out is not None:
        with write_whole(out, parameter="out", is_private=private is not None) as (temporary,):
            temporary.write_text(design.to_toml(), encoding="utf-8")
        talk(f"Wrote {out}. Publish with --design {out}.")


# --------------------------------------------------------------------------------------------------
# ``sfumato hiding-noise``: how much noise keeps groups' sensitive values from being told by ratios.


HIDING_NOISE_EXAMPLES = (
    "sfumato hiding-noise people.csv --schema schema.toml \\",
    "    --of income --by education,sex",
)


@with_options
def hiding_noise(
    data: Data,
    *,
    schema: SchemaFile,
    of: Annotated[
        str, typer.Option("--of", metavar="ATTRIBUTE", help="The sensitive attribute.", show_default=False)
    ],
    by: Annotated[
        list[str],
        typer.Option(
            "--by", metavar="ATTRIBUTES", help="Attributes that make the groups.", show_default=False
        ),
    ],
    sensitivity: Annotated[
        float,
        typer.Option("--sensitivity", help="How much one person changes all published counts, summed up."),
    ] = 2.0,
    unknown: Annotated[
        list[str] | None,
        typer.Option(
            "--unknown",
            metavar="LABEL",
            help="A label that stands for no known value; its rows count in their groups. May be repeated.",
            show_default=False,
        ),
    ] = None,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Compute the least noise at which the ratio attack finds nothing; the result is private."""
    from sfumato.custody.calibrate import plan_hiding

    table = reading.read_table(data, schema)
    found = plan_hiding(table, of, attribute_names(by), sensitivity=sensitivity, unknown=unknown or ())
    show_result(found, as_json=as_json)


# --------------------------------------------------------------------------------------------------
# ``sfumato compare``: designs on one's own table, by risk and error.


COMPARE_EXAMPLES = (
    "sfumato compare people.csv --schema schema.toml --out comparison",
    "sfumato compare people.csv --schema schema.toml --designs designs.toml \\",
    "    --cheapest 0.05 --out comparison",
)


@with_options
def compare(
    data: Data,
    *,
    schema: SchemaFile,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for the results; one that holds the same comparison is gone on with.",
            show_default=False,
        ),
    ],
    designs: Annotated[
        Path | None,
        typer.Option(
            "--designs",
            metavar="FILE",
            help="TOML with one [[design]] each: method and parameters. Without: a grid of every method.",
        ),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option("--sensitive", metavar="NAME", help="Attribute that is attacked.")
    ] = None,
    cheapest: Annotated[
        float | None,
        typer.Option(
            "--cheapest",
            metavar="RISK",
            help="Name the design of the smallest error whose risk stays below this, such as 0.05.",
        ),
    ] = None,
    workload: WorkloadKind = "strata",
    questions: QuestionsFile = None,
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "--tables",
            metavar="NAMES",
            help="Attributes, separated by commas, whose table is held against the true one, by itself. May be repeated.",
        ),
    ] = None,
    queries: Annotated[
        int, typer.Option("--queries", metavar="N", min=1, help="Questions of the workload.")
    ] = 300,
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="N", help="Splits and releases of each design.")
    ] = 5,
    classifier_repeats: Annotated[
        int,
        typer.Option(
            "--classifier-repeats",
            metavar="N",
            help="On so many of the splits a classifier attacks as well; needs scikit-learn.",
        ),
    ] = 0,
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="N", min=1, help="Processes of one thread each; one per core."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Repeats the run.")] = None,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Compare designs on your own table: what being in the table costs people, and how wrong answers are."""
    from sfumato.atomic_files import write_whole
    from sfumato.cli.analyst import attribute_names, questions_in
    from sfumato.compare.grid import read_candidates
    from sfumato.compare.run import compare_designs
    from sfumato.errors import ParameterError
    from sfumato.report.risk_pages import write_frontier

    if cheapest is not None and not 0 < cheapest <= 1:
        raise ParameterError(
            f"cheapest must be a risk above 0 and at most 1, got {cheapest:g}. Write for example 0.05.",
            parameter="cheapest",
        )
    chosen = None if designs is None else read_candidates(designs)
    table = reading.read_table(data, schema)
    found = compare_designs(
        table,
        out,
        candidates=chosen,
        sensitive=sensitive,
        workload=workload,  # type: ignore[arg-type]
        questions=None if questions is None else questions_in(questions),
        queries=queries,
        tables=None if tables is None else [attribute_names([each]) for each in tables],
        classifier_repeats=classifier_repeats,
        repeats=repeats,
        seed=seed,
        workers=workers,
    )
    told = found.to_dict(data, str(schema))
    for name in ("comparison.json", "comparison.parquet", "comparison.html"):
        (out / name).unlink(missing_ok=True)
    with write_whole(out / "comparison.json", parameter="out", is_private=True) as (temporary,):
        temporary.write_text(json.dumps(told, indent=2, allow_nan=False), encoding="utf-8")
    found.write_parquet(out / "comparison.parquet")
    write_frontier(found, out / "comparison.html", data=data, schema=str(schema))
    talk("Computed from the private rows: for your eyes, not for publication.")
    best = None if cheapest is None else found.cheapest(cheapest)
    if as_json:
        show_json({**told, "cheapest": None if best is None else best.candidate.label})
        return
    typer.echo(found.summary())
    for each in found.points:
        if each.candidate.method and each.standing == "frontier":
            typer.echo(f"{each.candidate.label}:\n  {each.candidate.command(data, str(schema))}")
    if cheapest is not None:
        named = (
            "none of these designs" if best is None else f"{best.candidate.label} (error {best.error:.3g})"
        )
        typer.echo(f"Smallest error with a risk of at most {cheapest:g}, its interval included: {named}.")


# --------------------------------------------------------------------------------------------------
# ``sfumato publish``: from private rows to a release folder.


PUBLISH_EXAMPLES = (
    "sfumato publish people.csv --schema schema.toml \\",
    "    --method randomized-response --set epsilon=1 --out release",
    "sfumato publish people.csv --schema schema.toml \\",
    "    --method randomized-response --set retention.job=0.5 --out release",
    "sfumato publish people.csv --schema schema.toml --withhold-law \\",
    "    --method randomized-response --set retention=0.5 --out release",
    "sfumato publish people.csv --schema schema.toml \\",
    "    --design design.toml --out release",
)


@with_options
def publish(
    data: Data,
    *,
    schema: SchemaFile,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="Folder to make; it must not exist.", show_default=False),
    ],
    method: MethodName = None,
    settings: Settings = None,
    design: DesignFile = None,
    format: Annotated[
        Literal["parquet", "csv"], typer.Option("--format", help="Format of the published files.")
    ] = "parquet",
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", metavar="N", help="For tests and demonstrations only: the release is NOT private."
        ),
    ] = None,
    reading: Reading,
    ledger: LedgerFile = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Publish although an earlier release of this table is still out; they add up."
        ),
    ] = False,
    sign: Annotated[
        Path | None,
        typer.Option("--sign", metavar="KEY", help="File of a private Ed25519 key to sign the release with."),
    ] = None,
    serial: Annotated[
        int | None,
        typer.Option(
            "--serial",
            metavar="N",
            help="Serial number in the signature; the number in the ledger when not given.",
        ),
    ] = None,
    withhold_law: Annotated[
        bool,
        typer.Option(
            "--withhold-law",
            help="Publish which attributes were perturbed and not how; estimates are then refused, tests stay valid.",
        ),
    ] = False,
    formulas: Annotated[
        Literal["refuse", "keep"],
        typer.Option(
            "--formulas",
            help="With --format csv: what becomes of labels that a spreadsheet would run, such as =1+1.",
        ),
    ] = "refuse",
    accept: Annotated[
        str,
        typer.Option(
            "--accept",
            metavar="CHECK,...",
            help="Publish although these checks fail: singled-out, key-column. The release says so.",
            show_default=False,
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Publish private rows by a method, into a new release folder, whole or not at all."""
    from sfumato.cli.parameters import design_from
    from sfumato.custody.publish import publish as publish_table
    from sfumato.release.manifest import Signer

    chosen = design_from(method, settings, design)
    signer = None if sign is None else Signer(sign, password=lambda: ask_password("Password of the key"))
    private = reading.read_table(data, schema)
    if seed is not None:
        warn("this release is NOT PRIVATE. Whoever knows or guesses the seed can undo the noise.")
    learned = private.schema.publishable.learned
    if learned:
        warn(
            f"the categories of {listed(learned, most=FEW_LISTED)} were learned from the data and become public with the release; "
            "the manifest says so."
        )
    found: list[Unperturbed] = []
    with progress_bar("Publishing", lambda: private.stated_number_of_rows) as advance:
        release = publish_table(
            private,
            chosen,
            out,
            format=format,
            seed=seed,
            progress=advance,
            ledger=ledger_named(ledger),
            again=again,
            say=warn,
            sign=signer,
            serial=serial,
            withhold_law=withhold_law,
            formulas=formulas,
            accept=[each.strip() for each in accept.split(",") if each.strip()],
            tell=found.append,
        )
    unique = found[0].uniques
    if as_json:
        show_json({**_publication_facts(release), "singled_out": unique.to_dict() if unique else None})
    else:
        tell("\n".join([_summary(release), *([f"{capital(unique.sentence)}."] if unique else [])]))
    if found[0].note:
        talk(f"Note: {found[0].note}")
    talk(f"Next: sfumato report {out} --out report.html")


def _publication_facts(release: Release) -> dict[str, Any]:
    manifest = release.manifest
    return {
        "release": str(release.folder),
        "method": release.method,
        "law": manifest.law["law"],
        "number_of_rows": release.number_of_rows,
        "guarantees": [each.statement for each in release.guarantees],
        "reproducible": manifest.reproducible,
        "privacy": manifest.privacy,
        "chosen_from_private_data": manifest.chosen_from_private_data,
        "accepted": manifest.accepted,
    }


def _summary(release: Release) -> str:
    from sfumato.laws import NOTHING_PROMISED, WITHHELD_PROMISE

    promises = [f"  {each.statement}" for each in release.guarantees] or [f"  {NOTHING_PROMISED}"]
    if release.law.is_withheld:
        promises = [f"  {WITHHELD_PROMISE}"]
    title = f"{release.folder}: {counted(release.number_of_rows, 'row')} by {release.method}"
    weak = [release.manifest.weakness] if release.manifest.weakness else []
    return "\n".join([title, *weak, "Promise", *promises, f"{capital(release.manifest.privacy)}."])


# --------------------------------------------------------------------------------------------------
# ``sfumato ledger``: what was published from which table, and what it adds up to.


LIST_EXAMPLES = ("sfumato ledger list",)
COMPOSE_EXAMPLES = ("sfumato ledger compose",)
WITHDRAW_EXAMPLES = ("sfumato ledger withdraw 3",)
ACCEPT_LOSS_EXAMPLES = ("sfumato ledger accept-loss",)


def list_entries(*, ledger: LedgerFile = None, as_json: AsJson = False) -> None:
    """List every release that was published from this machine."""
    entries = ledger_named(ledger).entries()
    if as_json:
        show_json([_ledger_facts(each) for each in entries])
    elif not entries:
        talk("The ledger is empty.")
    else:
        for each in entries:
            tell(f"{each.number:>4}  {each.when}  {_state(each):<9}  {each.method}  {each.folder}")


def compose(*, ledger: LedgerFile = None, as_json: AsJson = False) -> None:
    """Say, for each table, what the releases of it that are still out add up to."""
    from sfumato.custody.ledger import compose_entries

    tables: list[list[Entry]] = []
    for entry in ledger_named(ledger).entries():
        if not entry.counts:
            continue
        same = next((each for each in tables if each[0].table.is_same_table(entry.table)), None)
        if same is None:
            tables.append([entry])
        else:
            same.append(entry)
    compositions = [compose_entries(each) for each in tables]
    if as_json:
        show_json([each.to_dict() for each in compositions])
    elif compositions:
        tell("\n\n".join(each.summary() for each in compositions))
    else:
        talk("No release is out.")


def withdraw(
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="Number of the entry.", show_default=False)],
    *,
    ledger: LedgerFile = None,
) -> None:
    """Say that nobody else holds a release any more, so that it no longer counts."""
    entry = ledger_named(ledger).withdraw(number)
    talk(
        f"Entry {entry.number} ({entry.method}, {entry.folder}) no longer counts. Its folder is left as it is."
    )


def accept_loss(*, ledger: LedgerFile = None) -> None:
    """Go on with what is left of a ledger that was lost or damaged."""
    opened = ledger_named(ledger)
    aside, left = opened.accept_loss(), len(opened.entries())
    kept = f" Damaged files are kept as {listed([str(each) for each in aside])}." if aside else ""
    talk(
        f"The ledger has {left} {'entry' if left == 1 else 'entries'}. Tables whose releases are not among them are no "
        f"longer recognized.{kept}"
    )


def _state(entry: Entry) -> str:
    if entry.is_withdrawn:
        return "withdrawn"
    return "deleted" if entry.is_deleted else "out"


def _ledger_facts(entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "when": entry.when,
        "state": _state(entry),
        "method": entry.method,
        "folder": entry.folder,
        "design": entry.design,
    }
