"""Results in the hands of other libraries."""

from __future__ import annotations

import builtins
import importlib
import pickle
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from samples import SCHEMA, people
from sfumato import (
    ColumnizedCounts,
    DistributionResampling,
    Generalization,
    NoisyMarginals,
    RandomizedResponse,
    publish,
    read_table,
)
from sfumato import results as tabular
from sfumato.errors import MissingExtraError
from sfumato.results import Tabular
from sfumato.testing import release_in_memory

pytestmark = pytest.mark.filterwarnings("ignore:.*seed.*")

ASKED = {
    "counts": lambda release: release.counts("job"),
    "empty": lambda release: release.counts("job", where="sex IN ()"),
    "measures": lambda release: release.measures("sex", "job = 'Care'"),
    "mean": lambda release: release.mean("age"),
    "independence": lambda release: release.independence("sex", "job"),
    "regression": lambda release: release.regression("job = 'Care' ~ sex"),
}
DRAWN = ("counts", "regression")


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """People with their job perturbed."""
    folder = tmp_path_factory.mktemp("tabular")
    return publish(read_table(people(800), SCHEMA), RandomizedResponse(retention=0.6), folder / "out", seed=4)


@pytest.mark.parametrize("name", ASKED)
def test_a_result_is_read_by_every_library(name, release):
    """Arrow by its stream, pandas, polars, plain rows: the same numbers."""
    result = ASKED[name](release)
    table = result.to_arrow()
    assert pa.table(result) == table
    assert len(result) == table.num_rows
    assert bool(result)
    assert list(result) == table.to_pylist()
    assert isinstance(result.to_pandas(), pd.DataFrame)
    assert isinstance(result.to_polars(), pl.DataFrame)
    assert pl.DataFrame(result).shape == result.to_pandas().shape == table.shape
    np.testing.assert_array_equal(result.to_pandas().columns, table.column_names)


@pytest.mark.parametrize("name", ASKED)
def test_a_result_survives_pickling(name, release):
    """Also when an opened release stands behind it."""
    result = ASKED[name](release)
    assert pickle.loads(pickle.dumps(result)).to_arrow() == result.to_arrow()


LAWS = {
    "noisy-marginals": NoisyMarginals(epsilon=1.0),
    "columnized-counts": ColumnizedCounts(k=3, epsilon=2.0),
    "distribution-resampling": DistributionResampling(),
    "generalization": Generalization(k=5),
}


@pytest.mark.parametrize("name", LAWS)
def test_intervals_of_every_law_survive_pickling(name):
    """Ends that a law works out itself, about the table and about the population, and of a sum of cells."""
    release = release_in_memory(read_table(people(400), SCHEMA), LAWS[name], seed=5)
    for target in ("table", "population"):
        found = release.counts("job", target=target).estimates
        for each in (found, found.linear(np.ones((1, found.values.size)))):
            again = pickle.loads(pickle.dumps(each))
            np.testing.assert_array_equal(again.intervals(0.9), each.intervals(0.9))


class Tags(HTMLParser):
    """Counts what opens and closes."""

    def __init__(self):
        super().__init__()
        self.seen = {}

    def handle_starttag(self, tag, attributes):
        """One more."""
        del attributes
        self.seen[tag] = self.seen.get(tag, 0) + 1


def test_notebooks_show_numbers_with_their_intervals(release):
    """A line for each cell, a bar for each line, and labels that are text."""
    shown = Tags()
    shown.feed(ASKED["counts"](release)._repr_html_())
    assert shown.seen["tr"] == 1 + 4
    assert shown.seen["svg"] == 4


def test_a_bar_lies_between_its_ends():
    """Two intervals on one scale, by hand: from 0 to 10 at 120 pixels, four pixels of margin."""
    first, second = tabular._bars(
        [{"low": 0.0, "estimate": 5.0, "high": 10.0}, {"low": 2.0, "estimate": 2.5, "high": 3.0}]
    )
    assert 'x1="4.0" x2="124.0"' in first
    assert 'cx="64.0"' in first
    assert 'x1="28.0" x2="40.0"' in second
    assert not tabular._bars([{"low": -np.inf, "estimate": 0.0, "high": 1.0}])


def test_what_a_label_says_is_not_run(release):
    """Labels come from whoever made the release."""

    class Hostile(Tabular):
        def to_arrow(self):
            return pa.table({"<b>": ["<script>alert(1)</script>"], "n": [1.0]})

        def summary(self):
            return "<i>title</i>"

    shown = Tags()
    shown.feed(Hostile()._repr_html_())
    assert not {"script", "b", "i"} & set(shown.seen)


def test_long_tables_are_cut_with_a_word(release, monkeypatch):
    """A notebook is no place for ten thousand lines."""
    monkeypatch.setattr(tabular, "LARGEST_SHOWN", 3)
    assert "and 1 rows more" in ASKED["counts"](release)._repr_html_()


@pytest.mark.parametrize("name", DRAWN)
def test_charts_are_shown_by_notebooks(name, release):
    """As Vega-Lite, with a point for each row."""
    result = ASKED[name](release)
    figure = result.plot()
    bundle = figure._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v5+json"] == figure.to_dict() == result.figure()
    assert len(figure.to_dict()["data"]["values"]) == len(result)
    assert bundle["text/plain"] == f"Figure({len(result)} points)"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_not_there_is_named(library, release, monkeypatch):
    """With the command that installs it."""
    sound = importlib.import_module

    def without(name, *rest):
        if name == library:
            raise builtins.ImportError
        return sound(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(MissingExtraError, match=r"pip install 'sfumato\[frames\]'"):
        getattr(ASKED["counts"](release), f"to_{library}")()
