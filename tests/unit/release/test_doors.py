"""The doors from a release to its analyses take what the analyses take, one for one."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest

from sfumato.release.verbs import Analyses

DOORS = {name: each for name, each in vars(Analyses).items() if inspect.isfunction(each)}
TARGET = re.compile(r":func:`(?P<module>[\w.]+)\.(?P<name>\w+)`")
SPREAD = {
    "rules": "its settings are one value there",
    "rating_model": "its settings are for those who know the model",
    "naive_bayes": "it makes an estimator, which others fit",
    "correlation": "it stands beside the other moments",
}
"""Doors that are not one call with the same arguments, and why."""


def parameters_of(function):
    """Names, kinds and defaults, without the release."""
    return [
        (each.name, each.kind, each.default)
        for each in list(inspect.signature(function).parameters.values())[1:]
    ]


def test_there_are_doors():
    """And each says where it leads."""
    assert len(DOORS) > 15
    assert all(TARGET.search(each.__doc__) for name, each in DOORS.items() if name not in SPREAD)


@pytest.mark.parametrize("name", sorted({*DOORS} - {*SPREAD}))
def test_a_door_takes_what_the_analysis_takes(name):
    """The same names in the same order, with the same defaults: a default that is changed in one place would be two."""
    found = TARGET.search(DOORS[name].__doc__)
    analysis = getattr(importlib.import_module(found["module"]), found["name"])
    assert parameters_of(DOORS[name]) == parameters_of(analysis)
    assert inspect.signature(DOORS[name]).return_annotation == inspect.signature(analysis).return_annotation


def test_correlation_takes_what_the_moment_takes():
    """It has no page of its own to point to."""
    from sfumato.analysis.moments import correlation

    assert parameters_of(DOORS["correlation"]) == parameters_of(correlation)
