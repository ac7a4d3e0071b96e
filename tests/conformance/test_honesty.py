"""Every method, by discovery, against the suite that third parties' methods get; and broken twins that it must see.

How many releases: :data:`sfumato.testing.suite.RELEASES` has the calculation. The quick run has sixty. The joint cells
of the sample are some twenty independent numbers, so that standard errors 30 % too small give
0.68 / (0.42 / sqrt(60)) = 12 where 7.7 is asked for; the twins below are caught with as many. The long run has six hundred: there
the same fault gives 40, and one of 11 % gives 13.
"""

from __future__ import annotations

import pytest

from conformance.known_dishonesty import REGISTER, expected
from conformance.sabotage import off_by_fifty, refusing, sabotage, too_narrow, without_covariance
from sfumato import METHODS, RandomizedResponse
from sfumato.laws import LAWS
from sfumato.testing import check_method

FEW, MANY = 60, 600


def hold_against_the_register(report, *, many):
    """Nothing that is not known, and everything that is."""
    known = expected(report.method, many=many)
    found = {each.identity for each in report.failures}
    news = [str(each) for each in report.failures if each.identity not in known]
    assert not news, "\n".join(["found, and not in known_dishonesty.py:", *news])
    assert not known - found, f"mended, so take it out of known_dishonesty.py: {sorted(known - found)}"


@pytest.mark.parametrize("name", list(METHODS.members))
def test_a_method_is_honest(name, alarm_budget):
    """Null: estimates unbiased, intervals cover, stated errors real. Sixty releases, family-wise alpha.

    Twins: below.
    """
    check = alarm_budget.draw("methods are honest", pieces=16)
    report = check_method(METHODS.get(name), releases=FEW, alpha=check.alpha, seed=check.seed)
    hold_against_the_register(report, many=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(METHODS.members))
def test_a_method_is_honest_over_many_releases(name, alarm_budget):
    """The same with six hundred releases, which see faults a third as large."""
    check = alarm_budget.draw("methods are honest, many releases", pieces=16)
    report = check_method(METHODS.get(name), releases=MANY, alpha=check.alpha, seed=check.seed)
    hold_against_the_register(report, many=True)


def test_the_register_names_what_exists():
    """A misspelt method would never be missed."""
    assert {each.method for each in REGISTER} <= set(METHODS.members)
    assert all(each.reason and each.targets for each in REGISTER)


@pytest.mark.parametrize(
    ("fault", "releases", "seen"),
    [
        (
            off_by_fifty,
            FEW,
            {("bias", "joint", "table"), ("coverage", "margin", "table"), ("spread", "joint", "table")},
        ),
        (too_narrow, FEW, {("spread", "joint", "table"), ("spread", "joint", "population")}),
        (without_covariance, FEW, {("width", "sum", "table"), ("width", "sum", "population")}),
        # Every release refuses: the fewest that are allowed show it.
        (refusing, 30, {("answers", "margin", "table"), ("answers", "joint", "table")}),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_broken_law_is_caught(fault, releases, seen, monkeypatch, alarm_budget):
    """Twins of randomized response, whose own law is found without fault at the same alarm rate."""
    check = alarm_budget.draw("broken laws are caught", pieces=4)
    sabotage(monkeypatch, LAWS.get("perturbed-rows"), fault)
    report = check_method(
        RandomizedResponse(retention=0.5), releases=releases, alpha=check.alpha, seed=check.seed
    )
    assert seen <= {each.identity for each in report.failures}
    assert all("expected" in each.sentence or each.aspect == "answers" for each in report.failures)
    with pytest.raises(AssertionError, match="randomized-response"):
        report.raise_for_failures()
