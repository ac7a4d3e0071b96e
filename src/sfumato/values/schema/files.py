"""Files that a schema file names: code lists that others published, and mappings of values to categories.

They are read where the custodian's schema file is read and nowhere else. What comes out is the lists themselves, so
that a release cannot carry a path, and a release from elsewhere cannot make anybody's machine read a file.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import SchemaError

_CODE_LIST = (
    "a CSV file beside the schema file: its column code, or its only one, lists the categories in order; published_by "
    "says who published it. Such a list is public, nothing of it is learned from the data"
)

FILE_KEYS = {"code_list": (_CODE_LIST, 'code_list = "nace.csv"\npublished_by = "Eurostat, NACE Rev. 2"')}
"""Keys that stand in a schema file only: what they say, and an example."""


def resolve_files(content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The content of a schema file with every file that it names replaced by what is in it.

    Parameters
    ----------
    content
        As the TOML reader gives it.
    folder
        Of the schema file, where relative paths start.

    Raises
    ------
    SchemaError
        Naming every file that is absent or not what it should be.
    """
    tables = content.get("attributes")
    if not isinstance(tables, Mapping):
        return dict(content)
    resolved: dict[str, Any] = {}
    problems: list[str] = []
    for name, fields in tables.items():
        try:
            resolved[name] = _resolved(fields, folder) if isinstance(fields, Mapping) else fields
        except SchemaError as error:
            problems += [f"attribute {name!r}: {sentence}" for sentence in error.problems]
    if problems:
        raise SchemaError(problems)
    return {**content, "attributes": resolved}


def _resolved(fields: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    made = dict(fields)
    if isinstance(made.get("recode"), str):
        made["recode"] = _mapping(folder / made["recode"])
    if "code_list" in made:
        if not isinstance(made["code_list"], str):
            raise SchemaError("code_list must be the name of a CSV file in quotes.")
        if "categories" in made:
            raise SchemaError("code_list and categories both list the categories; keep one of them.")
        if not made.get("published_by"):
            raise SchemaError(
                "code_list needs published_by: a list is public because somebody else published it; say who. "
                "A list made from the data goes into categories, with learned = true."
            )
        made["categories"] = _codes(folder / made.pop("code_list"))
    return made


def _codes(path: Path) -> list[str]:
    """The codes of a list, in its order."""
    header, rows = _table(path)
    place = _place(path, header, "code") if len(header) > 1 else 0
    codes = [row[place] for row in rows]
    if len(set(codes)) < len(codes):
        raise SchemaError(
            f"{path.name} lists a code more than once; a list names each once. Is it a mapping? Those go into recode."
        )
    return codes


def _mapping(path: Path) -> dict[str, list[str]]:
    """Category to the values that become it, in the order of the file."""
    header, rows = _table(path)
    value, category = _place(path, header, "value"), _place(path, header, "category")
    made: dict[str, list[str]] = {}
    for row in rows:
        made.setdefault(row[category], []).append(row[value])
    return made


def _place(path: Path, header: list[str], wanted: str) -> int:
    if wanted not in header:
        names = ", ".join(map(repr, header[:12]))
        raise SchemaError(
            f"{path.name} has no column {wanted!r}; it has {names}. Name the column {wanted!r}."
        )
    return header.index(wanted)


def _table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a small CSV file with commas, semicolons or tabs."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SchemaError(
            f"cannot read {path.name}: {reason}. Paths start at the schema file's folder."
        ) from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    rows = [row for row in csv.reader(text.splitlines(), delimiter=delimiter) if row]
    if len(rows) < 2:
        raise SchemaError(
            f"{path.name} is empty; a header line with the column names comes first, then a line for each code."
        )
    header, *rest = rows
    uneven = sum(len(row) != len(header) for row in rest)
    if uneven:
        raise SchemaError(
            f"{path.name} has {uneven} lines without the header's number of columns. Mend them."
        )
    return header, rest
