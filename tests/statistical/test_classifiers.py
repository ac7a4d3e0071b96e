"""Trees split by what tells the class, not by what noise makes; their error is that among true rows."""

from __future__ import annotations

import numpy as np
import pytest

from counted import Counted
from known_counts import KnownCounts
from published_rows import category_attribute
from sfumato.analysis.classifiers import prediction_error, try_split
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.query.selection import Tabulation
from sfumato.randomness.distortion import UniformDistortion

pytestmark = pytest.mark.statistical


def estimated(law, attributes, published):
    """The release of two attributes as its law estimates it."""
    names = tuple(each.name for each in attributes)
    found = law.estimate(Counted(attributes, published), Tabulation(by=names))
    return KnownCounts(attributes, found.values, found.covariance)


def drawn(draw, law, attributes, shares, rows):
    """Published counts of a table drawn from shares and redrawn by the law."""
    first, second = (
        law.distortions[each.name].dense() if each.name in law.distortions else np.eye(each.size)
        for each in attributes
    )
    return draw.multinomial(rows, (first.T @ shares @ second).ravel()).reshape(shares.shape)


REPLICATES = 1_000


def test_the_corrected_decrease_chooses_the_real_predictor(alarm_budget):
    """Null: a feature with 10 categories that tells nothing has a decrease of 0 on average. Statistic: z of the mean, asymptotic. 1,000 releases.

    Twin: the decrease of estimated counts as they are, which is positive in every release. And what follows: against a
    weak but real predictor the corrected decrease chooses rightly far more often (here about half of the time, the raw one in a tenth).
    """
    check = alarm_budget.draw("decrease of impurity without its noise")
    target = category_attribute("c", 2)
    real, noise = category_attribute("a", 2), category_attribute("n", 10)
    law = PerturbedRows(
        distortions={
            each.name: UniformDistortion(retention=0.7, size=each.size) for each in (real, noise, target)
        }
    )
    draw = np.random.default_rng(check.seed)
    telling = np.array([[0.26, 0.24], [0.24, 0.26]])
    nothing = np.full((10, 2), 1 / 20)
    decreases, raws, rightly, rawly = [], [], 0, 0
    for _ in range(REPLICATES):
        pair = [
            try_split(
                estimated(law, (feature, target), drawn(draw, law, (feature, target), shares, 5_000)),
                "c",
                feature.name,
                "",
            )
            for feature, shares in ((real, telling), (noise, nothing))
        ]
        decreases.append(pair[1].decrease)
        raws.append(pair[1].raw)
        rightly += pair[0].decrease > pair[1].decrease
        rawly += pair[0].raw > pair[1].raw
    # The draw of the rows is not noise of the table: about the population its share of the decrease stays.
    expected = 9 / 5_000 * 0.5
    for values, judge in ((decreases, alarm_budget.assert_passes), (raws, alarm_budget.assert_rejects)):
        judge(alarm_budget.mean_p_value(values, expected), check)
    assert rightly > rawly + 150


def test_errors_of_a_rule_cover_the_true_error(alarm_budget):
    """Null: 95 % of intervals hold the error among the table's own rows. Statistic: number covered, exact binomial. 1,000 releases.

    Twin: the share of published rows that the rule gets wrong, which perturbing the class alone raises by a fifth of all rows.
    """
    check = alarm_budget.draw("coverage of a rule's error")
    pair = (category_attribute("a", 3), category_attribute("c", 2))
    law = PerturbedRows(
        distortions={each.name: UniformDistortion(retention=0.6, size=each.size) for each in pair}
    )
    table = np.array([[900, 100], [300, 700], [50, 950]])
    truth = (100 + 300 + 50) / 3_000
    matrix = np.kron(*(law.distortions[each.name].dense() for each in pair))
    draw = np.random.default_rng(check.seed)
    covered = naive = 0
    for _ in range(1_000):
        seen = sum(draw.multinomial(number, row) for number, row in zip(table.ravel(), matrix, strict=True))
        for release, target in (
            (estimated(law, pair, seen.reshape(3, 2)), "table"),
            (KnownCounts(pair, seen), "population"),
        ):
            found = prediction_error(release, "c", ["a"], lambda codes: (codes[:, 0] > 0) * 1, target=target)
            if target == "table":
                covered += found.low <= truth <= found.high
            else:
                naive += found.low <= truth <= found.high
    alarm_budget.assert_passes(alarm_budget.coverage_p_value(covered, 1_000, 0.95), check)
    alarm_budget.assert_rejects(alarm_budget.coverage_p_value(naive, 1_000, 0.95), check)
