"""A real browser at a real studio: every page is watched for errors, requests elsewhere, width and accessibility."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

WIDTHS = {"desktop": (1280, 900), "phone": (390, 844)}
SLOW = 240_000
"""Milliseconds that long work may take on a busy machine."""

AXE = os.environ.get("SFUMATO_AXE", "")
"""The text of axe-core; ``make browser-test`` gets it and says where it is."""


def pytest_collection_modifyitems(items):
    """Everything here needs a browser, so that it runs in `make browser-test` only."""
    for item in items:
        if "tests/browser" in str(item.path):
            item.add_marker(pytest.mark.browser)


PICTURED = 1_600
"""Pixels of a page's height that are kept as a picture."""


@pytest.fixture(scope="session")
def chromium():
    """Debian's chromium, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        yield browser
        browser.close()


@contextmanager
def serving(folder: Path, *arguments: str):
    """A studio in a process of its own; gives its address with the ticket."""
    log = folder / "studio.log"
    command = [sys.executable, "-c", "from sfumato.cli import main; main()", "studio", *arguments]
    # At home there, so that pictures show no other machine's folders.
    environment = {**os.environ, "SFUMATO_LEDGER": str(folder / "ledger.db"), "HOME": str(folder.resolve())}
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, "--project", str(folder / "project"), "--no-browser"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=out,
            text=True,
            env=environment,
        )
        try:
            lines = [process.stdout.readline() for _ in range(3)]
            yield re.search(r"http://\S+ticket=\S+", "".join(lines)).group()
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
    assert process.returncode == 0
    assert log.read_text() == ""


class Watched:
    """A tab whose every fault is remembered."""

    def __init__(self, context, kept: Path, size: str) -> None:
        self.tab = context.new_page()
        self.size = size
        self.kept = kept
        self.faults: list[str] = []
        self.tab.set_default_timeout(SLOW)
        self.tab.on("console", self._hear)
        self.tab.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        self.tab.on("request", self._look)

    def _hear(self, message) -> None:
        # A form that was refused is an answer of 422, which the browser calls an error of loading.
        if message.type in ("error", "warning") and "422" not in message.text:
            self.faults.append(f"{message.type}: {message.text}")

    def _look(self, request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:", "about:")):
            self.faults.append(f"request to {request.url}")

    def go(self, path: str) -> None:
        """Open a page of the studio."""
        self.tab.goto(f"{self.origin}{path}")

    def enter(self, address: str) -> None:
        """Come in by the ticket."""
        self.origin = address.partition("/enter")[0]
        self.tab.goto(address)
        self.tab.wait_for_url(lambda url: "/enter" not in url)

    def leave(self) -> None:
        """Go away before the server does: a page that asks what is under way would find nobody."""
        self.tab.goto("about:blank")

    def wait_for_job(self, selector: str) -> None:
        """Wait for what long work brings."""
        self.tab.locator(selector).wait_for()
        self.tab.locator(".job").wait_for(state="detached")

    def judge(self, name: str) -> None:
        """The page as it stands: no wider than the window, accessible in light and dark, kept as a picture."""
        for scheme in ("dark", "light"):
            self.tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            self.tab.evaluate(Path(AXE).read_text(encoding="utf-8") + ";0")
            found = self.tab.evaluate("axe.run({iframes: false}).then((found) => found.violations)")
            told = [
                f"{each['id']} ({each['impact']}): {node['html'][:160]} {node['failureSummary'][:200]}"
                for each in found
                for node in each["nodes"]
            ]
            self.faults += [f"{name}, {scheme}, {self.size}: {each}" for each in told]
        width = self.tab.evaluate("document.documentElement.scrollWidth")
        if width > self.tab.viewport_size["width"]:
            self.faults.append(f"{name} is {width} wide")
        self.tab.evaluate("window.scrollTo(0, 0)")
        height = min(self.tab.evaluate("document.documentElement.scrollHeight"), PICTURED)
        shown = {"x": 0, "y": 0, "width": self.tab.viewport_size["width"], "height": height}
        self.tab.screenshot(path=self.kept / f"{name}-{self.size}.png", full_page=True, clip=shown)


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    """Where pictures go: the documentation's folder when asked for, else nowhere that stays."""
    wanted = os.environ.get("SFUMATO_SCREENSHOTS", "")
    return Path(wanted) if wanted else tmp_path_factory.mktemp("pictures")


@pytest.fixture(params=list(WIDTHS))
def tab(request, chromium, kept):
    """A browser window of a desk and of a phone."""
    width, height = WIDTHS[request.param]
    context = chromium.new_context(viewport={"width": width, "height": height}, accept_downloads=True)
    watched = Watched(context, kept, request.param)
    yield watched
    context.close()
    assert not watched.faults, "\n".join(watched.faults)


@pytest.fixture(scope="session")
def census(tmp_path_factory):
    """The census sample with its schema beside it."""
    from sfumato.datasets import make_dataset

    folder = tmp_path_factory.mktemp("census")
    make_dataset("census", 1_000, 1, folder / "people.csv")
    return folder / "people.csv"
