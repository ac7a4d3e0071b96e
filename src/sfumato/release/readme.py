"""README.md of a release, with the correction of counts in a few lines of pandas or R."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sfumato.arrays import Floats
from sfumato.laws import WITHHELD_PROMISE, Law
from sfumato.randomness.distortion import TwoValued
from sfumato.release.manifest import MANIFEST_NAME, Manifest, TableEntry
from sfumato.schema import MISSING_LABEL, Attribute
from sfumato.text import visible

# --------------------------------------------------------------------------------------------------
# The correction of perturbed counts in a few lines of pandas or R, for people without sfumato.


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
            f"categories = {_listed_in_code(attribute.labels, '[', ']')}",
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
            f"categories <- {_listed_in_code(attribute.labels, 'c(', ')')}",
            f"published <- as.numeric(table(factor(as.character(rows[[{_text(attribute.name)}]]), levels = categories)))",
            *estimated,
            "std_error <- sqrt(pmax(squares - estimate, 0))",
            "print(data.frame(category = categories, published, estimate, std_error))",
        ]
    )


def _text(text: str | list[str]) -> str:
    """A text, or a list of them, in double quotes that Python and R read alike, and that cannot end a block of code in Markdown."""
    return json.dumps(text, ensure_ascii=False).replace("`", "\\u0060").replace("\x7f", "\\u007f")


def _listed_in_code(labels: Sequence[str], opening: str, closing: str) -> str:
    return f"{opening}{_text(list(labels))[1:-1]}{closing}"


def _r_matrix(matrix: Floats) -> str:
    numbers = ", ".join(repr(each) for each in matrix.ravel().tolist())
    return f"matrix(c({numbers}), nrow = {len(matrix)}, byrow = TRUE)"


def _retention(matrix: TwoValued) -> float:
    """The probability with which a value is kept, before another may be drawn that is the same."""
    return matrix.diagonal - matrix.elsewhere


# --------------------------------------------------------------------------------------------------
# ``README.md`` of a release: what is in the folder, for people who have never heard of sfumato.


README_NAME = "README.md"

MOST_LABELS = 12
"""Categories that are shown of a column; all of them are in the descriptor."""


_WITH_SFUMATO = (
    "## With sfumato\n\n"
    "`pip install sfumato`; `sfumato query` and `sfumato counts` on this folder then estimate counts with honest error bars. "
    f"`{MANIFEST_NAME}` is a Frictionless data package with the law, the promise and a checksum of every file; this page "
    "repeats what stands there."
)

_WITHOUT_LAW = (
    "## With sfumato\n\n"
    "`pip install sfumato`; `sfumato advise` on this folder then says what stays valid although the matrices are withheld: tests "
    "of independence keep their level, sizes of an association are known in one direction, counts of what was perturbed are not "
    f"known. `{MANIFEST_NAME}` is a Frictionless data package with a checksum of every file; this page repeats what stands there."
)

_ABOUT_CORRECTIONS = (
    "## Counts corrected with pandas or R\n\n"
    "Each block estimates how many rows truly have each category, and the standard error that the perturbation leaves. "
    "Estimates may be below 0 where few rows have a category; that is noise, not a mistake. Tables of several "
    "perturbed columns need the product of their matrices: sfumato does that."
)


def readme_text(manifest: Manifest, law: Law) -> str:
    """What each column means, how it may be used, what is promised, and how to correct what was perturbed."""
    method = manifest.method["method"]
    seeded = "**This release is not private: it was made with a seed, for a test or a demonstration.**"
    opening = (
        "These data were changed on purpose before publication; what that protects, and what not, stands below. "
        f"How they were changed is {'told in part' if law.is_withheld else 'public'}: {law.sentence}"
    )
    parts = [
        f"# Release by {method}",
        f"**{_cell(manifest.weakness)}**" if manifest.weakness else "",
        seeded if manifest.reproducible else "",
        opening,
        _warning(law),
        _files(manifest.tables),
        *(_columns(entry, manifest.column_notes) for entry in manifest.tables),
        _listed("What is promised", _promises(manifest, law)),
        _listed("What is not protected", manifest.not_protected),
        _listed("What is assumed", manifest.assumptions),
        _listed("What was chosen by looking at the private data", _chosen(manifest)),
        *_corrections(manifest.tables[0], law),
        _WITHOUT_LAW if law.is_withheld else _WITH_SFUMATO,
    ]
    # It is shown on terminals too.
    return visible("\n\n".join(part for part in parts if part) + "\n")


def _promises(manifest: Manifest, law: Law) -> list[str]:
    stated = [_plain_words(each) for each in manifest.guarantees]
    return [*stated, *([WITHHELD_PROMISE] if law.is_withheld else [])]


def _plain_words(guarantee: Mapping[str, Any]) -> str:
    description = guarantee.get("description")
    return str(description.get("plain_words", "")) if isinstance(description, Mapping) else ""


def _warning(law: Law) -> str:
    if not law.changed_attributes:
        return ""
    names = ", ".join(f"`{_cell(name)}`" for name in law.changed_attributes)
    instead = (
        "Correct them as shown below, or ask sfumato."
        if law.matrices()
        else "By which matrices they were changed is withheld, so they cannot be corrected from this release alone."
        if law.is_withheld
        else "Ask sfumato, which knows the law."
    )
    return (
        f"**Do not count these columns as they stand: {names}.** Their published values are not the true ones of the row, and "
        f"plain counts, shares and averages of them are wrong. {instead}"
    )


def _files(tables: Sequence[TableEntry]) -> str:
    rows = [f"| `{each.path}` | {each.number_of_rows:,} |" for each in tables]
    return "\n".join(["| file | rows |", "|---|---|", *rows])


def _columns(entry: TableEntry, notes: Mapping[str, str]) -> str:
    attributes = entry.schema_of_attributes.attributes
    lines = [
        f"## Columns of `{entry.path}`",
        "",
        "| column | meaning | values | published |",
        "|---|---|---|---|",
        *(
            f"| `{_cell(each.name)}` | {_cell(each.meaning)} | {_values(each)} | {_cell(notes.get(each.name, 'see the law above'))} |"
            for each in attributes
        ),
        *(f"| `{_cell(name)}` | whole number |  |  |" for name in entry.integers),
    ]
    said = [
        *(
            ["`[a,b)` is from a up to, but not including, b."]
            if any(each.bins for each in attributes)
            else []
        ),
        *(
            [f"`{MISSING_LABEL}` stands for no value."]
            if any(each.missing == "category" for each in attributes)
            else []
        ),
    ]
    return "\n".join([*lines, *(["", " ".join(said)] if said else [])])


def _values(attribute: Attribute) -> str:
    shown = ", ".join(f"`{_cell(label)}`" for label in attribute.labels[:MOST_LABELS])
    more = attribute.size - MOST_LABELS
    order = "; from low to high" if attribute.is_ordered else ""
    source = f"; list published by {_cell(attribute.published_by)}" if attribute.published_by else ""
    return f"{shown}{f' and {more} more' if more > 0 else ''}{order}{source}"


def _cell(text: str) -> str:
    """Text that neither ends a cell of a table nor becomes markup."""
    return " ".join(text.replace("|", "\\|").replace("`", "'").replace("<", "&lt;").split())


def _chosen(manifest: Manifest) -> list[str]:
    return [f"{name}: {how}" for name, how in manifest.chosen_from_private_data.items()]


def _listed(title: str, sentences: Iterable[str]) -> str:
    lines = [f"- {_cell(each)}" for each in sentences]
    return "\n".join([f"## {title}", "", *lines]) if lines else ""


def _corrections(entry: TableEntry, law: Law) -> list[str]:
    """Code for each attribute that was perturbed by a matrix of its own."""
    schema = entry.schema_of_attributes
    parts = []
    for name, matrix in law.matrices().items():
        code = (("python", pandas_correction), ("r", r_correction))
        blocks = [f"```{language}\n{write(entry, schema[name], matrix)}\n```" for language, write in code]
        parts.append("\n\n".join([f"### `{_cell(name)}`", *blocks]))
    if not parts:
        return []
    return [_ABOUT_CORRECTIONS, *parts]
