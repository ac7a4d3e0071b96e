"""What scripts rely on: exit codes, what goes to stdout and stderr, JSON, lazy imports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

import sfumato.data.private_table
from sfumato import __version__
from sfumato.cli.app import app

VERBS = [
    (),
    ("demo",),
    ("studio",),
    ("datasets",),
    ("datasets", "list"),
    ("datasets", "fetch"),
    ("datasets", "make"),
    ("schema",),
    ("schema", "infer"),
    ("schema", "check"),
    ("schema", "explain"),
    ("inspect",),
    ("methods",),
    ("plan",),
    ("calibrate",),
    ("publish",),
    ("ledger",),
    ("ledger", "list"),
    ("ledger", "compose"),
    ("ledger", "withdraw"),
    ("ledger", "accept-loss"),
    ("query",),
    ("counts",),
    ("mean",),
    ("measures",),
    ("rules",),
    ("independence",),
    ("show",),
    ("verify",),
    ("regression",),
    ("advise",),
    ("hiding-noise",),
    ("classify",),
    ("shrink",),
    ("impute",),
    ("recommend",),
    ("loglinear",),
    ("check-matrix",),
    ("report",),
    ("verify",),
    ("attacks",),
    ("attack",),
    ("audit",),
    ("compare",),
    ("falsify",),
    ("verify",),
]
"""Each as the words that call it; none is the command itself."""

HEAVY = ("duckdb", "pyarrow", "scipy.stats", "sklearn", "kmedoids", "vl_convert", "pyspark")


@pytest.mark.parametrize("verb", VERBS)
def test_every_help_has_examples(run, verb):
    """Help ends with commands to copy, each of the verb itself."""
    outcome = run(*verb, "--help")
    assert outcome.exit_code == 0
    shown = outcome.stdout.partition("Examples:")[2]
    assert f"sfumato {' '.join(verb)}".strip() in shown


@pytest.mark.parametrize("verb", VERBS)
def test_examples_fit_a_terminal_of_eighty_columns(run, monkeypatch, verb):
    """An example that the terminal breaks could not be copied."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(*verb, "--help").stdout.partition("Examples:")[2].rstrip().splitlines()[1:]
    assert all(line.startswith((" sfumato ", "     ")) for line in shown)


def test_the_list_of_verbs_is_complete():
    """A new verb joins these tests by being added to the list."""
    group = typer.main.get_command(app)
    found = {()}
    for name, command in group.commands.items():
        found.add((name,))
        found |= {(name, inner) for inner in getattr(command, "commands", {})}
    assert found == set(VERBS)


def test_version_is_printed_on_stdout(run):
    """The version is a result."""
    assert run("--version").stdout == f"sfumato {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("no-such-verb",),
        ("query",),
        ("query", "release", "sex = 'Female'", "--target", "moon"),
        ("publish", "people.csv", "--schema", "schema.toml", "--out", "out"),
        ("plan", "--schema", "schema.toml", "--method", "randomized-response", "--set", "retention=0.5"),
        ("counts", "release", "--by", "sex", "--json", "--csv", "out.csv"),
        ("counts", "release", "--by", "sex", "--consistent", "--target", "population"),
        (
            *("publish", "people.csv", "--schema", "schema.toml", "--out", "out"),
            *("--method", "randomized-response", "--design", "design.toml"),
        ),
        (
            *("publish", "people.csv", "--schema", "schema.toml", "--out", "out"),
            *("--design", "design.toml", "--set", "retention=0.5"),
        ),
    ],
)
def test_misuse_exits_with_two(run, folder, arguments):
    """What typing the command differently would mend is a misuse, and writes nothing."""
    before = sorted(folder.iterdir())
    outcome = run(*arguments)
    assert outcome.exit_code == 2
    assert sorted(folder.iterdir()) == before


