"""For authors of methods: releases in memory, and the suite that a method must pass, `check_method`."""

from sfumato.custody.publish import in_memory, release_in_memory
from sfumato.testing.queries import redrawn, sample_table
from sfumato.testing.suite import check_method
from sfumato.testing.trials import Failure, HonestyReport

__all__ = [
    "Failure",
    "HonestyReport",
    "check_method",
    "in_memory",
    "redrawn",
    "release_in_memory",
    "sample_table",
]
