"""Write the tables of members into the README and the documentation, from their declarations.

``python docs/generate.py`` rewrites what stands between the marks; ``--check`` only says whether it is up to date.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from sfumato.attacks import ATTACKS
from sfumato.guarantees import GUARANTEES
from sfumato.methods.base import METHODS
from sfumato.schema.schema import schema_language

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs" / "building"))

import command_line  # noqa: E402 - the path comes first


def methods_table(prefix: str) -> str:
    """A row for each method."""
    rows = ["| method | what it does |", "|---|---|"]
    for name, method in METHODS.members.items():
        rows.append(f"| [`{name}`]({prefix}{name}.md) | {method.summary} |")
    return "\n".join(rows)


def attacks_table(prefix: str) -> str:
    """A row for each attack."""
    rows = ["| attack | what the attacker does | on releases with the law |", "|---|---|---|"]
    for name, attack in ATTACKS.members.items():
        laws = ", ".join(f"`{law}`" for law in attack.laws)
        rows.append(f"| [`{name}`]({prefix}{name}.md) | {attack.summary} | {laws} |")
    return "\n".join(rows)


def guarantees_table(prefix: str) -> str:
    """A row for each guarantee."""
    del prefix
    rows = [
        "| guarantee | in one sentence | protects | makes hard to tell apart | against |",
        "|---|---|---|---|---|",
    ]
    for name, guarantee in GUARANTEES.members.items():
        sentence = (guarantee.__doc__ or "").strip().split("\n")[0]
        unit, neighbours, attacker = guarantee.protected_unit, guarantee.neighbours, guarantee.attacker
        rows.append(f"| `{name}` | {sentence} | {unit} | {neighbours} | {attacker} |")
    return "\n".join(rows)


def schema_keys(prefix: str) -> str:
    """A section for each key of a schema file."""
    del prefix
    parts = []
    for each in schema_language().explanations:
        parts.append(f"**`{each.key}`**: {each.meaning}.\n")
        parts += [f"- `{value}`: {meaning}" for value, meaning in each.values]
        parts += ["\n```toml\n" + "\n".join(each.examples) + "\n```\n"] if each.examples else []
    return "\n".join(parts)


def source_tree(prefix: str) -> str:
    """A line for each file of the package: its name, and the first line of its docstring."""
    del prefix
    lines = ["```"]

    def add(folder: Path, depth: int) -> None:
        entries = [
            each for each in folder.iterdir() if each.suffix == ".py" or (each / "__init__.py").exists()
        ]
        for each in sorted(entries, key=lambda each: (each.is_dir(), each.name)):
            if each.name == "__init__.py" and depth:
                continue
            purpose = ast.get_docstring(
                ast.parse((each / "__init__.py" if each.is_dir() else each).read_text("utf-8"))
            )
            name = "  " * depth + each.name + "/" * each.is_dir()
            lines.append(f"{name:<28} {(purpose or '').splitlines()[0]}")
            if each.is_dir():
                add(each, depth + 1)

    add(ROOT / "src" / "sfumato", 0)
    return "\n".join([*lines, "```"])


def filled(text: str, prefix: str) -> str:
    """A page with its tables made anew."""
    for mark, table in (
        ("methods", methods_table),
        ("attacks", attacks_table),
        ("guarantees", guarantees_table),
        ("schema", schema_keys),
        ("tree", source_tree),
    ):
        pattern = rf"(<!-- {mark}: begin -->\n).*?(<!-- {mark}: end -->)"
        content = table(prefix)
        text = re.sub(
            pattern, lambda found, content=content: f"{found[1]}{content}\n{found[2]}", text, flags=re.DOTALL
        )
    return text


def main() -> int:
    """Rewrite, or check."""
    stale = []
    for path, prefix in (
        (ROOT / "README.md", "docs/methods/"),
        (ROOT / "CONTRIBUTING.md", ""),
        (ROOT / "docs" / "methods" / "index.md", ""),
        (ROOT / "docs" / "attacks" / "index.md", ""),
        (ROOT / "docs" / "promises.md", ""),
        (ROOT / "docs" / "schema.md", ""),
    ):
        text = path.read_text(encoding="utf-8")
        made = filled(text, prefix)
        if made != text:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(made, encoding="utf-8")
    commands = ROOT / "docs" / "reference" / "command-line.md"
    if not commands.exists() or commands.read_text(encoding="utf-8") != command_line.page():
        stale.append(commands.name)
        if "--check" not in sys.argv:
            commands.write_text(command_line.page(), encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"out of date: {', '.join(stale)}. Run python docs/generate.py.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
