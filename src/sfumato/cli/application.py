"""The application: which verbs there are, and for whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from sfumato._version import __version__
from sfumato.cli import (
    advise,
    attack,
    attacks,
    audit,
    calibrate,
    check_matrix,
    classify,
    compare,
    counts,
    datasets,
    demo,
    falsify,
    hiding_noise,
    impute,
    independence,
    inspect,
    ledger,
    loglinear,
    mean,
    measures,
    methods,
    plan,
    publish,
    query,
    recommend,
    regression,
    report,
    rules,
    schema,
    show,
    shrink,
    studio,
    verify,
)
from sfumato.cli.guard import GuardedGroup
from sfumato.cli.options import examples

START = "Start here"
CUSTODIAN = "Custodian: has the private rows"
ANALYST = "Analyst: has a release"
AUDITOR = "Auditor: tests a release"

EXAMPLES = (
    "sfumato demo",
    "sfumato datasets make census --rows 10000 --out people.parquet",
    "sfumato publish people.parquet --schema people.schema.toml \\",
    "    --method randomized-response --set retention=0.5 --out release",
    "sfumato query release \"sex = 'Female'\"",
)

app = typer.Typer(
    cls=GuardedGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    # Errors are handled by the guard; a traceback with local variables would show private rows.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(*EXAMPLES),
)


def _print_version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"sfumato {__version__}")
        raise typer.Exit


@app.callback()
def start(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show tracebacks of faults; they may contain private values."),
    ] = False,
) -> None:
    """Publish categorical microdata so that statistics survive and no one person can be picked out."""
    # Both are dealt with elsewhere: the version before anything runs, tracebacks by the guard.
    del version, debug


def _add(
    group: typer.Typer,
    verb: str,
    function: Callable[..., None],
    commands: tuple[str, ...],
    *,
    panel: str | None = None,
) -> None:
    group.command(verb, rich_help_panel=panel, epilog=examples(*commands))(function)


datasets_group = typer.Typer(
    no_args_is_help=True,
    help="List, fetch and make data sets.",
    epilog=examples(*datasets.LIST_EXAMPLES, *datasets.FETCH_EXAMPLES, *datasets.MAKE_EXAMPLES),
)
_add(datasets_group, "list", datasets.list_cards, datasets.LIST_EXAMPLES)
_add(datasets_group, "fetch", datasets.fetch, datasets.FETCH_EXAMPLES)
_add(datasets_group, "make", datasets.make, datasets.MAKE_EXAMPLES)

schema_group = typer.Typer(
    no_args_is_help=True,
    help="Make, check and explain schemas.",
    epilog=examples(*schema.EXAMPLES, *schema.CHECK_EXAMPLES, *schema.EXPLAIN_EXAMPLES),
)
_add(schema_group, "infer", schema.infer, schema.EXAMPLES)
_add(schema_group, "check", schema.check, schema.CHECK_EXAMPLES)
_add(schema_group, "explain", schema.explain, schema.EXPLAIN_EXAMPLES)

ledger_group = typer.Typer(
    no_args_is_help=True,
    help="What was published from which table, and what it adds up to.",
    epilog=examples(*ledger.LIST_EXAMPLES, *ledger.COMPOSE_EXAMPLES, *ledger.WITHDRAW_EXAMPLES),
)
_add(ledger_group, "list", ledger.list_entries, ledger.LIST_EXAMPLES)
_add(ledger_group, "compose", ledger.compose, ledger.COMPOSE_EXAMPLES)
_add(ledger_group, "withdraw", ledger.withdraw, ledger.WITHDRAW_EXAMPLES)

_add(app, "demo", demo.demo, demo.EXAMPLES, panel=START)
_add(app, "studio", studio.studio, studio.EXAMPLES, panel=START)
app.add_typer(datasets_group, name="datasets", rich_help_panel=START)
app.add_typer(schema_group, name="schema", rich_help_panel=CUSTODIAN)
_add(app, "inspect", inspect.inspect, inspect.EXAMPLES, panel=CUSTODIAN)
_add(app, "methods", methods.methods, methods.EXAMPLES, panel=CUSTODIAN)
_add(app, "plan", plan.plan, plan.EXAMPLES, panel=CUSTODIAN)
_add(app, "calibrate", calibrate.calibrate, calibrate.EXAMPLES, panel=CUSTODIAN)
_add(app, "hiding-noise", hiding_noise.hiding_noise, hiding_noise.EXAMPLES, panel=CUSTODIAN)
_add(app, "compare", compare.compare, compare.EXAMPLES, panel=CUSTODIAN)
_add(app, "publish", publish.publish, publish.EXAMPLES, panel=CUSTODIAN)
app.add_typer(ledger_group, name="ledger", rich_help_panel=CUSTODIAN)
_add(app, "show", show.show, show.EXAMPLES, panel=ANALYST)
_add(app, "query", query.query, query.EXAMPLES, panel=ANALYST)
_add(app, "counts", counts.counts, counts.EXAMPLES, panel=ANALYST)
_add(app, "mean", mean.mean, mean.EXAMPLES, panel=ANALYST)
_add(app, "measures", measures.measures, measures.EXAMPLES, panel=ANALYST)
_add(app, "independence", independence.independence, independence.EXAMPLES, panel=ANALYST)
_add(app, "regression", regression.regression, regression.EXAMPLES, panel=ANALYST)
_add(app, "rules", rules.rules, rules.EXAMPLES, panel=ANALYST)
_add(app, "loglinear", loglinear.loglinear, loglinear.EXAMPLES, panel=ANALYST)
_add(app, "classify", classify.classify, classify.EXAMPLES, panel=ANALYST)
_add(app, "shrink", shrink.shrink, shrink.EXAMPLES, panel=ANALYST)
_add(app, "impute", impute.impute, impute.EXAMPLES, panel=ANALYST)
_add(app, "recommend", recommend.recommend, recommend.EXAMPLES, panel=ANALYST)
_add(app, "advise", advise.advise, advise.EXAMPLES, panel=ANALYST)
_add(app, "report", report.report, report.EXAMPLES, panel=ANALYST)
_add(app, "verify", verify.verify, verify.EXAMPLES, panel=AUDITOR)
_add(app, "check-matrix", check_matrix.check_matrix, check_matrix.EXAMPLES, panel=AUDITOR)
_add(app, "attacks", attacks.attacks, attacks.EXAMPLES, panel=AUDITOR)
_add(app, "attack", attack.attack, attack.EXAMPLES, panel=AUDITOR)
_add(app, "audit", audit.audit, audit.EXAMPLES, panel=AUDITOR)
_add(app, "falsify", falsify.falsify, falsify.EXAMPLES, panel=AUDITOR)
