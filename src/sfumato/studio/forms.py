"""Forms made from declarations: a parameter's type and bounds decide which control it has.

Nothing about a single method stands here; a method of another package gets its form by the same rules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sfumato.errors import ParameterError
from sfumato.methods.base import METHODS, Design
from sfumato.values.schema import Schema
from sfumato.values.structured_text import parse_toml
from sfumato.values.toml_text import toml_value

Kind = Literal["radio", "select", "checkbox", "number", "attribute", "attributes", "by-attribute", "toml"]

FEW_CHOICES = 4
SET_BY_PLAN = ("chosen_for", "chosen_from_private_data")
"""Parameters that ``calibrate`` writes; nobody fills them in."""

STEPS_OF_A_SLIDER = 200


@dataclass(frozen=True)
class Control:
    """One parameter as a form shows it.

    Parameters
    ----------
    name, help
        Of the parameter.
    kind
        Which control it is.
    value
        As text, or as a list of texts where several are ticked; empty for "not set".
    required
        It has no default and must be filled in.
    default
        In words, for those who leave it.
    choices
        Of a radio group, a select or checkboxes.
    least, most, step
        Of a number; strict bounds are checked by the design itself.
    is_logarithmic
        A slider moves by factors.
    values
        By attribute, where each may have its own.
    """

    name: str
    help: str
    kind: Kind
    value: str = ""
    required: bool = False
    default: str = ""
    choices: tuple[str, ...] = ()
    ticked: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    step: str = "any"
    is_logarithmic: bool = False
    values: Mapping[str, str] | None = None

    @property
    def slider(self) -> tuple[float, float, float] | None:
        """First and last place of a slider beside the number, and where it stands; None where none helps."""
        if self.kind not in ("number", "by-attribute") or self.step != "any":
            return None
        low, high = self.slider_ends
        try:
            now = float(self.value)
        except ValueError:
            now = math.sqrt(low * high) if self.is_logarithmic else (low + high) / 2
        if self.is_logarithmic:
            return math.log10(low), math.log10(high), math.log10(min(max(now, low), high))
        return low, high, min(max(now, low), high)

    @property
    def slider_ends(self) -> tuple[float, float]:
        """What a slider reaches; the number beside it takes everything that is allowed."""
        if not self.is_logarithmic:
            return self.least or 0.0, self.most if self.most is not None else 1.0
        return max(self.least or 0.0, 1e-9 if (self.most or 1) <= 1 else 0.01), min(self.most or 10.0, 10.0)


def controls(design_class: type[Design], schema: Schema, chosen: Mapping[str, Any]) -> tuple[Control, ...]:
    """The controls of a method's form, with what was chosen so far."""
    declared = design_class.model_json_schema()
    return tuple(
        _control(name, field, declared, schema, chosen.get(name))
        for name, field in declared["properties"].items()
        if name != METHODS.tag and name not in SET_BY_PLAN
    )


def _control(
    name: str, field: Mapping[str, Any], declared: Mapping[str, Any], schema: Schema, value: Any
) -> Control:
    kinds = [each for each in field.get("anyOf", [field]) if each.get("type") != "null"]
    given = field.get("default") if value is None else value
    said: dict[str, Any] = {
        "name": name,
        "help": field.get("description", ""),
        "required": name in declared.get("required", ()),
        "default": "" if field.get("default") in (None, [], {}) else str(field["default"]),
    }
    first = kinds[0]
    if "enum" in first:
        few = len(first["enum"]) <= FEW_CHOICES
        return Control(
            **said, kind="radio" if few else "select", value=str(given or ""), choices=tuple(first["enum"])
        )
    if first.get("type") == "boolean":
        return Control(**said, kind="checkbox", value="true" if given else "")
    if first.get("type") in ("number", "integer"):
        return _number(said, kinds, given, schema)
    if first.get("type") == "string" and len(kinds) == 1 and "attribute" in name:
        return Control(**said, kind="attribute", value=str(given or ""), choices=schema.publishable.names)
    is_names = (
        first.get("type") == "array" and first.get("items", {}).get("type") == "string" and name != "queries"
    )
    if is_names and len(kinds) == 1:
        ticked = tuple(str(each) for each in given or ())
        return Control(**said, kind="attributes", choices=schema.publishable.names, ticked=ticked)
    text = "" if given in (None, {}, [], "") else given if isinstance(given, str) else toml_value(given)
    return Control(**said, kind="toml", value=text)


def _number(said: dict[str, Any], kinds: Sequence[Mapping[str, Any]], given: Any, schema: Schema) -> Control:
    first = kinds[0]
    most = first.get("maximum", first.get("exclusiveMaximum"))
    whole = first["type"] == "integer"
    bounds: dict[str, Any] = {
        "least": first.get("minimum", first.get("exclusiveMinimum")),
        "most": most,
        "step": "1" if whole else "any",
        # A budget or a tiny probability moves by factors; a share moves evenly.
        "is_logarithmic": not whole and (said["name"] == "delta" or most is None or most > 1),
    }
    by_attribute = any(each.get("type") == "object" for each in kinds[1:])
    if not by_attribute:
        return Control(**said, **bounds, kind="number", value="" if given is None else _text(given))
    values = dict.fromkeys(schema.publishable.names, "")
    if isinstance(given, Mapping):
        values |= {name: _text(number) for name, number in given.items()}
        given = None
    return Control(
        **said, **bounds, kind="by-attribute", value="" if given is None else _text(given), values=values
    )


def _text(number: Any) -> str:
    return f"{number:.12g}" if isinstance(number, float) else str(number)


def read_form(
    design_class: type[Design], schema: Schema, sent: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Parameters from a form that was sent; what was left empty is not set.

    Raises
    ------
    ParameterError
        When a number is none, or a text is no TOML. Bounds are the design's own to check.
    """
    found: dict[str, Any] = {}
    for each in controls(design_class, schema, {}):
        texts = [text.strip() for text in sent.get(each.name, ()) if text.strip()]
        if each.kind == "attributes":
            if texts:
                found[each.name] = texts
        elif each.kind == "checkbox":
            found[each.name] = bool(texts)
        elif each.kind == "by-attribute" and (own := _by_attribute(each, sent)):
            found[each.name] = own
        elif texts:
            found[each.name] = _value(each, texts[-1])
    return found


def _by_attribute(control: Control, sent: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    texts = {
        name: "".join(sent.get(f"{control.name}.{place}", ())).strip()
        for place, name in enumerate(control.values or ())
    }
    return {name: _value(control, text) for name, text in texts.items() if text}


def _value(control: Control, text: str) -> Any:
    if control.kind in ("number", "by-attribute"):
        try:
            return int(text) if control.step == "1" else float(text)
        except ValueError:
            kind = "a whole number" if control.step == "1" else "a number"
            raise ParameterError(
                f"{control.name} must be {kind}. Correct it, or leave it empty.", parameter=control.name
            ) from None
    if control.kind != "toml":
        return text
    try:
        return parse_toml(f"value = {text}\n")["value"]
    except (ValueError, KeyError):
        if text.replace("-", "").isalnum():
            return text
        raise ParameterError(
            f'{control.name} is written as TOML, such as [["a", "b"]] or {{name = 2}}. Correct it, or leave it empty.',
            parameter=control.name,
        ) from None
