"""Every page without a browser: both whole paths, refusals, undo, reopening, and what never reaches a page."""

from __future__ import annotations

import html
import json
import os
import re
import tomllib
from pathlib import Path

import pytest

import samples
from sfumato import Schema, load_release
from sfumato.studio.project import Project
from unit.studio.conftest import ORIGIN, visit

RETENTION = {"retention": "0.5"}


def shown(text: str) -> str:
    """What a reader sees of a page."""
    return html.unescape(re.sub(r"<[^>]+>", " ", text))


def publish(visitor, **more):
    """Publish the project's rows by randomized response."""
    visitor.post("/method/randomized-response", **RETENTION)
    answer = visitor.post("/publish", name="first", format="parquet", **more)
    visitor.wait()
    return answer


def test_every_page_is_there_before_anything_is_chosen(visitor):
    """Empty projects have pages that say what to do, none of which is a fault."""
    for name in ("data", "roles", "risk", "method", "compare", "publish", "attack", "report"):
        assert "<h1>" in visitor.get(f"/{name}")
    for name in ("release", "ask", "tables", "measures", "regression"):
        assert "<h1>" in visitor.get(f"/{name}")
    assert visitor.client.get("/").url.path == "/data"


def test_data_are_read_by_their_path_and_counted(custodian, people):
    """Columns with kind, categories, missing share and bars; the rows themselves are not on the page."""
    page = custodian.get("/data")
    assert str(people) in page
    columns = shown(custodian.get("/data/columns"))
    assert "1,000 rows, 4 columns that may be published, and 1 that never is: person." in columns
    assert re.search(r"age\s+quasi-identifier\s+numbers in bins\s+3", columns)
    assert custodian.project.state.rows == 1_000
    assert "sfumato schema infer" in page


def test_private_rows_are_shown_on_a_click_and_not_before(custodian, people):
    """No page has a cell of the identifier; the preview that was asked for has ten."""
    person = people.read_text().splitlines()[1].split(",")[0].strip('"')
    for name in ("data", "roles", "risk", "method", "publish"):
        assert person not in custodian.get(f"/{name}")
    answer = custodian.post("/data/rows")
    assert person in answer.text
    assert answer.text.count('scope="row"') == 10
    assert custodian.client.get("/data/rows").status_code == 404


def test_an_upload_becomes_the_projects_data(visitor, people):
    """It is copied into the folder under a name of its own, and its columns are read."""
    for name in ("people.csv", "people-2.csv"):
        answer = visitor.client.put(
            "/upload/people.csv", content=people.read_bytes(), headers={"origin": ORIGIN}
        )
        assert answer.json() == {"go": "/data"}
        visitor.wait()
        assert visitor.project.state.data == f"data/{name}"
        assert (visitor.project.root / "data" / name).read_bytes() == people.read_bytes()
    assert Schema.read(visitor.project.root / "schema.toml").names == (
        "person",
        "sex",
        "age",
        "region",
        "job",
    )


def test_data_that_cannot_be_read_are_refused_without_their_cells(visitor, tmp_path):
    """The sentence of the command line, which quotes no line of the file."""
    (tmp_path / "broken.csv").write_text('a,b\n1,2\n"SECRETCELL,3\nx\n')
    visitor.post("/data", data=str(tmp_path / "broken.csv"))
    visitor.wait()
    page = visitor.get("/data")
    assert "refused" in page
    assert "SECRETCELL" not in page
    assert not visitor.project.has("schema.toml")


def test_no_data_named_is_refused(visitor):
    """With what is allowed."""
    answer = visitor.post("/data", data=" ")
    assert answer.status_code == 422
    assert "no data were named" in answer.text


def test_roles_are_changed_and_undone(custodian):
    """Undo brings the schema file back, byte for byte."""
    before = (custodian.project.root / "schema.toml").read_bytes()
    custodian.change("/roles", **{"role.3": "quasi-identifier"})
    assert custodian.studio.schema()["region"].role == "quasi-identifier"
    assert "Undo: roles changed" in custodian.get("/roles")
    custodian.undo("roles")
    assert (custodian.project.root / "schema.toml").read_bytes() == before


def test_a_role_that_does_not_fit_is_refused_and_nothing_changes(custodian):
    """An identifier has no categories, so it cannot become sensitive by a click."""
    before = custodian.studio.schema()
    answer = custodian.change("/roles", **{"role.0": "sensitive"})
    assert answer.status_code == 422
    assert "person" in answer.text
    assert custodian.studio.schema() == before
    assert custodian.change("/roles", **{"role.1": "nonsense"}).status_code == 422


