"""What `make docs` adds to mkdocs: pages from outside ``docs``, lists made from files, formulas without a script, a check of what pages load."""

from __future__ import annotations

import logging
import re
from pathlib import Path, PurePosixPath
from typing import Any

import formulas
import outside
import roles
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
TOLD = logging.getLogger("mkdocs.hooks.sfumato")
"""A warning here fails the build, which is strict."""

LOADED = re.compile(
    r"""<(?:script|img|iframe|source|audio|video|embed|object|link)\b[^>]*?\b(?:src|href|data|srcset)=["']?(?:https?:)?//[^"'\s>]+""",
    re.IGNORECASE,
)
LOADED_BY_STYLE = re.compile(
    r"""url\(\s*["']?(?:https?:)?//[^)]+\)|@import\s+["'](?:https?:)?//[^"']+""", re.IGNORECASE
)


BY_ITSELF = ("index.md", "tutorial.md")
"""Pages without others beside them: in place of a list of one there is room for long lines."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Every decision has its place in the navigation."""
    for part in config["nav"]:
        if "Decisions" in part:
            part["Decisions"] += [f"decisions/{each.name}" for each in _decisions()]
        if "Reference" in part:
            part["Reference"].append({"Files": sorted(outside.sources(ROOT).values())})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Pages that are made: of lists, and of what pages link to outside ``docs``."""
    made = {
        "decisions/index.md": _list_of_decisions(),
        "studio/index.md": _gallery(),
    }
    made |= {name: outside.text_of(ROOT, path) for name, path in outside.pages(ROOT).items()}
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as the site has them; formulas between dollar signs are left to the extension."""
    del config, files
    if page.file.src_uri in BY_ITSELF:
        page.meta["hide"] = ["navigation"]
    rewritten, lost = outside.rewritten(ROOT, page.file.src_uri, markdown)
    for target in lost:
        TOLD.warning("%s links to %s, which is not there", page.file.src_uri, target)
    return rewritten


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Formulas as MathML, which browsers draw by themselves; names in docstrings as links; wide tables scroll by themselves."""
    del config, files
    drawn, spoiled = formulas.drawn(roles.linked(html))
    for each in spoiled:
        TOLD.warning("%s has a formula that cannot be drawn: %s", page.file.src_uri, each)
    return drawn


def on_post_build(config: MkDocsConfig, **_: Any) -> None:
    """Nothing is loaded from another host."""
    site = Path(config["site_dir"])
    for path in sorted(site.rglob("*")):
        if path.suffix == ".html":
            found = LOADED.findall(path.read_text(encoding="utf-8"))
        elif path.suffix in {".css", ".svg"}:
            found = LOADED_BY_STYLE.findall(path.read_text(encoding="utf-8"))
        else:
            continue
        for each in found:
            TOLD.warning("%s loads from another host: %s", path.relative_to(site), each[:200])


def _decisions() -> list[Path]:
    return sorted((DOCS / "decisions").glob("0*.md"))


def _list_of_decisions() -> str:
    lines = [
        "# Decisions",
        "",
        "Why things are as they are: what was decided, what was weighed, what it costs.",
        "",
    ]
    for each in _decisions():
        title = each.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
        number, _, words = title.partition(". ")
        lines.append(
            f"- [{words or title}]({each.name}) ({number})" if words else f"- [{title}]({each.name})"
        )
    return "\n".join(lines) + "\n"


def _gallery() -> str:
    """Every picture of the studio, by page."""
    pages: dict[str, list[str]] = {}
    for each in sorted((DOCS / "studio").glob("*.png")):
        name, _, screen = PurePosixPath(each.name).stem.rpartition("-")
        pages.setdefault(name, []).append(screen)
    lines = ["# Pictures of the studio", "", "Taken by `make screenshots`, on a desk and on a phone.", ""]
    for name, screens in pages.items():
        lines += [f"## {name.replace('-', ' ').capitalize()}", ""]
        lines += [f"![{name} on a {screen}]({name}-{screen}.png){{ .{screen} }}" for screen in screens]
        lines.append("")
    return "\n".join(lines)
