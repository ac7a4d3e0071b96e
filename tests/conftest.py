"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# A time limit for each example would make a right build fail on a busy machine.
settings.register_profile("without a clock", deadline=None)
settings.load_profile("without a clock")
