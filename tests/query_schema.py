"""A schema to ask queries of: bins, awkward names, a missing category."""

from __future__ import annotations

from sfumato.schema import Schema

SCHEMA = Schema.from_toml("""
[attributes.passport]
role = "identifier"

[attributes.sex]
role = "quasi-identifier"
categories = ["Female", "Male"]

[attributes.age]
role = "quasi-identifier"
bins = [17, 25, 35, 45]
missing = "category"

[attributes.wage]
role = "other"
bins = [0, 0.5, 1.5, 1e16]

[attributes.job]
role = "sensitive"
categories = ["Sales", "Côte d'Ivoire", "39", "日本", " "]
missing = "category"
missing_values = ["?"]

[attributes."marital status"]
role = "other"
categories = ["Single", "Married"]

[attributes.'say "when"']
role = "other"
categories = ["now", "later"]

[attributes.missing]
role = "other"
categories = ["yes", "no"]

[attributes."income-2.5_k"]
role = "other"
categories = ["low", "high"]
""")
