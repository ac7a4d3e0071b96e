"""A run of benchmarks says what was over, left out or broken, and its exit code is 1 for figures over their limits alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import measuring
from scripts import load_script

FOLDER = Path(__file__).parents[2] / "benchmarks"

FIGURES = """
import sys
sys.path.insert(0, {folder!r})
from measuring import Measurement, NotHereError, finish

def within():
    yield Measurement("seconds " + " ".join(sys.argv[1:]), 1.0, 2.0)

def over():
    yield Measurement("ratio", 3.0, 2.0)

def elsewhere():
    yield Measurement("before", 1.0, 2.0)
    raise NotHereError("no such peer")

def broken():
    yield Measurement("before", 1.0, 2.0)
    raise ValueError("a slip")

finish({parts})
"""


@pytest.fixture
def runner(tmp_path, monkeypatch):
    """The runner over scripts of a folder of its own, and a function that writes one."""
    module = load_script(FOLDER / "run.py")
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    monkeypatch.setattr(module, "WORK", tmp_path / "work")
    monkeypatch.setenv(measuring.RESULTS, str(tmp_path / "results.jsonl"))

    def written(name, *parts):
        called = ", ".join(f"{part}()" for part in parts)
        (tmp_path / f"{name}.py").write_text(FIGURES.format(folder=str(FOLDER), parts=called))

    return module, written


@pytest.mark.parametrize(
    ("parts", "code", "said"),
    [
        (("within",), 0, "0 of 1 figures over their limits."),
        (("within", "over"), 1, "  some: ratio: 3.00 (limit 2)"),
        (("elsewhere", "within"), 0, "left out: some (no such peer)"),
        (("elsewhere", "over"), 1, "1 of 2 figures over their limits:"),
        (("broken", "within"), 2, "not run to the end: some"),
    ],
)
def test_the_exit_code_says_whether_a_figure_is_over(runner, capsys, parts, code, said):
    """What cannot be had here is left out and said; what breaks is no figure over its limit."""
    module, written = runner
    written("some", *parts)
    assert module.main([]) == code
    assert said in capsys.readouterr().out.splitlines()


def test_parts_after_one_that_is_left_out_are_measured(runner, tmp_path):
    """And what came before it counts."""
    module, written = runner
    written("some", "elsewhere", "within")
    module.main(["some"])
    told = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [each.get("name", each.get("left_out")) for each in told] == [
        "before",
        "no such peer",
        "seconds ",
    ]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([], {"seconds small", "seconds "}),
        (["--full"], {"seconds "}),
        (["slow"], {"seconds "}),
        (["longest"], {"seconds "}),
    ],
)
def test_a_run_of_everything_is_shorter_than_what_is_named(runner, tmp_path, monkeypatch, arguments, names):
    """One at a smaller size, and one by name alone."""
    module, written = runner
    monkeypatch.setattr(module, "SHORTER", {"slow": ("small",)})
    monkeypatch.setattr(module, "BY_NAME", ("longest",))
    for name in ("quick", "slow", "longest"):
        written(name, "within")
    assert module.main(arguments) == 0
    told = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    ran = {each["benchmark"] for each in told}
    every = {"quick", "slow", "longest"}
    assert ran == {"--full": every, "slow": {"slow"}, "longest": {"longest"}}.get(
        arguments[0] if arguments else "", every - {"longest"}
    )
    assert {each["name"] for each in told} == names


def test_what_is_shorter_or_left_out_exists():
    """A benchmark that is renamed is not run in full by accident."""
    module = load_script(FOLDER / "run.py")
    for name in (*module.SHORTER, *module.BY_NAME):
        assert (FOLDER / f"{name}.py").is_file()


def test_an_unknown_name_is_refused(runner, capsys):
    """Before anything is run."""
    module, _ = runner
    with pytest.raises(SystemExit) as stopped:
        module.main(["nobody"])
    assert stopped.value.code == 2
    assert "there is no benchmark 'nobody'" in capsys.readouterr().err
