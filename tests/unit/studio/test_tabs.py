"""Several tabs, a folder that changes underneath, and words that look like something else: no harm is done."""

from __future__ import annotations

import asyncio
import html
import json
import re
import shutil

import pytest

import samples
from sfumato.studio.commands import asked
from sfumato.studio.processes import Job
from sfumato.studio.project import Project
from unit.studio.conftest import ORIGIN, Visitor, visit


def running(visitor: Visitor, number: int = 1) -> Job:
    """Long work, as pages see it; nothing runs, so that it stays for as long as the test needs it."""
    job = visitor.studio.jobs.job = Job("Publishing", (), "/publish", number=number)
    return job


def seen(visitor: Visitor, path: str) -> str:
    """What a form of the page sends of the schema that it was drawn for."""
    return re.search(r'name="seen" value="(\w+)"', visitor.get(path)).group(1)


def test_other_data_are_not_taken_while_something_is_under_way(custodian, people, tmp_path):
    """Its result would be about the rows before; the form and the upload say so, and nothing changes."""
    before = (custodian.project.state, (custodian.project.root / "schema.toml").read_bytes())
    running(custodian)
    answer = custodian.post("/data", data=str(people))
    assert answer.status_code == 422
    assert "under way" in answer.text
    answer = custodian.client.put("/upload/a.csv", content=b"a\n1\n", headers={"origin": ORIGIN})
    assert answer.status_code == 422
    assert "under way" in answer.json()["problem"]
    assert not list((custodian.project.root / "data").iterdir())
    assert before == (custodian.project.state, (custodian.project.root / "schema.toml").read_bytes())


@pytest.mark.parametrize("path", ["/risk", "/compare", "/publish", "/attack", "/report"])
def test_a_second_piece_of_work_is_refused_with_a_sentence(analyst, path):
    """Nobody waits for what was never begun."""
    job = running(analyst)
    try:
        answer = analyst.post(path, name="second", release="releases/first", sensitive="job")
        assert answer.status_code == 422
        assert "under way" in answer.text
        assert analyst.studio.jobs.job is job
    finally:
        analyst.studio.jobs.job = None


def test_undo_undoes_what_its_button_said(custodian):
    """In a tab that was drawn before another change, it undoes nothing; nor while something is under way."""
    custodian.post("/roles", **{"role.3": "quasi-identifier"}, seen=seen(custodian, "/roles"))
    page = custodian.get("/roles")
    number = re.search(r'name="number" value="(\d+)"><button class="quiet" type="submit">Undo', page).group(1)
    custodian.post("/roles", **{"role.1": "other"}, seen=seen(custodian, "/roles"))
    after = custodian.studio.schema()
    answer = custodian.post("/undo", here="roles", number=number)
    assert answer.status_code == 422
    assert "has changed since" in answer.text
    assert custodian.studio.schema() == after
    latest = str(int(number) + 1)
    running(custodian, 7)
    assert custodian.post("/undo", here="roles", number=latest).status_code == 422
    custodian.studio.jobs.job = None
    custodian.post("/undo", here="roles", number=latest)
    custodian.post("/undo", here="roles", number=number)
    assert custodian.studio.schema() == samples.SCHEMA


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/roles", {"role.1": "other"}),
        ("/roles/2", {"bins": "17, 55, 91"}),
        ("/roles/2/hierarchy", {"level.0": ["a", "a", "b"]}),
    ],
)
def test_a_form_that_was_drawn_for_another_schema_changes_nothing(custodian, path, sent):
    """Columns are told apart by their places, which mean others once the schema has changed."""
    old = seen(custodian, path.removesuffix("/hierarchy"))
    custodian.post("/roles", **{"role.3": "quasi-identifier"}, seen=old)
    before = custodian.studio.schema()
    for each in ({"seen": old}, {}):
        answer = custodian.post(path, **sent, **each)
        assert answer.status_code == 422
        assert "has changed since" in answer.text
    assert custodian.studio.schema() == before
    assert not custodian.project.has("hierarchies.toml")


def test_rows_that_were_counted_of_other_data_are_not_remembered(custodian, monkeypatch):
    """The count may come when another tab has chosen other data."""
    real = custodian.studio.ask_private

    async def slow(order):
        told = await real(order)
        custodian.project.change_state(data="elsewhere.csv", rows=None)
        return told

    monkeypatch.setattr(custodian.studio, "ask_private", slow)
    custodian.project.change_state(rows=None)
    custodian.client.get("/data/columns")
    assert custodian.project.state.rows is None


def test_what_was_found_in_other_data_is_said_to_be_old(custodian):
    """Also where the schema is the same."""
    custodian.post("/risk")
    custodian.wait()
    assert "has changed since" not in custodian.get("/risk")
    custodian.project.change_state(data="elsewhere.csv")
    assert "has changed since" in custodian.get("/risk")


