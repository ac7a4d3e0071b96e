"""Linking: find people in a release by what is known of them, and read off what is not."""

from sfumato.attacks.linking.attack import Linking

__all__ = ["Linking"]