def test_a_refusal_is_one_sentence_on_stderr_and_exits_with_one(run):
    """Refusals leave stdout empty."""
    outcome = run("query", "nowhere", "sex = 'Female'")
    assert outcome.exit_code == 1
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("sfumato: 'nowhere' is not a release")
    assert outcome.stderr.count("\n") == 1


def test_a_fault_exits_with_seventy_without_its_message(run, monkeypatch):
    """The text of an unforeseen error may quote a cell, so it is not shown."""
    monkeypatch.setattr(sfumato.data.private_table, "open_source", _fail)
    outcome = run("inspect", "people.csv", "--schema", "schema.toml")
    assert outcome.exit_code == 70
    assert "SECRET" not in outcome.stdout + outcome.stderr
    assert "KeyError at sfumato/data/private_table.py:" in outcome.stderr
    assert "SFUMATO_DEBUG=1" in outcome.stderr
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize("by_option", [True, False])
def test_debugging_shows_the_traceback_of_a_fault(run, monkeypatch, by_option):
    """Whoever asks for it sees the traceback; the exit code stays."""
    monkeypatch.setattr(sfumato.data.private_table, "open_source", _fail)
    monkeypatch.setenv("SFUMATO_DEBUG", "0" if by_option else "1")
    asked = ("--debug",) if by_option else ()
    outcome = run(*asked, "inspect", "people.csv", "--schema", "schema.toml")
    assert outcome.exit_code == 70
    assert "Traceback" in outcome.stderr
    assert "SECRET" in outcome.stderr


def _fail(*_: object, **__: object) -> None:
    raise KeyError("SECRET")


def test_a_refusal_of_the_system_is_a_refusal(run, monkeypatch):
    """A folder that may not be read is no fault of ours."""
    monkeypatch.setattr("sfumato.release.loading.read_manifest", _deny)
    outcome = run("query", "release", "sex = 'Female'")
    assert outcome.exit_code == 1
    assert "Permission denied" in outcome.stderr


def _deny(folder: Path) -> None:
    raise PermissionError(13, "Permission denied", str(folder))


