"""The immutable model that designs, laws, guarantees, schemas and manifests derive from, and the limits of their numeric fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from sfumato.errors import ParameterError, SfumatoError

# --------------------------------------------------------------------------------------------------
# The base of every declared value: designs, laws, guarantees, schemas, manifests.


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    # Pydantic gives its metaclass no public name; this finds it whatever it is called.
    ModelMetaclass = type(BaseModel)


class _Explained(ModelMetaclass):
    """Makes a refused value raise our error, with our sentences, instead of pydantic's."""

    def __call__(cls, *arguments: Any, **fields: Any) -> Any:  # noqa: N805 - the instance is a class
        try:
            return super().__call__(*arguments, **fields)
        except ValidationError as error:
            raise cls.refusal("\n".join(explain(error))) from None  # type: ignore[attr-defined]


class Frozen(BaseModel, metaclass=_Explained):
    """A value that is checked when made and never changes.

    Unknown fields are refused: a misspelt parameter must not silently fall back to a default, and a
    manifest with a field that this version does not know must not be read as if it were understood.
    """

    # Built at first use: listing the members of a family needs their fields, not their validators.
    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False, defer_build=True
    )

    refusal: ClassVar[type[SfumatoError]] = ParameterError
    """What is raised when a field is not as it should be."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other fields, without what was computed from those before."""
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied


def explain(error: ValidationError) -> list[str]:
    """Turn a validation error into sentences: which field, what is allowed, what was given.

    Only for values that are public by nature (parameters, schemas, manifests).
    """
    by_place: dict[str, list[dict[str, Any]]] = {}
    for each in error.errors(include_url=False):
        by_place.setdefault(_place(each["loc"]), []).append(dict(each))
    sentences: list[str] = []
    for place, details in by_place.items():
        if any(other.startswith(f"{place}.") for other in by_place) and place:
            continue
        # Where a field may be a number or a table, pydantic complains about both; only the complaint
        # about the kind that was given helps.
        telling = [each for each in details if not each["type"].endswith("_type")] or details[:1]
        sentences += [line for each in telling for line in _explain_one(place, each).split("\n")]
    return sentences


def _place(location: tuple[int | str, ...]) -> str:
    """The field's dotted name, without the labels that pydantic adds for members of a union."""
    return ".".join(str(part) for part in location if not _UNION_LABEL.search(str(part)))


_UNION_LABEL = re.compile(r"^(constrained-|function-|float$|int$|str$|bool$|tuple$|none$)|\[.*\]$")


def _explain_one(where: str, detail: dict[str, Any]) -> str:
    message = str(detail["msg"]).removeprefix("Value error, ")
    if detail["type"] == "value_error":
        # Our own validators already name the field, what is allowed and what was given.
        return message
    if detail["type"] == "extra_forbidden":
        return f"{where} is not a known name here."
    if detail["type"] == "missing":
        return f"{where} is required."
    # "Input should be ...", "String should have ...": the field's own name stands there instead.
    requirement = re.sub(r"^\w+ should", "should", message)
    given = repr(detail.get("input"))
    shown = f", got {given}" if len(given) <= 60 else ""
    return f"{where} {requirement}{shown}."


# --------------------------------------------------------------------------------------------------
# Ends of what a number may be, where nothing in its meaning ends it: beyond them arithmetic or memory would.


MOST_ROWS = 10**15
"""More rows than any table has; whole numbers up to here are exact in floating point, and so are their products with a few."""

SMALLEST_EPSILON = 1e-9
"""Below it noise would be larger than any count; epsilon itself, not shares of it."""

LARGEST_EPSILON = 700.0
"""Above it exp(epsilon) is no number any more, and nothing is protected."""

SMALLEST_ERROR = 1e-6
"""Of relative errors and retentions: smaller ones need more rows than there are."""

LARGEST_ERROR = 1e6
"""Of relative errors and bounds that grow without end: larger ones say nothing."""

MOST_CONFIDENT = 1 - 2**-52
"""Of confidence levels: nearer to 1 half of what is missing is no number any more."""

MOST_CATEGORIES = 10_000_000
"""Of an attribute: more labels than fit in a manifest that is read."""
