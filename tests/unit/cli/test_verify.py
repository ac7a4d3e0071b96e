"""``sfumato verify``: what can be checked without the private rows, and the exit codes for it."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from typer.testing import CliRunner

from foreign import rewritten
from samples import SCHEMA, people
from sfumato import publish, read_table
from sfumato.cli.app import app
from sfumato.methods.generalization.design import Generalization
from sfumato.release.manifest import Signature
from sfumato.release.verification import verify_release


def keys(folder, name):
    """A private and a public key."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    made = Ed25519PrivateKey.generate()
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    private.write_bytes(
        made.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    public.write_bytes(
        made.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return private, public


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """A release that somebody signed, the signer's public key and somebody else's."""
    folder = tmp_path_factory.mktemp("signed")
    private, public = keys(folder, "custodian")
    _, other = keys(folder, "stranger")
    table = read_table(people(600), SCHEMA)
    design = Generalization(k=3, l_value=1.1)
    publish(table, design, folder / "release", seed=1, format="csv", sign=private, serial=5)
    return folder / "release", public, other


def verify(*arguments):
    """Run the verb."""
    return CliRunner().invoke(app, ["verify", *map(str, arguments)])


def test_a_whole_release_is_verified(signed):
    """Exit 0; every check is listed, and what a signature is worth."""
    release, public, _ = signed
    result = verify(release, "--key", public, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["holds"] is True
    assert len(found["signed_by"]) == 32
    verdicts = {each["about"]: each["verdict"] for each in found["checks"]}
    assert verdicts == {
        "files": "holds",
        "table rows": "holds",
        "promise k-anonymity": "holds",
        "promise l-diversity": "holds",
        "fields of rows": "holds",
        "deterministic": "red flag",
        "chosen cuts": "red flag",
        "README.md": "holds",
        "signature": "holds",
    }
    assert "accidental" in verify(release).stdout


def added(folder):
    """A file that nobody signed."""
    (folder / "notes").mkdir()
    (folder / "notes" / "more.csv").write_text("a\n1\n")


def linked(folder):
    """A folder of others, as a link."""
    (folder / "more").symlink_to(folder.parent)


CHANGES = {
    "README.md": lambda folder: (folder / "README.md").write_text("Perfectly private.\n"),
    "README.md is not": lambda folder: (folder / "README.md").unlink(),
    "notes/more.csv": added,
    "'more'": linked,
    "rows.csv": lambda folder: (folder / "rows.csv").write_text("sex\n"),
    "manifest": lambda folder: (folder / "datapackage.json").write_text(
        (folder / "datapackage.json").read_text() + "\n"
    ),
}


@pytest.mark.parametrize("named", CHANGES)
@pytest.mark.parametrize("has_key", [True, False])
def test_whatever_was_changed_or_added_after_signing_is_refused(signed, tmp_path, named, has_key):
    """Exit 1, in a sentence that names the file."""
    folder = shutil.copytree(signed[0], tmp_path / "release")
    CHANGES[named](folder)
    result = verify(folder, *(("--key", signed[1]) if has_key else ()))
    assert result.exit_code == 1, result.output
    assert named in result.stderr
    assert len(result.stderr) < 300


def test_an_older_release_is_refused_where_a_serial_number_is_asked_for(signed):
    """Date and number are shown; a number means something only under a key."""
    release, public, _ = signed
    found = verify(release, "--key", public, "--at-least", 5)
    assert found.exit_code == 0, found.output
    assert "serial number 5" in found.stdout
    told = json.loads(verify(release, "--key", public, "--json").stdout)
    assert told["serial"] == 5
    assert told["signed_on"] in found.stdout
    older = verify(release, "--key", public, "--at-least", 6)
    assert older.exit_code == 1
    assert "serial number 5, and at least 6" in older.stderr
    assert verify(release, "--at-least", 1).exit_code == 1


def test_a_signature_of_the_earlier_kind_is_verified_with_its_limit(signed, tmp_path):
    """It covers the manifest and what that names; an added file is refused all the same."""
    folder = shutil.copytree(signed[0], tmp_path / "release")
    key = load_pem_private_key((signed[0].parent / "custodian.pem").read_bytes(), None)
    content = (folder / "datapackage.json").read_bytes()
    earlier = Signature(key.public_key().public_bytes_raw(), key.sign(content))
    (folder / "datapackage.signature.json").write_text(earlier.to_text())
    found = verify(folder, "--key", signed[1])
    assert found.exit_code == 0, found.output
    assert "does not cover README.md" in found.stdout
    assert verify(folder, "--key", signed[1], "--at-least", 1).exit_code == 1
    added(folder)
    assert verify(folder, "--key", signed[1]).exit_code == 1


def test_a_signature_by_another_key_is_refused(signed):
    """Exit 1, with a sentence."""
    release, _, other = signed
    result = verify(release, "--key", other)
    assert result.exit_code == 1
    assert "signed by another key" in result.stderr


def test_a_release_that_nobody_signed_says_so(signed, tmp_path):
    """And is refused where a key is given."""
    folder = shutil.copytree(signed[0], tmp_path / "release")
    (folder / "datapackage.signature.json").unlink()
    assert "Nobody signed" in verify(folder).stdout
    refused = verify(folder, "--key", signed[1])
    assert refused.exit_code == 1
    assert "not signed" in refused.stderr


def test_a_promise_that_tables_break_is_refuted(signed, tmp_path):
    """Exit 3: such a k is possible with so many rows, and not true of them."""
    folder = shutil.copytree(signed[0], tmp_path / "release")
    (folder / "datapackage.signature.json").unlink()
    rewritten(folder, lambda block: block["guarantees"][0].update(k=300))
    result = verify(folder, "--json")
    assert result.exit_code == 3, result.output
    assert json.loads(result.stdout)["holds"] is False


def test_a_promise_stronger_than_its_law_is_refuted(signed, tmp_path):
    """Exit 3 of every verb, since a promise is refuted; what was found is told as any other finding, also as JSON."""
    folder = shutil.copytree(signed[0], tmp_path / "release")
    (folder / "datapackage.signature.json").unlink()
    rewritten(folder, lambda block: block["guarantees"][0].update(k=10**6))
    result = verify(folder, "--json")
    assert result.exit_code == 3, result.output
    found = json.loads(result.stdout)
    assert found["holds"] is False
    (check,) = found["checks"]
    assert (check["about"], check["verdict"]) == ("promise k-anonymity", "broken")
    assert "do not follow from its law" in check["sentence"]
    asked = CliRunner().invoke(app, ["show", str(folder)])
    assert asked.exit_code == 3
    assert "do not follow from its law" in asked.stderr


def test_other_words_beside_the_manifest_are_pointed_out(signed, tmp_path):
    """README.md is for people, and no checksum covers it."""
    folder = shutil.copytree(signed[0], tmp_path / "release")
    (folder / "datapackage.signature.json").unlink()
    (folder / "README.md").write_text("Perfectly private.\n")
    found = {each.about: each for each in verify_release(folder).checks}
    assert found["README.md"].verdict == "cannot be told"
    assert "rely on the manifest" in found["README.md"].sentence


def test_files_that_the_manifest_does_not_name_are_pointed_out(signed, tmp_path):
    """They are passed on with the release: notes, a key, the rows themselves. Their names may tell, and are not repeated."""
    folder = shutil.copytree(signed[0], tmp_path / "release")
    (folder / "datapackage.signature.json").unlink()
    assert "other files" not in {each.about for each in verify_release(folder).checks}
    (folder / "notes").mkdir()
    (folder / "notes" / "smith.csv").write_text("seed\n1\n")
    found = {each.about: each for each in verify_release(folder).checks}
    assert found["other files"].verdict == "red flag"
    assert "1 file that" in found["other files"].sentence
    assert "smith" not in found["other files"].sentence


def test_a_cell_outside_the_list_is_refused(signed, tmp_path):
    """Every table is read whole."""
    folder = shutil.copytree(signed[0], tmp_path / "release")
    (folder / "datapackage.signature.json").unlink()
    path = folder / "rows.csv"
    path.write_text(path.read_text().replace("Sales", "Tails"))
    digest = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout.split()[0]
    rewritten(folder, lambda block: block["tables"][0].update(sha256=digest))
    result = verify(folder)
    assert result.exit_code == 1
    assert "Tails" not in result.output
