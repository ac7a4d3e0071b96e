"""Tiny tables, the designs that are tried on them exhaustively, and their promises."""

from __future__ import annotations

import itertools

from exact.holding import (
    neighbours,
)
from sfumato.methods.columnized_counts.design import ColumnizedCounts
from sfumato.methods.noisy_marginals.design import NoisyMarginals
from sfumato.methods.randomized_response.design import RandomizedResponse
from sfumato.schema import Schema


def schema_of(*, jobs=3, pays=0, learned=False, people=4):
    """A public attribute that tells people apart, and sensitive ones."""
    attributes = {
        "who": {"role": "quasi-identifier", "categories": [str(each) for each in range(people)]},
        "job": {"role": "sensitive", "categories": list("abcdef"[:jobs])}
        | ({"learned": True} if learned else {}),
    }
    if pays:
        attributes["pay"] = {"role": "sensitive", "categories": list("xyz"[:pays])}
    return Schema.from_dict({"attributes": attributes})


def tables_of(schema, rows):
    """Every table of so many different people."""
    sizes = [range(schema[name].size) for name in schema.names[1:]]
    values = list(itertools.product(*sizes))
    return [
        tuple((who, *held) for who, held in enumerate(each))
        for each in itertools.product(values, repeat=rows)
    ]


def promise_of(design, schema, kind):
    """The one promise of a kind."""
    (found,) = [each for each in design.guarantees(schema) if isinstance(each, kind)]
    return found


RESPONSES = {
    "a retention": RandomizedResponse(retention=0.5),
    "a retention that no double is": RandomizedResponse(retention=0.3),
    "nearly nothing changed": RandomizedResponse(retention=0.99),
    "an epsilon": RandomizedResponse(epsilon=1.0),
    "a matrix": RandomizedResponse(matrix={"job": [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5]]}),
    "a matrix that rules out": RandomizedResponse(
        matrix={"job": [[0.5, 0.5, 0], [0.1, 0.6, 0.3], [0, 0.5, 0.5]]}
    ),
}


COUNTS = {
    "replacing": NoisyMarginals(epsilon=1.0, marginals=(("job",),)),
    "adding": NoisyMarginals(epsilon=0.7, marginals=(("job",),), neighbours="add-remove"),
    "two tables": NoisyMarginals(epsilon=1.3, marginals=(("job",), ("who",))),
    "a query": NoisyMarginals(epsilon=1.0, marginals=(), queries=("job = 'a'", "who = '0'")),
}


def pairs_by(relation, schema, rows):
    """Tables that differ by one row, as the relation says; of none too."""
    if relation == "replace-one":
        return list(neighbours(tables_of(schema, rows), places=range(len(schema.names))))
    tables = [table for size in range(1, rows + 1) for table in tables_of(schema, size)]
    return [(table, table[:-1]) for table in tables]


COLUMNS = {
    "crowds of one": ColumnizedCounts(k=1, epsilon=2.0, delta=0.1, column_sets=(("job",),)),
    "crowds of two": ColumnizedCounts(k=2, epsilon=1.5, delta=0.05, column_sets=(("job",),)),
    "two columns": ColumnizedCounts(k=1, epsilon=2.0, delta=0.1, column_sets=(("job",), ("who",))),
}
