"""Rows and sensitive values published apart, joined by bucket."""

from sfumato.methods.anatomy.law.bucketed_rows import BucketedRows

__all__ = ["BucketedRows"]
