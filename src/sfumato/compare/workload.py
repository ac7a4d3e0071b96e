"""Workloads: questions that every design is asked, by the name of their kind or the custodian's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from sfumato.compare.drawing import (
    draw_base,
    draw_cells,
    draw_conjunctions,
    draw_cube,
    draw_differences,
    draw_strata,
)
from sfumato.compare.questions import Question, Workload, true_counts
from sfumato.data.coded_rows import CodedRows
from sfumato.errors import ParameterError
from sfumato.values.predicate import Predicate
from sfumato.values.schema import Role, Schema

WorkloadName = Literal["strata", "cells", "differences", "conjunctions", "base", "cube"]
"""Kinds of workload; ``strata`` looks at no row, the others are drawn from what occurs."""

OWN = "own questions"


def make_workload(
    name: WorkloadName, schema: Schema, rows: CodedRows, number: int, seed: int, *, sensitive: str
) -> Workload:
    """So many questions of one kind.

    Parameters
    ----------
    name
        ``strata``: one to three attributes, with and without a sensitive one, as many of each, from the schema alone.
        ``cells``: cells of up to three public attributes and the sensitive one, as many that occur as that do not.
        ``differences``: how much larger a share of one group has a sensitive value than of another.
        ``conjunctions``: up to three public attributes and the sensitive one, half of them true of few rows, half of many.
        ``base``: cells of all public attributes and the sensitive one that occur. ``cube``: the same over every set of
        attributes that holds the sensitive one.
    schema, rows
        Of the table.
    number, seed
        How many, and what repeats them.
    sensitive
        The attribute attacked.

    Raises
    ------
    ParameterError
        When too few are asked for, or no row satisfies any such question.
    """
    if name not in get_args(WorkloadName):
        raise ParameterError(
            f"workload must be one of {', '.join(get_args(WorkloadName))}, got {name!r}.",
            parameter="workload",
        )
    generator = np.random.default_rng(seed)
    if name == "strata":
        return Workload(name, tuple(draw_strata(schema, number, generator)), is_by_size=True)
    public = [each for each in schema.publishable.with_role(Role.QUASI_IDENTIFIER) if each.name != sensitive]
    make = {
        "cells": draw_cells,
        "differences": draw_differences,
        "conjunctions": draw_conjunctions,
        "base": draw_base,
        "cube": draw_cube,
    }[name]
    return Workload(name, tuple(make(public, schema[sensitive], rows, number, generator)))


def own_workload(texts: Sequence[str], schema: Schema, rows: CodedRows) -> Workload:
    """The custodian's own questions, one condition each.

    Raises
    ------
    QueryError
        With the number of the first that cannot be read.
    ParameterError
        When no row satisfies any of them.
    """
    questions = tuple(Question(OWN, each) for each in Predicate.parse_all(texts, schema.publishable))
    if not questions or not any(true_counts(rows, [each.where])[0] for each in questions):
        raise ParameterError(
            "questions: no row satisfies any of them, so every release of nothing would answer them. Ask about values that occur.",
            parameter="questions",
        )
    return Workload(OWN, questions)
