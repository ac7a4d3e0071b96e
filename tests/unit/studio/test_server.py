"""Who is let in: every request that is refused, and the one way in."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest

from sfumato.studio.server import Guard
from unit.studio.conftest import ORIGIN, PORT, visit

HOST = f"127.0.0.1:{PORT}"


@pytest.fixture
def stranger(tmp_path):
    """A studio, and a browser that was never given its ticket."""
    _, guard, client = visit(tmp_path / "project")
    with client:
        yield guard, client


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/data",
        "/static/studio.css",
        "/static/fragments.js",
        "/favicon.ico",
        "/job",
        "/file/studio.json",
        "/nothing",
    ],
)
def test_nothing_is_answered_without_the_cookie(stranger, path):
    """Pages, styles, scripts and the icon are all behind it."""
    _, client = stranger
    answer = client.get(path)
    assert answer.status_code == 403
    assert "sfumato studio" in answer.text


def test_an_upload_without_the_cookie_is_refused(stranger):
    """Nothing of it reaches the folder."""
    guard, client = stranger
    answer = client.put("/upload/people.csv", content=b"a\n1\n", headers={"origin": ORIGIN})
    assert answer.status_code == 403
    assert not list((guard.application.state.studio.project.root / "data").iterdir())


def test_a_wrong_cookie_is_refused(stranger):
    """So is one that another studio gave."""
    _, client = stranger
    for name in (f"sfumato-{PORT}", f"sfumato-{PORT + 1}", "sfumato"):
        assert client.get("/data", headers={"cookie": f"{name}=guess"}).status_code == 403


def test_a_ticket_works_once(stranger):
    """The second visitor with the same address is refused, the first stays in."""
    guard, client = stranger
    address = guard.new_address()
    first = client.get(address)
    assert first.status_code == 200
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert client.get("/data").status_code == 200
    client.cookies.clear()
    assert client.get(address).status_code == 403
    assert client.get("/data").status_code == 403


def test_a_new_address_takes_the_place_of_one_that_was_not_used(stranger):
    """Only the newest ticket is good."""
    guard, client = stranger
    old, new = guard.new_address(), guard.new_address()
    assert client.get(old).status_code == 403
    assert client.get(new).status_code == 200


@pytest.mark.parametrize("ticket", ["", "?ticket=", "?ticket=guess", "?other=1"])
def test_entering_without_the_ticket_is_refused(stranger, ticket):
    """Also before any ticket was made, when the right one would be empty."""
    _, client = stranger
    assert client.get(f"/enter{ticket}").status_code == 403


@pytest.mark.parametrize(
    "host",
    [f"localhost:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", "evil.example", f"evil.example:{PORT}", ""],
)
def test_another_host_name_is_refused(visitor, host):
    """A name that somebody made resolve to this machine does not open it, cookie or not."""
    assert visitor.client.get("/data", headers={"host": host}).status_code == 421


def test_two_host_names_are_refused():
    """Whichever of them another part would believe."""
    guard = Guard(lambda *_: None, PORT)
    pairs = [(b"host", HOST.encode()), (b"host", b"evil.example")]
    for headers in (pairs, pairs[::-1], []):
        scope = {"type": "http", "method": "GET", "path": "/data", "headers": headers, "query_string": b""}
        assert _status(guard, scope) == 421


def _status(guard, scope) -> int:
    told = []

    async def send(message):
        told.append(message)

    async def receive():
        return {"type": "http.request"}

    coroutine = guard(scope, receive, send)
    with pytest.raises(StopIteration):
        coroutine.send(None)
    return told[0].get("status", told[0].get("code"))


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        f"http://localhost:{PORT}",
        f"http://127.0.0.1:{PORT + 1}",
        f"https://{HOST}",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_another_origin_is_refused(visitor, method, origin):
    """Also with the browser's own cookie."""
    answer = visitor.client.request(
        method, "/upload/people.csv", headers={"origin": origin}, content=b"a\n1\n"
    )
    assert answer.status_code == 403
    assert not list((visitor.project.root / "data").iterdir())