def test_bins_are_edited_with_the_histogram_beside_them(custodian):
    """The counts of the form as it stands, kept or not, are those of the table."""
    page = custodian.get("/roles/2")
    assert 'value="17, 35, 55, 91"' in page
    told = custodian.get("/roles/2/histogram", bins="17, 55, 91", top_code="", bottom_code="")
    spec = json.loads(html.unescape(re.search(r'data-spec="([^"]*)"', told).group(1)))
    ages = samples.people(1_000)["age"].to_pylist()
    counts = [sum(17 <= age < 55 for age in ages), sum(55 <= age < 91 for age in ages)]
    assert [each["rows"] for each in spec["data"]["values"]] == counts
    assert custodian.studio.schema() == samples.SCHEMA
    custodian.change("/roles/2", bins="17, 55, 91", top_code="", bottom_code="", missing="error")
    assert custodian.studio.schema()["age"].bins == (17, 55, 91)


def test_edges_that_are_none_are_refused(custodian):
    """In the histogram and when they are kept; nothing changes."""
    assert "numbers separated by commas" in custodian.get("/roles/2/histogram", bins="17, x")
    assert custodian.change("/roles/2", bins="55, 17").status_code == 422
    assert custodian.studio.schema() == samples.SCHEMA


def test_values_are_merged_and_ordered_by_hand(custodian):
    """Two values of one name become one category, at the first of their places."""
    sent = {
        "becomes": ["Sales", "Rest", "Care", "Rest"],
        "place": ["2", "3", "1", "4"],
    }
    custodian.change("/roles/4", **sent, missing="error", **{"ordered-shown": "1", "learned-shown": "1"})
    job = custodian.studio.schema()["job"]
    assert job.categories == ("Care", "Sales", "Rest")
    assert job.recode == {"Rest": ("Tech", "Other")}
    told = shown(custodian.get("/roles/4/histogram"))
    assert "Categories: 3" in told
    assert "<td>Tech</td>" in custodian.get("/roles/4")


def test_groups_above_the_categories_become_a_tree_of_generalization(custodian):
    """What is filled in by hand is offered to the method that can use it."""
    custodian.change(
        "/roles/2/hierarchy",
        **{"level.0": ["below 55", "below 55", "55 and more"], "level.1": ["all", "all", "all"]},
    )
    stored = tomllib.loads((custodian.project.root / "hierarchies.toml").read_text())
    assert stored["age"]["paths"]["[17,35)"] == ["below 55", "all"]
    assert "below 55" in custodian.get("/method/generalization")
    plan = custodian.get(
        "/method/generalization/plan", k="2", search="full-domain", hierarchies="{age = {fanout = 2}}"
    )
    assert "Promise" in plan
    custodian.change("/roles/2/hierarchy", **{"level.0": ["", "", ""]})
    assert (custodian.project.root / "hierarchies.toml").read_text() == ""


def test_a_tree_that_is_none_is_refused(custodian):
    """A group cannot belong to two groups above it."""
    sent = {"level.0": ["young", "young", "old"], "level.1": ["one", "two", "one"]}
    assert custodian.change("/roles/2/hierarchy", **sent).status_code == 422
    assert not custodian.project.has("hierarchies.toml")


def test_the_risk_is_what_inspect_prints(custodian):
    """The same numbers, and the sentence that publishing would count."""
    custodian.post("/risk")
    custodian.wait()
    found = custodian.project.result("inspection")
    page = shown(custodian.get("/risk"))
    assert f"{100 * found['groups']['unique_share']:.1f} %" in page
    assert "of the persons are unique on" in page
    assert "has changed since" not in page
    custodian.change("/roles", **{"role.3": "quasi-identifier"})
    assert "has changed since" in shown(custodian.get("/risk"))


def test_every_method_has_a_card_and_a_form(analyst):
    """Title, promise and parameters as declared; a method of another package would have them too."""
    from sfumato import METHODS

    cards = analyst.get("/method")
    for name, member in METHODS.members.items():
        assert f'href="/method/{name}"' in cards
        page = analyst.get(f"/method/{name}")
        for parameter in member.model_fields:
            if parameter not in ("method", "chosen_for", "chosen_from_private_data"):
                assert f'name="{parameter}"' in page, (name, parameter)


def test_the_plan_of_a_form_is_what_plan_prints(analyst):
    """Promise and errors for the rows counted, and those at the true counts apart and marked."""
    analyst.get("/data/columns")
    told = shown(analyst.get("/method/randomized-response/plan", retention="0.5"))
    assert "local differential privacy" in told
    told += shown(analyst.get("/method/randomized-response/errors", retention="0.5"))
    assert "of 1,000 rows" in told
    private = shown(analyst.get("/method/randomized-response/private", retention="0.5"))
    assert "Private: computed from the rows" in private
    assert re.search(r"job\s+Sales\s+\d+", private)


