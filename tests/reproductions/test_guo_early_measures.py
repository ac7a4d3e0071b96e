"""Jeopardy and the measure of MASK, to the digits of the thesis."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from scripts import load_script
from sfumato.errors import ParameterError
from sfumato.randomness.distortion import UniformDistortion, asymmetric_binary, warner

measures = load_script(Path(__file__).parents[2] / "reproductions" / "guo" / "early_measures.py")


def test_warner_posterior_and_jeopardy_are_those_of_the_thesis():
    """At pi = .3, p = .8: P(A|yes) = .63158, g = 4."""
    assert round(measures.membership_belief(warner(0.8), 0.3, answer=0, group=0), 5) == 0.63158
    assert math.isclose(measures.jeopardy(warner(0.8), answer=0, group=0), 4)
    assert math.isclose(measures.jeopardy(warner(0.8), answer=1, group=0), 1 / 4)


def test_an_answer_that_others_never_give_is_full_jeopardy():
    """The second category is never published as the first."""
    certain = asymmetric_binary(0.7, 1.0)
    assert measures.jeopardy(certain, answer=0, group=0) == math.inf
    assert measures.membership_belief(certain, 0.2, answer=0, group=0) == 1.0


@pytest.mark.parametrize(
    "call", [lambda d: measures.jeopardy(d, 0, 0), lambda d: measures.membership_belief(d, 0.5, 0, 0)]
)
def test_jeopardy_is_refused_for_more_than_two_categories(call):
    """Amplification is its extension."""
    with pytest.raises(ParameterError, match="two categories, got 3"):
        call(UniformDistortion(retention=0.5, size=3))


def test_a_prior_outside_zero_and_one_is_refused():
    """It is a share."""
    with pytest.raises(ParameterError, match="prior"):
        measures.membership_belief(warner(0.8), 1.2, answer=0, group=0)


def test_mask_recovery_is_that_of_the_thesis():
    """At p = .9, s = .01: R1 .07511, R0 .99066; at p near .5, R1 is s."""
    absent, present = measures.bit_recovery(warner(0.9), 0.01)
    assert (round(absent, 5), round(present, 5)) == (0.99066, 0.07511)
    assert math.isclose(measures.bit_recovery(warner(0.5 + 1e-5), 0.01)[1], 0.01, rel_tol=1e-4)


def test_mask_privacy_weighs_the_two_recoveries():
    """100 (1 - a R1 - (1 - a) R0), by hand from the above."""
    assert round(measures.mask_privacy(warner(0.9), 0.01, weight_of_ones=0.5), 2) == round(
        100 * (1 - 0.5 * 0.07511 - 0.5 * 0.99066), 2
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: measures.bit_recovery(warner(0.9), 0.0),
        lambda: measures.bit_recovery(UniformDistortion(retention=0.5, size=3), 0.5),
        lambda: measures.mask_privacy(warner(0.9), 0.5, weight_of_ones=2),
    ],
)
def test_mask_refuses_what_it_is_not_about(call):
    """Two categories, a share and a weight."""
    with pytest.raises(ParameterError):
        call()


@pytest.mark.parametrize("share", [0.0, 1.0, 1.5, -0.1])
def test_mask_needs_a_share_strictly_inside(share):
    """At 0 and 1 nothing is hidden."""
    with pytest.raises(ParameterError, match="strictly between"):
        measures.bit_recovery(warner(0.9), share)


@pytest.mark.parametrize("weight", [-0.1, 1.1])
def test_mask_needs_a_weight(weight):
    """Between 0 and 1, both allowed."""
    with pytest.raises(ParameterError, match="weight"):
        measures.mask_privacy(warner(0.9), 0.01, weight_of_ones=weight)


def test_mask_weighs_ones_alone_unless_told():
    """R1 = .07511 and R0 = .99066 of the thesis at weights 1 and 0."""
    assert measures.mask_privacy(warner(0.9), 0.01) == pytest.approx(100 * (1 - 0.07511), abs=1e-3)
    assert measures.mask_privacy(warner(0.9), 0.01, weight_of_ones=0.0) == pytest.approx(
        100 * (1 - 0.99066), abs=1e-3
    )


def test_jeopardy_and_belief_of_the_other_group():
    """At p = .7 and .9: the second group says no .9 of the time, the first .3: 3 to 1; from a half, 3/4."""
    unequal = asymmetric_binary(0.7, 0.9)
    assert measures.jeopardy(unequal, answer=1, group=1) == pytest.approx(3)
    assert measures.jeopardy(unequal, answer=0, group=1) == pytest.approx(0.1 / 0.7)
    assert measures.membership_belief(unequal, 0.5, answer=1, group=1) == pytest.approx(0.75)
    assert measures.membership_belief(unequal, 0.25, answer=1, group=1) == pytest.approx(0.5)


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_a_certain_belief_stays_certain(prior):
    """Whatever is answered, also by an answer that only the group gives."""
    for distortion in (warner(0.8), asymmetric_binary(0.7, 1.0)):
        for answer in (0, 1):
            assert measures.membership_belief(distortion, prior, answer=answer, group=0) == prior


def test_a_prior_below_zero_is_refused():
    """It is a share."""
    with pytest.raises(ParameterError, match="prior"):
        measures.membership_belief(warner(0.8), -0.1, answer=0, group=0)


def test_an_answer_that_the_group_never_gives_rules_it_out():
    """The second group is never published as the first."""
    certain = asymmetric_binary(0.7, 1.0)
    assert measures.membership_belief(certain, 0.5, answer=0, group=1) == 0.0
    assert measures.jeopardy(certain, answer=0, group=1) == 0.0
