"""Who vouches for a release can be checked, and only who holds the key can vouch."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from samples import SCHEMA, people
from sfumato import load_release, publish, read_table
from sfumato.custody.ledger import Ledger
from sfumato.errors import ParameterError, ReleaseDamagedError, ReleaseUnsupportedError
from sfumato.methods.randomized_response.design import RandomizedResponse
from sfumato.release.manifest import SIGNATURE_NAME, Signature, Signer, read_public_key

FORMS = {
    "pem": (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8),
    "openssh": (serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH),
}


@pytest.fixture(params=FORMS)
def keys(request, tmp_path):
    """Files of a private and a public key."""
    encoding, form = FORMS[request.param]
    key = Ed25519PrivateKey.generate()
    private, public = tmp_path / "key", tmp_path / "key.pub"
    private.write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
    public.write_bytes(
        key.public_key().public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)
        if request.param == "pem"
        else key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    )
    return private, public


@pytest.fixture
def signed(keys, tmp_path):
    """A signed release."""
    table = read_table(people(100), SCHEMA)
    return publish(table, RandomizedResponse(retention=0.5), tmp_path / "release", sign=keys[0])


def test_a_signed_release_names_the_key(signed, keys):
    """The public half that was told by other means is the one in the folder."""
    assert load_release(signed.folder).signature.public_key == read_public_key(keys[1])


def test_a_changed_manifest_does_not_fit(signed):
    """Even when its checksum was made anew."""
    manifest = signed.folder / "datapackage.json"
    manifest.write_bytes(manifest.read_bytes() + b"\n")
    with pytest.raises(ReleaseDamagedError, match="signature is not of its manifest"):
        _ = load_release(signed.folder).signature


def test_another_key_gives_another_signature(signed):
    """A signature under a key that did not sign does not fit."""
    content = (signed.folder / "datapackage.json").read_bytes()
    other = Ed25519PrivateKey.generate()
    raw = other.public_key().public_bytes_raw()
    stated = signed.signature.statement
    assert signed.signature.fits(content)
    assert not signed.signature.fits(content + b"\n")
    assert not Signature(raw, signed.signature.signed, stated).fits(content)
    assert Signature(raw, other.sign(stated.to_bytes()), stated).fits(content)


@pytest.mark.parametrize("change", [{"serial": 9}, {"date": "2031-01-01"}, {"files": {}}])
def test_date_serial_number_and_files_are_signed(signed, change):
    """None of them can be changed without the key."""
    path = signed.folder / SIGNATURE_NAME
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ReleaseDamagedError, match="signature is not of its manifest"):
        _ = load_release(signed.folder).signature


def test_a_signature_of_the_earlier_kind_fits_its_manifest(signed, keys):
    """It is over the manifest's bytes alone, and does not pass for one of this kind."""
    content = (signed.folder / "datapackage.json").read_bytes()
    key = serialization.load_pem_private_key if b"BEGIN PRIVATE" in keys[0].read_bytes() else None
    key = (key or serialization.load_ssh_private_key)(keys[0].read_bytes(), None)
    earlier = Signature(key.public_key().public_bytes_raw(), key.sign(content))
    (signed.folder / SIGNATURE_NAME).write_text(earlier.to_text())
    assert "version" not in json.loads(earlier.to_text())
    assert load_release(signed.folder).signature == earlier
    assert not earlier.covers("README.md", b"")


def test_a_version_that_is_not_known_is_refused(signed):
    """Rather than read as another."""
    path = signed.folder / SIGNATURE_NAME
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 3}))
    with pytest.raises(ReleaseUnsupportedError, match="does not know"):
        _ = load_release(signed.folder).signature


def test_a_manifest_that_is_replaced_after_opening_is_refused(signed, keys, tmp_path):
    """The signature of another release says nothing of the one that was opened."""
    table = read_table(people(120), SCHEMA)
    other = publish(table, RandomizedResponse(retention=0.5), tmp_path / "other", sign=keys[0])
    release = load_release(signed.folder)
    for name in (SIGNATURE_NAME, "datapackage.json"):
        (other.folder / name).replace(signed.folder / name)
    with pytest.raises(ReleaseDamagedError, match="changed while"):
        _ = release.signature


def test_the_serial_number_is_the_ledgers_unless_given(keys, tmp_path):
    """And 1 where there is no ledger."""
    table, ledger = read_table(people(100), SCHEMA), Ledger(tmp_path / "ledger.db")
    design = RandomizedResponse(retention=0.5)
    found = [
        publish(table, design, tmp_path / str(place), sign=keys[0], **given).signature.statement
        for place, given in enumerate(
            ({}, {"ledger": ledger}, {"ledger": ledger, "again": True, "say": str}, {"serial": 7})
        )
    ]
    assert [each.serial for each in found] == [1, 1, 2, 7]
    assert {each.date for each in found} <= {datetime.now(UTC).date(), found[0].date}
    for given in ({"serial": 0, "sign": keys[0]}, {"serial": 3}, {"serial": 10**19, "sign": keys[0]}):
        with pytest.raises(ParameterError, match="from 1 to"):
            publish(table, design, tmp_path / "none", **given)
    assert not (tmp_path / "none").exists()


def test_a_release_need_not_be_signed(tmp_path):
    """None, rather than an error."""
    table = read_table(people(100), SCHEMA)
    assert publish(table, RandomizedResponse(retention=0.5), tmp_path / "release").signature is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"algorithm": "none", "public_key": "", "signature": ""}', "[" * 9999]
)
def test_what_is_no_signature_is_refused(signed, text):
    """In a sentence."""
    (signed.folder / SIGNATURE_NAME).write_text(text)
    with pytest.raises(ReleaseDamagedError, match="not a signature"):
        _ = load_release(signed.folder).signature


def test_a_key_with_a_password_asks_for_it(tmp_path):
    """Once, and a wrong one is refused without a word of the key."""
    key = Ed25519PrivateKey.generate()
    path = tmp_path / "locked.pem"
    path.write_bytes(key.private_bytes(*FORMS["pem"], serialization.BestAvailableEncryption(b"open sesame")))
    signature = Signer(path, password=lambda: "open sesame").sign({"datapackage.json": b"x"}, serial=1)
    assert signature.fits(b"x")
    for wrong in (lambda: "sesame", None):
        with pytest.raises(ParameterError, match="not a private Ed25519 key"):
            Signer(path, password=wrong)


def test_other_files_are_not_keys(tmp_path, keys):
    """A public key does not sign, an RSA key is another kind, a device is no file."""
    rsa = tmp_path / "rsa.pem"
    rsa.write_bytes(
        generate_private_key(65537, 2048).private_bytes(*FORMS["pem"], serialization.NoEncryption())
    )
    for path in (keys[1], rsa, tmp_path / "none", tmp_path):
        with pytest.raises(ParameterError):
            Signer(path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ParameterError):
        read_public_key(tmp_path / "pipe")
    (tmp_path / "long").write_bytes(b"x" * 100_000)
    with pytest.raises(ParameterError, match="too long"):
        read_public_key(tmp_path / "long")


def test_the_key_is_shown_nowhere(keys):
    """Not in the repr, and not beside the signature."""
    signer = Signer(keys[0])
    assert "private" not in repr(signer).lower()
    assert len(repr(signer)) < 30
