"""Releases: published data, their law and their promise, in a folder."""

from sfumato.release.manifest import Manifest
from sfumato.release.publication import DrawnRows, MadeRows, Publication, PublishedTable
from sfumato.release.release import Release, load_release

__all__ = ["DrawnRows", "MadeRows", "Manifest", "Publication", "PublishedTable", "Release", "load_release"]
