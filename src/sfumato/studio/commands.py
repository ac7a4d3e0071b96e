"""Declared parameters as forms, and what a page does as a command line and as Python."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sfumato.errors import ParameterError
from sfumato.methods.base import METHODS, Design
from sfumato.schema import Schema
from sfumato.text import parse_toml, toml_value

# --------------------------------------------------------------------------------------------------
# Forms made from declarations: a parameter's type and bounds decide which control it has.
#
# Nothing about a single method stands here; a method of another package gets its form by the same rules.


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


# --------------------------------------------------------------------------------------------------
# What a page does, as a command line and as Python, ready to be copied.


@dataclass(frozen=True)
class Command:
    """One action in two languages.

    Parameters
    ----------
    arguments
        Of the command line: the very ones that the studio runs.
    python
        The same by the package's public names.
    """

    arguments: tuple[str, ...]
    python: str

    @property
    def shell(self) -> str:
        """The line to type in the project folder."""
        return " ".join(["sfumato", *(shell_word(each) for each in self.arguments if each != "--json")])


def shell_word(text: str) -> str:
    """A word as one would type it: conditions, which hold single quotes, in double ones where that is the same.

    Examples
    --------
    >>> print(shell_word("sex = 'F'"), shell_word("$a'b"), shell_word("people.csv"))
    "sex = 'F'" '$a'"'"'b' people.csv
    """
    is_plain = "'" in text and not set(text) & set('"$`\\!')
    return f'"{text}"' if is_plain else shlex.quote(text)


def reading_arguments(options: Mapping[str, str]) -> tuple[str, ...]:
    """Options of the command line about how rows are read.

    Examples
    --------
    >>> reading_arguments({"delimiter": ";"})
    ('--delimiter', ';')
    """
    return tuple(part for name, value in options.items() for part in (f"--{name}", value))


class Code(str):
    """Text that stands in a call as it is: a name, another call."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def call(name: str, *positional: Any, **named: Any) -> str:
    """A call as Python writes it, without what is None or empty.

    Examples
    --------
    >>> call("publish", "people.csv", seed=None, again=True)
    "publish('people.csv', again=True)"
    """
    said = [repr(each) for each in positional]
    said += [f"{key}={value!r}" for key, value in named.items() if value not in (None, "", False, ())]
    return f"{name}({', '.join(said)})"


def lines(names: Sequence[str], *statements: str) -> str:
    """A short script: what is imported, then the statements."""
    return "\n".join([f"from sfumato import {', '.join(sorted(names))}", "", *statements])


def open_table(data: str, options: Mapping[str, str]) -> str:
    """The statement that reads the private rows."""
    return f"table = {call('read_table', data, 'schema.toml', **options)}"


def open_release(release: str) -> str:
    """The statement that opens a release."""
    return f"release = {call('load_release', release)}"


def infer(data: str, options: Mapping[str, str]) -> Command:
    """A first schema."""
    made = f"guess = {call('infer_schema', data, **options)}"
    return Command(
        ("schema", "infer", data, *reading_arguments(options), "--out", "schema.toml", "--json"),
        lines(
            ["infer_schema"],
            "from pathlib import Path",
            made,
            "Path('schema.toml').write_text(guess.to_toml(), encoding='utf-8')",
        ),
    )


def inspect(data: str, options: Mapping[str, str]) -> Command:
    """The risk before anything is done."""
    return Command(
        ("inspect", data, "--schema", "schema.toml", *reading_arguments(options), "--json"),
        lines(
            ["inspect_table", "read_table"],
            open_table(data, options),
            "print(inspect_table(table).summary())",
        ),
    )


def check(data: str, options: Mapping[str, str]) -> Command:
    """Whether rows and schema fit."""
    checked = call("check_schema", data, Code("Schema.read('schema.toml')"), **options)
    return Command(
        ("schema", "check", data, "schema.toml", *reading_arguments(options), "--json"),
        lines(["Schema", "check_schema"], f"print({checked}.summary())"),
    )


def plan(design: Mapping[str, Any], rows: int) -> Command:
    """Promise and accuracy of a design, for a number of rows."""
    parameters = {name: value for name, value in design.items() if name != "method"}
    settings = tuple(
        part for name, value in parameters.items() for part in ("--set", f"{name}={setting_text(value)}")
    )
    made = f"design = {call('METHODS.make', design['method'], parameters)}"
    return Command(
        (
            "plan",
            "--schema",
            "schema.toml",
            "--rows",
            str(rows),
            "--method",
            str(design["method"]),
            *settings,
        ),
        lines(
            ["METHODS", "Schema", "plan"],
            made,
            f"print(plan(design, Schema.read('schema.toml'), {rows}).summary())",
        ),
    )


def setting_text(value: Any) -> str:
    """A value as ``--set`` takes it: TOML, with words left bare."""
    from sfumato.text import toml_value

    return value if isinstance(value, str) and value.replace("-", "").isalnum() else toml_value(value)


