"""Releases: published data, their law and their promise, in a folder."""

from sfumato.release.manifest import Manifest
from sfumato.release.publication import Publication, PublishedTable
from sfumato.release.release import Release, load_release

__all__ = ["Manifest", "Publication", "PublishedTable", "Release", "load_release"]
