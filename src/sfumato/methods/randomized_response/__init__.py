"""Randomized response: every row's chosen attributes are redrawn by public chance."""