@pytest.mark.parametrize("word", ["--help", "-x", "--version"])
def test_a_text_that_looks_like_an_option_is_a_text(analyst, word):
    """It is refused or asked for, never obeyed; nothing is a fault of ours."""
    for path, sent in (
        ("/ask/answer", {"text": word}),
        ("/ask/answer", {"text": "sex = 'Female'", "given": word}),
        ("/tables/table", {"by": "sex", "where": word}),
        ("/measures", {"first": word, "second": "sex"}),
        ("/regression", {"formula": word}),
    ):
        answer = analyst.client.get(path, params=sent)
        assert answer.status_code in (200, 422), (path, sent)
        assert 'class="problem"' in answer.text or "Refused" in answer.text, (path, sent, answer.text)
        assert "Usage" not in answer.text
    before = analyst.project.state
    assert analyst.post("/release", release=word).status_code == 422
    assert analyst.project.state == before


def test_data_whose_name_looks_like_an_option_are_read(visitor, monkeypatch):
    """A file is a file."""
    (visitor.project.root / "--help").write_text("a,b\n" + "x,1\ny,2\n" * 50)
    (visitor.project.root / "-rows.csv").write_text("a,b\n" + "x,1\ny,2\n" * 50)
    visitor.post("/data", data="-rows.csv")
    visitor.wait()
    assert visitor.studio.schema().names == ("a", "b")
    assert "100 rows" in visitor.get("/data/columns")


def test_the_command_of_a_question_that_begins_with_a_dash_is_marked():
    """As shells' commands do it; others stand as one would type them."""
    assert asked("query", "r", "--given", "b", question="-1 < a", python="x").arguments == (
        *("query", "--given", "b", "--json"),
        *("--", "r", "-1 < a"),
    )
    assert asked("query", "r", question="a = 1", python="x").arguments == ("query", "r", "a = 1", "--json")


@pytest.mark.parametrize(
    "stored",
    [
        '{"data": 5}',
        '{"options": []}',
        '{"rows": "many"}',
        '{"release": null}',
        '{"other": 1}',
        "[]",
        "{",
        "",
    ],
)
def test_a_state_that_was_edited_into_something_else_counts_as_nothing(tmp_path, stored):
    """The pages then begin anew; the plain files are as they were."""
    (tmp_path / "studio.json").write_text(stored)
    assert Project(tmp_path).state == Project(tmp_path / "new").state


def test_a_folder_that_disappears_is_told_and_not_a_fault_for_ever(custodian):
    """Pages go on answering; putting it back is enough."""
    kept = custodian.project.root.with_name("kept")
    shutil.move(custodian.project.root, kept)
    for name in ("data", "roles", "risk", "method", "compare", "publish", "attack", "report", "release"):
        assert custodian.client.get(f"/{name}").status_code < 500, name
    assert custodian.post("/data", data="people.csv").status_code < 500
    shutil.rmtree(custodian.project.root, ignore_errors=True)
    shutil.move(kept, custodian.project.root)
    custodian.studio.jobs.job = None
    assert "1,000 rows" in custodian.get("/data/columns")


def test_two_uploads_of_one_name_are_two_files(visitor):
    """Also when both came in at the same time: neither is written over."""
    place = visitor.project.name_for_upload("people.csv")
    place.write_text("first")
    partial = visitor.project.root / "data" / ".partial-x"
    partial.write_text("second")
    kept = visitor.project.keep_upload(partial, "people.csv")
    assert (place.read_text(), kept.read_text(), kept.name) == ("first", "second", "people-2.csv")
    assert not partial.exists()


def test_keeping_what_nobody_changed_changes_nothing(visitor, tmp_path):
    """Values with spaces around them, with quotes, of several lines, and empty ones are themselves."""
    values = ['"a "', '" a"', "a", '"two\nlines"', '"two\r\nlines"', '"q""uote"', "&amp;"]
    (tmp_path / "odd.csv").write_text(
        "v,w\n" + "".join(f"{each},{i % 2}\n" for i, each in enumerate(values * 30))
    )
    visitor.post("/data", data=str(tmp_path / "odd.csv"))
    visitor.wait()
    before = visitor.studio.schema()
    sent = as_a_browser_sends(visitor.get("/roles/0"), "/roles/0")
    assert visitor.client.post("/roles/0", data=sent, headers={"origin": ORIGIN}).status_code == 200
    assert visitor.studio.schema() == before


def as_a_browser_sends(page: str, action: str) -> dict[str, list[str]]:
    """The fields of a form that nobody touched, with line breaks as browsers change them."""
    form = re.search(rf'<form method="post" action="{action}".*?</form>', page, re.DOTALL).group(0)
    sent: dict[str, list[str]] = {}
    chosen = re.search(r'<select[^>]*name="(\w+)".*?<option value="([^"]*)" selected', form, re.DOTALL)
    sent[chosen.group(1)] = [chosen.group(2)]
    for field in re.findall(r"<input\b[^>]*>", form):
        found = {name: html.unescape(text) for name, text in re.findall(r'([\w-]+)="([^"]*)"', field)}
        kind = found.get("type", "text")
        if "name" not in found or (kind in ("checkbox", "radio") and " checked" not in field):
            continue
        text = found.get("value", "")
        text = re.sub(r"\r\n|\r|\n", "" if kind == "text" else "\r\n", text)
        sent.setdefault(found["name"], []).append(text)
    return sent


