"""Releases: published data, their law and their guarantees, in a folder."""

from sfumato.release.loading import load_release
from sfumato.release.manifest import Manifest
from sfumato.release.publication import DrawnRows, MadeRows, Publication, PublishedTable
from sfumato.release.release import Release

__all__ = ["DrawnRows", "MadeRows", "Manifest", "Publication", "PublishedTable", "Release", "load_release"]
