"""Randomized response: every row"s chosen attributes are redrawn by public chance."""

from sfumato.methods.randomized_response.design import RandomizedResponse

__all__ = ["RandomizedResponse"]
