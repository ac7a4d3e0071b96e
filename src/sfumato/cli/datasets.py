"""``sfumato datasets``: tables to learn and test with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.completion import complete_datasets
from sfumato.cli.options import AsJson
from sfumato.cli.progress import progress_bar
from sfumato.cli.showing import show_json, talk, tell
from sfumato.values.number_text import counted

if TYPE_CHECKING:
    from sfumato.datasets import DatasetFiles

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
