"""What runs pages sees when one is wrong."""

from __future__ import annotations

import pytest

from documentation.running import WrongPageError, run_page


def page(folder, text):
    """A page with this text, in the working directory."""
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_command_that_prints_what_is_shown_passes(folder):
    """Three dots stand for anything."""
    text = "```console\n$ sfumato --version\n...\n```\n"
    assert list(run_page(page(folder, text), {})) == []


def test_another_output_is_told_with_what_came_out(folder):
    """And where, so that it can be written there."""
    path = page(folder, "```console\n$ sfumato --version\nsfumato 99\n```\n")
    ((place, shown, came_out),) = run_page(path, {})
    assert path.read_text(encoding="utf-8")[place:].startswith(shown)
    assert came_out != shown


@pytest.mark.parametrize(
    "block",
    [
        "```console\n$ sfumato query nowhere \"sex = 'Female'\"\n```\n",
        "```\nsfumato nonsense\n```\n",
        "```console\n$ make nothing-of-the-kind\n```\n",
        "```console\n$ pip install 'sfumato[nonsense]'\n```\n",
        "```console\n$ sfumato studio --no-such-option\n```\n",
        "```console\n$ rm release\n```\n",
    ],
)
def test_a_command_that_fails_is_a_wrong_page(folder, block):
    """Whether it is run, or only read because it would wait for a browser."""
    with pytest.raises(WrongPageError):
        list(run_page(page(folder, block), {}))


def test_a_refusal_may_be_shown(folder):
    """What is shown is then compared like any output."""
    text = "```console\n$ sfumato query nowhere \"a = 'b'\"\nsfumato: ...nowhere...\n```\n"
    assert list(run_page(page(folder, text), {})) == []


def test_python_runs_and_sessions_are_compared(folder):
    """One namespace for a page; a file is written from a block with its name."""
    text = '```python\nx = 2\n```\n\n```toml title="a.toml"\nb = 1\n```\n\n```pycon\n>>> x + 1\n3\n>>> x\n5\n```\n'
    ((_, shown, came_out),) = run_page(page(folder, text), {})
    assert (shown, came_out) == ("5\n", "2\n")
    assert (folder / "a.toml").read_text(encoding="utf-8") == "b = 1\n"


def test_a_name_that_is_not_there_fails(folder):
    """Code of a page is code."""
    with pytest.raises(NameError):
        list(run_page(page(folder, "```python\nnowhere\n```\n"), {}))
