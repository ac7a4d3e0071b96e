"""Ends of what a number may be, where nothing in its meaning ends it: beyond them arithmetic or memory would."""

from __future__ import annotations

MOST_ROWS = 10**15
"""More rows than any table has; whole numbers up to here are exact in floating point, and so are their products with a few."""

SMALLEST_EPSILON = 1e-9
"""Below it noise would be larger than any count; epsilon itself, not shares of it."""

LARGEST_EPSILON = 700.0
"""Above it exp(epsilon) is no number any more, and nothing is protected."""

SMALLEST_ERROR = 1e-6
"""Of relative errors and retentions: smaller ones need more rows than there are."""

LARGEST_ERROR = 1e6
"""Of relative errors and bounds that grow without end: larger ones say nothing."""

MOST_CONFIDENT = 1 - 2**-52
"""Of confidence levels: nearer to 1 half of what is missing is no number any more."""

MOST_CATEGORIES = 10_000_000
"""Of an attribute: more labels than fit in a manifest that is read."""
