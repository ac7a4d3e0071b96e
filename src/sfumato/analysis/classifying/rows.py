"""Rows to classify, as codes: from tables of labels, records, or codes themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.errors import ParameterError, QueryError
from sfumato.values.arrays import Integers
from sfumato.values.schema import Attribute


def codes_of_rows(rows: Any, features: Sequence[Attribute]) -> Integers:
    """Codes of rows, ``(rows, features)``.

    Parameters
    ----------
    rows
        A table with a column of labels for each feature (pandas, polars, pyarrow: whatever speaks Arrow's C stream), a list of
        dictionaries, or an array of codes with a column for each feature in order.
    features
        What the columns are.

    Raises
    ------
    ParameterError
        When a column is missing or has codes that no category has.
    QueryError
        When a label is no category of its attribute.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
    >>> codes_of_rows([{"sex": "M"}, {"sex": "F"}], [sex]).tolist()
    [[1], [0]]
    """
    names = [each.name for each in features]
    if not hasattr(rows, "__arrow_c_stream__") and not all(isinstance(each, Mapping) for each in rows):
        return _checked(np.asarray(rows), features)
    columns = _columns(rows, names)
    missing = [name for name in names if name not in columns]
    if missing:
        raise ParameterError(
            f"the rows have no column {missing[0]!r}. Give one for each of {', '.join(names)}.",
            parameter="rows",
        )
    return np.column_stack([_codes(columns[each.name], each) for each in features])


def _columns(rows: Any, names: Sequence[str]) -> Mapping[str, Sequence[Any]]:
    if hasattr(rows, "__arrow_c_stream__"):
        import pyarrow as pa

        table = pa.table(rows)
        return {name: table[name].to_pylist() for name in names if name in table.column_names}
    records = list(rows)
    return {name: [each[name] for each in records] for name in names if all(name in each for each in records)}


def _codes(labels: Sequence[Any], attribute: Attribute) -> Integers:
    known = {label: code for code, label in enumerate(attribute.labels)}
    try:
        return np.array([known[str(each)] for each in labels], dtype=np.int64)
    except KeyError:
        raise QueryError(
            f"a row has a label that is no category of {attribute.name!r}; categories are "
            f"{', '.join(map(repr, attribute.labels[:8]))}{', …' if attribute.size > 8 else '.'} Bins are named by their labels."
        ) from None


def _checked(codes: Any, features: Sequence[Attribute]) -> Integers:
    sizes = np.array([each.size for each in features])
    if codes.dtype.kind not in "iuf" or (codes != np.floor(codes)).any():
        raise ParameterError(
            "rows are a table with a column of labels for each feature, a list of dictionaries, or an array of whole numbers.",
            parameter="rows",
        )
    if codes.ndim != 2 or codes.shape[1] != sizes.size or (codes < 0).any() or (codes >= sizes).any():
        raise ParameterError(
            f"codes must have a column for each of the {sizes.size} features, each from 0 up to its number of categories.",
            parameter="rows",
        )
    return np.asarray(codes, dtype=np.int64)
