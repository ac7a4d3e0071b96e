"""The commands and the Python lines that repeat a release and ask questions of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.release import Release
from sfumato.report.document import Block, Listing, Paragraph, Section
from sfumato.report.margins import Margin, OpenMargin
from sfumato.values.selection import Selection
from sfumato.values.toml_text import toml_value

CONTINUED = " \\\n    "
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_TOML_WORDS = ("true", "false", "inf", "nan")


def repetition_section(
    release: Release, margins: Sequence[Margin | OpenMargin], command: str | None
) -> Section:
    """How to publish with the same parameters, and how to ask questions, by command and by Python.

    Parameters
    ----------
    release
        The release.
    margins
        What it says of each attribute; one that it determines serves as the example.
    command
        The command line that asked for the report, if there was one.
    """
    noise = (
        "Noise is drawn anew each time, so another release by the same design has other numbers, as good as these. "
        "data.csv and schema.toml stand for the custodian's own files."
    )
    name = release_name(release)
    blocks: list[Block] = [
        Paragraph(noise),
        *(
            [
                Paragraph(
                    "The parameters are withheld with the law: only the custodian can publish the same again."
                )
            ]
            if release.law.is_withheld
            else [
                Listing("Publish", publish_command(release.manifest.method, name)),
                Listing("The same in Python", _publish_python(release.manifest.method, name)),
            ]
        ),
    ]
    example = _example(release, margins)
    if example is not None:
        attribute, question = example
        blocks += [
            Listing("Ask a question", query_command(name, question)),
            Listing("Tabulate", f"sfumato counts {shlex.quote(name)} --by {shlex.quote(attribute)}"),
            Listing("Both in Python", _query_python(name, attribute, question)),
        ]
    if command is not None:
        blocks.append(Listing("This page", command))
    return Section("Repeat it", tuple(blocks))


def release_name(release: Release) -> str:
    """The name of the release's folder, without the folders around it: those are nobody else's business."""
    return (release.folder.resolve().name if release.folder is not None else "") or "release"


def query_command(name: str, question: str) -> str:
    """The command that asks a release a question.

    Examples
    --------
    >>> print(query_command("release", "job = 'Sales'"))
    sfumato query release "job = 'Sales'"
    """
    # Double quotes are easier to read around a query's own quotes, where a shell leaves the inside alone.
    is_plain = not set(question) & set('"$`\\!\n')
    quoted = f'"{question}"' if is_plain else shlex.quote(question)
    return f"sfumato query {shlex.quote(name)} {quoted}"


def _example(release: Release, margins: Sequence[Margin | OpenMargin]) -> tuple[str, str] | None:
    """An attribute that can be asked about, an estimated one if there is any, and a question about it."""
    known = [each for each in margins if isinstance(each, Margin)]
    if not known:
        return None
    chosen = min(known, key=lambda margin: margin.is_exact)
    code = chosen.largest(1)[0]
    name = chosen.attribute.name
    return name, Selection(((name, (code,)),)).describe(release.schema)


def settings(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and value of each ``--set``, as the command line reads them: values in TOML, plain words bare.

    Examples
    --------
    >>> list(settings({"method": "m", "retention": {"job": 0.5}, "attributes": ["job"], "search": "exact"}))
    [('retention.job', '0.5'), ('attributes', '["job"]'), ('search', 'exact')]
    """
    for name, value in parameters.items():
        if name == "method":
            continue
        # A dotted name ends at the first equals sign, so an attribute with one in its name needs the long form.
        if isinstance(value, Mapping) and not any("=" in key or key != key.strip() for key in value):
            for key, each in value.items():
                yield f"{name}.{key}", _bare_or_toml(each)
        else:
            yield name, _bare_or_toml(value)


def _bare_or_toml(value: Any) -> str:
    is_word = isinstance(value, str) and _WORD.fullmatch(value) and value not in _TOML_WORDS
    return str(value) if is_word else toml_value(value)


def publish_command(
    parameters: Mapping[str, Any],
    out: str,
    *,
    data: str = "data.csv",
    schema: str = "schema.toml",
    seed: int | None = None,
) -> str:
    r"""The command that publishes by a method with its parameters.

    Examples
    --------
    >>> print(publish_command({"method": "randomized-response", "retention": 0.5}, "release"))
    sfumato publish data.csv --schema schema.toml \
        --method randomized-response \
        --set retention=0.5 \
        --out release
    """
    parts = [
        f"sfumato publish {shlex.quote(data)} --schema {shlex.quote(schema)}",
        f"--method {shlex.quote(parameters['method'])}",
        *(f"--set {shlex.quote(f'{key}={value}')}" for key, value in settings(parameters)),
        *([] if seed is None else [f"--seed {seed}"]),
        f"--out {shlex.quote(out)}",
    ]
    return CONTINUED.join(parts)


def _publish_python(parameters: Mapping[str, Any], name: str) -> str:
    rest = {key: value for key, value in parameters.items() if key != "method"}
    return (
        "from sfumato import METHODS, publish, read_table\n\n"
        'table = read_table("data.csv", "schema.toml")\n'
        f"design = METHODS.make({parameters['method']!r}, {rest!r})\n"
        f"release = publish(table, design, {name!r})"
    )


def _query_python(name: str, attribute: str, question: str) -> str:
    return (
        "from sfumato import load_release\n\n"
        f"release = load_release({name!r})\n"
        f"print(release.query({question!r}))\n"
        f"print(release.counts([{attribute!r}]))"
    )
