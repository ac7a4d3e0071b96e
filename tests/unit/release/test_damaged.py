"""Releases that were changed are not believed: data, manifests, laws."""

from __future__ import annotations

import json
import shutil

import pytest

from sfumato import load_release
from sfumato.errors import ReleaseDamagedError, ReleaseError, ReleaseUnsupportedError
from sfumato.release.manifest import checksum


@pytest.fixture
def copied(release, tmp_path):
    """A copy of the release that may be damaged."""
    return shutil.copytree(release.folder, tmp_path / "copy")


def edit(folder, change, *, mend_checksum=False):
    """Change the descriptor of a release, with or without a fitting checksum."""
    path = folder / "datapackage.json"
    descriptor = json.loads(path.read_text())
    change(descriptor)
    if mend_checksum:
        descriptor["sfumato"].pop("checksum", None)
        descriptor["sfumato"]["checksum"] = checksum(descriptor)
    path.write_text(json.dumps(descriptor))


def test_a_data_file_that_was_changed_is_refused(copied):
    """One byte is enough."""
    (path,) = [each for each in copied.iterdir() if each.suffix in (".parquet", ".csv")]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ReleaseDamagedError, match="not the file that was published"):
        load_release(copied)


def test_a_data_file_that_is_gone_is_refused(copied):
    """The message names it."""
    (path,) = [each for each in copied.iterdir() if each.suffix in (".parquet", ".csv")]
    path.unlink()
    with pytest.raises(ReleaseDamagedError, match=path.name):
        load_release(copied)


def test_a_manifest_edited_by_hand_is_refused(copied):
    """Also where the edit is plausible."""
    edit(copied, lambda descriptor: descriptor["sfumato"]["law"]["distortions"]["job"].update(retention=0.9))
    with pytest.raises(ReleaseDamagedError, match="changed after publication"):
        load_release(copied)


def test_a_future_format_version_is_refused(copied):
    """Even before its checksum is looked at, since that may be computed otherwise."""
    edit(copied, lambda descriptor: descriptor["sfumato"].update(format_version=99))
    with pytest.raises(ReleaseUnsupportedError, match="format version 99"):
        load_release(copied)


def test_an_unknown_law_is_refused(copied):
    """It is not guessed."""
    edit(copied, lambda descriptor: descriptor["sfumato"]["law"].update(law="new-law"), mend_checksum=True)
    with pytest.raises(ReleaseUnsupportedError, match="law 'new-law', which this version"):
        load_release(copied)


@pytest.mark.parametrize(
    ("block", "key", "value"),
    [("law", "law", ["no", "text"]), ("method", "method", None), ("law", "software", "\ud800")],
)
def test_a_manifest_of_the_wrong_shape_is_refused(copied, block, key, value):
    """A list for a name, no name at all, half a character: refused as damaged, not our fault."""
    edit(copied, lambda descriptor: descriptor["sfumato"][block].update({key: value}), mend_checksum=True)
    with pytest.raises(ReleaseUnsupportedError):
        load_release(copied)


@pytest.mark.parametrize("change", [{"size": 7}, {"name": "jbo"}])
def test_a_law_that_does_not_fit_the_attributes_is_refused(copied, change):
    """A matrix for another attribute, or of another size, would give wrong numbers that look right."""

    def misfit(descriptor):
        (name, matrix), *_ = descriptor["sfumato"]["law"]["distortions"].items()
        descriptor["sfumato"]["law"]["distortions"] = {
            change.get("name", name): {**matrix, "size": change.get("size", matrix["size"])}
        }

    edit(copied, misfit, mend_checksum=True)
    with pytest.raises(ReleaseDamagedError, match="fits no attribute"):
        load_release(copied)


def test_an_unknown_field_of_a_known_law_is_refused(copied):
    """A field that is not understood may change the meaning of the others."""
    edit(copied, lambda descriptor: descriptor["sfumato"]["law"].update(twist=1), mend_checksum=True)
    with pytest.raises(ReleaseUnsupportedError, match="twist"):
        load_release(copied)


def test_a_manifest_cannot_point_outside_its_folder(copied, tmp_path):
    """Opening a stranger's release must not read other files."""
    (tmp_path / "elsewhere.csv").write_text("job\nSales\n")
    edit(
        copied,
        lambda descriptor: descriptor["sfumato"]["tables"][0].update(path="../elsewhere.csv", format="csv"),
        mend_checksum=True,
    )
    with pytest.raises(ReleaseDamagedError):
        load_release(copied)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "{", '{"sfumato": 3}', pytest.param("[" * 100_000, id="deep")]
)
def test_what_is_not_a_manifest_is_refused(copied, text):
    """Broken JSON and other people's data packages have their own sentences."""
    (copied / "datapackage.json").write_text(text)
    with pytest.raises(ReleaseDamagedError):
        load_release(copied)


def test_a_folder_without_a_manifest_is_no_release(tmp_path):
    """The sentence says what is missing."""
    with pytest.raises(ReleaseError, match=r"has no datapackage\.json"):
        load_release(tmp_path)
