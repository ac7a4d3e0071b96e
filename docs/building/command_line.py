"""The page of the command line, from the commands themselves."""

from __future__ import annotations

import re
from typing import Any

import typer

from sfumato.cli.app import app

HEAD = """# The command line

Made from the commands themselves, by `docs/generate.py`. Results go to stdout, talk and progress to stderr; `--json` on every verb that prints a
result. Exit codes: 0 done, 1 refused (one clear sentence, nothing written), 2 misused, 3 a promise was refuted, 130 interrupted, 70 a fault of sfumato.

Every verb that reads private rows also takes the options of [reading data](../reading.md).
"""


def page() -> str:
    """All verbs, in the order of ``sfumato --help``."""
    root: Any = typer.main.get_command(app)
    context = typer.Context(root, info_name="sfumato")
    parts, panels = [HEAD], {}
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        panels.setdefault(getattr(command, "rich_help_panel", None) or "Commands", []).append((name, command))
    for panel, commands in panels.items():
        parts.append(f"## {panel}\n")
        for name, command in commands:
            parts.append(_verb(("sfumato", name), command, context))
    return "\n".join(parts)


def _verb(path: tuple[str, ...], command: Any, parent: Any) -> str:
    context = typer.Context(command, info_name=path[-1], parent=parent)
    parts = [f"### `{' '.join(path)}`\n", _words(command.help or "")]
    rows = [_row(each) for each in command.params if not getattr(each, "hidden", False)]
    if rows:
        parts += ["\n| argument | meaning |\n|---|---|", *rows, ""]
    for name in getattr(command, "commands", {}):
        parts.append(_verb((*path, name), command.commands[name], context))
    parts += _examples(command)
    return "\n".join(parts)


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = f"`{(parameter.metavar or parameter.name).upper()}`"
    else:
        metavar = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
        name = f"`{', '.join([*parameter.opts, *parameter.secondary_opts])}{metavar}`"
    return f"| {name.replace('|', chr(92) + '|')} | {_cell(getattr(parameter, 'help', None) or '')} |"


def _words(text: str) -> str:
    """Help without the marks of paragraphs and of the terminal."""
    return (
        re.sub(r"(?<!\\)\[/?[a-z ]+\]", "", text.replace("\b", "").replace("\f", ""))
        .replace("\\[", "[")
        .strip()
    )


def _cell(text: str) -> str:
    return _words(text).replace("\n", " ").replace("|", "\\|").replace("<", "&lt;")


def _examples(command: Any) -> list[str]:
    shown = _words(command.epilog or "")
    lines = [
        line.removeprefix("  ") for line in shown.split("\n") if line.strip() and line.strip() != "Examples:"
    ]
    return ["\n```sh", *lines, "```\n"] if lines else []
