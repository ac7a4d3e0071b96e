"""Ways to break a law that the honesty suite must see."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from sfumato.errors import NotIdentifiableError


def off_by_fifty(estimates):
    """Every number fifty too high, with a hundredth of its standard error."""
    return dataclasses.replace(scaled(estimates, 0.01), values=estimates.values + 50)


def too_narrow(estimates):
    """Standard errors 30 % too small."""
    return scaled(estimates, 0.7)


def without_covariance(estimates):
    """Numbers called independent that are not."""
    return dataclasses.replace(estimates, covariance=np.diag(estimates.variances))


def refusing(estimates):
    """No question is answered."""
    raise NotIdentifiableError("this release answers nothing at all. Ask another.")


def scaled(estimates, factor):
    """Standard errors multiplied by a factor."""
    covariance = None if estimates.covariance is None else factor**2 * estimates.covariance
    variances = factor**2 * estimates.variances
    return dataclasses.replace(estimates, variances=variances, covariance=covariance, limits=None)


def sabotage(monkeypatch, law, fault):
    """Let every answer of a law class pass through a fault."""
    is_inside = False

    def broken(answer):
        @functools.wraps(answer)
        def answer_badly(self, *arguments, **named):
            nonlocal is_inside
            if is_inside:
                # A law may answer one call by another of its own; the fault comes once.
                return answer(self, *arguments, **named)
            is_inside = True
            try:
                return fault(answer(self, *arguments, **named))
            finally:
                is_inside = False

        return answer_badly

    for name in ("estimate", "estimate_selections"):
        monkeypatch.setattr(law, name, broken(getattr(law, name)))
