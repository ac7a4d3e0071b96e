"""The part of a report that shows which categories stand behind the published values."""

from __future__ import annotations

from sfumato.data.coarsening.hierarchy import Hierarchy
from sfumato.methods.base import Design
from sfumato.release import Release
from sfumato.report.document import Block, Folded, Listing, Paragraph, Section
from sfumato.values.schema import Schema

LONGEST_OPEN_TREE = 40
"""Lines up to which a tree stands open on the page."""

LONGEST_TREE = 400
"""Lines after which a tree is cut; the release itself has the rest."""


def tree_section(release: Release, design: Design | None = None) -> list[Section]:
    """Trees of the published values, where the law merged categories; nothing where it did not.

    Parameters
    ----------
    release
        The release.
    design
        Its method with its parameters, where known: the hierarchies it states are shown too.
    """
    trees = release.law.trees(release.published_schema)
    if not trees:
        return []
    reading = Paragraph(
        "Each published value stands for the categories that branch off from it, and the true one is among them. "
        "Questions are asked in the categories at the ends of the branches."
    )
    blocks = [_published(name, tree, release.published_schema) for name, tree in trees.items()]
    stated = design.trees(release.schema) if design else {}
    if stated:
        whole = tuple(
            Listing(f"{name}: levels 0 to {tree.height}", _drawn(tree)) for name, tree in stated.items()
        )
        blocks.append(Folded("The hierarchies as stated, with the levels that were not used", whole))
    return [Section("What stands behind the published values", (reading, *blocks))]


def _published(name: str, tree: Hierarchy | None, published: Schema) -> Block:
    if tree is None:
        return Paragraph(
            f"{name}: its {published[name].size:,} published values overlap, so they form no tree; each says itself "
            "what it stands for."
        )
    title = f"{name}: {published[name].size:,} published values over {tree.size:,} categories"
    listing = Listing(title, _drawn(tree))
    return listing if listing.text.count("\n") < LONGEST_OPEN_TREE else Folded(title, (listing,))


def _drawn(tree: Hierarchy) -> str:
    lines = tree.to_text_tree().splitlines()
    cut = len(lines) - LONGEST_TREE
    return "\n".join([*lines[:LONGEST_TREE], *([f"... and {cut:,} more lines"] if cut > 0 else [])])
