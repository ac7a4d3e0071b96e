"""Charts as data: valid, and with nothing in them that could run or be fetched."""

from __future__ import annotations

import json

import pytest
import vl_convert

from sfumato.report.figures import comparison_chart, cost_chart, interval_chart

HOSTILE = "</script><b>datum.x' + alert(1)"

CHARTS = {
    "intervals": interval_chart(
        [{"category": HOSTILE, "estimate": 5.0, "low": 1.0, "high": 9.0, "reference": 4}],
        attribute=HOSTILE,
        estimated="reconstructed",
        reference="published",
        description=HOSTILE,
    ),
    "intervals alone": interval_chart(
        [{"category": HOSTILE, "estimate": 5.0, "low": 1.0, "high": 9.0}],
        attribute=HOSTILE,
        estimated="reconstructed",
        reference=None,
        description=HOSTILE,
    ),
    "intervals within bounds": interval_chart(
        [{"category": HOSTILE, "estimate": 5.0, "low": 1.0, "high": 9.0, "least": 0.0, "most": 10.0}],
        attribute=HOSTILE,
        estimated="reconstructed",
        reference=None,
        bounded="certain bounds",
        description=HOSTILE,
    ),
    "comparison": comparison_chart(
        [{"question": HOSTILE, "release": HOSTILE, "estimate": 5.0, "low": 1.0, "high": 9.0}],
        across="difference",
        zero="truth",
        description=HOSTILE,
    ),
    "cost": cost_chart(
        [{"question": HOSTILE, "release": HOSTILE, "promise": 1.0, "error": 2.0}],
        across="epsilon",
        up="error",
        description=HOSTILE,
    ),
}


def keys_of(value):
    """Every key at any depth, and what fields and expressions refer to."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            if key in {"field", "expr", "test", "signal", "href", "url"}:
                yield each
            yield from keys_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from keys_of(each)


@pytest.mark.parametrize("name", CHARTS)
def test_charts_compile(name):
    """A second implementation, the Vega-Lite compiler, accepts them."""
    assert vl_convert.vegalite_to_vega(CHARTS[name])["marks"]


@pytest.mark.parametrize("name", CHARTS)
def test_texts_never_become_fields_or_expressions(name):
    """A category is data: no key, field, expression or address is made from it."""
    assert not any("alert" in str(each) for each in keys_of(CHARTS[name]))


@pytest.mark.parametrize("name", CHARTS)
def test_charts_name_no_address(name):
    """Nothing to be fetched stands in a chart."""
    assert "://" not in json.dumps(CHARTS[name])


def test_estimates_alone_have_no_second_entry_in_the_legend():
    """Without a reference there is one colour and no ring."""
    marks = [layer["mark"] for layer in CHARTS["intervals alone"]["layer"]]
    assert [mark["type"] for mark in marks] == ["rule", "point"]
    assert CHARTS["intervals alone"]["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["reconstructed"]


def test_more_series_than_colours_repeat_the_colours():
    """Seven questions are drawn with five colours."""
    points = [{"question": str(n), "release": "a", "promise": 1.0, "error": 1.0} for n in range(7)]
    scale = cost_chart(points, across="", up="", description="")["encoding"]["color"]["scale"]
    assert len(scale["domain"]) == len(scale["range"]) == 7
    assert scale["range"][5] == scale["range"][0]


def test_the_frontier_fits_a_telephone():
    """Titles in short lines, the legend one method below the other; a shape for each besides its colour."""
    from sfumato.report.figures import LETTERS_OF_A_LINE, frontier_chart
    from sfumato.report.risk_pages import RISK

    points = [
        {
            "design": name,
            "method": name,
            "standing": "frontier",
            "risk": 0.1,
            "low": 0.0,
            "high": 0.2,
            "error": 0.3,
            "error_low": 0.2,
            "error_high": 0.4,
        }
        for name in (
            "anatomy",
            "splu-gen",
            "generalization",
            "sample-perturb-scale",
            "distribution-resampling",
        )
    ]
    marks = frontier_chart(points, across=RISK, up="error", description="Designs.")["layer"][-1]["encoding"]
    assert " ".join(marks["x"]["title"]) == RISK
    assert max(map(len, marks["x"]["title"])) <= LETTERS_OF_A_LINE
    assert marks["color"]["legend"]["columns"] == 1
    assert marks["shape"]["scale"]["domain"] == [each["method"] for each in points]


def test_the_frontier_has_a_bar_along_each_axis():
    """Intervals of risk lie across, intervals of error upright, each through its own point."""
    from sfumato.report.figures import frontier_chart

    point = {"design": "a", "method": "anatomy", "standing": "frontier", "risk": 0.1, "error": 0.3}
    point |= {"low": 0.0, "high": 0.2, "error_low": 0.2, "error_high": 0.4}
    across, upright, mark = frontier_chart([point], across="risk", up="error", description="One.")["layer"]
    ends = [
        [each["encoding"][axis]["field"] for axis in ("x", "x2", "y", "y2") if axis in each["encoding"]]
        for each in (across, upright, mark)
    ]
    assert ends == [["low", "high", "error"], ["risk", "error_low", "error_high"], ["risk", "error"]]
