"""Verbs to start with: demo, studio, datasets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import AsJson, complete_datasets
from sfumato.cli.output import progress_bar, show_json, talk, tell
from sfumato.text import counted

if TYPE_CHECKING:
    from sfumato.datasets import DatasetFiles

# --------------------------------------------------------------------------------------------------
# ``sfumato demo``: the whole way on an embedded sample.


DEMO_EXAMPLES = (
    "sfumato demo",
    "sfumato demo --out my-demo",
)


def demo(
    *,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="Folder to make; an earlier demonstration is replaced."),
    ] = Path("demo-output"),
    as_json: AsJson = False,
) -> None:
    """Publish an embedded sample by three methods, ask the same questions of each, attack one, and write a report."""
    from sfumato.report.demonstration import run_demonstration

    report = run_demonstration(out, say=talk if as_json else tell)
    if as_json:
        show_json({"report": str(report)})


# --------------------------------------------------------------------------------------------------
# ``sfumato studio``: the whole job in a page on this machine.


STUDIO_EXAMPLES = (
    "sfumato studio",
    "sfumato studio people.csv --project survey",
    "sfumato studio release --no-browser",
)


def studio(
    opened: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA | RELEASE]",
            help="Private rows, or the folder of a release. Without: the project folder goes on where it stands.",
            show_default=False,
        ),
    ] = None,
    *,
    project: Annotated[
        Path,
        typer.Option(
            "--project", metavar="DIR", help="Folder for schema, designs and results; made when needed."
        ),
    ] = Path("sfumato-studio"),
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port to listen on; a free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the address in the browser.")
    ] = True,
) -> None:
    """Open a page on this machine that does the custodian's and the analyst's whole job."""
    from sfumato.studio.server import serve

    serve(project, opened=opened, port=port, say=tell, open_browser=browser)


# --------------------------------------------------------------------------------------------------
# ``sfumato datasets``: tables to learn and test with.


Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="Name of a data set.", autocompletion=complete_datasets),
]


LIST_EXAMPLES = ("sfumato datasets list", "sfumato datasets list --json")
FETCH_EXAMPLES = ("sfumato datasets fetch adult --to data",)
MAKE_EXAMPLES = (
    "sfumato datasets make census --rows 10000 --out people.csv",
    "sfumato datasets make census --rows 1000000 --seed 7 --out people.parquet",
)


def list_cards(*, as_json: AsJson = False) -> None:
    """List the data sets with source, licence and citation."""
    from sfumato.datasets import list_datasets

    cards = list_datasets()
    if as_json:
        show_json([each.to_dict() for each in cards])
        return
    tell(
        "\n\n".join(
            f"{each.name} ({each.kind}): {each.title}\n"
            f"  {each.attributes}\n  Source: {each.source}\n  Licence: {each.licence}\n  Cite: {each.citation}\n"
            f"  {each.notes}"
            for each in cards
        )
    )


def fetch(
    name: Name,
    *,
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Folder to write to.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Download a real data set, check it, and write it with its schema."""
    from sfumato.datasets import fetch_dataset

    talk(f"Fetching {name} ...")
    _show_files(fetch_dataset(name, to), as_json=as_json)


def make(
    name: Name,
    *,
    rows: Annotated[int, typer.Option("--rows", metavar="N", help="Number of rows.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE", help="A .parquet or .csv file to make.", show_default=False),
    ],
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="The same seed gives the same rows.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Draw a generated data set and write it with its schema."""
    from sfumato.datasets import make_dataset

    with progress_bar("Drawing", lambda: rows) as advance:
        written = 0

        def report(total: int) -> None:
            # The generator says how many rows there are by now, the bar wants how many are new.
            nonlocal written
            advance(total - written)
            written = total

        made = make_dataset(name, rows, seed, out, progress=report)
    _show_files(made, as_json=as_json)


def _show_files(files: DatasetFiles, *, as_json: bool) -> None:
    if as_json:
        show_json(files.to_dict())
    else:
        tell(f"{files.data}: {counted(files.rows, 'row')}\n{files.schema}: their schema")
