"""What a page does, as a command line and as Python, ready to be copied."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


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
    said += [f"{key}={value!r}" for key, value in named.items() if value not in (None, "", False)]
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
    from sfumato.values.toml_text import toml_value

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
                ["from pathlib import Path", "from sfumato.compare.designs import read_candidates"]
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
        elif value not in (None, "", False):
            chosen += [option, str(value)]
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
            *(["from sfumato.data.knowledge import read_knowledge"] if knowledge else []),
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
