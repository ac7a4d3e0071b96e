"""Valid, known in one direction, or not valid: what a release says when its matrices are unknown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sfumato.analysis.asking import as_columns
from sfumato.analysis.classification import Classification
from sfumato.analysis.measures import measure
from sfumato.analysis.published import PublishedRows
from sfumato.analysis.unknown_distortion.properties import KNOWLEDGE, PROPERTIES, Knowledge, Part, Property
from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.release.release import Release
from sfumato.values.charts import verdict_chart
from sfumato.values.number_text import show_cell
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Schema
from sfumato.values.tabular import Charted

Verdict = Literal["valid", "direction known", "not valid"]


@dataclass(frozen=True)
class Judged:
    """One task, judged.

    Parameters
    ----------
    task, about, source
        As the table of properties has them.
    verdict
        What may be concluded from the published rows as they stand.
    reason
        Why, in a sentence.
    published
        Of a measure, what the published rows give; the truth lies on its other side from independence. None where there
        is no such number.
    """

    task: str
    about: str
    verdict: Verdict
    reason: str
    source: str
    published: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class Advice(Charted):
    """What may be concluded from published rows as they stand.

    Parameters
    ----------
    of
        The attributes or conditions asked about; empty where the advice is about any pair of perturbed attributes.
    given
        Attributes that others are compared within.
    knowing
        What is known of the matrices.
    perturbed
        Attributes that were randomized.
    judged
        Every task.
    """

    of: tuple[str, ...]
    given: tuple[str, ...]
    knowing: Knowledge
    perturbed: tuple[str, ...]
    judged: tuple[Judged, ...]

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{sum(each.verdict == verdict for each in self.judged)} {verdict}"
            for verdict in ("valid", "direction known", "not valid")
        )
        return f"Advice({' with '.join(self.of) or 'any perturbed pair'}: {counts})"

    def __str__(self) -> str:
        return self.summary()

    def __getitem__(self, task: str) -> Judged:
        for each in self.judged:
            if task in (each.task, f"{each.about} {each.task}"):
                return each
        raise KeyError(task)

    def summary(self) -> str:
        """A table for people."""
        about = " and ".join(self.of) or "any two perturbed attributes"
        given = f" given {' and '.join(self.given)}" if self.given else ""
        table = ResultTable(
            f"What published rows say about {about}{given}, knowing {self.knowing} of the matrices",
            ("task", "about", "verdict", "published", "reason"),
            tuple(
                (
                    each.task,
                    each.about,
                    each.verdict,
                    "" if each.published is None else show_cell(each.published),
                    f"{each.reason} ({each.source})",
                )
                for each in self.judged
            ),
        )
        perturbed = ", ".join(self.perturbed) or "nothing"
        return "\n".join(
            [table.to_text(), f"Perturbed: {perturbed}. Guo (2010), chapter 4; about expectations."]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``advise --json`` prints it."""
        return {
            "of": list(self.of),
            "given": list(self.given),
            "knowing": self.knowing,
            "perturbed": list(self.perturbed),
            "judged": [each.to_dict() for each in self.judged],
        }

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each task."""
        import pyarrow as pa

        return pa.table(as_columns([each.to_dict() for each in self.judged]))

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the verdicts, as plain data."""
        points = [{"label": f"{each.about} {each.task}", "verdict": each.verdict} for each in self.judged]
        return verdict_chart(points, title="")


@dataclass(frozen=True)
class _Asked:
    """A pair, what it is compared within, and what was done to each."""

    sides: tuple[Classification, ...]
    given: tuple[str, ...]
    knowing: Knowledge
    randomized: frozenset[Part]
    is_binary: bool
    is_given_binary: bool
    has_merged: bool
    """A condition merges categories of a randomized attribute: its matrix is one of two categories only where all are alike."""


