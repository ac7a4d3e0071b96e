"""The tutorial, run as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[3] / "docs" / "tutorial.md"


def commands(page: Path) -> list[list[str]]:
    """The words of every command of a page's console blocks."""
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line.removeprefix("$ ")) for line in lines if line.startswith("$ ")]


@pytest.mark.usefixtures("folder")
def test_every_command_of_the_tutorial_runs_in_its_order(run):
    """Names of data sets, files, attributes and categories in it are the real ones."""
    found = commands(TUTORIAL)
    assert len(found) >= 8
    for program, *arguments in found:
        assert program == "sfumato"
        outcome = run(*arguments)
        assert outcome.exit_code == 0, (arguments, outcome.stderr)
