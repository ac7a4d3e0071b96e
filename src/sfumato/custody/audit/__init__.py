"""Audits: attacks and estimates compared with the private rows, for the custodian only."""
