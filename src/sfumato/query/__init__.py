"""The query language: text, conditions, selections of rows."""
