"""Names in docstrings, ``:func:`~module.name```, as links to where the page has them."""

from __future__ import annotations

import re

ROLE = re.compile(r":(?:func|class|data|meth|mod|attr|exc|obj):<code>(~?)([\w.]+)</code>")
ANCHOR = re.compile(r'\bid="([\w.]+)"')


def linked(html: str) -> str:
    """The page with its roles as code, each with a link where exactly one place on the page has that name."""
    anchors = ANCHOR.findall(html)

    def written(found: re.Match[str]) -> str:
        is_short, name = bool(found[1]), found[2]
        last = name.rpartition(".")[2]
        # Pages have public paths, docstrings those of modules: the class goes with a method's name, modules do not.
        parts = name.split(".")
        owner = ".".join(parts[-2:]) if len(parts) > 1 and parts[-2][:1].isupper() else last
        places = [each for each in anchors if each == owner or each.endswith(f".{owner}")]
        shown = f"<code>{last if is_short else name}</code>"
        # A class stands before its members, and both end with no other's name: several places are several things.
        return f'<a href="#{places[0]}">{shown}</a>' if len(set(places)) == 1 else shown

    return ROLE.sub(written, html)
