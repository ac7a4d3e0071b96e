"""Methods with the parameters they are tried with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sfumato.data.private_table import PrivateTable
from sfumato.methods.base import METHODS, Design
from sfumato.schema import Role, Schema


@dataclass(frozen=True)
class Setting:
    """A method with parameters.

    Parameters
    ----------
    name
        Short, for files and tables.
    method, parameters
        As on the command line.
    roles
        Attributes that have another role than elsewhere.
    conservative
        Why the law states errors larger than they are; empty where it does not say so of itself.
    """

    name: str
    method: str
    parameters: Mapping[str, Any]
    roles: Mapping[str, Role] = field(default_factory=dict)
    conservative: str = ""

    def design(self) -> Design:
        """The method."""
        return METHODS.make(self.method, dict(self.parameters))

    def table(self, table: PrivateTable) -> PrivateTable:
        """The same rows with the roles of this setting."""
        schema = Schema(
            attributes=tuple(
                each.model_copy(update={"role": self.roles.get(each.name, each.role)})
                for each in table.schema.attributes
            )
        )
        return PrivateTable(table.source, schema, engine=table.engine)


SETTINGS: tuple[Setting, ...] = (
    Setting("randomized-response", "randomized-response", {"retention": 0.5}),
    Setting(
        "randomized-response-three",
        "randomized-response",
        {"retention": 0.3, "attributes": ["job", "sex", "school"]},
    ),
    # Counts that are off by a row or not at all: what few values they take decides how often intervals hold.
    Setting("randomized-response-light", "randomized-response", {"retention": 0.97}),
    Setting("sample-perturb-scale", "sample-perturb-scale", {"retention": 0.5}),
    Setting("sample-perturb-scale-group", "sample-perturb-scale", {"retention": 0.5, "cap": "group"}),
    Setting("sample-perturb-scale-rounded", "sample-perturb-scale", {"retention": 0.5, "strict": False}),
    Setting("splu-gen", "splu-gen", {"gamma": 4}),
    Setting("splu-gen-two", "splu-gen", {"gamma": {"job": 4, "region": 2}}, {"region": Role.SENSITIVE}),
    Setting("anatomy", "anatomy", {"l_value": 3}),
    Setting("generalization", "generalization", {"k": 5}),
    Setting(
        "generalization-fixed",
        "generalization",
        {"k": 20, "search": "fixed", "levels": {"sex": 0, "age": 1, "region": 1}},
    ),
    Setting("noisy-marginals", "noisy-marginals", {"epsilon": 2.0}),
    Setting(
        "noisy-marginals-gaussian",
        "noisy-marginals",
        {"epsilon": 1.0, "delta": 1e-6, "mechanism": "discrete-gaussian"},
    ),
    Setting("columnized-counts", "columnized-counts", {"k": 5, "epsilon": 4.0}),
    Setting(
        "columnized-counts-budget",
        "columnized-counts",
        {"k": 5, "epsilon": 4.0, "column_sets": [["sex", "job"], ["age", "region"]], "column_budget": 1},
    ),
    Setting("distribution-resampling", "distribution-resampling", {}),
)
