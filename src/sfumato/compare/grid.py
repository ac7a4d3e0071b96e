"""The designs that are compared: a grid for every method, or those of a file."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.data.engine import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError, SfumatoError
from sfumato.laws import LAWS
from sfumato.methods.base import METHODS, Design
from sfumato.schema import Role

GRIDS: dict[str, tuple[dict[str, Any], ...]] = {
    "randomized-response": tuple({"retention": each} for each in (0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1)),
    "sample-perturb-scale": tuple({"retention": each} for each in (0.8, 0.5, 0.35, 0.2)),
    "splu-gen": tuple({"gamma": each} for each in (2, 3, 4, 5, 6, 8, 10)),
    "anatomy": tuple({"l_value": each} for each in (2, 3, 4, 5, 6, 8, 10)),
    "generalization": tuple({"k": each} for each in (2, 5, 10, 25, 50)),
    "noisy-marginals": tuple({"epsilon": each} for each in (0.1, 0.3, 1.0, 3.0, 10.0)),
    "columnized-counts": tuple(
        {"k": k, "epsilon": epsilon, "delta": 1e-5}
        for k, epsilon in ((2, 4.0), (5, 4.0), (10, 2.0), (10, 0.5))
    ),
    "distribution-resampling": ({},),
}
"""By method, the parameters tried where no designs are given; resampling has none."""

BOUND_BY_SHARE = {"splu-gen": "gamma", "anatomy": "l_value"}
"""Parameters that one over the largest share of a sensitive value bounds: beyond, no grouping exists."""

NEAR_THE_BOUND = 1.02
"""Shares differ between splits; a design that fits one and not the other would be refused half the time."""


@dataclass(frozen=True)
class Candidate:
    """One design on the chart.

    Parameters
    ----------
    label
        What it is called there: method and parameters.
    method, parameters
        As the command line takes them; the method is empty for the table itself.
    estimator
        Another estimator of the release's law that answers are read by, as papers do; the law's own when empty.
    """

    label: str
    method: str
    parameters: dict[str, Any]
    estimator: str = ""

    def design(self) -> Design:
        """The design."""
        return METHODS.make(self.method, dict(self.parameters))

    def command(self, data: str, schema: str) -> str:
        """The command that publishes by it; empty for the table itself."""
        if not self.method:
            return ""
        settings = [part for setting in _settings(self.parameters) for part in ("--set", setting)]
        words = ["sfumato", "publish", data, "--schema", schema, "--method", self.method, *settings]
        return shlex.join([*words, "--out", "release"])


def _settings(parameters: Mapping[str, Any], before: str = "") -> Iterator[str]:
    """Parameters as ``--set`` takes them: those by attribute with a dot, texts and lists as TOML."""
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            yield from _settings(value, f"{before}{name}.")
        else:
            # JSON writes numbers, texts, truth values and lists of them as TOML reads them.
            yield f"{before}{name}={json.dumps(value, ensure_ascii=False)}"


RAW = Candidate("the table itself", "", {})
"""What everything is held against."""


def candidate(method: str, parameters: dict[str, Any], *, estimator: str = "") -> Candidate:
    """A design by its name and parameters, and what its answers are read by.

    Examples
    --------
    >>> candidate("anatomy", {"l_value": 3}).label
    'anatomy l_value=3'
    >>> candidate("anatomy", {"l_value": 3}, estimator="xiao-tao").label
    'anatomy l_value=3 by xiao-tao'
    """
    told = " ".join(f"{name}={value}" for name, value in parameters.items())
    read = f"by {estimator}" if estimator else ""
    return Candidate(" ".join(filter(None, (method, told, read))), method, parameters, estimator)


def default_candidates(table: PrivateTable) -> tuple[Candidate, ...]:
    """The table itself, and a grid for every method, cut to what the table allows.

    Of a method that the table allows no setting of, the mildest stays: it is refused with its sentence, which is no gap.
    """
    found = [RAW]
    for method, grid in GRIDS.items():
        allowed = [each for each in grid if is_allowed_by(table, method, each)] or [grid[0]]
        found += [candidate(method, each) for each in allowed]
    return tuple(found)


def is_allowed_by(table: PrivateTable, method: str, parameters: Mapping[str, Any]) -> bool:
    """Whether a table allows a design, as far as shares and numbers of rows tell."""
    rows = table.source
    assert isinstance(rows, CodedRows)
    if method in BOUND_BY_SHARE:
        largest = max(
            (
                float(np.bincount(rows.codes[each.name]).max(initial=0)) / max(rows.number_of_rows, 1)
                for each in table.schema.publishable.with_role(Role.SENSITIVE)
            ),
            default=0.0,
        )
        return float(parameters[BOUND_BY_SHARE[method]]) * largest * NEAR_THE_BOUND <= 1
    # Half of the rows must fit into a class, or everything is one.
    return "k" not in parameters or 2 * int(parameters["k"]) <= rows.number_of_rows


def read_candidates(path: Path) -> tuple[Candidate, ...]:
    """Designs of a TOML file: one ``[[design]]`` each, with its method and parameters; the table itself comes first.

    ``estimator`` beside them reads the answers by another estimator of the release's law, such as ``xiao-tao``.

    Raises
    ------
    ParameterError
        With everything that is wrong, line by line.
    """
    text = _text_of(path)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"designs: {path.name} is not TOML: {error}.", parameter="designs") from None
    entries = content.get("design")
    if not isinstance(entries, list) or set(content) != {"design"}:
        raise ParameterError(
            f"designs: {path.name} must hold one [[design]] for each design, and nothing else.",
            parameter="designs",
        )
    found: dict[str, tuple[str, Candidate]] = {}
    problems = []
    for place, entry in zip(_places(text, len(entries)), entries, strict=True):
        parameters = dict(entry) if isinstance(entry, dict) else {}
        method, estimator = parameters.pop("method", None), parameters.pop("estimator", "")
        if not isinstance(method, str):
            problems.append(f'{place}: a design names its method, such as method = "anatomy".')
            continue
        try:
            METHODS.make(method, dict(parameters))
        except SfumatoError as error:
            problems.append(f"{place}: {error}")
            continue
        if estimator and estimator not in _estimators():
            problems.append(
                f"{place}: no release has an estimator {estimator!r}. Known are {', '.join(_estimators())}; leave it out for "
                "the law's own."
            )
            continue
        made = candidate(method, parameters, estimator=estimator)
        if made.label in found:
            problems.append(f"{place}: the same design as {found[made.label][0]}. Leave one of them out.")
        found.setdefault(made.label, (place, made))
    if problems:
        raise ParameterError("designs: " + " ".join(problems), parameter="designs")
    return (RAW, *(made for _, made in found.values()))


def _estimators() -> list[str]:
    """Of any law; whether the release of a design has one shows when it is asked."""
    return sorted({name for law in LAWS.members.values() for name in law.estimators})


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        what = "is not UTF-8. Save it as UTF-8"
    except OSError:
        what = "cannot be read. Name a TOML file of designs"
    raise ParameterError(f"designs: {path.name} {what}.", parameter="designs")


def _places(text: str, number: int) -> list[str]:
    """Where each design is: the line of its heading, or its number where they are written otherwise."""
    headings = [
        text.count("\n", 0, each.end()) + 1
        for each in re.finditer(r"^\s*\[\[\s*design\s*\]\]", text, re.MULTILINE)
    ]
    if len(headings) == number:
        return [f"line {line}" for line in headings]
    return [f"design {each}" for each in range(1, number + 1)]
