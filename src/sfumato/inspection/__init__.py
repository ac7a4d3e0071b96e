"""Looking at private rows before anything is done: the risk as it stands, and a first schema."""

from sfumato.inspection.risk import GroupSizes, Inspection, inspect_table
from sfumato.inspection.schema_inference import ColumnFinding, InferredSchema, infer_schema

__all__ = [
    "ColumnFinding",
    "GroupSizes",
    "InferredSchema",
    "Inspection",
    "infer_schema",
    "inspect_table",
]
