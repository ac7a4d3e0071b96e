"""The doors from a release to its analyses.

Analyses are built on releases; only these doors point the other way, so that what can be asked of a release
stands on the release. They load an analysis when it is asked for and hold nothing of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.analysis.asking import Countable
    from sfumato.analysis.measures import Measures
    from sfumato.analysis.measures.measuring import Interval
    from sfumato.laws import Target


class Analyses:
    """What can be computed from a release's estimated counts, with the law's errors carried on."""

    def measures(
        self: Countable,
        first: str,
        second: str,
        *,
        where: str = "",
        interval: Interval = "normal",
        confidence_level: float = 0.95,
        target: Target = "table",
    ) -> Measures:
        """How two attributes, or conditions, go together: see :func:`sfumato.analysis.measures.measure`."""
        from sfumato.analysis.measures import measure

        return measure(
            self,
            first,
            second,
            where=where,
            interval=interval,
            confidence_level=confidence_level,
            target=target,
        )