def test_a_long_list_fits_into_an_address(tmp_path):
    """The histogram beside an editor asks with the whole form: a thousand categories of another script."""
    import subprocess
    import sys
    from http.client import HTTPConnection
    from urllib.parse import urlencode

    project = tmp_path / "project"
    names = [f"都道府県市区町村の長い名前{number:04d}" for number in range(1000)]
    (tmp_path / "rows.csv").write_text(
        "town,w\n" + "".join(f"{each},{i % 2}\n" for i, each in enumerate(names * 2))
    )
    Project(project).change_state(data=str(tmp_path / "rows.csv"))
    lines = ", ".join(json.dumps(each, ensure_ascii=False) for each in names)
    (project / "schema.toml").write_text(f'[attributes.town]\nrole = "other"\ncategories = [{lines}]\n')
    command = [sys.executable, "-c", "from sfumato.cli import main; main()", "studio", "--no-browser"]
    server = subprocess.Popen(
        [*command, "--project", str(project)], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    told = "".join(server.stdout.readline() for _ in range(3))
    port, ticket = re.search(r":(\d+)/enter\?ticket=(\S+)", told).groups()
    host = f"127.0.0.1:{port}"
    connection = HTTPConnection("127.0.0.1", int(port), timeout=60)
    try:
        connection.request("GET", f"/enter?ticket={ticket}", headers={"host": host})
        answer = connection.getresponse()
        answer.read()
        cookie = answer.headers["set-cookie"].split(";")[0]
        connection.request("GET", "/roles/0", headers={"host": host, "cookie": cookie})
        page = connection.getresponse().read().decode()
        sent = urlencode(as_a_browser_sends(page, "/roles/0"), doseq=True)
        assert len(sent) > 2**17
        connection.request("GET", f"/roles/0/histogram?{sent}", headers={"host": host, "cookie": cookie})
        answer = connection.getresponse()
        assert (answer.status, "Categories: 1000" in answer.read().decode()) == (200, True)
        headers = {"host": host, "cookie": cookie, "origin": f"http://{host}"}
        connection.request("POST", "/roles/0", body=sent, headers=headers)
        assert connection.getresponse().status == 303
    finally:
        connection.close()
        server.terminate()
        server.communicate()


def test_a_count_that_another_tab_ended_is_made_again(custodian):
    """Plans give up the process that counts; whoever waits for counts is not told of it."""

    async def run():
        schema = samples.SCHEMA.to_dict()
        order = {"do": "count", "schema": schema, "names": ["job"]}
        state = custodian.project.state
        whole = {"data": state.data, "options": state.options, **order}
        from sfumato.studio.processes import Planner

        planner = Planner(custodian.project.root)
        waiting = asyncio.create_task(planner.ask(whole))
        while not planner._thorough.is_busy:  # noqa: ASYNC110 - it is being started
            await asyncio.sleep(0.001)
        planner._thorough.kill()
        told = await waiting
        await planner.close()
        return told

    assert asyncio.run(run())["result"]["rows"] == 1_000


def test_a_studio_on_a_folder_of_a_release_serves_what_it_can(tmp_path):
    """Files in the served folders have no rights here, whatever they are called; long names and loops are not there."""
    studio, guard, client = visit(tmp_path / "project")
    (studio.project.root / "releases" / "page.htm").write_text("<script src=/static/fragments.js></script>")
    (studio.project.root / "releases" / "page.HTML").write_text("<p>")
    (studio.project.root / "releases" / "image.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (studio.project.root / "reports" / "loop").symlink_to(studio.project.root / "reports" / "loop")
    with client:
        client.get(guard.new_address())
        for name in ("page.htm", "page.HTML", "image.svg"):
            answer = client.get(f"/file/releases/{name}")
            assert answer.status_code == 200
            assert "sandbox" in answer.headers["content-security-policy"]
            assert "allow-same-origin" not in answer.headers["content-security-policy"]
        assert client.get("/file/reports/" + "x" * 400).status_code == 404
        assert client.get("/file/reports/loop").status_code == 404


def test_only_an_opened_address_uses_a_ticket_up(tmp_path):
    """A program that looks whether a link is alive does not."""
    _, guard, client = visit(tmp_path / "project")
    with client:
        address = guard.new_address()
        assert client.head(address).status_code == 403
        assert client.post(address, headers={"origin": ORIGIN}).status_code == 403
        assert client.get(address).status_code == 200


def test_work_that_ends_draws_no_page_anew_on_which_somebody_writes(custodian):
    """There it is told; pages that show what came of it are drawn anew."""
    custodian.post("/risk")
    custodian.wait()
    for here in ("ask", "method", "roles", "regression", ""):
        told = custodian.get("/job", here=here, seen="running")
        assert "data-reload" not in told
        assert 'href="/risk"' in told
        assert "data-get" in told
    for here in ("risk", "publish"):
        assert "data-reload" in custodian.get("/job", here=here, seen="running")
