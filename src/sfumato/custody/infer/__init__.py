"""A first schema for a table: guesses, each with what a person must check."""

from sfumato.custody.infer.inference import infer_schema
from sfumato.custody.infer.inferred import ColumnFinding, InferredSchema

__all__ = ["ColumnFinding", "InferredSchema", "infer_schema"]
