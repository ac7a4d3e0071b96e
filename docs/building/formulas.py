"""Formulas as MathML: drawn by the browser, without a script or a font of another host."""

from __future__ import annotations

import html as entities
import re

from latex2mathml.converter import convert

INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)


def drawn(html: str) -> tuple[str, list[str]]:
    """The page with its formulas drawn, and formulas that could not be."""
    spoiled: list[str] = []

    def draw(text: str, display: str) -> str:
        formula = entities.unescape(text).strip()
        try:
            made = convert(formula, display=display)
        except Exception as error:  # noqa: BLE001 - whatever it is, the formula is named
            spoiled.append(f"{formula} ({type(error).__name__})")
            return text
        # The converter passes over both: a command that it does not know, and a brace that is not closed.
        braces = re.sub(r"\\[{}]", "", formula)
        if re.search(r"<mi>\\", made) or braces.count("{") != braces.count("}"):
            spoiled.append(formula)
        return made

    html = BLOCK.sub(lambda found: f'<div class="formula">{draw(found[1], "block")}</div>', html)
    return INLINE.sub(lambda found: draw(found[1], "inline"), html), spoiled
