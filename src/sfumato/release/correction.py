"""The correction of perturbed counts in a few lines of pandas or R, for people without sfumato."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sfumato.chance.distortion import TwoValued
from sfumato.release.manifest import TableEntry
from sfumato.values.arrays import Floats
from sfumato.values.schema import Attribute


def pandas_correction(entry: TableEntry, attribute: Attribute, matrix: Floats | TwoValued) -> str:
    """Python that estimates the true counts of one perturbed attribute, with standard errors.

    Parameters
    ----------
    entry
        The published table.
    attribute
        The perturbed attribute.
    matrix
        ``(size, size)``, true category by published one. One with two values is corrected without being
        written out, which takes no more than the counts do.
    """
    read = (
        f'pd.read_parquet("{entry.path}")'
        if entry.format == "parquet"
        else f'pd.read_csv("{entry.path}", dtype=str, keep_default_na=False)'
    )
    estimated = (
        [
            f"retention, elsewhere = {_retention(matrix)!r}, {matrix.elsewhere!r}  # kept; else drawn, each category with this probability",
            "total = published.sum()",
            "estimate = (published - elsewhere * total) / retention",
            "squares = ((1 - elsewhere) ** 2 * published + elsewhere**2 * (total - published)) / retention**2",
        ]
        if isinstance(matrix, TwoValued)
        else [
            f"matrix = np.array({matrix.tolist()!r})  # row: true category, column: published one",
            "inverse = np.linalg.inv(matrix)",
            "estimate = published @ inverse",
            "squares = published @ inverse**2",
        ]
    )
    return "\n".join(
        [
            "import numpy as np",
            "import pandas as pd",
            "",
            f"rows = {read}",
            "# To look at a group, keep its rows here, chosen by columns that are published as they are.",
            f"categories = {_listed(attribute.labels, '[', ']')}",
            f"published = rows[{_text(attribute.name)}].astype(str).value_counts().reindex(categories, fill_value=0).to_numpy(dtype=float)",
            *estimated,
            "std_error = np.sqrt(np.maximum(squares - estimate, 0))",
            'print(pd.DataFrame({"published": published, "estimate": estimate, "std_error": std_error}, index=categories))',
        ]
    )


def r_correction(entry: TableEntry, attribute: Attribute, matrix: Floats | TwoValued) -> str:
    """R that estimates the true counts of one perturbed attribute, with standard errors; as :func:`pandas_correction`."""
    read = (
        f'arrow::read_parquet("{entry.path}")'
        if entry.format == "parquet"
        else f'read.csv("{entry.path}", colClasses = "character", check.names = FALSE, na.strings = character(), encoding = "UTF-8")'
    )
    estimated = (
        [
            f"retention <- {_retention(matrix)!r}  # a value is kept with this probability",
            f"elsewhere <- {matrix.elsewhere!r}  # else drawn, each category with this one",
            "total <- sum(published)",
            "estimate <- (published - elsewhere * total) / retention",
            "squares <- ((1 - elsewhere)^2 * published + elsewhere^2 * (total - published)) / retention^2",
        ]
        if isinstance(matrix, TwoValued)
        else [
            f"distortion <- {_r_matrix(matrix)}  # row: true category, column: published one",
            "inverse <- solve(distortion)",
            "estimate <- as.vector(published %*% inverse)",
            "squares <- as.vector(published %*% inverse^2)",
        ]
    )
    return "\n".join(
        [
            f"rows <- {read}",
            "# To look at a group, keep its rows here, chosen by columns that are published as they are.",
            f"categories <- {_listed(attribute.labels, 'c(', ')')}",
            f"published <- as.numeric(table(factor(as.character(rows[[{_text(attribute.name)}]]), levels = categories)))",
            *estimated,
            "std_error <- sqrt(pmax(squares - estimate, 0))",
            "print(data.frame(category = categories, published, estimate, std_error))",
        ]
    )


def _text(text: str | list[str]) -> str:
    """A text, or a list of them, in double quotes that Python and R read alike, and that cannot end a block of code in Markdown."""
    return json.dumps(text, ensure_ascii=False).replace("`", "\\u0060").replace("\x7f", "\\u007f")


def _listed(labels: Sequence[str], opening: str, closing: str) -> str:
    return f"{opening}{_text(list(labels))[1:-1]}{closing}"


def _r_matrix(matrix: Floats) -> str:
    numbers = ", ".join(repr(each) for each in matrix.ravel().tolist())
    return f"matrix(c({numbers}), nrow = {len(matrix)}, byrow = TRUE)"


def _retention(matrix: TwoValued) -> float:
    """The probability with which a value is kept, before another may be drawn that is the same."""
    return matrix.diagonal - matrix.elsewhere
