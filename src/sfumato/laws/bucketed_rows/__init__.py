"""Rows and sensitive values published apart, joined by bucket."""

from sfumato.laws.bucketed_rows.law import BucketedRows

__all__ = ["BucketedRows"]
