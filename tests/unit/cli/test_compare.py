"""``sfumato compare``: the table, the files, the commands."""

from __future__ import annotations

import json

DESIGNS = """
[[design]]
method = "randomized-response"
retention = 0.7

[[design]]
method = "distribution-resampling"
"""

ARGUMENTS = (
    "compare",
    "people.csv",
    "--schema",
    "schema.toml",
    "--designs",
    "designs.toml",
    "--queries",
    "12",
)
SMALL = (*ARGUMENTS, "--repeats", "3", "--workers", "1", "--seed", "1", "--out", "out")


def test_designs_are_shown_with_the_command_that_publishes_them(run, folder):
    """Terminal, JSON and Parquet; run again nothing is made anew and the same is said."""
    (folder / "designs.toml").write_text(DESIGNS, encoding="utf-8")
    outcome = run(*SMALL, "--cheapest", "0.9")
    assert outcome.exit_code == 0, outcome.stderr
    assert "the table itself" in outcome.stdout
    command = (
        "sfumato publish people.csv --schema schema.toml --method randomized-response --set retention=0.7"
    )
    assert command in outcome.stdout
    assert "Smallest error with a risk of at most 0.9" in outcome.stdout
    assert "not for publication" in outcome.stderr
    written = json.loads((folder / "out" / "comparison.json").read_text(encoding="utf-8"))
    assert [each["design"] for each in written["designs"]] == [
        "the table itself",
        "randomized-response retention=0.7",
        "distribution-resampling",
    ]
    assert (folder / "out" / "comparison.parquet").is_file()
    page = (folder / "out" / "comparison.html").read_text(encoding="utf-8")
    assert command in page.replace("&#39;", "'")
    assert "a better attacker would find more" in page
    assert "distribution-resampling" in page
    again = run(*SMALL, "--cheapest", "0.9")
    assert again.stdout == outcome.stdout
    told = json.loads(run(*SMALL, "--json").stdout)
    assert told["designs"] == written["designs"]


def test_a_designs_file_with_faults_is_refused_before_anything_is_made(run, folder):
    """All faults in one sentence, exit 1, no folder."""
    (folder / "designs.toml").write_text('[[design]]\nmethod = "none"\n', encoding="utf-8")
    outcome = run(*SMALL)
    assert outcome.exit_code == 1
    assert "line 1:" in outcome.stderr
    assert not (folder / "out").exists()
