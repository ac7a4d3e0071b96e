"""The correction of perturbed counts in a few lines of pandas or R, for people without sfumato."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from sfumato.release.manifest import TableEntry
from sfumato.values.arrays import Floats
from sfumato.values.schema import Attribute


def pandas_correction(entry: TableEntry, attribute: Attribute, matrix: Floats) -> str:
    """Python that estimates the true counts of one perturbed attribute, with standard errors.

    Parameters
    ----------
    entry
        The published table.
    attribute
        The perturbed attribute.
    matrix
        ``(size, size)``, true category by published one.
    """
    read = (
        f'pd.read_parquet("{entry.path}")'
        if entry.format == "parquet"
        else f'pd.read_csv("{entry.path}", dtype=str, keep_default_na=False)'
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
            f"matrix = {_python_matrix(matrix)}  # row: true category, column: published one",
            "inverse = np.linalg.inv(matrix)",
            "estimate = published @ inverse",
            "std_error = np.sqrt(np.maximum(published @ inverse**2 - estimate, 0))",
            'print(pd.DataFrame({"published": published, "estimate": estimate, "std_error": std_error}, index=categories))',
        ]
    )


def r_correction(entry: TableEntry, attribute: Attribute, matrix: Floats) -> str:
    """R that estimates the true counts of one perturbed attribute, with standard errors; as :func:`pandas_correction`."""
    read = (
        f'arrow::read_parquet("{entry.path}")'
        if entry.format == "parquet"
        else f'read.csv("{entry.path}", colClasses = "character", check.names = FALSE, na.strings = character())'
    )
    return "\n".join(
        [
            f"rows <- {read}",
            "# To look at a group, keep its rows here, chosen by columns that are published as they are.",
            f"categories <- {_listed(attribute.labels, 'c(', ')')}",
            f"published <- as.numeric(table(factor(as.character(rows[[{_text(attribute.name)}]]), levels = categories)))",
            f"distortion <- {_r_matrix(matrix)}  # row: true category, column: published one",
            "inverse <- solve(distortion)",
            "estimate <- as.vector(published %*% inverse)",
            "std_error <- sqrt(pmax(as.vector(published %*% inverse^2) - estimate, 0))",
            "print(data.frame(category = categories, published, estimate, std_error))",
        ]
    )


def _text(text: str) -> str:
    """A text in double quotes that Python and R read alike, and that cannot end a block of code in Markdown."""
    return json.dumps(text, ensure_ascii=False).replace("`", "\\u0060").replace("\x7f", "\\u007f")


def _listed(labels: Sequence[str], opening: str, closing: str) -> str:
    return f"{opening}{', '.join(map(_text, labels))}{closing}"


def _python_matrix(matrix: Floats) -> str:
    if (uniform := _retention(matrix)) is not None:
        return f"{uniform!r} * np.eye({len(matrix)}) + {_elsewhere(matrix)!r}"
    return f"np.array({matrix.tolist()!r})"


def _r_matrix(matrix: Floats) -> str:
    if (uniform := _retention(matrix)) is not None:
        return f"{uniform!r} * diag({len(matrix)}) + {_elsewhere(matrix)!r}"
    numbers = ", ".join(repr(each) for each in matrix.ravel().tolist())
    return f"matrix(c({numbers}), nrow = {len(matrix)}, byrow = TRUE)"


def _elsewhere(matrix: Floats) -> float:
    return float(matrix[0, 1])


def _retention(matrix: Floats) -> float | None:
    """The retention probability of a matrix with one number on its diagonal and one elsewhere; None of others."""
    retention = float(matrix[0, 0] - matrix[0, 1])
    uniform = retention * np.eye(len(matrix)) + _elsewhere(matrix)
    # Both ways of writing the matrix are floats of the same numbers, so they agree to the last places.
    return retention if np.allclose(uniform, matrix, rtol=1e-14, atol=0) else None