def advise(
    release: Release,
    first: str | None = None,
    second: str | None = None,
    *,
    given: Sequence[str] = (),
    knowing: Knowledge = "nothing",
) -> Advice:
    """What may be concluded from the published rows as they stand, were the matrices unknown.

    Parameters
    ----------
    release
        One whose rows were redrawn one by one; its matrices, if it has any, are not looked at.
    first, second
        Two attributes or conditions; any two perturbed ones when not given.
    given
        Attributes that the two are compared within.
    knowing
        ``"nothing"`` of the matrices; ``"keeping"``: of two categories each is kept at least as often as changed;
        ``"uniform"``: every value is kept with one probability, and else any other is as likely.

    Raises
    ------
    NotIdentifiableError
        When rows were not redrawn one by one, so that none of this holds.
    """
    if knowing not in KNOWLEDGE:
        raise ParameterError(
            f"knowing must be one of {', '.join(KNOWLEDGE)}, got {knowing!r}. Leave it out to assume nothing.",
            parameter="knowing",
        )
    if (first is None) != (second is None):
        raise ParameterError(
            "advice is about two attributes or conditions, got one. Name another, or none for any pair.",
            parameter="second",
        )
    rows = PublishedRows.redrawn(release)
    perturbed = frozenset(release.law.changed_attributes)
    asked = _asked(release.schema, perturbed, [each for each in (first, second) if each], given, knowing)
    published = _published(rows, first, second)
    return Advice(
        tuple(each.text for each in asked.sides),
        tuple(given),
        knowing,
        tuple(release.law.changed_attributes),
        tuple(_judged(asked, published)),
    )


def _asked(
    schema: Schema,
    perturbed: frozenset[str],
    texts: Sequence[str],
    given: Sequence[str],
    knowing: Knowledge,
) -> _Asked:
    names = [schema[name].name for name in given]
    sides = tuple(Classification.parse(each, schema) for each in texts)
    if not sides:
        is_binary = all(schema[name].size == 2 for name in perturbed)
        parts: set[Part] = {"first", "second"}
        has_merged = False
    else:
        is_binary = all(len(each.labels) == 2 for each in sides)
        ends: tuple[Part, Part] = ("first", "second")
        parts = {part for part, side in zip(ends, sides, strict=True) if perturbed & set(side.names)}
        has_merged = any(
            side.condition is not None
            and any(
                name in perturbed and (len(side.names) > 1 or schema[name].size > 2) for name in side.names
            )
            for side in sides
        )
    if perturbed & set(names):
        parts.add("given")
    is_given_binary = len(names) == 1 and schema[names[0]].size == 2
    return _Asked(sides, tuple(names), knowing, frozenset(parts), is_binary, is_given_binary, has_merged)


def _published(rows: PublishedRows, first: str | None, second: str | None) -> dict[str, float]:
    """Measures of the published table, where a pair is asked about and they are defined."""
    if first is None or second is None:
        return {}
    try:
        found = measure(rows, first, second).values
    except NotIdentifiableError:
        return {}
    return {each.name: each.estimate for each in found if not each.undefined}


def _judged(asked: _Asked, published: dict[str, float]) -> Iterator[Judged]:
    for each in PROPERTIES:
        if each.needs_given and not asked.given:
            continue
        verdict, reason = _judge(each, asked)
        is_told = each.about == "size" and verdict != "not valid"
        number = published.get(each.task) if is_told else None
        yield Judged(each.task, each.about, verdict, reason, each.source, number)


def _judge(each: Property, asked: _Asked) -> tuple[Verdict, str]:
    if not asked.randomized:
        return "valid", "nothing of it was randomized"
    if set(each.untouched) & asked.randomized:
        return "not valid", each.otherwise
    is_binary = asked.is_binary and (not each.needs_given or asked.is_given_binary or each.about == "test")
    needed = each.binary if is_binary else each.larger
    if needed is None:
        return "not valid", each.otherwise if each.binary is None else "it is defined for two categories each"
    if each.about != "test" and asked.has_merged and asked.knowing != "uniform":
        # A test looks at published values alone; a size is compared with that of the true condition.
        return (
            "not valid",
            "a condition merges categories of a randomized attribute, whose own matrices may differ; enough if they are uniform",
        )
    if KNOWLEDGE.index(asked.knowing) < KNOWLEDGE.index(needed):
        return "not valid", f"{each.otherwise}; enough if the matrices are known to be {needed}"
    return ("direction known" if each.about == "size" else "valid"), each.because
