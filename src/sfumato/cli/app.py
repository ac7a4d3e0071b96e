"""The application: which verbs there are, and for whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from sfumato._version import __version__
from sfumato.cli import analyst, analyst_models, auditor, custodian, start
from sfumato.cli.options import examples
from sfumato.cli.output import GuardedGroup

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
def options_of_all_verbs(
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
    """Publish categorical microdata with stated privacy guarantees and honest error bars."""
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
    epilog=examples(*start.LIST_EXAMPLES, *start.FETCH_EXAMPLES, *start.MAKE_EXAMPLES),
)
_add(datasets_group, "list", start.list_cards, start.LIST_EXAMPLES)
_add(datasets_group, "fetch", start.fetch, start.FETCH_EXAMPLES)
_add(datasets_group, "make", start.make, start.MAKE_EXAMPLES)

schema_group = typer.Typer(
    no_args_is_help=True,
    help="Make, check and explain schemas.",
    epilog=examples(*custodian.SCHEMA_EXAMPLES, *custodian.CHECK_EXAMPLES, *custodian.EXPLAIN_EXAMPLES),
)
_add(schema_group, "infer", custodian.infer, custodian.SCHEMA_EXAMPLES)
_add(schema_group, "check", custodian.check, custodian.CHECK_EXAMPLES)
_add(schema_group, "explain", custodian.explain, custodian.EXPLAIN_EXAMPLES)

ledger_group = typer.Typer(
    no_args_is_help=True,
    help="What was published from which table, and what it adds up to.",
    epilog=examples(
        *custodian.LIST_EXAMPLES,
        *custodian.COMPOSE_EXAMPLES,
        *custodian.WITHDRAW_EXAMPLES,
        *custodian.ACCEPT_LOSS_EXAMPLES,
    ),
)
_add(ledger_group, "list", custodian.list_entries, custodian.LIST_EXAMPLES)
_add(ledger_group, "compose", custodian.compose, custodian.COMPOSE_EXAMPLES)
_add(ledger_group, "withdraw", custodian.withdraw, custodian.WITHDRAW_EXAMPLES)
_add(ledger_group, "accept-loss", custodian.accept_loss, custodian.ACCEPT_LOSS_EXAMPLES)

_add(app, "demo", start.demo, start.DEMO_EXAMPLES, panel=START)
_add(app, "studio", start.studio, start.STUDIO_EXAMPLES, panel=START)
app.add_typer(datasets_group, name="datasets", rich_help_panel=START)
app.add_typer(schema_group, name="schema", rich_help_panel=CUSTODIAN)
_add(app, "inspect", custodian.inspect, custodian.INSPECT_EXAMPLES, panel=CUSTODIAN)
_add(app, "methods", custodian.methods, custodian.METHODS_EXAMPLES, panel=CUSTODIAN)
_add(app, "plan", custodian.plan, custodian.PLAN_EXAMPLES, panel=CUSTODIAN)
_add(app, "calibrate", custodian.calibrate, custodian.CALIBRATE_EXAMPLES, panel=CUSTODIAN)
_add(app, "hiding-noise", custodian.hiding_noise, custodian.HIDING_NOISE_EXAMPLES, panel=CUSTODIAN)
_add(app, "compare", custodian.compare, custodian.COMPARE_EXAMPLES, panel=CUSTODIAN)
_add(app, "publish", custodian.publish, custodian.PUBLISH_EXAMPLES, panel=CUSTODIAN)
app.add_typer(ledger_group, name="ledger", rich_help_panel=CUSTODIAN)
_add(app, "show", analyst.show, analyst.SHOW_EXAMPLES, panel=ANALYST)
_add(app, "query", analyst.query, analyst.QUERY_EXAMPLES, panel=ANALYST)
_add(app, "counts", analyst.counts, analyst.COUNTS_EXAMPLES, panel=ANALYST)
_add(app, "mean", analyst.mean, analyst.MEAN_EXAMPLES, panel=ANALYST)
_add(app, "measures", analyst_models.measures, analyst_models.MEASURES_EXAMPLES, panel=ANALYST)
_add(app, "independence", analyst_models.independence, analyst_models.INDEPENDENCE_EXAMPLES, panel=ANALYST)
_add(app, "regression", analyst_models.regression, analyst_models.REGRESSION_EXAMPLES, panel=ANALYST)
_add(app, "rules", analyst_models.rules, analyst_models.RULES_EXAMPLES, panel=ANALYST)
_add(app, "loglinear", analyst_models.loglinear, analyst_models.LOGLINEAR_EXAMPLES, panel=ANALYST)
_add(app, "classify", analyst_models.classify, analyst_models.CLASSIFY_EXAMPLES, panel=ANALYST)
_add(app, "shrink", analyst_models.shrink, analyst_models.SHRINK_EXAMPLES, panel=ANALYST)
_add(app, "impute", analyst_models.impute, analyst_models.IMPUTE_EXAMPLES, panel=ANALYST)
_add(app, "recommend", analyst_models.recommend, analyst_models.RECOMMEND_EXAMPLES, panel=ANALYST)
_add(app, "advise", analyst_models.advise, analyst_models.ADVISE_EXAMPLES, panel=ANALYST)
_add(app, "report", analyst.report, analyst.REPORT_EXAMPLES, panel=ANALYST)
_add(app, "verify", auditor.verify, auditor.VERIFY_EXAMPLES, panel=AUDITOR)
_add(app, "check-matrix", auditor.check_matrix, auditor.CHECK_MATRIX_EXAMPLES, panel=AUDITOR)
_add(app, "attacks", auditor.attacks, auditor.ATTACKS_EXAMPLES, panel=AUDITOR)
_add(app, "attack", auditor.attack, auditor.ATTACK_EXAMPLES, panel=AUDITOR)
_add(app, "audit", auditor.audit, auditor.AUDIT_EXAMPLES, panel=AUDITOR)
_add(app, "falsify", auditor.falsify, auditor.FALSIFY_EXAMPLES, panel=AUDITOR)
