"""Reading a page back: what a browser would see of it."""

from __future__ import annotations

import json
from html.parser import HTMLParser


class Page(HTMLParser):
    """Tags with their attributes, visible text, and scripts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.words: list[str] = []
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Note a tag."""
        self.inside = tag
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        """Leave a tag."""
        del tag
        self.inside = ""

    def handle_data(self, data):
        """Keep scripts apart from what is read."""
        if self.inside == "script":
            self.scripts.append((self.tags[-1][1], data))
        elif self.inside != "style":
            self.words.append(data)

    @property
    def visible(self) -> str:
        """The text, white space folded."""
        return " ".join(" ".join(self.words).split())

    @property
    def charts(self) -> list[dict]:
        """The charts' data."""
        return next(json.loads(text) for attributes, text in self.scripts if attributes.get("id") == "charts")

    def values_of(self, attribute: str) -> list[str]:
        """Every value of an attribute, over all tags."""
        return [attributes[attribute] or "" for _, attributes in self.tags if attribute in attributes]
