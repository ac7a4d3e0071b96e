"""Files of a project are for its owner alone, whatever the umask; names in addresses never cause a fault."""

from __future__ import annotations

import os
import stat
from itertools import product

import pytest

from sfumato.studio.project import Project
from sfumato.studio.server import ROUTES
from unit.studio.conftest import ORIGIN, entered

ODD_NAMES = (
    *[
        "%00",
        "a%00.csv",
        "%00/a",
        "..",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        ".%00.",
        "%ff%fe",
        "%c3%28.csv",
        "%ed%a0%80",
        "%0a",
        "%5c",
        "con.csv",
        "-1",
        "%E2%80%AE.csv",
    ],
    *(" ", "a" * 300, "a" * 5_000, "%F0%9F%A6%8A" * 100, "9" * 5_000),
)
FIELDS = [
    "data",
    "release",
    "path",
    "name",
    "seed",
    "here",
    "number",
    "of",
    "formula",
    "by",
    "where",
    "text",
    "method",
]
LONG_WORK = ("/data/infer", "/risk", "/attack", "/attack/one", "/report", "/undo")
"""Forms that start work of minutes, whatever their fields say."""


def readable_by_others(root):
    """Everything under a folder, itself included, that its group or others may touch."""
    found = [root, *root.rglob("*")]
    return [
        str(each) for each in found if not each.is_symlink() and stat.S_IMODE(each.stat().st_mode) & 0o077
    ]


@pytest.fixture
def open_umask():
    """The most open of all umasks."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_no_file_of_a_project_is_readable_by_others(tmp_path, people, open_umask):
    """After uploading, inferring, editing, undoing, inspecting, publishing and reporting."""
    control = tmp_path / "control"
    control.touch()
    assert readable_by_others(control) == [str(control)]
    with entered(tmp_path / "project") as found:
        sent = found.client.put("/upload/people.csv", content=people.read_bytes(), headers={"origin": ORIGIN})
        assert sent.status_code == 201
        found.wait()
        assert found.post("/data", data=str(people)).status_code == 200
        found.wait()
        assert found.post("/data/schema").status_code == 200
        found.post("/risk")
        found.wait()
        found.post("/method/randomized-response", retention="0.5")
        found.post("/method/randomized-response", retention="0.6")
        found.undo()
        found.post("/publish", name="first", format="parquet")
        found.wait()
        assert found.project.releases() == ["releases/first"]
        found.post("/report")
        found.wait()
        names = {path.name for path in found.project.root.rglob("*")}
        assert {
            "people.csv",
            "schema.toml",
            "design.toml",
            "studio.json",
            "what.txt",
            "datapackage.json",
        } <= names
        assert readable_by_others(found.project.root) == []


def test_an_earlier_project_is_closed_to_others(tmp_path):
    """Its folder had the rights of the umask; the folder alone keeps others from what is in it."""
    root = tmp_path / "project"
    root.mkdir(mode=0o755)
    Project(root)
    assert stat.S_IMODE(root.stat().st_mode) == 0o700


def test_odd_names_in_addresses_are_no_fault(custodian):
    """Every route that takes a name, with every method it has: never a fault, and nothing outside is shown."""
    taking = [route for route in ROUTES if "{" in route.path]
    assert len(taking) > 8
    for route, name in product(taking, ODD_NAMES):
        start, _, rest = route.path.partition("{")
        address = f"{start}{name}{rest.partition('}')[2]}"
        for method in sorted(route.methods - {"HEAD"}):
            answer = custodian.client.request(method, address, headers={"origin": ORIGIN})
            assert answer.status_code < 500, (method, address[:80])
            assert "root:" not in answer.text
    for address in ("/release/file/a%00.csv", "/file/releases/%00", f"/release/file/{'a' * 300}.csv"):
        assert custodian.client.get(address).status_code == 404


@pytest.mark.parametrize(
    "text", ["a\0b", "../" * 30 + "etc/passwd", "a" * 5_000, "\udcff", "\u202e", "9" * 5_000]
)
def test_odd_values_in_forms_are_no_fault(custodian, text):
    """Every route, with the text in every field that a page of it could send."""
    sent = dict.fromkeys(FIELDS, text.encode("utf-8", "surrogateescape"))
    for route in ROUTES:
        address = route.path
        for part in ("{name}", "{kind}", "{place:int}", "{path:path}"):
            address = address.replace(part, "0" if "int" in part else "randomized-response")
        for method in sorted(route.methods - {"HEAD"}):
            if method == "POST" and address in LONG_WORK:
                continue
            key = "params" if method == "GET" else "data"
            answer = custodian.client.request(method, address, headers={"origin": ORIGIN}, **{key: sent})
            assert answer.status_code < 500, (method, address)
    assert custodian.client.get("/data").status_code == 200
