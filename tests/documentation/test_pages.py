"""Every block of every page runs, and shows what comes out."""

from __future__ import annotations

import pytest

from documentation.running import ROOT, close, run_page
from documentation.stages import PAGES, prepare


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run_and_show_what_comes_out(page, tmp_path, monkeypatch):
    """In order, in a folder of its own; ``python docs/write_outputs.py PAGE`` writes outputs anew."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SFUMATO_LEDGER", str(tmp_path / "ledger.db"))
    names = prepare(page)
    try:
        for _, shown, came_out in run_page(page, names):
            assert came_out == shown, "out of date"
    finally:
        close(names)
