"""The known attacks on releases. They read a release, its law and stated knowledge, never private rows."""

from sfumato.attacks.base import Attack, AttackResult
from sfumato.registry import Family

ATTACKS = Family("sfumato.attacks", Attack, "attack")

__all__ = ["ATTACKS", "Attack", "AttackResult"]
