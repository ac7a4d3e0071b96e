"""``sfumato publish``: from private rows to a release folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfumato.cli.options import (
    AsJson,
    Data,
    DesignFile,
    LedgerFile,
    MethodName,
    SchemaFile,
    Settings,
    ledger_named,
)
from sfumato.cli.progress import progress_bar
from sfumato.cli.reading import Reading, with_options
from sfumato.cli.showing import ask_password, show_json, talk, tell, warn
from sfumato.values.number_text import FEW_LISTED, capital, counted, listed

if TYPE_CHECKING:
    from sfumato.data.uniqueness import UniqueRows
    from sfumato.release import Release


EXAMPLES = (
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
        typer.Option(
            "--sign", metavar="KEY", help="File of a private Ed25519 key to sign the manifest with."
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
    accept_unique_rows: Annotated[
        bool,
        typer.Option(
            "--accept-unique-rows",
            help="Publish although many rows are unique on a few columns that are published as they are.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Publish private rows by a method, into a new release folder, whole or not at all."""
    from sfumato.cli.parameters import design_from
    from sfumato.custody.publish import publish as publish_table
    from sfumato.release.signature import Signer

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
    unique: list[UniqueRows] = []
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
            withhold_law=withhold_law,
            formulas=formulas,
            accept_unique_rows=accept_unique_rows,
            tell=unique.append,
        )
    if as_json:
        show_json({**_facts(release), "unique_rows": unique[0].to_dict() if unique else None})
    else:
        tell("\n".join([_summary(release), *(capital(each.sentence()) for each in unique)]))
    talk(f"Next: sfumato report {out} --out report.html")


def _facts(release: Release) -> dict[str, Any]:
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
    }


def _summary(release: Release) -> str:
    from sfumato.laws import NOTHING_PROMISED, WITHHELD_PROMISE

    promises = [f"  {each.statement}" for each in release.guarantees] or [f"  {NOTHING_PROMISED}"]
    if release.law.is_withheld:
        promises = [f"  {WITHHELD_PROMISE}"]
    title = f"{release.folder}: {counted(release.number_of_rows, 'row')} by {release.method}"
    return "\n".join([title, "Promise", *promises, f"{capital(release.manifest.privacy)}."])
