"""``sfumato compare``: designs on one's own table, by risk and error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, Data, QuestionsFile, SchemaFile, WorkloadKind
from sfumato.cli.reading import Reading, with_options
from sfumato.cli.showing import show_json, talk

EXAMPLES = (
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
    from sfumato.cli.counts import attribute_names
    from sfumato.cli.query import questions_in
    from sfumato.compare.comparing import compare_designs
    from sfumato.compare.designs import read_candidates
    from sfumato.errors import ParameterError
    from sfumato.report.frontier_page import write_frontier
    from sfumato.writing import write_whole

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
    with write_whole(out / "comparison.json", parameter="out") as (temporary,):
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