def test_a_change_without_an_origin_is_refused(visitor):
    """Browsers always say where a form comes from."""
    assert visitor.client.post("/data", data={"data": "people.csv"}).status_code == 403
    assert visitor.project.state.data == ""


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_that_another_site_began_is_refused(visitor, site):
    """An image, a link or a frame on another page reaches nothing."""
    assert visitor.client.get("/data", headers={"sec-fetch-site": site}).status_code == 403
    assert visitor.client.get("/data", headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_sockets_are_refused(visitor):
    """Nothing speaks over them, so none is opened, from here or elsewhere."""
    scope = {
        "type": "websocket",
        "path": "/",
        "headers": [(b"host", HOST.encode()), (b"origin", ORIGIN.encode())],
    }
    assert _status(visitor.guard, scope) == 1008


@pytest.mark.parametrize(
    "path",
    [
        "/file/../secret.txt",
        "/file/%2e%2e/secret.txt",
        "/file/reports/..%2f..%2fsecret.txt",
        "/file/reports/%2e%2e/%2e%2e/secret.txt",
        "/file/..%5csecret.txt",
        "/file//etc/passwd",
        "/file/%2fetc%2fpasswd",
        "/file/reports/link.txt",
        "/file/reports/%00",
        "/file/studio.json",
        "/file/data/people.csv",
        "/file/reports",
        "/release/file/..%2f..%2fsecret.txt",
        "/static/..%2fguard.py",
    ],
)
def test_a_path_outside_what_is_served_is_not_there(visitor, path):
    """Nor are private rows, nor the studio's own files, nor what a link leads to."""
    (visitor.project.root.parent / "secret.txt").write_text("SECRET")
    (visitor.project.root / "reports" / "link.txt").symlink_to(visitor.project.root.parent / "secret.txt")
    (visitor.project.root / "data" / "people.csv").write_text("SECRET")
    answer = visitor.client.get(path)
    assert answer.status_code == 404
    assert "SECRET" not in answer.text


def test_a_report_is_served_without_any_right_here(visitor):
    """The sabotage of the test above: what may be served is; and a report has no origin."""
    (visitor.project.root / "reports" / "page.html").write_text("<p>REPORT</p>")
    answer = visitor.client.get("/file/reports/page.html")
    assert "REPORT" in answer.text
    assert answer.headers["content-security-policy"].startswith("sandbox allow-scripts;")


@pytest.mark.parametrize(
    "name",
    [
        "..%2fpeople.csv",
        ".people.csv",
        "a%5cb.csv",
        "people%00.csv",
        "people.exe",
        "people",
        "%0a.csv",
        "x" * 300 + ".csv",
    ],
)
def test_an_upload_needs_a_plain_name(visitor, name):
    """Others are refused with a sentence, and nothing is written."""
    answer = visitor.client.put(f"/upload/{name}", content=b"a\n1\n", headers={"origin": ORIGIN})
    assert answer.status_code in (404, 422)
    assert not list((visitor.project.root / "data").iterdir())
    assert not list(visitor.project.root.parent.glob("*.csv"))


def test_what_is_too_large_is_refused_by_its_length_and_by_its_bytes(tmp_path):
    """A form of a megabyte; and an upload that does not say its length."""
    studio, guard, client = visit(tmp_path / "project")
    guard.most_form_bytes, guard.most_uploaded_bytes = 1_000, 10_000
    with client:
        client.get(guard.new_address())
        headers = {"origin": ORIGIN}
        assert client.post("/data", content=b"x" * 1_001, headers=headers).status_code == 413
        assert client.put("/upload/a.csv", content=b"x" * 10_001, headers=headers).status_code == 413
        pieces = (b"x" * 4_000 for _ in range(3))
        assert client.put("/upload/a.csv", content=pieces, headers=headers).status_code == 413
        assert (
            client.post("/data", content=b"", headers={**headers, "content-length": "-1"}).status_code == 413
        )
        assert not list((studio.project.root / "data").iterdir())
        assert client.put("/upload/a.csv", content=b"x\n1\n", headers=headers).status_code == 201


def test_every_answer_carries_the_policy(visitor):
    """Scripts of our own alone, nothing to or from elsewhere, nothing kept by the browser."""
    for path in ("/data", "/static/fragments.js", "/nothing", "/enter"):
        headers = visitor.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self';" in policy
        assert "unsafe-eval" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_pages_load_nothing_from_outside(visitor):
    """No address of another machine stands in any file that is served."""
    for name in ("studio.css", "fragments.js", "charts.js", "report.css"):
        assert not re.search(
            r"https?://|//[a-z]+\.", visitor.get(f"/static/{name}").replace("http://www.w3.org", "")
        )
    assert "://" not in visitor.get("/data").replace("sqlite://", "").replace("postgresql://", "")


def test_a_real_process_says_where_it_listens_keeps_others_out_and_stops_on_ctrl_c(tmp_path):
    """The verb itself: one line with the address, 127.0.0.1 alone, exit 0, nothing left running."""
    command = [
        sys.executable,
        "-c",
        "from sfumato.cli import main; main()",
        "studio",
        "--project",
        str(tmp_path / "p"),
        "--no-browser",
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        port, ticket = re.search(r"127\.0\.0\.1:(\d+)/enter\?ticket=(\S+)", lines[2]).groups()

        def ask(path, **headers):
            with closing(http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)) as connection:
                connection.request("GET", path, headers={"host": f"127.0.0.1:{port}", **headers})
                answer = connection.getresponse()
                return answer.status, answer.headers, answer.read()

        assert ask("/data")[0] == 403
        assert ask("/data", host="localhost")[0] == 421
        status, headers, _ = ask(f"/enter?ticket={ticket}")
        assert status == 200
        assert ask(f"/enter?ticket={ticket}")[0] == 403
        cookie = headers["set-cookie"].split(";")[0]
        status, headers, body = ask("/method", cookie=cookie)
        assert status == 200
        assert b"randomized response" in body
        assert "server" not in headers
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, talk = process.communicate(timeout=20)
        assert process.returncode == 0, talk
        assert time.monotonic() - began < 10
        assert "Stopped." in out
        assert "Traceback" not in talk
        assert ticket not in talk
    finally:
        process.kill()


def test_a_port_that_is_taken_is_refused_with_a_sentence(tmp_path):
    """Before anything is made."""
    import socket

    from sfumato.errors import ParameterError
    from sfumato.studio.server import serve

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ParameterError, match="port"):
            serve(
                tmp_path / "p",
                opened=None,
                port=taken.getsockname()[1],
                say=lambda _: None,
                open_browser=False,
            )
