"""The demonstration: the whole way on an embedded sample."""
