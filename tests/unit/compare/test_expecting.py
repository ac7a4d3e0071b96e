"""Parameters for a standard error by formulas: numbers by hand, the strongest design that keeps the bound, no rows."""

from __future__ import annotations

import math

import pytest

from sfumato import Schema
from sfumato.compare.calibrate import choose_by_formula
from sfumato.errors import ParameterError

TWO = Schema.from_dict({"attributes": {"job": {"role": "sensitive", "categories": ["a", "b"]}}})
WIDER = Schema.from_dict(
    {
        "attributes": {
            "sex": {"role": "quasi-identifier", "categories": ["f", "m"]},
            "job": {"role": "sensitive", "categories": [f"job {place}" for place in range(8)]},
        }
    }
)


def test_errors_of_two_categories_by_hand():
    """A value of two is kept with p: published counts vary by n (1 - p^2) / 4, and are divided by p to be undone."""
    found = choose_by_formula("randomized-response", {"std-error": 100}, TWO, 10_000)
    for each, (alone, _) in found.expected:
        kept = each.parameters["retention"]
        assert alone == pytest.approx(math.sqrt(10_000 * (1 / kept**2 - 1)) / 2)
    # 86.6 at a retention of .5; 133.8 at .35.
    assert found.design.retention == 0.5
    assert found.design.choices == {}


def test_noise_of_tables_by_hand():
    """One table over both attributes: a row replaced moves two of its counts, so that noise has a scale of 2 / epsilon."""
    found = choose_by_formula("noisy-marginals", {"std-error": 30}, WIDER, 1_000)
    numbers = {each.parameters["epsilon"]: alone for each, (alone, _) in found.expected}
    # A count of a sex is a sum of eight cells, one of a job of two; knowing their total may help, and never more than to one cell.
    for epsilon, alone in numbers.items():
        ratio = math.exp(-epsilon / 2)
        variance = 2 * ratio / (1 - ratio) ** 2
        assert alone <= math.sqrt(8 * variance) + 1e-9
        assert alone >= math.sqrt(variance)
    kept = [epsilon for epsilon, alone in numbers.items() if alone <= 30]
    assert found.design.epsilon == min(kept)
    assert len(kept) < len(numbers)


@pytest.mark.parametrize("method", ["randomized-response", "splu-gen", "anatomy", "noisy-marginals"])
def test_the_strongest_that_keeps_the_bound_is_chosen(method):
    """A larger bound never gives a milder design, and every chosen one keeps its bound."""
    before = 0.0
    for bound in (12, 40, 150, 1_000):
        found = choose_by_formula(method, {"std-error": bound}, WIDER, 5_000)
        if found.chosen is None:
            assert before == 0
            with pytest.raises(ParameterError, match="can be reached"):
                _ = found.design
            continue
        errors = {each.label: [one for one in of if not math.isnan(one)] for each, of in found.expected}
        now = max(errors[found.chosen.label])
        assert before <= now <= bound
        before = now
    assert before > 0


@pytest.mark.parametrize(
    ("method", "goal", "reason"),
    [
        ("generalization", {"std-error": 10}, "follow from the private rows"),
        ("columnized-counts", {"std-error": 10}, "follow from the private rows"),
        ("randomized-response", {"std-error": 0}, "a number above 0"),
        ("randomized-response", {"std-error": "ten"}, "a number above 0"),
        ("randomized-response", {"risk": 0.1}, "std-error alone"),
        ("randomized-response", {"std-error": 10, "risk": 0.1}, "std-error alone"),
        ("randomised-response", {"std-error": 10}, "did you mean"),
    ],
)
def test_what_no_formula_answers_is_refused(method, goal, reason):
    """With what to do."""
    with pytest.raises(ParameterError, match=reason):
        choose_by_formula(method, goal, WIDER, 1_000)
