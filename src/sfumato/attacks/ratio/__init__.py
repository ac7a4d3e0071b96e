"""The ratio attack: two private counts whose quotient is not."""

from sfumato.attacks.ratio.attack import RatioAttack

__all__ = ["RatioAttack"]
