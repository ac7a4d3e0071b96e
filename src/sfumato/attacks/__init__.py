"""The known attacks on releases: one file, one attack."""

from sfumato.attacks.base import Attack, AttackResult
from sfumato.families import Family

ATTACKS = Family("sfumato.attacks", Attack, "attack")

__all__ = ["ATTACKS", "Attack", "AttackResult"]
