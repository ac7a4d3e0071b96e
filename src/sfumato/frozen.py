"""The base of every declared value: designs, laws, guarantees, schemas, manifests."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError


class Frozen(BaseModel):
    """A value that is checked when made and never changes.

    Unknown fields are refused: a misspelt parameter must not silently fall back to a default, and a
    manifest with a field that this version does not know must not be read as if it were understood.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False)


def explain(error: ValidationError) -> list[str]:
    """Turn a validation error into sentences: which field, what is allowed, what was given.

    Only for values that are public by nature (parameters, schemas, manifests).
    """
    return [_explain_one(dict(each)) for each in error.errors(include_url=False)]


def _explain_one(detail: dict[str, Any]) -> str:
    where = ".".join(str(part) for part in detail["loc"])
    message = str(detail["msg"]).removeprefix("Value error, ")
    if detail["type"] == "value_error":
        # Our own validators already name the field, what is allowed and what was given.
        return message
    if detail["type"] == "extra_forbidden":
        return f"{where} is not a known name here."
    if detail["type"] == "missing":
        return f"{where} is required."
    requirement = message.replace("Input should", "should", 1)
    given = repr(detail.get("input"))
    shown = f", got {given}" if len(given) <= 60 else ""
    return f"{where} {requirement}{shown}."
