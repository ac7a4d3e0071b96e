"""What the honesty suite finds wrong in today's laws: the one register of expected failures, to become empty.

It is strict. A failure that is not here fails the tests, and so does an entry that is no longer found: take it out then.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """A failure that is expected.

    Parameters
    ----------
    method
        Public name.
    aspect, kind, targets
        As the suite's report has them.
    reason
        What is wrong.
    takes_many
        Found only by the long run: the fault is too small, or too rare, for the quick one.
    """

    method: str
    aspect: str
    kind: str
    targets: tuple[str, ...]
    reason: str
    takes_many: bool = False


REGISTER: tuple[Known, ...] = ()


def expected(method, *, many):
    """Aspect, kind and target of every failure to expect of a method, in the quick or in the long run."""
    return {
        (each.aspect, each.kind, target)
        for each in REGISTER
        for target in each.targets
        if each.method == method and (many or not each.takes_many)
    }
