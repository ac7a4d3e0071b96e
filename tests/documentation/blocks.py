"""The blocks of a page: what kind each is, where it stands, what it says."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(
    r"^(?P<mark>```+)(?P<language>\w*)(?P<rest>[^\n]*)\n(?P<body>.*?)^(?P=mark)[ ]*$",
    re.MULTILINE | re.DOTALL,
)
TITLE = re.compile(r'title="(?P<name>[^"]+)"')


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file it stands for (or none), its text, and where the text begins in the page."""

    language: str
    title: str
    body: str
    start: int


@dataclass(frozen=True)
class Command:
    """A command as typed, and what the page shows of its output (none: nothing is shown)."""

    typed: str
    shown: str | None

    @property
    def words(self) -> list[str]:
        """Its arguments, without comments."""
        return shlex.split(self.typed.replace("\\\n", " "), comments=True)


def blocks_of(page: Path) -> list[Block]:
    """All blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            found["language"],
            named["name"] if (named := TITLE.search(found["rest"])) else "",
            found["body"],
            found.start("body"),
        )
        for found in FENCE.finditer(text)
    ]


def commands_of(block: Block) -> list[Command]:
    """Lines after a dollar sign with what follows them; in a plain block the lines that begin with a program's name."""
    lines = block.body.splitlines()
    if block.language != "console":
        lines = [f"$ {line}" if line.startswith(("sfumato ", "pip ", "make ")) else line for line in lines]
        if not any(line.startswith("$ ") for line in lines):
            return []
    commands: list[tuple[list[str], list[str]]] = []
    for line in lines:
        if line.startswith("$ "):
            commands.append(([line[2:]], []))
        elif commands and not commands[-1][1] and commands[-1][0][-1].endswith("\\"):
            commands[-1][0].append(line)
        elif commands:
            commands[-1][1].append(line)
    return [
        Command("\n".join(typed), "\n".join(shown) + "\n" if any(shown) else None)
        for typed, shown in commands
    ]
