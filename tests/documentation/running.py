"""Carries out what a page says, in a folder of its own, and holds what it shows against what comes out."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shutil
import tomllib
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

import sfumato
from documentation.blocks import Block, blocks_of, commands_of
from sfumato.cli.app import app

ROOT = Path(__file__).parent.parent.parent
WIDTH = 110
"""Characters of a line on a page."""
FLAGS = doctest.ELLIPSIS
LONG = ("studio", "compare", "falsify", "demo")
"""Verbs that wait for a browser or compute for minutes: their arguments are read, and tests of their own run them."""


class WrongPageError(AssertionError):
    """A page that says what is not so."""


def run_page(page: Path, names: dict[str, Any]) -> Iterator[tuple[int, str, str]]:
    """Run a page's blocks in the working directory; gives place, text as shown and text as it came out where these differ.

    Raises
    ------
    WrongPageError
        When a command fails whose failure is not shown, or a block cannot be read.
    """
    for block in blocks_of(page):
        if block.title:
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.body, encoding="utf-8")
        if block.language == "python":
            _run_python(page, block, names)
        elif block.language == "pycon":
            yield from _run_session(block, names)
        elif block.language == "toml":
            _read_toml(block.body)
        elif block.language in {"console", "sh", ""}:
            yield from _run_commands(page, block)


def _run_commands(page: Path, block: Block) -> Iterator[tuple[int, str, str]]:
    for command in commands_of(block):
        if command.shown is None:
            _make_room(command.words)
        try:
            came_out, failed = _carried_out(command.words)
        except Exception as error:
            raise WrongPageError(f"{page.name}: {command.typed}: {error}") from error
        if came_out is None:
            continue
        if command.shown is None:
            if failed:
                raise WrongPageError(f"{page.name}: {command.typed}\n{came_out}")
        elif not _alike(command.shown, came_out):
            place = block.start + block.body.index(command.typed) + len(command.typed) + 1
            yield place, command.shown, came_out


def _alike(shown: str, came_out: str) -> bool:
    if shown.endswith("\n...\n"):
        return came_out.startswith(shown.removesuffix("...\n")) or doctest.OutputChecker().check_output(
            shown, came_out, FLAGS
        )
    return doctest.OutputChecker().check_output(shown, came_out, FLAGS)


def _carried_out(words: list[str]) -> tuple[str | None, bool]:
    """What a command prints and whether it failed; nothing of commands that are only read."""
    if words[0] == "pip":
        _pip(words)
        return None, False
    if words[0] == "make":
        assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8"), "no such target"
        return None, False
    assert words[0] == "sfumato", "neither sfumato nor pip nor make"
    words, cut = _without_head(words[1:])
    if words[0] in LONG or "spark" in words or any(word.startswith("postgresql:") for word in words):
        _read_arguments(words)
        return None, False
    done = CliRunner().invoke(app, words, prog_name="sfumato", env={"COLUMNS": str(WIDTH), "NO_COLOR": "1"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    # What is said on stderr does not go through head.
    text = done.output if cut is None else done.stderr + "".join(done.stdout.splitlines(keepends=True)[:cut])
    lines = [line.rstrip() for line in text.rstrip("\n").split("\n")]
    return "\n".join(lines) + "\n", done.exit_code != 0


def _make_room(words: list[str]) -> None:
    """Commands of one page may be alternatives that all write to the same place."""
    if "--out" in words:
        place = Path(words[words.index("--out") + 1])
        if place.is_dir():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)


def _without_head(words: list[str]) -> tuple[list[str], int | None]:
    if "|" not in words:
        return words, None
    place = words.index("|")
    found = re.fullmatch(r"head -n? ?(\d+)", " ".join(words[place + 1 :]))
    assert found, "only head can follow"
    return words[:place], int(found[1])


def _read_arguments(words: list[str]) -> None:
    """Arguments are those that the verb knows; nothing is run."""
    command: Any = _commands()
    context = None
    for number, word in enumerate(words):
        if not hasattr(command, "commands"):
            command.make_context(words[number - 1], list(words[number:]), parent=context)
            return
        command = command.commands[word]


@cache
def _commands() -> Any:
    return typer.main.get_command(app)


def _pip(words: list[str]) -> None:
    """An extra that is named exists."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [each for word in words for found in re.findall(r"\[(.*?)\]", word) for each in found.split(",")]
    unknown = set(extras) - set(project["optional-dependencies"])
    assert not unknown, f"no extra {unknown}"


def _read_toml(text: str) -> None:
    """As one file, or as lines that are alternatives."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        for line in text.splitlines():
            tomllib.loads(line)


def _run_python(page: Path, block: Block, names: dict[str, Any]) -> None:
    """As a program; what it prints is not looked at."""
    for folder in re.findall(r'publish\([^)]*\)?[^)]*, "([\w-]+)"\)', block.body):
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        # "Right, but look": a page may publish what is to be looked at.
        warnings.simplefilter("ignore", UserWarning)
        exec(compile(block.body, f"{page.name}, a block", "exec"), names)


def _run_session(block: Block, names: dict[str, Any]) -> Iterator[tuple[int, str, str]]:
    """As a session: what each line gives is compared."""
    place = 0
    for example in doctest.DocTestParser().get_examples(block.body):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example.source, "a session", "single"), names)
        place = block.body.index(example.source.split("\n")[0], place)
        if not doctest.OutputChecker().check_output(example.want, printed.getvalue(), FLAGS):
            after = block.start + _end_of_source(block.body, place, example.source)
            yield after, example.want, printed.getvalue()


def _end_of_source(body: str, place: int, source: str) -> int:
    for _ in source.rstrip("\n").split("\n"):
        place = body.index("\n", place) + 1
    return place


def close(names: dict[str, Any]) -> None:
    """Give connections back."""
    for each in names.values():
        if isinstance(each, sfumato.Release | sfumato.PrivateTable):
            each.close()


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder, and come back."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