@pytest.mark.parametrize("verb", ["publish", "inspect", "counts"])
def test_spark_that_is_not_there_is_named_with_its_remedy(run, verb, monkeypatch):
    """One sentence, whatever is missing."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    arguments = {
        "publish": (*_publish_arguments(), "--out", "other"),
        "inspect": ("inspect", "people.csv", "--schema", "schema.toml"),
        "counts": ("counts", "release", "--by", "sex"),
    }[verb]
    outcome = run(*arguments, "--engine", "spark")
    assert outcome.exit_code == 1
    assert "pip install 'sfumato[spark]'" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def _publish_arguments() -> tuple[str, ...]:
    return (
        "publish",
        "people.csv",
        "--schema",
        "schema.toml",
        "--method",
        "randomized-response",
        "--set",
        "retention=0.5",
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("datasets", "list"),
        ("datasets", "make", "census", "--rows", "10", "--out", "census.csv"),
        ("schema", "infer", "people.csv", "--out", "guess.toml"),
        ("inspect", "people.csv", "--schema", "schema.toml"),
        ("methods",),
        ("methods", "randomized-response"),
        ("plan", "people.csv", "--schema", "schema.toml", *_publish_arguments()[4:]),
        (*_publish_arguments(), "--out", "other"),
        ("calibrate", "--schema", "schema.toml", "--goal", "epsilon=1"),
        ("query", "release", "sex = 'Female'"),
        ("counts", "release", "--by", "sex"),
        ("report", "release", "--out", "report.html"),
        ("attacks",),
    ],
)
@pytest.mark.usefixtures("release")
def test_every_result_can_be_json(run, arguments):
    """With --json stdout is one JSON document; without it, it is not."""
    outcome = run(*arguments, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout) is not None


def test_help_imports_nothing_heavy(folder):
    """``sfumato --help`` must not wait for packages that only some verbs need."""
    program = (
        "import sys\nfrom sfumato.cli import run\nsys.argv = ['sfumato', '--help']\n"
        "try:\n    run()\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} + ('numpy', 'pydantic') if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=folder
    )
    assert done.stderr.strip() == "[]"
    assert "publish" in done.stdout


def test_listing_methods_imports_nothing_heavy(folder):
    """Completion of method names in the shell runs at every press of the key."""
    program = (
        "import sys\nfrom sfumato.cli.options import complete_methods\nassert complete_methods('')\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=folder
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("sfumato publ", "publish"),
        ("sfumato publish people.csv --method randomized-resp", "randomized-response"),
        ("sfumato publish people.csv --method randomized-response --set ret", "retention="),
        ("sfumato publish people.csv --set epsi", "epsilon="),
        ("sfumato methods randomized-r", "randomized-response"),
        ("sfumato datasets make cen", "census"),
    ],
)
def test_the_shell_completes(run_process, words, expected):
    """Verbs, methods, parameters and data sets complete in bash."""
    outcome = run_process(
        _SFUMATO_COMPLETE="complete_bash",
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split()) - 1),
    )
    assert expected in outcome.stdout.split()


def test_a_real_process_splits_result_and_talk(run_process):
    """The installed command behaves as the functions do."""
    outcome = run_process(*_publish_arguments(), "--seed", "1", "--out", "release", "--json")
    assert outcome.exit_code == 0
    assert json.loads(outcome.stdout)["reproducible"] is True
    assert "NOT PRIVATE" in outcome.stderr
    refused = run_process("query", "release", "sex = 'Femal'")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert run_process("query", "release").exit_code == 2


@pytest.mark.usefixtures("release")
def test_a_reader_that_leaves_a_pipe_is_no_error(folder):
    """``sfumato ... | head -1`` must not print a traceback."""
    command = (
        f"{sys.executable} -c 'from sfumato.cli import main; main()' counts release --by sex,age,region,job "
        "| head -1; echo ${PIPESTATUS[0]}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, cwd=folder)
    assert done.stderr == ""
    # Small enough to fit into the pipe before the reader leaves, or not: both are in order.
    assert done.stdout.splitlines()[-1] in ("0", "141")


@pytest.mark.usefixtures("release")
def test_a_closed_stdout_ends_quietly(folder):
    """The reader has gone before anything is written."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", "from sfumato.cli import main; main()", "counts", "release", "--by", "sex"],
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=folder,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(
    ("sent", "code", "said"), [(signal.SIGINT, 130, b"Interrupted.\n"), (signal.SIGTERM, 143, b"")]
)
def test_an_interrupt_exits_cleanly_and_leaves_nothing(folder, sent, code, said):
    """Control-C or a shutdown in the middle of long work removes what was half written."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", "from sfumato.cli import main; main()"),
            *("datasets", "make", "census", "--rows", "500000000", "--out", "big.parquet"),
        ],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while not list(folder.glob(".big.parquet*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(sent)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == code
    assert stderr == said
    assert not list(folder.glob("*big*"))
    assert not list(folder.glob(".big*"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "release", "a" * 70_000),
        ("query", "release", "job = 'Sales' AND " * 3_000),
        ("plan", "--rows", "9" * 5_000),
        ("plan", "--method", "a " * 5_000),
        ("a" * 70_000,),
        ("show", "b" * 3_000),
        ("methods", "no\\nsuch\nmethod\n" * 2_000),
    ],
    ids=lambda arguments: f"{arguments[0][:5]} {arguments[-1][:5]}",
)
@pytest.mark.usefixtures("release")
def test_whatever_is_typed_a_refusal_can_be_read(run, arguments):
    """At most a thousand characters, and what a terminal's frame adds; the beginning says what is wrong."""
    done = run(*arguments)
    assert done.exit_code in (1, 2)
    assert len(" ".join(done.stderr.split())) < 1_400
