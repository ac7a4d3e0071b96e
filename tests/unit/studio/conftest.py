"""A studio to send requests to, without a browser and without a socket."""

from __future__ import annotations

import shutil
import time
from contextlib import asynccontextmanager, contextmanager

import pytest

pytest.importorskip("starlette", reason="the extra studio is not installed")

from pyarrow import csv
from starlette.testclient import TestClient

import samples
from sfumato.studio.project import Project
from sfumato.studio.server import Guard, make_application
from sfumato.studio.studio import Studio

PORT = 4711
ORIGIN = f"http://127.0.0.1:{PORT}"


class Visitor:
    """Somebody at a browser: follows addresses, sends forms with the origin that browsers add."""

    def __init__(self, client: TestClient, studio: Studio, guard: Guard) -> None:
        self.client = client
        self.studio = studio
        self.guard = guard
        self.project = studio.project

    def get(self, path: str, **params: object) -> str:
        """A page that must be there."""
        answer = self.client.get(path, params=params or None)
        assert answer.status_code == 200, (path, answer.status_code, answer.text)
        return answer.text

    def post(self, path: str, **sent: object):
        """Send a form."""
        return self.client.post(path, data=sent, headers={"origin": ORIGIN})

    def change(self, path: str, **sent: object):
        """Send a form of the schema's pages, which says which schema it was drawn for."""
        return self.post(path, seen=self.studio.mark(), **sent)

    def undo(self, here: str = ""):
        """Press the button that undoes the last change."""
        return self.post("/undo", here=here, number=str(self.project.last_change().number))

    def wait(self, seconds: float = 60) -> None:
        """Wait until nothing is under way; by the address that pages ask."""
        deadline = time.monotonic() + seconds
        while 'aria-label="Under way"' in self.client.get("/job?seen=running").text:
            assert time.monotonic() < deadline, self.studio.jobs.job
            time.sleep(0.05)


def visit(root):
    """A studio over a folder, its guard, and a browser without a cookie."""
    studio = Studio(Project(root))

    @asynccontextmanager
    async def living(_):
        yield
        await studio.close()

    guard = Guard(make_application(studio, lifespan=living), PORT)
    return studio, guard, TestClient(guard, base_url=ORIGIN)


@contextmanager
def entered(root):
    """Somebody who came in by the ticket."""
    studio, guard, client = visit(root)
    with client:
        client.get(guard.new_address())
        yield Visitor(client, studio, guard)


@pytest.fixture(autouse=True)
def _ledger(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SFUMATO_LEDGER", str(tmp_path_factory.mktemp("ledger") / "ledger.db"))


@pytest.fixture
def visitor(tmp_path):
    """Somebody with an empty project."""
    with entered(tmp_path / "project") as found:
        yield found


@pytest.fixture(scope="session")
def people(tmp_path_factory):
    """Rows with an identifier, bins, missing values and a sensitive column, as a CSV file with its schema beside it."""
    folder = tmp_path_factory.mktemp("people")
    csv.write_csv(samples.people(1_000), folder / "people.csv")
    (folder / "people.schema.toml").write_text(samples.SCHEMA.to_toml(), encoding="utf-8")
    return folder / "people.csv"


@pytest.fixture(scope="session")
def begun(tmp_path_factory, people):
    """A project about the people, with their schema; processes take long to start, so it is made once and copied."""
    with entered(tmp_path_factory.mktemp("begun") / "project") as found:
        assert found.post("/data", data=str(people)).status_code == 200
        found.wait()
        assert found.post("/data/schema").status_code == 200
        assert found.studio.schema() == samples.SCHEMA
    return found.project.root


@pytest.fixture
def custodian(tmp_path, begun):
    """A visitor whose project is about the people."""
    with entered(shutil.copytree(begun, tmp_path / "project")) as found:
        yield found


@pytest.fixture(scope="session")
def analyst(tmp_path_factory, begun):
    """A visitor whose project has a release and a comparison's worth of results; nobody changes anything in it."""
    folder = tmp_path_factory.mktemp("analyst")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_LEDGER", str(folder / "ledger.db"))
        with entered(shutil.copytree(begun, folder / "project")) as found:
            found.post("/method/randomized-response", retention="0.5")
            found.post("/publish", name="first", format="parquet")
            found.wait()
            yield found