@pytest.mark.parametrize(
    ("name", "sent", "sentence"),
    [
        ("randomized-response", {"retention": "2"}, "retention"),
        ("anatomy", {"l_value": "1"}, "l_value"),
        ("splu-gen", {"gamma": "two"}, "whole number"),
        ("noisy-marginals", {"epsilon": "1", "marginals": "[["}, "TOML"),
    ],
)
def test_parameters_that_are_not_allowed_are_refused_under_the_form(analyst, name, sent, sentence):
    """By the design's own words, in the plan and when kept; the design that was kept stays."""
    before = (analyst.project.root / "design.toml").read_bytes()
    assert sentence in shown(analyst.get(f"/method/{name}/plan", **sent))
    answer = analyst.post(f"/method/{name}", **sent)
    assert answer.status_code == 422
    assert sentence in shown(answer.text)
    assert (analyst.project.root / "design.toml").read_bytes() == before


def test_checks_are_accepted_by_boxes_beside_the_button(custodian):
    """One box for each check; the command says what is ticked, and nothing where none is."""
    custodian.post("/method/randomized-response", **RETENTION)
    page = custodian.get("/publish")
    before_button = page[: page.index('<button type="submit"', page.index("</details>"))]
    for name in ("singled-out", "key-column"):
        assert f'name="accept" value="{name}"' in before_button[before_button.rindex("</details>") :]
    ticked = html.unescape(custodian.get("/publish/command?name=first&accept=singled-out&accept=key-column"))
    assert "--accept singled-out,key-column" in ticked
    assert "accept=('singled-out', 'key-column')" in ticked
    assert "accept" not in custodian.get("/publish/command?name=first")
    assert "--accept" not in custodian.get("/publish/command?name=first&accept=anything")


def test_publishing_ends_in_a_release_and_a_ledger_entry(analyst):
    """As the command line would: the folder opens, the ledger names it, the page says the promise."""
    page = shown(analyst.get("/publish"))
    release = load_release(analyst.project.root / "releases" / "first")
    assert release.number_of_rows == 1_000
    assert str(release.folder) in page
    assert "local differential privacy" in page
    assert analyst.project.state.release == "releases/first"


def test_a_second_release_of_the_same_rows_is_refused_until_it_is_wanted(custodian):
    """The sentence of the ledger is on the page."""
    publish(custodian)
    custodian.post("/publish", name="second")
    custodian.wait()
    assert "still out" in shown(custodian.get("/publish")).replace("  ", " ")
    assert custodian.project.releases() == ["releases/first"]
    custodian.post("/publish", name="second", again="1")
    custodian.wait()
    assert set(custodian.project.releases()) == {"releases/first", "releases/second"}


def test_a_lost_ledger_is_not_shown_as_an_empty_one(custodian):
    """The page has the sentence of the command line."""
    publish(custodian)
    ledger = Path(os.environ["SFUMATO_LEDGER"])
    ledger.unlink()
    page = shown(custodian.get("/publish"))
    assert "accept-loss" in page
    assert "Nothing was published yet" not in page


@pytest.mark.parametrize("name", ["../out", "", "a/b", ".hidden", "a\x00b"])
def test_a_release_stays_in_the_project_folder(custodian, name):
    """Names that lead elsewhere are refused."""
    custodian.post("/method/randomized-response", **RETENTION)
    assert custodian.post("/publish", name=name).status_code == 422
    assert custodian.studio.jobs.job is None or custodian.studio.jobs.job.title != "Publishing"


def test_the_attack_is_what_audit_prints(analyst):
    """Verdict, checks, and each score with and without the people in the table."""
    analyst.post("/attack", release="releases/first")
    analyst.wait(120)
    page = shown(analyst.get("/attack"))
    assert "Not refuted in" in page
    assert "What is learned about job" in page
    assert analyst.post("/attack", release="releases/other").url.path == "/attack"


def test_the_report_is_written_and_shown(analyst):
    """In a frame without rights."""
    analyst.post("/report", release="releases/first")
    analyst.wait()
    page = analyst.get("/report")
    assert '<iframe sandbox="allow-scripts" title="Report" src="/file/reports/first.html">' in page
    assert "first" in analyst.get("/file/reports/first.html")


