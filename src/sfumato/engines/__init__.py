"""Engines: where rows are read and counted."""
