"""The page of figures says where a limit is exceeded and where a peer is better."""

from __future__ import annotations

import json
import math

import pytest

import performance_page
from documentation.running import ROOT


def line(name, value, limit=2.0, benchmark="beside_somebody"):
    """One figure as a benchmark adds it."""
    return json.dumps(
        {"benchmark": benchmark, "name": name, "value": value, "limit": limit, "detail": "so", "load": 1.0}
    )


@pytest.mark.parametrize(
    ("name", "value", "benchmark", "is_said"),
    [
        ("error over theirs", 1.5, "beside_somebody", True),
        ("error over theirs", 1.01, "beside_somebody", False),
        ("error over theirs", 0.5, "beside_somebody", False),
        ("seconds of ours", 1.5, "beside_somebody", False),
        ("error over a copy", 1.5, "limits", False),
    ],
)
def test_a_peer_that_is_better_is_said_to_be(tmp_path, name, value, benchmark, is_said):
    """Only ratios to peers are meant."""
    (tmp_path / "results.jsonl").write_text(line(name, value, benchmark=benchmark) + "\n", encoding="utf-8")
    performance_page.write_page(tmp_path / "results.jsonl", tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert ("**the peer is better**" in page) == is_said
    assert "**over**" not in page


def test_the_last_figure_of_a_name_counts_and_is_held_against_its_limit(tmp_path):
    """Within, then over."""
    lines = [line("time over theirs", 1.0), line("time over theirs", 3.0)]
    (tmp_path / "results.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    performance_page.write_page(tmp_path / "results.jsonl", tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| time over theirs | 3 | 2 | **over** **the peer is better** so |" in page
    assert "| 1 | 2 |" not in page


def test_a_figure_without_a_limit_says_so(tmp_path):
    """It stood as "inf"."""
    (tmp_path / "results.jsonl").write_text(
        line("error over theirs", 1.0, limit=math.inf) + "\n", encoding="utf-8"
    )
    performance_page.write_page(tmp_path / "results.jsonl", tmp_path / "page.md")
    assert "| error over theirs | 1 | none | so |" in (tmp_path / "page.md").read_text(encoding="utf-8")


PEERS = sorted(path.stem for path in (ROOT / "benchmarks").glob("beside_*.py"))


@pytest.mark.parametrize("name", PEERS)
def test_every_peer_has_its_place_on_the_page(tmp_path, name):
    """Under a title of its own; its figures go where all do."""
    assert "finish(main())" in (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
    results = [
        line("CPU of ours over theirs", 0.0099, limit=0.02, benchmark=name),
        line("largest relative difference from theirs", 0.0, limit=1e-9, benchmark=name),
    ]
    (tmp_path / "results.jsonl").write_text("\n".join(results) + "\n", encoding="utf-8")
    performance_page.write_page(tmp_path / "results.jsonl", tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert f"## {performance_page.HEADINGS[name]}\n" in page
    assert "| CPU of ours over theirs | 0.0099 | 0.02 | so |" in page
    assert "| largest relative difference from theirs | 0 | 1e-09 | so |" in page
