"""The moments of swapping, and the row phase."""
