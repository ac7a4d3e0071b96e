"""Everything that releases claim to be certain, held against the private rows."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from sfumato import Release
from sfumato.arrays import Floats
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import SfumatoError
from sfumato.estimates.estimates import Certainty
from sfumato.methods.base import METHODS
from sfumato.query.selection import Selection
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute, LongForm, Role, Schema
from sfumato.testing import redrawn, release_in_memory
from sfumato.testing.queries import Answers, as_asked
from sfumato.testing.trials import ROUNDING, TARGETS

COMBINATIONS = 6
"""Sums, differences and shares of the cells of every table; as many questions again are put one by one."""


@dataclass(frozen=True)
class Case:
    """A method with parameters, and the kind of table it is tried on."""

    name: str
    method: str
    parameters: Mapping[str, Any]
    has_baskets: bool = False
    withhold_law: bool = False


CASES = (
    Case("randomized response", "randomized-response", {"retention": 0.4}),
    Case("randomized response of two", "randomized-response", {"retention": 0.6, "attributes": ["job", "sex"]}),
    Case("withheld law", "randomized-response", {"retention": 0.4}, withhold_law=True),
    Case("baskets", "randomized-response", {"retention": 0.6}, has_baskets=True),
    Case("sample, perturb, scale", "sample-perturb-scale", {"retention": 0.3}),
    Case("sample, perturb, scale, rounded", "sample-perturb-scale", {"retention": 0.3, "strict": False}),
    Case("sample, perturb, scale, caps by group", "sample-perturb-scale", {"retention": 0.3, "cap": "group"}),
    Case("decoys", "splu-gen", {"gamma": 3}),
    Case("decoys, rare values left out", "splu-gen", {"gamma": 3, "suppress_rarer_than": 20}),
    Case("buckets", "anatomy", {"l_value": 2}),
    Case("generalization", "generalization", {"k": 5}),
    Case("generalization, levels fixed", "generalization", {"k": 5, "search": "fixed", "levels": {"sex": 0, "age": 1}}),
    Case("generalization, rows left out", "generalization", {"k": 5, "search": "full-domain", "suppression": 0.1}),
    Case("noisy marginals", "noisy-marginals", {"epsilon": 2.0}),
    Case("noisy columns", "columnized-counts", {"k": 3, "epsilon": 4.0}),
    Case("noisy columns of baskets", "columnized-counts", {"k": 2, "epsilon": 4.0}, has_baskets=True),
    Case("resampling", "distribution-resampling", {}),
)  # fmt: skip


@dataclass
class Found:
    """What came of it.

    Parameters
    ----------
    answers, claims
        Numbers asked for, and those that were called exact or bounded, by case.
    bounds
        Estimates that were given a certain end.
    kinds
        Claims by kind of answer.
    wrong
        The first few false claims, in words.
    number_wrong
        All of them.
    """

    answers: Counter[str] = field(default_factory=Counter)
    claims: Counter[str] = field(default_factory=Counter)
    bounds: Counter[str] = field(default_factory=Counter)
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    number_wrong: int = 0

    def take(self, case: str, kind: str, target: str, answers: Answers, truth: Floats) -> None:
        """Hold some numbers against the truth; of a share of nobody there is none."""
        slack = ROUNDING * np.maximum(1, np.abs(truth))
        is_known = np.isfinite(truth)
        is_wrong = (truth < answers.least - slack) | (answers.most + slack < truth)
        is_wrong |= (answers.standard_errors == 0) & (answers.certainty < Certainty.EXACT)
        is_wrong |= (answers.certainty < Certainty.EXACT) & (answers.low >= answers.high)
        is_claim = answers.certainty >= Certainty.BOUNDED
        has_end = ~is_claim & (np.isfinite(answers.least) | np.isfinite(answers.most))
        self.answers[case] += int(is_known.sum())
        self.claims[case] += int((is_known & is_claim).sum())
        self.bounds[case] += int((is_known & has_end).sum())
        self.kinds[kind, target] += int((is_known & is_claim).sum())
        for place in np.flatnonzero(is_known & is_wrong)[:3]:
            said = f"{answers.least[place]} to {answers.most[place]}, error {answers.standard_errors[place]}"
            self.wrong.append(f"{case}, {kind}, {target}: {said}; the truth is {truth[place]}")
        self.number_wrong += int((is_known & is_wrong).sum())

    def __str__(self) -> str:
        lines = [
            f"{case}: {number:,} answers, {self.claims[case]:,} claims, {self.bounds[case]:,} certain ends"
            for case, number in self.answers.items()
        ]
        kinds = ", ".join(
            f"{kind} about the {target} {number:,}" for (kind, target), number in self.kinds.items()
        )
        return "\n".join([*lines, f"Claims by kind: {kinds}", f"{self.number_wrong} wrong", *self.wrong[:10]])


def population(seed: int, *, has_baskets: bool) -> PrivateTable:
    """Rows of a table that is another one for every seed: its size, its skew, its associations.

    Some categories are nobody's, some are few people's, and its size is divided by no group size on purpose.
    """
    draw = np.random.default_rng(seed)
    if has_baskets:
        return _baskets(draw)
    rows = int(draw.integers(60, 900))
    sizes = {"sex": 2, "age": 4, "region": 5, "job": 8}
    roles = dict.fromkeys(("sex", "age"), Role.QUASI_IDENTIFIER) | {
        "region": Role.OTHER,
        "job": Role.SENSITIVE,
    }
    trait = draw.integers(0, 3, rows)
    skew = draw.choice([0.3, 1.0, 5.0])
    codes = {}
    for name, size in sizes.items():
        taken = size - 1 if name in ("region", "job") else size
        shares = draw.dirichlet(
            np.full(taken, 5.0 if name == "job" else skew), 3 if draw.random() < 0.5 else 1
        )
        ends = shares.cumsum(axis=1)[trait % len(shares)]
        codes[name] = (draw.random((rows, 1)) > ends[:, :-1]).sum(axis=1)
    schema = Schema(
        attributes=tuple(
            Attribute(name=name, role=roles[name], bins=tuple(range(0, 10 * size + 1, 10)))
            if name == "age"
            else Attribute(
                name=name, role=roles[name], categories=tuple(f"{name}{code}" for code in range(size))
            )
            for name, size in sizes.items()
        )
    )
    typed = {each.name: codes[each.name].astype(each.code_type) for each in schema.attributes}
    return PrivateTable(CodedRows(schema, typed), schema, engine=ArrayEngine())


def _baskets(draw: np.random.Generator) -> PrivateTable:
    """Receipts with some of five articles; nobody buys the last."""
    units, articles = int(draw.integers(60, 400)), 5
    bought = draw.random((units, articles)) < np.append(draw.uniform(0.05, 0.9, articles - 1), 0)
    bought[np.arange(units), draw.integers(0, articles - 1, units)] = True
    unit, article = np.nonzero(bought)
    items = Attribute(
        name="article", role=Role.SENSITIVE, categories=tuple(f"article{each}" for each in range(articles))
    )
    schema = Schema(
        attributes=(Attribute(name="receipt", role=Role.IDENTIFIER), items), long=LongForm(unit="receipt", item="article")
    )  # fmt: skip
    rows = CodedRows(schema.publishable, {"article": article.astype(items.code_type), "receipt": unit})
    return PrivateTable(rows, schema, engine=ArrayEngine())


def count_claims(found: Found, case: Case, seed: int) -> None:
    """Publish a fresh table by a case and ask the release everything; a design that does not fit is passed over."""
    people = population(seed, has_baskets=case.has_baskets)
    drawn = redrawn(people, NoiseSource.seeded(seed))
    design = METHODS.make(case.method, dict(case.parameters))
    try:
        release = release_in_memory(drawn, design, seed=seed, withhold_law=case.withhold_law)
    except SfumatoError:
        return
    truths = {"table": as_asked(drawn, release.schema), "population": as_asked(people, release.schema)}
    draw = np.random.default_rng(seed)
    for target in TARGETS:
        for kind, answers, truth in (
            *_of_tables(release, truths[target], target, draw),
            *_one_by_one(release, truths[target], target, draw),
        ):
            found.take(case.name, kind, target, answers, truth)


def _of_tables(
    release: Release, table: PrivateTable, target: Any, draw: np.random.Generator
) -> Iterator[tuple[str, Answers, Floats]]:
    """Counts over up to three attributes, and sums, differences and shares of their cells."""
    names = [name for name in release.schema.names if name in table.schema.names]
    for number in (1, 2, 3):
        for by in itertools.combinations(names, number):
            try:
                estimates = release.counts(by, target=target).estimates
            except SfumatoError:
                continue
            truth = table.count_by(by).counts.ravel().astype(np.float64)
            if truth.size != estimates.values.size:
                continue  # The release has coarser categories.
            yield "count", Answers.of_estimates(estimates), truth
            if estimates.covariance is None:
                continue
            chosen = (draw.random((COMBINATIONS, truth.size)) < draw.choice([0.1, 0.5])).astype(np.float64)
            signed = np.where(draw.random(chosen.shape) < 0.5, -chosen, chosen)
            yield "sum", Answers.of_estimates(estimates.linear(chosen)), chosen @ truth
            yield "difference", Answers.of_estimates(estimates.linear(signed)), signed @ truth
            group = np.maximum(chosen, draw.random(chosen.shape) < 0.5)
            is_divisible = (group @ estimates.values != 0) & (group @ truth != 0)
            if is_divisible.any():
                top, bottom = chosen[is_divisible], group[is_divisible]
                yield (
                    "share",
                    Answers.of_estimates(estimates.ratios(top, bottom)),
                    (top @ truth) / (bottom @ truth),
                )


def _one_by_one(
    release: Release, table: PrivateTable, target: Any, draw: np.random.Generator
) -> Iterator[tuple[str, Answers, Floats]]:
    """Queries of conditions joined by OR and AND, shares and differences of shares."""
    names = [name for name in release.schema.names if name in table.schema.names]
    same = [name for name in names if table.schema[name].size == release.schema[name].size]
    if len(same) < 2:
        return

    def some(name: str) -> Selection:
        size = release.schema[name].size
        codes = np.flatnonzero(draw.random(size) < 0.5)
        return Selection(((name, tuple(int(code) for code in codes) or (0,)),))

    def count(where: Selection) -> float:
        return float(table.count_by((), where).counts)

    for _ in range(COMBINATIONS):
        first, second = draw.choice(same, 2, replace=False)
        one, other, third = some(first), some(second), some(second)
        text, also, versus = (each.describe(release.schema) for each in (one, other, third))
        either = count(one) + count(other) - count(one & other)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = [np.divide(count(one & each), count(each)) for each in (other, third)]
        questions = (
            ("query", partial(release.query, f"({text}) OR ({also})"), either),
            ("share", partial(release.proportion, text, given=also), shares[0]),
            (
                "difference of shares",
                partial(release.difference, text, given=also, versus=versus),
                shares[0] - shares[1],
            ),
        )
        for kind, ask, truth in questions:
            try:
                answer = ask(target=target)
            except SfumatoError:
                continue
            yield kind, Answers.of_answers([answer]), np.array([truth])
