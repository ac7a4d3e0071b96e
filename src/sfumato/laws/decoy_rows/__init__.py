"""Rows whose sensitive values were drawn from secret groups of decoys."""

from sfumato.laws.decoy_rows.law import DecoyRows

__all__ = ["DecoyRows"]
