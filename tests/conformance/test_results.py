"""Every result that a release gives is read, shown, drawn and kept the same way: found, not listed."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import pickle
import pkgutil
from html.parser import HTMLParser

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato.analysis
import sfumato.estimates
from samples import LONG_SCHEMA, SCHEMA, people, ratings
from sfumato import ColumnizedCounts, NoisyMarginals, RandomizedResponse, read_table
from sfumato.release.verbs import Analyses
from sfumato.results import Charted, Tabular
from sfumato.testing import release_in_memory

NO_RESULTS = {
    "naive_bayes": "a classifier, as scikit-learn's are",
    "rating_model": "a model that predicts",
    "impute": "several tables of rows, each of which is read by itself",
    "self_checks": "a list of checks, which verify prints",
}
"""Doors that give no table of numbers."""

ROWS_THEMSELVES = {"Draw"}
"""Tables of rows, of which nothing is an estimate: read by every library, and nothing to draw."""


@pytest.fixture(scope="module")
def releases():
    """Perturbed rows, noisy tables, published ratings."""
    table = read_table(people(2_000), SCHEMA)
    return {
        "rows": release_in_memory(table, RandomizedResponse(retention=0.6), seed=4),
        "tables": release_in_memory(table, NoisyMarginals(epsilon=2.0, marginals=(("sex", "job"),)), seed=4),
        "ratings": release_in_memory(
            read_table(ratings(), LONG_SCHEMA), ColumnizedCounts(k=3, epsilon=4.0), seed=4
        ),
    }


EXAMPLES = {
    "Answer": lambda of: of["rows"].query("job = 'Care'"),
    "AnswerTable": lambda of: of["rows"].counts(["sex", "job"]),
    "Overview": lambda of: of["rows"].overview(),
    "Measures": lambda of: of["rows"].measures("sex", "job = 'Care'"),
    "IndependenceTest": lambda of: of["rows"].independence("sex", "job"),
    "NumberEstimate": lambda of: of["rows"].mean("age"),
    "Regression": lambda of: of["rows"].regression("job = 'Care' ~ sex"),
    "Rules": lambda of: of["rows"].rules(minimum_support=0.05, minimum_confidence=0.2, longest=2),
    "Loglinear": lambda of: of["rows"].loglinear("sex*job"),
    "LoglinearSearch": lambda of: of["rows"].search_loglinear(["sex", "job"]),
    "Tree": lambda of: of["rows"].tree("job", ["sex"]),
    "Advice": lambda of: of["rows"].advise("sex", "job"),
    "Suspicion": lambda of: of["rows"].check_matrix("job", retention=0.6),
    "ShrunkenCounts": lambda of: of["tables"].shrink(["sex", "job"]),
    "Recommendations": lambda of: of["ratings"].recommend({}),
    "Draw": lambda of: next(iter(of["rows"].impute(["sex", "job"], draws=2))),
    "Pooled": lambda of: (
        of["rows"]
        .impute(["sex", "job"], draws=3)
        .pool(lambda rows: ([rows.to_pandas()["job"].eq("Care").mean()], [1e-4]), names=["share"])
    ),
}


def result_types():
    """Every kind of result in the analyses and the estimates."""
    for package in (sfumato.analysis, sfumato.estimates):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    found, left = set(), [Tabular]
    while left:
        for each in left.pop().__subclasses__():
            left.append(each)
            if not inspect.isabstract(each) and each.__module__.startswith("sfumato."):
                found.add(each)
    return {each.__name__: each for each in found}


def test_every_kind_of_result_has_an_example_here():
    """A new one is asked for below."""
    assert set(result_types()) == set(EXAMPLES)


def test_every_door_gives_such_a_result():
    """What the doors of a release are declared to give."""
    kinds = set(result_types())
    for name, door in inspect.getmembers(Analyses, inspect.isfunction):
        given = str(inspect.signature(door).return_annotation).strip("'")
        assert (given in kinds) != (name in NO_RESULTS), name


@pytest.fixture(scope="module", params=EXAMPLES)
def result(request, releases):
    """One of each kind."""
    found = EXAMPLES[request.param](releases)
    assert type(found).__name__ == request.param
    return found


def test_it_is_read_by_every_library(result):
    """Arrow by its stream, pandas, polars, plain rows, and how many there are."""
    table = result.to_arrow()
    assert pa.table(result) == table
    assert len(result) == table.num_rows > 0
    assert list(result) == table.to_pylist()
    assert isinstance(result.to_pandas(), pd.DataFrame)
    assert isinstance(result.to_polars(), pl.DataFrame)
    assert pl.DataFrame(result).shape == result.to_pandas().shape == table.shape


def test_it_survives_pickling(result):
    """With the same numbers."""
    if type(result).__name__ in ROWS_THEMSELVES:
        pytest.skip("its rows are drawn from an opened release, which does not travel")
    again = pickle.loads(pickle.dumps(result))
    assert again.to_arrow() == result.to_arrow()
    assert str(again) == str(result)


class Shown(HTMLParser):
    """Rows and bars."""

    def __init__(self, text):
        super().__init__()
        self.seen = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        """One more."""
        del attributes
        self.seen.append(tag)


def test_notebooks_show_it_with_bars_where_it_has_intervals(result):
    """A line for each row; a bar for each where every row has finite ends."""
    shown = Shown(result._repr_html_()).seen
    rows = list(result)
    assert shown.count("tr") > min(len(rows), 60)
    ends = [[row.get(name) for name in ("low", "estimate", "high")] for row in rows]
    has_intervals = all(isinstance(end, float) and math.isfinite(end) for each in ends for end in each)
    if has_intervals:
        assert shown.count("svg") == len(rows)


def test_it_can_be_drawn(result):
    """As plain data that JSON can hold."""
    if type(result).__name__ in ROWS_THEMSELVES:
        assert not isinstance(result, Charted)
        return
    specification = result.plot().to_dict()
    assert json.loads(json.dumps(specification, allow_nan=False)) == specification
    assert specification["data"]["values"]
    assert result.plot()._repr_mimebundle_()["application/vnd.vegalite.v5+json"] == specification


def test_the_standard_error_has_one_name(result):
    """In columns, in plain data and on the results themselves: no other word for it."""
    names = [*result.to_arrow().column_names, *(vars(result) if hasattr(result, "__dict__") else ())]
    names += [name for name in dir(type(result)) if not name.startswith("_")]
    others = [
        each
        for each in names
        if any(word in each for word in ("standard_error", "stderr", "std_err"))
        and not each.endswith(("std_error", "std_errors"))
    ]
    assert others == []


def test_it_says_what_it_is_in_one_line_and_in_full(result):
    """repr, str, summary, plain data."""
    assert "\n" not in repr(result)
    assert str(result).splitlines()[0] == result.summary().splitlines()[0]
    if type(result).__name__ not in ROWS_THEMSELVES:
        assert isinstance(result.to_dict(), dict)
