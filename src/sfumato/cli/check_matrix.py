"""``sfumato check-matrix``: a suspected distortion matrix against the published margin."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.mean import category_number
from sfumato.cli.options import AsJson, ReleaseFolder, TargetName
from sfumato.cli.reading import Running, with_options
from sfumato.cli.showing import show

EXAMPLES = (
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
    show(found, as_json=as_json)
