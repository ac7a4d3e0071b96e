"""A release from a stranger opens, imports and runs nothing, and makes nobody wait."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from samples import SCHEMA, people
from sfumato import METHODS, load_release, publish, read_table, write_report
from sfumato.errors import SfumatoError
from sfumato.laws import LAWS
from sfumato.methods.generalization.design import Generalization
from sfumato.release.manifest import Manifest, checksum

OPENED: list[str] = []
"""Every path that this process has opened, since it was last cleared."""
sys.addaudithook(lambda event, details: OPENED.append(str(details[0])) if event == "open" else None)

MARKER = "WORDS-OF-ANOTHER-FILE"


@pytest.fixture(autouse=True)
def _nobody_waits():
    """A read that never ends fails the test instead of the whole run."""

    def stop(*_):
        raise AssertionError("opening the release did not end")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """A release of every method."""
    folder = tmp_path_factory.mktemp("originals")
    table = read_table(people(400), SCHEMA)
    designs = {name: method.example(SCHEMA) for name, method in METHODS.members.items()}
    designs["generalization"] = Generalization(k=2, hierarchies={"sex": {"fanout": 2}})
    for name, design in designs.items():
        publish(table, design, folder / name, seed=1)
    return folder


@pytest.fixture
def another_file(tmp_path):
    """A file of the analyst's that no release may read, in a form that a hierarchy could have."""
    path = tmp_path / "secret.csv"
    path.write_text("".join(f"{label};{MARKER};*\n" for label in ("Female", "Male")), encoding="utf-8")
    return path


def places(value, place=()):
    """Every place in a manifest, whatever it holds."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*place, key)
        yield from places(value[key], (*place, key))


def replaced(descriptor, place, text):
    """A manifest with another text in one place, its checksum made anew."""
    copy = json.loads(json.dumps(descriptor))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = text
    copy["sfumato"].pop("checksum", None)
    copy["sfumato"]["checksum"] = checksum(copy)
    return copy


def opened_and_reported(folder: Path, out: Path) -> str:
    """Everything that anyone is shown of a release; refusals are shown too."""
    try:
        release = load_release(folder)
        shown = repr(release) + str(release.guarantees)
        write_report(release, out)
        return shown + out.read_text(encoding="utf-8")
    except SfumatoError as error:
        return str(error)


def with_hierarchy(descriptor, text):
    """A manifest of generalization whose stated hierarchy is a text."""
    copy = json.loads(json.dumps(descriptor))
    copy["sfumato"]["method"]["hierarchies"] = {"sex": text}
    copy["sfumato"].pop("checksum")
    copy["sfumato"]["checksum"] = checksum(copy)
    return copy


@pytest.mark.parametrize("kind", ["file", "pipe", "endless device", "link"])
def test_a_hierarchy_in_a_release_is_never_a_path(kind, originals, another_file, tmp_path):
    """What the custodian's file held is in the manifest; a text there names nothing to open."""
    folder = tmp_path / "release"
    shutil.copytree(originals / "generalization", folder)
    target = {
        "file": another_file,
        "pipe": tmp_path / "pipe.csv",
        "endless device": Path("/dev/zero"),
        "link": tmp_path / "link.csv",
    }[kind]
    if kind == "pipe":
        os.mkfifo(target)
    if kind == "link":
        target.symlink_to(another_file)
    manifest = folder / "datapackage.json"
    manifest.write_text(json.dumps(with_hierarchy(json.loads(manifest.read_text()), str(target))))
    assert MARKER not in opened_and_reported(folder, tmp_path / "report.html")


@pytest.mark.parametrize("name", list(METHODS.members))
def test_nothing_in_a_manifest_is_opened(name, originals, another_file):
    """Each part in turn is the path of another file; whatever comes of it, the file is not opened."""
    manifest = json.loads((originals / name / "datapackage.json").read_text())
    OPENED.clear()
    for place in places(manifest["sfumato"]):
        changed = replaced(manifest, ("sfumato", *place), str(another_file))
        for read in (
            lambda stated: METHODS.read(stated.method),
            lambda stated: LAWS.read(stated.law),
            lambda stated: [each.schema_of_attributes for each in stated.tables],
        ):
            try:
                shown = repr(read(Manifest.from_text(json.dumps(changed))))
            except SfumatoError as error:
                shown = str(error)
            assert MARKER not in shown
    assert str(another_file) not in OPENED


@pytest.mark.parametrize("part", ["datapackage.json", "rows.parquet"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_files_of_a_release_are_files(part, kind, originals, tmp_path):
    """A link or a pipe in a file's place is refused, whatever is behind it."""
    folder = tmp_path / "release"
    shutil.copytree(originals / "randomized-response", folder)
    kept = tmp_path / "kept"
    (folder / part).rename(kept)
    if kind == "link":
        (folder / part).symlink_to(kept)
    else:
        os.mkfifo(folder / part)
    with pytest.raises(SfumatoError):
        load_release(folder)


def test_a_manifest_of_any_length_is_not_read_whole(originals, tmp_path):
    """It is refused by its size."""
    folder = tmp_path / "release"
    shutil.copytree(originals / "randomized-response", folder)
    with (folder / "datapackage.json").open("r+b") as file:
        file.truncate(2**33)
    with pytest.raises(SfumatoError, match="too long"):
        load_release(folder)


def test_a_stated_number_of_rows_is_that_of_the_file(originals, tmp_path):
    """A thousand million million rows are not believed."""
    folder = tmp_path / "release"
    shutil.copytree(originals / "randomized-response", folder)
    manifest = json.loads((folder / "datapackage.json").read_text())
    changed = replaced(manifest, ("sfumato", "tables", 0, "number_of_rows"), 10**18)
    (folder / "datapackage.json").write_text(json.dumps(changed))
    with pytest.raises(SfumatoError, match="rows"):
        load_release(folder)
