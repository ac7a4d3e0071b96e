"""One question has one answer, through whichever door it is asked: as a cell of a table, alone, or among others."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pyarrow as pa
import pytest

from samples import SCHEMA, people
from sfumato import load_release, publish, read_table
from sfumato.errors import NotIdentifiableError
from sfumato.methods.base import METHODS
from sfumato.query.selection import Selection, Tabulation
from sfumato.schema import Schema

TWO_SENSITIVE = Schema.from_toml("""
[attributes.sex]
role = "quasi-identifier"
categories = ["F", "M"]

[attributes.job]
role = "sensitive"
categories = ["a", "b", "c", "d", "nobody"]

[attributes.illness]
role = "sensitive"
categories = ["p", "q", "r", "s"]
""")


def two_sensitive():
    """Rows that fit the schema above."""
    draw = np.random.default_rng(3)
    return pa.table(
        {
            "sex": draw.choice(["F", "M"], 2_000),
            "job": draw.choice(["a", "b", "c", "d"], 2_000, p=[0.3, 0.3, 0.2, 0.2]),
            "illness": draw.choice(["p", "q", "r", "s"], 2_000),
        }
    )


VARIANTS = {
    "columnized-counts": [
        {
            "k": 5,
            "epsilon": 4.0,
            "column_sets": [["sex", "job"], ["age", "job"], ["sex", "age"]],
            "column_budget": 2,
        },
        {"k": 5, "epsilon": 4.0, "column_sets": [["sex", "job"], ["age", "region"]]},
    ],
    "noisy-marginals": [{"epsilon": 2.0, "queries": ["job = 'Tech'", "sex = 'Female' AND job = 'Care'"]}],
    "randomized-response": [{"retention": 0.6, "attributes": ["job", "age"]}],
    "sample-perturb-scale": [{"retention": 0.5, "relative_error": 0.2, "error_probability": 0.2}],
    "generalization": [{"k": 5, "search": "full-domain", "suppression": 0.05}],
}
"""Designs besides each method's example whose laws have more to them."""

CASES = [
    *((name, "example", method.example(SCHEMA), SCHEMA) for name, method in METHODS.members.items()),
    *(
        (name, f"variant {number}", METHODS.make(name, parameters), SCHEMA)
        for name, designs in VARIANTS.items()
        for number, parameters in enumerate(designs, start=1)
    ),
    ("splu-gen", "two attributes", METHODS.make("splu-gen", {"gamma": 2}), TWO_SENSITIVE),
    ("distribution-resampling", "two attributes", METHODS.make("distribution-resampling", {}), TWO_SENSITIVE),
]


class Remembering:
    """An engine that counts and scans the same thing once: these tests ask the same of a release many times."""

    def __init__(self, engine):
        self.engine = engine
        self.known = {}

    def remembered(self, name, *arguments, **options):
        """What the engine gave the first time."""
        key = (name, repr(arguments), repr(options))
        if key not in self.known:
            found = getattr(self.engine, name)(*arguments, **options)
            self.known[key] = list(found) if name == "scan" else found
        return self.known[key]

    def __getattr__(self, name):
        return functools.partial(self.remembered, name)


@pytest.fixture(scope="module", params=CASES, ids=[f"{name}: {what}" for name, what, *_ in CASES])
def release(request, tmp_path_factory):
    """A release of every method, and of the designs above."""
    _, _, design, schema = request.param
    rows = people(2_000) if schema is SCHEMA else two_sensitive()
    folder = tmp_path_factory.mktemp("doors") / "release"
    made = publish(read_table(rows, schema), design, folder, seed=17)
    return load_release(folder, engine=Remembering(made.engine))


def tables(release):
    """Margins and joint tables: plain, conditioned on another attribute, and on one that they show."""
    attributes = release.schema.attributes
    for number in (1, 2):
        for by in itertools.combinations(attributes, number):
            names = tuple(each.name for each in by)
            others = [each for each in attributes if each not in by]
            yield Tabulation(names)
            yield Tabulation(names[::-1], Selection(((names[-1], tuple(range(by[-1].size - 1))),)))
            if others:
                codes = (0, 1) if others[0].size > 2 else (0,)
                yield Tabulation(names, Selection(((others[0].name, codes),)))


def cells_of(release, tabulation):
    """The selection of every cell of a table, in its order."""
    shown = [
        tabulation.where.codes(name) or tuple(range(release.schema[name].size)) for name in tabulation.by
    ]
    return [
        tabulation.where
        & Selection(tuple((name, (code,)) for name, code in zip(tabulation.by, codes, strict=True)))
        for codes in itertools.product(*shown)
    ]


@functools.lru_cache(maxsize=64)
def asked_together(release, tabulation, target):
    """All cells as selections, with the covariance of every pair of them; of one release both tests ask for the same."""
    return release.law.estimate_selections(release, cells_of(release, tabulation), target=target)


@pytest.mark.parametrize("target", ["table", "population"])
def test_every_door_gives_the_same_number_error_and_interval(release, target):
    """A cell of ``counts``, the same cell as a ``query``, and all cells asked together as selections."""
    answered = 0
    for tabulation in tables(release):
        where = tabulation.where.describe(release.schema)
        try:
            table = release.counts(tabulation.by, where=where, target=target)
        except NotIdentifiableError:
            continue
        answered += 1
        cells = cells_of(release, tabulation)
        together = asked_together(release, tabulation, target)
        lows, highs = table.intervals()
        ends = together.intervals(0.95)
        for place in {0, len(cells) // 2, len(cells) - 1}:
            alone = release.query(cells[place].describe(release.schema), target=target)
            expected = (alone.estimate, alone.std_error, alone.low, alone.high)
            from_table = (
                table.values.flat[place],
                table.std_errors.flat[place],
                lows[place],
                highs[place],
            )
            among = (together.values[place], together.standard_errors[place], *(each[place] for each in ends))
            # Sums are added in another order; nothing else may differ.
            assert from_table == pytest.approx(expected, rel=1e-8, abs=1e-6), tabulation
            assert among == pytest.approx(expected, rel=1e-8, abs=1e-6), tabulation
    assert answered


def test_the_covariance_of_cells_is_that_of_their_selections(release):
    """Where both doors know it. Buckets make the cells of one table fit together, so theirs is a closer one."""
    if release.method == "anatomy":
        pytest.skip("cells of one table share each value's rows; single selections do not know of each other")
    for tabulation in tables(release):
        try:
            table = release.law.estimate(release, tabulation)
        except NotIdentifiableError:
            continue
        together = asked_together(release, tabulation, "table")
        if table.covariance is not None and together.covariance is not None:
            assert together.covariance == pytest.approx(table.covariance, rel=1e-7, abs=1e-5, nan_ok=True)
