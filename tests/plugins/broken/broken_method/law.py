"""A law that needs what is not there."""

raise RuntimeError("a message of the package's own, which is not repeated")
