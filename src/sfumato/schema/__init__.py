"""Schemas: attributes, their roles and their categories.

Categories are public and fixed before any data are read. That is what makes a release's domain free
of private information: a rare category that nobody has still appears in the schema, and a value that
the schema does not list is an error, never a new category.
"""

from sfumato.schema.attribute import MISSING_LABEL, Attribute, Role
from sfumato.schema.schema import LongForm, Schema

__all__ = ["MISSING_LABEL", "Attribute", "LongForm", "Role", "Schema"]
