"""Random record swapping: a method of another package. Nothing is imported here, so that opening a release loads no design."""
