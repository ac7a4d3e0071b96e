"""Every table of counts that a generalized release allows, by enumeration: for tables of a handful of rows."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from sfumato import Generalization
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.schema import Attribute, Role, Schema
from sfumato.testing import release_in_memory

HIERARCHIES = {"age": {"fanout": 2}}
SCHEMA = Schema(
    attributes=(
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, bins=(0, 10, 20, 30, 40)),
        Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("f", "m")),
        Attribute(name="ill", role=Role.SENSITIVE, categories=("no", "yes")),
    )
)


def generalized(rows, **parameters):
    """A release of rows (age, sex, ill), given as codes."""
    codes = dict(zip(SCHEMA.names, np.array(rows).T, strict=True))
    table = PrivateTable(CodedRows(SCHEMA, codes), SCHEMA, engine=ArrayEngine())
    return release_in_memory(table, Generalization(hierarchies=HIERARCHIES, **parameters), seed=1)


def allowed_tables(release, *, dropped=None):
    """Counts over all attributes, one table after the other; a stated number of dropped rows where the release tells none."""
    law, names = release.law, release.schema.names
    shape = tuple(each.size for each in release.schema.attributes)
    columns = [name for name in names if law.published_size(name) > 1]
    found = release.count_occupied(columns)
    behind = []
    for place, number in enumerate(found.counts.tolist()):
        covers = []
        for name in names:
            code = int(found.codes_of(name)[place]) if name in columns else 0
            covers.append(law.covers[name][code] if name in law.covers else (code,))
        behind += [list(itertools.product(*covers))] * int(number)
    left = law.suppressed_rows if law.suppressed_rows is not None else (dropped or 0)
    behind += [list(np.ndindex(shape))] * left
    tables = {frozenset()}
    for cells in behind:
        # Rows of one class are alike: tables are told apart by their counts alone.
        tables = {
            frozenset((Counter(dict(each)) + Counter([cell])).items()) for each in tables for cell in cells
        }
    for each in tables:
        counts = np.zeros(shape)
        for cell, number in each:
            counts[cell] = number
        yield counts
