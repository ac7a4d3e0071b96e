"""Percentages by group: shares of the cells of a table, of all rows or within groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from sfumato.analysis.asking import Countable
from sfumato.errors import NoSolutionError, ParameterError
from sfumato.laws import Target
from sfumato.release.simultaneous import Simultaneous, level_of_each
from sfumato.values.answer_tables import AnswerTable
from sfumato.values.estimates import Estimates, normal_quantile
from sfumato.values.number_text import show_with_error
from sfumato.values.query_writing import write_condition


def shares(
    release: Countable,
    by: str | Sequence[str],
    *,
    within: str | Sequence[str] = (),
    where: str = "",
    confidence_level: float = 0.95,
    target: Target = "table",
    simultaneous: Simultaneous | None = None,
) -> AnswerTable:
    """Estimated shares of every cell of a table, of all rows or within the categories of some of its attributes.

    Each is a ratio of two estimated counts, with the delta method's standard error.

    Parameters
    ----------
    release
        What is asked.
    by
        Attributes to tabulate.
    within
        Attributes of the table: those by ``["sex", "job"]`` within ``"sex"`` are the shares of jobs in each sex.
    where
        Only rows that satisfy these conditions.
    confidence_level, target
        Of the intervals, and what they are about.
    simultaneous
        Make the intervals hold all together.

    Raises
    ------
    NoSolutionError
        When a group is not estimated as positive, by its name.
    """
    normal_quantile(confidence_level)  # refuses a wrong level before anything is asked
    counted = release.counts(by, where=where, target=target)
    groups = (within,) if isinstance(within, str) else tuple(within)
    found = _shares(counted, groups)
    return dataclasses.replace(
        counted,
        estimates=found,
        confidence_level=confidence_level,
        # Not unbiased itself, even where both counts are.
        estimator=f"ratio of two counts, each {counted.estimator}",
        within=groups,
        level_of_each=simultaneous and level_of_each(found, confidence_level, simultaneous),
    )


def _shares(table: AnswerTable, within: Sequence[str]) -> Estimates:
    """Shares of the cells of a table among the cells that are equal on some attributes, with their covariance.

    Parameters
    ----------
    table
        Of counts.
    within
        Attributes of it whose categories make the groups; none for shares of all rows.

    Raises
    ------
    ParameterError
        When the table lacks an attribute, or has no other.
    NoSolutionError
        When a group is not estimated as positive, by its name.
    """
    attributes, counts = table.attributes, table.estimates
    names = [each.name for each in attributes]
    if set(within) - set(names) or len(set(within)) >= len(names):
        raise ParameterError(
            f"shares are taken within some of the attributes of the table, {', '.join(names)}, and not within all of them; got "
            f"{', '.join(within) or 'none'}. Tabulate what the groups are made of and what is shared.",
            parameter="within",
        )
    grid = np.meshgrid(*(np.array(each) for each in table.codes), indexing="ij")
    codes = np.array([each.ravel() for each in grid])
    chosen = [place for place, each in enumerate(attributes) if each.name in within]
    if chosen:
        groups, group = np.unique(codes[chosen], axis=1, return_inverse=True)
    else:
        groups, group = np.zeros((0, 1), np.int64), np.zeros(codes.shape[1], np.int64)
    sums = (group[None, :] == np.arange(groups.shape[1])[:, None]).astype(np.float64)
    totals = counts.linear(sums)
    empty = np.flatnonzero(totals.values <= 0)
    if empty.size:
        first = int(empty[0])
        named = " AND ".join(
            write_condition(attributes[place], (int(groups[row, first]),)) for row, place in enumerate(chosen)
        )
        value, error = float(totals.values[first]), float(totals.standard_errors[first])
        raise NoSolutionError(
            f"rows with {named or 'any values'} are estimated as {show_with_error(value, error)}, so that there "
            "are no shares within them. Leave them out by a condition, or merge categories.",
            reason="undefined",
        )
    return counts.ratios(list(np.eye(codes.shape[1])), list(sums[group])).within(0.0, 1.0)
