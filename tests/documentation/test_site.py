"""The site: links, what it loads, and the numbers and pictures on its pages."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys

import pytest

from documentation.running import ROOT
from sfumato.methods.base import METHODS

DOCS = ROOT / "docs"


def module(path):
    """A script of the documentation, loaded."""
    spec = importlib.util.spec_from_file_location(f"documentation_{path.stem}", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


FIGURES = module(DOCS / "method_figures.py")
QUICK = ("splu-gen", "distribution-resampling")


def shown(name):
    """What stands between the marks of a page."""
    page = (DOCS / "methods" / f"{name}.md").read_text(encoding="utf-8")
    return FIGURES.MARKS.search(page)[0]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(QUICK, id="a sample"),
        pytest.param(tuple(FIGURES.DESIGNS), id="all", marks=pytest.mark.slow),
    ],
)
def test_figures_of_attacks_are_those_that_come_out(names):
    """Computed anew from rows to page; every method has one."""
    assert set(FIGURES.DESIGNS) == set(METHODS.members)
    for name, cells in FIGURES.figures(names).items():
        assert FIGURES.sentence(name, cells) in shown(name)
        assert f"| {cells[0]} | {cells[1]} |" in shown("index")


def test_pictures_are_those_that_the_script_draws():
    """None was changed by hand."""
    done = subprocess.run(
        [sys.executable, DOCS / "pictures" / "draw.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", list(METHODS.members))
def test_every_method_has_a_picture_formulas_and_reasons_against_it(name):
    """The picture is told in words."""
    page = (DOCS / "methods" / f"{name}.md").read_text(encoding="utf-8")
    (told,) = re.findall(rf"!\[(.*?)\]\(\.\./pictures/{name}\.svg\)", page)
    assert len(told) > 80
    for heading in ("## Formulas", "## When not to use it", "romise", "eakness"):
        assert heading in page


def test_every_picture_on_a_page_is_told_in_words():
    """For those who do not see it."""
    for page in DOCS.rglob("*.md"):
        assert "![](" not in page.read_text(encoding="utf-8"), page


def test_links_to_files_outside_become_pages_and_lost_ones_are_told(tmp_path):
    """With the heading of the function that a link names."""
    outside = module(DOCS / "building" / "outside.py")
    (tmp_path / "docs").mkdir()
    for name in outside.ALWAYS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("# A document\n", encoding="utf-8")
    (tmp_path / "test_it.py").write_text("import os\n\n\ndef test_a():\n    pass\n", encoding="utf-8")
    text = "[`test_a`](../test_it.py) [lost](gone.md)\n\n```\n[in a block](gone.md)\n```\n"
    (tmp_path / "docs" / "page.md").write_text(text, encoding="utf-8")
    changed, lost = outside.rewritten(tmp_path, "page.md", text)
    assert "(source/test_it.py.md#test_a)" in changed
    assert lost == ["gone.md"]
    assert "## test_a { #test_a }" in outside.text_of(tmp_path, "test_it.py")


@pytest.mark.parametrize("spoiled", [r"\frac{1", r"\nonsense{x}", "x_{"])
def test_formulas_are_drawn_or_told(spoiled):
    """A command that is not known, and a brace that is not closed, are told."""
    pytest.importorskip("latex2mathml", reason="the tools of the site are not installed: make docs")
    formulas = module(DOCS / "building" / "formulas.py")
    right, wrong = (f'<span class="arithmatex">\\({each}\\)</span>' for each in (r"\frac{1}{\{2\}}", spoiled))
    drawn, told = formulas.drawn(right)
    assert "<mfrac>" in drawn
    assert told == []
    assert len(formulas.drawn(wrong)[1]) == 1


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (
            ":func:<code>~sfumato.data.private_table.read_table</code>",
            '<a href="#sfumato.read_table"><code>read_table</code></a>',
        ),
        (
            ":meth:<code>Release.query</code>",
            '<a href="#sfumato.Release.query"><code>Release.query</code></a>',
        ),
        (
            ":meth:<code>~sfumato.Design.publish</code>",
            '<a href="#sfumato.Design.publish"><code>publish</code></a>',
        ),
        (":meth:<code>publish</code>", "<code>publish</code>"),
        (":func:<code>~sfumato.plan.goal_from</code>", "<code>goal_from</code>"),
        ("a :func: without a name", "a :func: without a name"),
    ],
)
def test_names_in_docstrings_are_links_where_the_page_has_them(written, shown):
    """Roles stood on the page of Python as they are typed; a name that several things have leads nowhere."""
    anchors = "".join(
        f'<h3 id="{each}"></h3>'
        for each in (
            "sfumato.read_table",
            "sfumato.Release.query",
            "sfumato.Design.publish",
            "sfumato.publish",
        )
    )
    assert module(DOCS / "building" / "roles.py").linked(anchors + written) == anchors + shown


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    """Links, anchors, formulas and what pages load are checked by the build itself, which is strict; needs `make docs` once."""
    pytest.importorskip("mkdocs", reason="the tools of the site are not installed: make docs")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path / "site"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "search" / "search_index.js").stat().st_size > 100_000
    assert ":<code>" not in (tmp_path / "site" / "reference" / "python.html").read_text(encoding="utf-8")