def test_an_analyst_asks_by_clicking_values(analyst):
    """The estimate is the release's own answer to the text that the clicks make."""
    release = load_release(analyst.project.root / "releases" / "first")
    assert "randomly changed" in shown(analyst.get("/release"))
    assert 'value="3:0"' in analyst.get("/ask")
    told = shown(analyst.client.get("/ask/answer?v=0:0&v=3:1&v=3:2").text)
    text = "sex = 'Female' AND job IN ('Tech', 'Care')"
    assert text in told
    assert f"{release.query(text).estimate:.4g}" in told.replace(",", "")
    assert "Tick a value" in analyst.get("/ask/answer")
    assert "attribute" in shown(analyst.get("/ask/answer", text="nothing = 1"))
    assert "Tick a value" in analyst.client.get("/ask/answer?v=9:9&v=x:y&v=0:0&v=0:1").text


def test_an_analyst_tabulates_and_downloads(analyst):
    """CSV and Parquet have the cells of the page, and nothing is left in the folder."""
    import pyarrow as pa
    from pyarrow import parquet

    release = load_release(analyst.project.root / "releases" / "first")
    told = shown(analyst.client.get("/tables/table?by=sex&by=job").text)
    assert "Rows by sex, job: unbiased estimates" in told
    expected = [row["estimate"] for row in release.counts(["sex", "job"]).to_dict()["rows"]]
    text = analyst.client.get("/tables/download.csv?by=sex&by=job").text
    assert [float(line.split(",")[2]) for line in text.splitlines()[1:]] == pytest.approx(expected)
    content = analyst.client.get("/tables/download.parquet?by=sex&by=job").content
    assert parquet.read_table(pa.BufferReader(content))["estimate"].to_pylist() == pytest.approx(expected)
    assert analyst.client.get("/tables/download.exe?by=sex").status_code == 404
    assert not list((analyst.project.root / "results").glob(".table*"))


def test_measures_and_regression_are_the_releases_own(analyst):
    """Through the law, with intervals; what is not defined is said."""
    told = shown(analyst.get("/measures", first="sex", second="region"))
    assert "cramers-v" in told
    told = shown(analyst.get("/regression", formula="sex ~ region"))
    assert "logistic" in told
    assert analyst.client.get("/regression", params={"formula": "sex ~ nothing"}).status_code == 422


def test_a_release_of_somebody_else_is_opened_by_its_path(analyst, tmp_path):
    """And what is none is refused, without leaving the one that was open."""
    studio, guard, client = visit(tmp_path / "analyst")
    with client:
        client.get(guard.new_address())
        folder = str(analyst.project.root / "releases" / "first")
        answer = client.post("/release", data={"release": folder}, headers={"origin": ORIGIN})
        assert "local differential privacy" in answer.text or "randomly changed" in answer.text
        answer = client.post("/release", data={"release": str(tmp_path)}, headers={"origin": ORIGIN})
        assert answer.status_code == 422
        assert studio.project.state.release == folder
        assert client.get("/").url.path == "/release"


def test_every_page_says_its_command(analyst):
    """Ready to be copied, in both languages, and without the switch that only programs need."""
    for name in (
        "data",
        "roles",
        "risk",
        "method/anatomy",
        "compare",
        "publish",
        "attack",
        "report",
        "release",
        "tables",
    ):
        page = analyst.get(f"/{name}")
        assert "<code>sfumato " in page, name
        assert "<code>from sfumato import " in page, name
        assert "--json" not in page


def test_reopening_continues(custodian, tmp_path):
    """Another server on the same folder stands where the first one stopped."""
    publish(custodian)
    custodian.post("/method/anatomy", l_value="2")
    again = Project(custodian.project.root)
    assert again.state == custodian.project.state
    studio, guard, client = visit(custodian.project.root)
    with client:
        client.get(guard.new_address())
        assert client.get("/").url.path == "/publish"
        assert "The design: anatomy" in client.get("/publish").text
        assert studio.schema() == samples.SCHEMA


def test_names_and_categories_cannot_become_code(visitor, tmp_path):
    """A column and its values that look like markup are text on every page."""
    name, value = "<img src=x>", "<script>alert(1)</script>"
    (tmp_path / "odd.csv").write_text(f'"{name}",b\n' + f'"{value}",1\n"y",2\n' * 20)
    visitor.post("/data", data=str(tmp_path / "odd.csv"))
    visitor.wait()
    pages = [
        visitor.get(each) for each in ("/data", "/data/columns", "/roles", "/roles/0", "/roles/0/histogram")
    ]
    assert any("&lt;img src=x&gt;" in each for each in pages)
    for page in pages:
        assert name not in page
        assert value not in page
