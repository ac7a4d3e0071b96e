"""Nothing that claims no error is wrong: a hundred thousand claims of all methods, each on a table of its own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from claims import CASES, Found, count_claims
from sfumato.estimates.estimates import Certainty, Estimates
from sfumato.laws import LAWS
from sfumato.methods.base import METHODS
from sfumato.methods.splu_gen.decoy_counts import DecoyCounts

CLAIMS = 100_000
FEWEST_OF_A_CASE = 500
WITHOUT_CLAIMS = {"baskets", "noisy marginals", "noisy columns", "noisy columns of baskets"}
"""Every count has a chance error; what they claim is the number of all rows, where it is public."""


def claims_of(cases, releases, first=0, *, most_wrong=None):
    """Everything that so many releases of each case claim; no further than so many false claims, where that is enough."""
    found = Found()
    for number, case in itertools.product(range(releases), cases):
        if most_wrong is not None and found.number_wrong > most_wrong:
            break
        count_claims(found, case, 1_000 * first + number)
    return found


def test_every_method_and_law_is_among_the_cases():
    """A new one has to be added."""
    assert {each.method for each in CASES} == set(METHODS.members)
    assert len({each.name for each in CASES}) == len(CASES)
    assert any(each.withhold_law for each in CASES)
    assert {True, False} == {each.has_baskets for each in CASES}
    assert "withheld" in LAWS.members
    assert "perturbed-items" in LAWS.members


def test_few_releases_of_every_case_claim_nothing_false():
    """The same as below, in little."""
    found = claims_of(CASES, 2)
    assert not found.number_wrong, str(found)
    assert sum(found.claims.values()) > 1_000


@pytest.mark.slow
def test_nothing_in_a_hundred_thousand_claims_is_wrong(capsys):
    """Certain: no alarm rate. Counted are numbers that are called exact or bounded; certain ends of others are held too."""
    found, first = Found(), 1
    while sum(found.claims.values()) < CLAIMS or first < 4:
        more = claims_of(CASES, 8, first)
        for name in ("answers", "claims", "bounds", "kinds"):
            getattr(found, name).update(getattr(more, name))
        found.wrong += more.wrong
        found.number_wrong += more.number_wrong
        first += 1
        assert not found.number_wrong, str(found)
    with capsys.disabled():
        print(f"\n{found}")  # noqa: T201 - how many claims of what is the result
    few = {case for case, number in found.claims.items() if number < FEWEST_OF_A_CASE}
    assert few <= WITHOUT_CLAIMS, few
    for kind in ("count", "sum", "difference", "share", "query", "difference of shares"):
        assert found.kinds[kind, "table"], kind


def strongest(self, weights):
    """Of the terms of a sum, where the weakest claim should hold."""
    claims = np.where(weights != 0, self.certainty, np.int8(Certainty.OPEN))
    return np.asarray(np.max(claims, axis=1, initial=Certainty.OPEN), np.int8)


def off_by_one(self):
    """Certain ends that one row may be beyond."""
    low, high = ENDS(self)
    return np.where(low > 0, low + 1, low), high


ENDS = Estimates.ends


@pytest.mark.parametrize(
    ("name", "fault"), [("_weakest", strongest), ("ends", off_by_one)], ids=["strongest", "off by one"]
)
def test_false_claims_are_seen(name, fault, monkeypatch):
    """Twins: sums that claim what their surest term does; bounds that are a row too high."""
    monkeypatch.setattr(Estimates, name, fault)
    assert claims_of(CASES, 2, most_wrong=10).number_wrong > 10


def test_a_law_that_calls_an_estimate_exact_is_seen(monkeypatch):
    """Twin: decoys that are not known apart are called the table's own rows."""
    honest = DecoyCounts.certainty

    def all_exact(self, asked, number):
        return np.full_like(honest(self, asked, number), Certainty.EXACT)

    monkeypatch.setattr(DecoyCounts, "certainty", all_exact)
    assert (
        claims_of([each for each in CASES if each.method == "splu-gen"], 2, most_wrong=10).number_wrong > 10
    )
