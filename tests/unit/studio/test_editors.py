"""Editors and charts: dates, fields that are wrong, intervals of every answer, one attack alone."""

from __future__ import annotations

import html
import json
import re
from datetime import date, timedelta

import pytest

from sfumato.schema import Attribute, Role
from sfumato.studio.project import edited
from unit.studio.test_tabs import as_a_browser_sends


def specs(page: str) -> list[dict]:
    """The charts of a page."""
    return [json.loads(html.unescape(each)) for each in re.findall(r'data-spec="([^"]*)"', page)]


@pytest.fixture
def dated(visitor, tmp_path):
    """A project about days of one year, as they are written in Germany."""
    days = [date(2020, 1, 1) + timedelta(days=number % 360) for number in range(720)]
    rows = "".join(f"{each:%d.%m.%Y},{'mw'[n % 2]}\n" for n, each in enumerate(days))
    (tmp_path / "visits.csv").write_text("seen,sex\n" + rows)
    (visitor.project.root / "schema.toml").write_text(
        '[attributes.seen]\nrole = "quasi-identifier"\n'
        'dates = {by = "quarter", first = 2020-01-01, last = 2020-12-31, format = "%d.%m.%Y"}\n'
        '[attributes.sex]\nrole = "other"\ncategories = ["m", "w"]\n'
    )
    visitor.project.change_state(data=str(tmp_path / "visits.csv"))
    return visitor


def test_periods_of_dates_are_edited_with_the_histogram_beside_them(dated):
    """Months in place of quarters, before and after they are kept; a form that nobody touched changes nothing."""
    page = dated.get("/roles/0")
    assert 'name="dates.first" type="date" value="2020-01-01"' in page
    before = dated.studio.schema()
    assert (
        dated.post("/roles/0", **as_a_browser_sends(page, "/roles/0"), **{"dates.by": "quarter"}).status_code
        == 200
    )
    assert dated.studio.schema() == before
    sent = {
        "dates-shown": "1",
        "dates.by": "month",
        "dates.first": "2020-01-01",
        "dates.last": "2020-12-31",
        "dates.format": "%d.%m.%Y",
    }
    (chart,) = specs(dated.get("/roles/0/histogram", **sent))
    counts = [each["rows"] for each in chart["data"]["values"]]
    # Twice the days of each month; the last five of December are left out.
    assert counts == [2 * days for days in (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 25)]
    assert dated.change("/roles/0", **sent, missing="error").status_code == 200
    assert dated.studio.schema()["seen"].dates.by == "month"


def test_edges_of_dates_take_the_place_of_periods(dated):
    """By days of one's own; and what is no day, or runs backwards, is refused under its field."""
    sent = {"dates-shown": "1", "dates.by": "", "dates.format": "%d.%m.%Y"}
    (chart,) = specs(
        dated.get("/roles/0/histogram", **sent, **{"dates.edges": "2020-01-01, 2020-03-01; 2021-01-01"})
    )
    assert [each["rows"] for each in chart["data"]["values"]] == [120, 600]
    for edges in ("2020-03-01, 2020-01-01", "soon, later", ""):
        told = dated.get("/roles/0/histogram", **sent, **{"dates.edges": edges})
        assert 'data-invalid="dates"' in told, edges
        assert dated.change("/roles/0", **sent, **{"dates.edges": edges}).status_code == 422


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"bins": "17, x"}, "bins"),
        ({"bins": "55, 17"}, "bins"),
        ({"bins": "17, 55, 91", "top_code": "20", "bottom_code": "60"}, "top_code"),
    ],
)
def test_a_problem_of_an_editor_names_its_field(custodian, sent, field):
    """So that it is said under it."""
    assert f'data-invalid="{field}"' in custodian.get("/roles/2/histogram", **sent)
    assert f'id="problem-{field}"' in custodian.get("/roles/2")


@pytest.mark.parametrize(
    ("name", "sent", "field"),
    [
        ("randomized-response", {"retention": "2"}, "retention"),
        ("anatomy", {"l_value": "1"}, "l_value"),
        ("anatomy", {"l_value": "99"}, "l_value"),
        ("splu-gen", {"gamma": "two"}, "gamma"),
    ],
)
def test_a_parameter_that_is_wrong_is_marked(analyst, name, sent, field):
    """In the plan beside the form, and on the page when it was to be kept."""
    assert f'data-invalid="set-{field}"' in analyst.get(f"/method/{name}/plan", **sent)
    page = analyst.post(f"/method/{name}", **sent).text
    marked = re.search(rf'id="set-{field}"[^>]*>', page).group(0)
    assert 'aria-invalid="true"' in marked
    assert f"problem-set-{field}" in marked
    assert re.search(rf'<p class="problem" id="problem-set-{field}">[^<]+</p>', page)
    assert page.count('aria-invalid="true"') == 1
    assert 'aria-invalid="true"' not in analyst.get(f"/method/{name}")


def test_answers_have_their_intervals_drawn(analyst):
    """Measures on a scale each, coefficients around zero, a share as a share."""
    charts = specs(analyst.get("/measures", first="sex", second="region"))
    shown = {each["data"]["values"][0]["category"] for each in charts}
    assert "cramers-v" in shown
    assert all(each["data"]["values"][0]["low"] <= each["data"]["values"][0]["high"] for each in charts)
    (chart,) = specs(analyst.get("/regression", formula="sex ~ region"))
    assert len(chart["data"]["values"]) >= 2
    assert "coefficient" in json.dumps(chart)
    assert chart["layer"][0]["encoding"]["x"]["datum"] == 0
    (share,) = specs(analyst.get("/ask/answer", text="sex = 'Female'", given="region = 'North'") or "")
    assert "share of the rows" in json.dumps(share)
    assert '"title": "rows"' not in json.dumps(share)


def test_one_attack_is_what_attack_prints(analyst):
    """The one that was chosen, and none that does not exist."""
    analyst.post("/attack/one", release="releases/first", attack="linking")
    analyst.wait()
    page = analyst.get("/attack")
    assert "linking on releases/first" in page
    assert analyst.project.result("attack")["name"] == "linking"
    analyst.post("/attack/one", release="releases/first", attack="--help")
    assert not analyst.studio.jobs.is_running


def test_one_row_of_each_person_is_drawn_where_the_box_is_ticked():
    """Ticked and unticked; a bound of one's own stays; nothing of it is left when the column is no unit."""
    unit = Attribute(name="p", role=Role.UNIT)
    drawn = {"role": "unit", "rows_per_unit": 1, "excess_rows": "sample"}
    shown = {"role": ["unit"], "one-row-shown": ["1"]}
    assert edited(unit, {**shown, "one-row": ["1"]}) == drawn
    assert edited(unit.model_copy(update=drawn | {"role": Role.UNIT}), shown) == {"role": "unit"}
    assert edited(Attribute(name="p", role=Role.UNIT, rows_per_unit=4), shown) == {
        "role": "unit",
        "rows_per_unit": 4,
    }
    assert edited(Attribute(name="p", **drawn), {"role": ["identifier"]}) == {"role": "identifier"}
