"""``sfumato calibrate``: the parameters that lose least while a goal is kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.counts import attribute_names
from sfumato.cli.options import AsJson, QuestionsFile, SchemaFile, WorkloadKind
from sfumato.cli.reading import Reading, with_options
from sfumato.cli.showing import show, talk

if TYPE_CHECKING:
    from sfumato.compare.choosing import MeasuredChoice
    from sfumato.compare.expecting import ExpectedChoice
    from sfumato.custody.promised import PromisedChoice
    from sfumato.methods.randomized_response.plan.calibrate import Calibration
    from sfumato.methods.splu_gen.plan.advice import GammaAdvice

EXAMPLES = (
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
    from sfumato.cli.parameters import parse_settings
    from sfumato.cli.query import questions_in
    from sfumato.compare.choosing import choose_by_measuring, is_measured
    from sfumato.compare.expecting import choose_by_formula
    from sfumato.custody.choose import choose
    from sfumato.errors import ParameterError
    from sfumato.values.schema import Schema
    from sfumato.writing import write_whole

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
    show(chosen, as_json=as_json)
    # Refused here when nothing keeps the goal, after what could be had was shown.
    design = chosen.design
    if out is not None:
        with write_whole(out, parameter="out") as (temporary,):
            temporary.write_text(design.to_toml(), encoding="utf-8")
        talk(f"Wrote {out}. Publish with --design {out}.")