def compare(
    data: str,
    options: Mapping[str, str],
    *,
    sensitive: str,
    repeats: int,
    queries: int,
    own_designs: bool = False,
) -> Command:
    """Designs beside each other: a grid of every method, or those of ``designs.toml``."""
    arguments = ("compare", data, "--schema", "schema.toml", *reading_arguments(options))
    chosen = ("--sensitive", sensitive, "--repeats", str(repeats), "--queries", str(queries))
    designs = ("--designs", "designs.toml") if own_designs else ()
    named: dict[str, Any] = {"sensitive": sensitive, "repeats": repeats, "queries": queries}
    if own_designs:
        named["candidates"] = Code("read_candidates(Path('designs.toml'))")
    made = call("compare_designs", Code("table"), "comparison", **named)
    return Command(
        (*arguments, *chosen, *designs, "--out", "comparison", "--json"),
        lines(
            ["compare_designs", "read_table"],
            *(
                ["from pathlib import Path", "from sfumato.compare.grid import read_candidates"]
                if own_designs
                else []
            ),
            open_table(data, options),
            f"print({made}.summary())",
        ),
    )


def publish(data: str, options: Mapping[str, str], *, out: str, settings: Mapping[str, Any]) -> Command:
    """A release by the design that was kept.

    Parameters
    ----------
    settings
        By option of the verb, with underscores: texts, numbers, and True for switches.
    """
    chosen: list[str] = []
    for name, value in settings.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            chosen.append(option)
        elif value not in (None, "", False, ()):
            chosen += [option, ",".join(value) if isinstance(value, tuple) else str(value)]
    arguments = ("publish", data, "--schema", "schema.toml", "--design", "design.toml")
    called = call("publish", Code("table"), Code("design"), out, **settings)
    return Command(
        (*arguments, *reading_arguments(options), *chosen, "--out", out, "--json"),
        lines(
            ["METHODS", "publish", "read_table"],
            "import tomllib",
            "from pathlib import Path",
            open_table(data, options),
            "design = METHODS.read(tomllib.loads(Path('design.toml').read_text(encoding='utf-8')))",
            called,
        ),
    )


def audit(release: str, data: str, options: Mapping[str, str], *, control: str) -> Command:
    """Attacks against control."""
    chosen = ("--control", control) if control else ()
    others = f", control={call('read_table', control, 'schema.toml')}" if control else ""
    return Command(
        (
            *("audit", release, "--against", data, "--schema", "schema.toml"),
            *(*reading_arguments(options), *chosen, "--json"),
        ),
        lines(
            ["audit", "load_release", "read_table"],
            open_table(data, options),
            f"print(audit([{call('load_release', release)}], table{others}).summary())",
        ),
    )


def attack(release: str, name: str, *, knowledge: str, sensitive: str = "") -> Command:
    """One attack, with what is public and what the attacker knows besides."""
    known = call("read_knowledge", knowledge, Code("release.schema")) if knowledge else ""
    parameters = {"sensitive": sensitive} if sensitive else {}
    settings = ("--set", f"sensitive={setting_text(sensitive)}") if sensitive else ()
    made = f"ATTACKS.make({name!r}, {parameters!r}).run(release{f', {known}' if known else ''})"
    return Command(
        (
            *("attack", release, "--attack", name, *settings),
            *(*(("--knowledge", knowledge) if knowledge else ()), "--json"),
        ),
        lines(
            ["load_release"],
            "from sfumato.attacks import ATTACKS",
            *(["from sfumato.attacks.base import read_knowledge"] if knowledge else []),
            open_release(release),
            f"print({made}.summary())",
        ),
    )


def report(release: str, out: str, data: str, options: Mapping[str, str]) -> Command:
    """A page about a release; with the private rows where they are named."""
    against = ("--against", data, *reading_arguments(options)) if data else ()
    private = f", against={call('read_table', data, 'schema.toml', **options)}" if data else ""
    return Command(
        ("report", release, *against, "--out", out, "--json"),
        lines(
            ["load_release", "write_report", *(["read_table"] if data else [])],
            open_release(release),
            f"write_report(release, {out!r}{private})",
        ),
    )


def asked(verb: str, release: str, *options: str, python: str, question: str = "") -> Command:
    """Something that an analyst asks of a release.

    Parameters
    ----------
    verb, release, options
        Of the command line.
    python
        The call that asks the same.
    question
        What is asked in words; empty where options say it all.
    """
    named = (release, question) if question else (release,)
    # A question that begins with a dash is none of the options.
    is_marked = any(each.startswith("-") for each in named)
    return Command(
        (verb, *options, "--json", "--", *named) if is_marked else (verb, *named, *options, "--json"),
        lines(["load_release"], open_release(release), f"print({python}.summary())"),
    )
