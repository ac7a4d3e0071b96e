"""An analyst's first look at a release, and checks of a release by itself."""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.analysis.unknown_distortion import check_matrix
from sfumato.errors import SfumatoError
from sfumato.estimates.estimates import Certainty
from sfumato.laws import NOTHING_PROMISED, WITHHELD_PROMISE, Target
from sfumato.methods.columnized_counts.law import NoisyRows
from sfumato.methods.columnized_counts.noisy_counts import COUNT_COLUMN
from sfumato.query.selection import Selection
from sfumato.release import Release
from sfumato.release.manifest import about_drawn_rows
from sfumato.release.verification import Check
from sfumato.results import Charted, ResultTable, bar_chart, html_paragraph, html_table
from sfumato.text import counted

if TYPE_CHECKING:
    from sfumato.schema import Attribute

# --------------------------------------------------------------------------------------------------
# What a release is and what can be asked of it: an analyst's first look.


MOST_LABELS = 8
"""Categories of an attribute that are named; the rest is counted."""

MOST_PAIRS = 12
"""Pairs of attributes that are tried."""

MOST_ATTRIBUTES = 60
"""Attributes that are listed and tried; a basket may have tens of thousands of items."""

LARGEST_TRIED = 20_000
"""Cells of a table that is asked for in order to see its errors."""

WIDEST_TEXT = 70


