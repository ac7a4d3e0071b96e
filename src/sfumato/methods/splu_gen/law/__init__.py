"""Rows whose sensitive values were drawn from secret groups of decoys."""

from sfumato.methods.splu_gen.law.decoy_rows import DecoyRows

__all__ = ["DecoyRows"]
