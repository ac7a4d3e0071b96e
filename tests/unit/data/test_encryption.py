"""Encrypted records and files."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sfumato.data import encryption
from sfumato.data.encryption import OVERHEAD_BYTES, EncryptedFile, Encryption
from sfumato.errors import DataError


@pytest.mark.parametrize("content", [b"", b"x", bytes(range(251))])
def test_a_record_is_decrypted_by_its_key_and_name(content):
    """Elsewhere too; a record of the same content differs each time."""
    mine = Encryption()
    record = mine.encrypt(content, "pile 1")
    assert len(record) == len(content) + OVERHEAD_BYTES
    assert pickle.loads(pickle.dumps(mine)).decrypt(record, "pile 1") == content
    assert mine.encrypt(content, "pile 1") != record
    for other, name in ((mine, "pile 2"), (Encryption(), "pile 1")):
        with pytest.raises(DataError, match="was changed"):
            other.decrypt(record, name)
    for place in range(len(record)):
        changed = bytearray(record)
        changed[place] ^= 1
        with pytest.raises(DataError, match="was changed"):
            mine.decrypt(changed, "pile 1")


def test_the_key_is_not_shown():
    """In no text of it."""
    mine = Encryption(b"k" * 32)
    assert "k" not in repr(mine).replace("Encryption", "")
    assert "kkk" not in f"{mine}"


def test_records_of_a_file_have_the_nonces_0_1_2(tmp_path, monkeypatch):
    """Recomputed with counter mode alone: GCM encrypts from counter block 2 on."""
    monkeypatch.setattr(encryption, "_fresh_key", lambda: b"k" * 32)
    contents = [b"first record", b"", b"the third, longer than a block of sixteen bytes"]
    file = EncryptedFile(tmp_path / "spilled")
    file.append(contents[:1])
    file.append(contents[1:])
    assert list(file.read()) == contents
    stored = (tmp_path / "spilled").read_bytes()
    for number, content in enumerate(contents):
        block = number.to_bytes(12, "big") + (2).to_bytes(4, "big")
        encryptor = Cipher(algorithms.AES(b"k" * 32), modes.CTR(block)).encryptor()
        assert stored[: len(content)] == encryptor.update(content)
        stored = stored[len(content) + 16 :]
    assert stored == b""


def test_files_have_keys_of_their_own(tmp_path):
    """Equal records of two files differ, and neither reads the other's."""
    one, other = (EncryptedFile(tmp_path / name) for name in "ab")
    for file in (one, other):
        file.append([np.zeros(64, np.uint8).data])
    assert (tmp_path / "a").read_bytes() != (tmp_path / "b").read_bytes()
    (tmp_path / "a").write_bytes((tmp_path / "b").read_bytes())
    with pytest.raises(DataError, match="was changed"):
        list(one.read())


def test_records_in_another_order_or_cut_off_are_refused(tmp_path):
    """And a file that nothing was added to has none, on disk neither."""
    file = EncryptedFile(tmp_path / "spilled")
    assert list(file.read()) == []
    assert not (tmp_path / "spilled").exists()
    file.append([b"one", b"two"])
    stored = (tmp_path / "spilled").read_bytes()
    for wrong in (stored[19:] + stored[:19], stored[:-1], b""):
        (tmp_path / "spilled").write_bytes(wrong)
        with pytest.raises(DataError, match="was changed"):
            list(file.read())


def test_a_file_is_for_its_user_alone(tmp_path):
    """Whatever the umask; one that is there already is not written over."""
    import os

    before = os.umask(0)
    try:
        EncryptedFile(tmp_path / "spilled").append([b"row"])
        (tmp_path / "control").touch()
    finally:
        os.umask(before)
    assert (tmp_path / "spilled").stat().st_mode & 0o077 == 0
    assert (tmp_path / "control").stat().st_mode & 0o077 != 0
    with pytest.raises(FileExistsError):
        EncryptedFile(tmp_path / "spilled").append([b"row"])