@dataclass(frozen=True)
class Overview(Charted):
    """A release at a glance.

    Parameters
    ----------
    title
        Method and rows.
    weakness
        That the release is weak, and how; empty where it is not known to be.
    sentence
        How published and true counts are linked.
    promises
        In plain words.
    weaknesses
        What is not protected.
    note
        What every answer says besides.
    attributes, errors
        What there is, and with what error it can be counted.
    examples
        Commands to go on with.
    described
        Which rows of the private table it describes, where not all of them.
    """

    title: str
    weakness: str
    sentence: str
    promises: tuple[str, ...]
    weaknesses: tuple[str, ...]
    note: str
    attributes: ResultTable
    errors: ResultTable
    examples: tuple[str, ...]
    described: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Overview({self.title})"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A page for people."""
        promises = [each if each == WITHHELD_PROMISE else f"Promised: {each}" for each in self.promises] or [
            NOTHING_PROMISED
        ]
        weaknesses = [f"Not protected: {each}" for each in self.weaknesses]
        commands = ["Go on with", *(f"  {each}" for each in self.examples)]
        return "\n".join(
            [
                *([self.weakness] if self.weakness else []),
                self.title,
                self.sentence,
                *self.described,
                "",
                *promises,
                *weaknesses,
                *([f"Note: {self.note}"] if self.note else []),
                "",
                self.attributes.to_text(),
                "",
                self.errors.to_text(),
                "",
                *commands,
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``show --json`` prints it."""
        return {
            "title": self.title,
            "weakness": self.weakness,
            "law": self.sentence,
            "described": list(self.described),
            "promises": list(self.promises),
            "not_protected": list(self.weaknesses),
            **({"note": self.note} if self.note else {}),
            "attributes": self.attributes.to_dict()["rows"],
            "errors": self.errors.to_dict()["rows"],
            "examples": list(self.examples),
        }

    def _counted(self) -> list[dict[str, Any]]:
        """What was tried, with a number or None in the place of each error."""
        return [
            {
                "over": over,
                "cells": cells,
                "certainty": certainty,
                "median_std_error": None if median == "" else median,
                "largest_std_error": None if largest == "" else largest,
            }
            for over, cells, certainty, median, largest in self.errors.rows
        ]

    def to_arrow(self) -> Any:
        """A pyarrow table of what can be counted, and how accurately."""
        import pyarrow as pa

        texts = {"over": pa.string(), "cells": pa.int64(), "certainty": pa.string()}
        numbers = dict.fromkeys(("median_std_error", "largest_std_error"), pa.float64())
        fields = [pa.field(name, kind) for name, kind in (texts | numbers).items()]
        return pa.Table.from_pylist(self._counted(), schema=pa.schema(fields))

    def _repr_html_(self) -> str:
        """For notebooks: what it is, its attributes, and the errors, each as a bar from none to the largest with the median marked."""
        errors = [
            {**each, "low": 0.0, "estimate": each["median_std_error"], "high": each["largest_std_error"]}
            for each in self._counted()
        ]
        names = self.to_arrow().column_names
        # What was refused has no bar, and one table has bars for all rows or for none.
        answered = [each for each in errors if each["high"] is not None]
        refused = [each for each in errors if each["high"] is None]
        return "".join(
            [
                *map(html_paragraph, (self.title, self.sentence, *self.promises)),
                html_table(self.attributes.columns, self.attributes.to_dict()["rows"]),
                html_table(names, answered),
                html_table(names[:3], refused) if refused else "",
            ]
        )

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the median errors, as plain data."""
        points = [{"label": each["over"], "value": each["median_std_error"]} for each in self._counted()]
        return bar_chart(points, title="counted over", unit="median std. error of a cell")


def overview(release: Release) -> Overview:
    """Look at a release: what it holds, what is promised, and how large the errors of its answers are.

    Every attribute is counted, and pairs of what was changed with something else, as an analyst would: what is
    refused is shown with the refusal.
    """
    tried = {names: _errors(release, names) for names in _tried(release)}
    answered = [names for names, (*_, largest) in tried.items() if largest != ""]
    return Overview(
        f"Release by {release.method}, {counted(release.number_of_rows, 'published row')}",
        release.manifest.weakness,
        release.law.sentence,
        _promises(release),
        tuple(release.manifest.not_protected),
        release.manifest.note_of_dropped,
        ResultTable(
            "Attributes",
            ("attribute", "role", "published", "categories"),
            (
                *(_attribute(release, each) for each in release.schema.attributes[:MOST_ATTRIBUTES]),
                *_and_more(len(release.schema.attributes) - MOST_ATTRIBUTES),
            ),
        ),
        ResultTable(
            "What can be counted, and how accurately",
            ("over", "cells", "certainty", "median std. error", "largest std. error"),
            tuple(tried.values()),
        ),
        tuple(_examples(release, answered)),
        about_drawn_rows(release.manifest.rows_drawn_per_unit),
    )


def _promises(release: Release) -> tuple[str, ...]:
    stated = tuple(each.plain_statement for each in release.guarantees)
    return (*stated, WITHHELD_PROMISE) if release.law.is_withheld else stated


def _and_more(number: int) -> tuple[tuple[str, str, str, str], ...]:
    return ((f"… and {number:,} more", "", "", ""),) if number > 0 else ()


def _attribute(release: Release, attribute: Attribute) -> tuple[str, str, str, str]:
    labels = list(attribute.labels)
    shown = ", ".join(labels[:MOST_LABELS])
    if len(shown) > WIDEST_TEXT:
        shown = f"{shown[: WIDEST_TEXT - 1]}…"
    more = f", … ({len(labels):,} in all)" if len(labels) > MOST_LABELS else ""
    is_item = attribute.name not in release.published_schema
    published = "as it is"
    if not is_item and release.published_schema[attribute.name].labels != attribute.labels:
        published = "coarser"
    # Items of a long table stand for its columns.
    if attribute.name in release.law.changed_attributes or (is_item and release.law.changed_attributes):
        published = "changed"
    return attribute.name, attribute.role.value, published, shown + more


def _tried(release: Release) -> Iterator[tuple[str, ...]]:
    """Every attribute, then pairs with one that was changed, then other pairs."""
    names = release.schema.names[:MOST_ATTRIBUTES]
    changed = set(release.law.changed_attributes)
    pairs = sorted(itertools.combinations(names, 2), key=lambda pair: not changed & set(pair))
    yield from ((name,) for name in names)
    yield from pairs[:MOST_PAIRS]


def _errors(release: Release, names: tuple[str, ...]) -> tuple[str, int, str, float | str, float | str]:
    over = " and ".join(names)
    cells = math.prod(each.size for each in release.schema.select(names))
    if cells > LARGEST_TRIED:
        return over, cells, "not tried: many cells", "", ""
    try:
        estimates = release.counts(names).estimates
    except SfumatoError as refusal:
        return over, cells, f"refused: {_first_sentence(str(refusal))}", "", ""
    errors = estimates.standard_errors[np.isfinite(estimates.standard_errors)]
    if not errors.size:
        return over, cells, "no standard error is known", "", ""
    weakest = Certainty(int(estimates.certainty.min()))
    return over, cells, weakest.word, float(np.median(errors)), float(errors.max())


def _first_sentence(text: str) -> str:
    return text.split(". ", maxsplit=1)[0].rstrip(".")


def _examples(release: Release, answered: list[tuple[str, ...]]) -> Iterator[str]:
    """Commands that the release answers, ready for a shell; about what was changed, where there is such."""
    folder = shlex.quote(release.folder.name) if release.folder is not None else "RELEASE"
    changed = set(release.law.changed_attributes)
    asked = sorted(answered, key=lambda names: not changed & set(names))
    single = next((names[0] for names in asked if len(names) == 1), None)
    if single is not None:
        condition = Selection(((single, (0,)),)).describe(release.schema)
        yield f"sfumato query {folder} {_argument(condition)}"
    pair = next((names for names in asked if len(names) > 1), asked[0] if asked else None)
    if pair is not None:
        yield f"sfumato counts {folder} --by {_argument(','.join(map(_listed, pair)))}"
    if release.law.is_withheld:
        yield f"sfumato advise {folder}"
    yield f"sfumato report {folder} --out report.html"


def _listed(name: str) -> str:
    """A name in a list with commas between."""
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"') else name


def _argument(text: str) -> str:
    """Text as one word of a shell: in double quotes where that is enough, since conditions hold single ones."""
    return f'"{text}"' if "'" in text and not set(text) & set('"$`\\!') else shlex.quote(text)


# --------------------------------------------------------------------------------------------------
# What can be held against a release by itself: its fields, its counts, its matrices, and the warnings of its
# kind.


LEVEL = 1e-6
"""Probability of calling true matrices broken, over all attributes of a release."""

MOST_CATEGORIES = 500
"""Categories of an attribute beyond which its margin is not held against its matrix."""

FEWEST_DIFFERENT = 30
"""Different rows from which on common multiples are no chance."""


def check_release(release: Release) -> tuple[Check, ...]:
    """Everything about a release that its tables tell against it, or that its kind of method is known for.

    Red flags follow Li and Li, table 1: deterministic, duplicating and sampling methods, and cuts chosen by looking at rows,
    keep neither semantic k-anonymity nor differential privacy.
    """
    return (
        *_fields(release),
        *_noisy_counts(release),
        *_margins(release),
        *_duplicates(release),
        *_of_its_kind(release),
    )


def _fields(release: Release) -> Iterator[Check]:
    """No column that the manifest does not name."""
    for table in release.tables:
        declared = {*table.schema_of_attributes.names, *table.integers}
        surplus = [name for name in release.sources[table.name].columns() if name not in declared]
        if surplus:
            yield Check(
                f"fields of {table.name}",
                "broken",
                f"It holds {counted(len(surplus), 'column')} that the manifest does not name: nothing says what they are or tell.",
            )
        else:
            yield Check(
                f"fields of {table.name}",
                "holds",
                f"{counted(len(declared), 'column')}, as the manifest names them.",
            )


def _noisy_counts(release: Release) -> Iterator[Check]:
    """The matrix that counts were drawn by, number by number, and no count below k."""
    law = release.law
    if not isinstance(law, NoisyRows):
        return
    proof = law.matrix.certificate()
    yield Check(
        "noisy count matrix",
        "holds" if proof.holds else "broken",
        f"{counted(proof.rows, 'row')} of it checked in whole numbers: ratios of neighbours up to exp({proof.worst_up:.4g}) for an epsilon of "
        f"{law.matrix.epsilon:.4g}, unsafe outputs {proof.unsafe_mass:.3g} for a delta of {law.matrix.delta:.3g}.",
    )
    low = math.inf
    for table in release.tables:
        if COUNT_COLUMN in table.integers:
            for batch in release.scan(table.name, [COUNT_COLUMN]):
                low = min(low, float(batch.codes[COUNT_COLUMN].min(initial=2**62)))
    yield Check(
        "published counts",
        "holds" if low >= law.matrix.k else "broken",
        f"None is below k = {law.matrix.k}."
        if low >= law.matrix.k
        else f"Some are below k = {law.matrix.k}.",
    )


def _margins(release: Release) -> Iterator[Check]:
    """Whether each published margin could have come from the stated matrix at all (chi-square)."""
    matrices = release.law.matrices() if release.law.is_row_by_row else {}
    wide = [name for name in matrices if release.published_schema[name].size > MOST_CATEGORIES]
    tested = {name: each for name, each in matrices.items() if name not in wide}
    for name, matrix in tested.items():
        size = release.published_schema[name].size
        rows = matrix if isinstance(matrix, np.ndarray) else matrix.dense(size)
        target: Target = "table" if release.dropped_design else "population"
        found = check_matrix(release, name, matrix=rows.tolist(), target=target)
        is_refuted = found.p_value < LEVEL / len(tested)
        yield Check(
            f"margin of {name}",
            "broken" if is_refuted else "holds",
            f"Chi-square {found.statistic:.4g} on {found.degrees} degrees, p at most {found.p_value:.3g}: "
            + (
                "no true margin gives this one through the stated matrix."
                if is_refuted
                else "some true margin gives it through the stated matrix."
            ),
        )
    for name in wide:
        yield Check(
            f"margin of {name}", "cannot be told", "It has too many categories to be held against its matrix."
        )


def _duplicates(release: Release) -> Iterator[Check]:
    """Rows that all come in common multiples: copying each is no crowd."""
    table = release.tables[0]
    if table.integers or release.law.changed_attributes or release.manifest.law["law"] != "generalized-rows":
        return
    counts = release.count_occupied(table.schema_of_attributes.names).counts
    common = int(np.gcd.reduce(counts)) if counts.size else 0
    if common > 1 and counts.size >= FEWEST_DIFFERENT:
        yield Check(
            "duplicated rows",
            "red flag",
            f"Every different row occurs a multiple of {common} times. Copies make classes larger and hide nobody: whoever is one of "
            "them is all of them.",
        )


def _of_its_kind(release: Release) -> Iterator[Check]:
    """What is known of all methods of this kind, whatever their parameters."""
    law, method = str(release.manifest.law["law"]), release.manifest.method
    if law == "generalized-rows":
        yield Check(
            "deterministic",
            "red flag",
            "The same rows give the same release: no epsilon is kept with a delta below 1 (Li and Li, theorem 1).",
        )
        if method.get("search") != "fixed":
            chosen = "cuts" if method.get("search") == "mondrian" else "levels"
            tight = ", and boxes that end at people's own values" if method.get("boxes") == "tight" else ""
            yield Check(
                f"chosen {chosen}",
                "red flag",
                f"Where rows were put together depends on single rows{tight}: k-anonymity of the table is not semantic k-anonymity "
                "(Li and Li, table 1).",
            )
    if law == "sampled-rows":
        yield Check(
            "sampling",
            "red flag",
            "Rows were sampled: a combination that is published once shows that somebody with it is in the table (Li and Li, "
            "table 1).",
        )
