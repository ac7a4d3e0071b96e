"""Releases written once and kept: every later version opens them and answers the same."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from sfumato import load_release
from sfumato.methods.base import METHODS

HERE = Path(__file__).parent
NAMES = sorted(path.name.removesuffix(".answers.json") for path in (HERE / "releases").glob("*.answers.json"))

specification = importlib.util.spec_from_file_location("golden_make", HERE / "make.py")
make = importlib.util.module_from_spec(specification)
specification.loader.exec_module(make)


def test_every_method_has_a_golden_release():
    """A method without one could change its format unseen."""
    assert {*METHODS.members, make.WITHHELD, *make.ITEMS} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_release_still_gives_its_answers(name):
    """Estimates and standard errors to twelve digits, and the same refusals."""
    kept = json.loads((HERE / "releases" / f"{name}.answers.json").read_text())
    for now, then in zip(make.answers(load_release(HERE / "releases" / name)), kept, strict=True):
        assert now.keys() == then.keys()
        for part, value in then.items():
            # Sums may be added in another order by another version of numpy.
            assert now[part] == (
                value if isinstance(value, str) else pytest.approx(value, rel=1e-9, abs=1e-6)
            )


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_manifest_reads_back_to_the_same_text(name):
    """Nothing is lost between a descriptor and what this version understands of it."""
    release = load_release(HERE / "releases" / name)
    stored = json.loads((release.folder / "datapackage.json").read_text())
    assert release.manifest.to_descriptor() == stored
