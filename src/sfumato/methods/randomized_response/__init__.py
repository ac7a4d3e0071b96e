"""Randomized response: chosen attributes of every row randomized at a published rate."""
