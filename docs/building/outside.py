"""Files of the project that pages link to, as pages of the site: documents as they are, source text divided by what it defines."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\()([^)#:\s]+)(#[^)\s]*)?(\))")
NAMED = re.compile(r"\[`(?P<name>\w+)`\]\((?P<target>[^)#:\s]+\.py)\)")
ALWAYS = ("CONTRIBUTING.md", "CHANGELOG.md", "reproductions/README.md")
"""Documents that have a place in the navigation whether or not a page links to them."""


def pages(root: Path) -> dict[str, str]:
    """By name in the site, the path in the project."""
    return {_site_name(root, path): path for path in _linked(root)}


def sources(root: Path) -> dict[str, str]:
    """By path in the project, the name in the site; documents that the navigation names itself are left out."""
    return {path: name for name, path in pages(root).items() if path not in ALWAYS}


def text_of(root: Path, path: str) -> str:
    """A page for a file or a folder."""
    place = root / path
    if place.is_dir():
        lines = [
            f"- `{each.name}`" for each in sorted(place.iterdir()) if not each.name.startswith((".", "__"))
        ]
        return "\n".join([f"# `{path}`", "", *lines, ""])
    text = place.read_text(encoding="utf-8")
    if path.endswith(".md"):
        return text
    if path.endswith(".py"):
        return "\n".join(
            ["---", "search:", "  exclude: true", "---", f"# `{path}`", "", *_by_definition(text)]
        )
    return f"# `{path}`\n\n{_fenced(text, place.suffix.removeprefix('.'))}\n"


def rewritten(root: Path, page: str, markdown: str) -> tuple[str, list[str]]:
    """The page's text with links as the site has them, and links that lead nowhere."""
    origin = pages(root).get(page, f"docs/{page}")
    lost: list[str] = []

    def link(found: re.Match[str]) -> str:
        target, anchor = found[2], found[3] or ""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
        if not (root / path).exists() and not _is_made(path):
            lost.append(target)
            return found[0]
        name = _site_name(root, path)
        return f"{found[1]}{posixpath.relpath(name, posixpath.dirname(page) or '.')}{anchor}{found[4]}"

    def named(found: re.Match[str]) -> str:
        return f"[`{found['name']}`]({found['target']}#{found['name']})"

    return _outside_fences(markdown, lambda text: LINK.sub(link, NAMED.sub(named, text))), lost


def _outside_fences(markdown: str, change) -> str:  # noqa: ANN001 - a function of text
    parts, last = [], 0
    for found in FENCE.finditer(markdown):
        parts += [change(markdown[last : found.start()]), found[0]]
        last = found.end()
    return "".join([*parts, change(markdown[last:])])


@cache
def _linked(root: Path) -> tuple[str, ...]:
    """Paths of the project outside ``docs`` that pages lead to, directly or by each other."""
    waiting = [*ALWAYS, *(str(each.relative_to(root)) for each in sorted((root / "docs").rglob("*.md")))]
    seen = set(waiting)
    while waiting:
        page = waiting.pop()
        for path in _targets(root, page):
            if path not in seen:
                seen.add(path)
                waiting.append(path)
    return tuple(sorted(each for each in seen if not each.startswith("docs/")))


def _targets(root: Path, page: str) -> Iterator[str]:
    if not page.endswith(".md"):
        return
    text = FENCE.sub("", (root / page).read_text(encoding="utf-8"))
    for found in LINK.finditer(text):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), found[2]))
        if not path.startswith(("docs/", "..")) and (root / path).exists():
            yield _document(root, path)


def _document(root: Path, path: str) -> str:
    readme = f"{path}/README.md"
    return readme if (root / readme).is_file() else path


def _is_made(path: str) -> bool:
    """Whether `make docs` writes the page itself."""
    return path in {"docs/decisions/index.md", "docs/studio/index.md"}


def _site_name(root: Path, path: str) -> str:
    path = _document(root, path)
    if path == "docs":
        return "index.md"
    if path in {"docs/decisions", "docs/studio"}:
        return f"{path.removeprefix('docs/')}/index.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    # The name README would make a page the front of its folder.
    return f"project/{path.replace('/README.md', '.md')}" if path.endswith(".md") else f"source/{path}.md"


def _by_definition(text: str) -> Iterator[str]:
    """What stands before the first definition, then each with a heading that links can lead to."""
    lines = text.split("\n")
    starts = [
        (min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1, node.name)
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    ends = [start for start, _ in starts[1:]] + [len(lines)]
    yield _fenced("\n".join(lines[: starts[0][0] if starts else len(lines)]), "python")
    for (start, name), end in zip(starts, ends, strict=True):
        yield f"\n## {name} {{ #{name} }}\n"
        yield _fenced("\n".join(lines[start:end]), "python")


def _fenced(text: str, language: str) -> str:
    return f"````{language}\n{text.strip(chr(10))}\n````"
