"""Audits: attacks and estimates held against the truth, for the custodian only."""
