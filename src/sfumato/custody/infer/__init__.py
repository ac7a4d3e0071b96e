"""A first schema for a table: guesses, each with what a person must check."""

from sfumato.custody.infer.inference import ColumnFinding, InferredSchema, infer_schema

__all__ = ["ColumnFinding", "InferredSchema", "infer_schema"]
