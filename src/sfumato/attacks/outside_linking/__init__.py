"""Linking with outside records: who fits which published rows, and what the rows then say."""

from sfumato.attacks.outside_linking.attack import OutsideLinking

__all__ = ["OutsideLinking"]
