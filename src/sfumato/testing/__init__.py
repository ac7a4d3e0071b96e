"""For those who write methods: releases in memory, and the suite that a method must pass, :func:`check_method`."""

from sfumato.testing.checking import check_method
from sfumato.testing.memory import in_memory, redrawn, release_in_memory
from sfumato.testing.report import Failure, HonestyReport
from sfumato.testing.sample import sample_table

__all__ = [
    "Failure",
    "HonestyReport",
    "check_method",
    "in_memory",
    "redrawn",
    "release_in_memory",
    "sample_table",
]
