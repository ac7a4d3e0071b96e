"""Posterior linkage: by Bayes as by hand, better than guessing where it should be, and not where not."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from sfumato import RandomizedResponse, Schema, publish, read_table
from sfumato.attacks import ATTACKS
from sfumato.attacks.base import read_knowledge
from sfumato.attacks.linking import Linking, LinkingPosterior
from sfumato.errors import ParameterError
from sfumato.randomness.distortion import uniform_with_diagonal, warner
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute, Role

SEX = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("Male", "Female"))
DISEASE = Attribute(name="disease", role=Role.SENSITIVE, categories=("Cancer", "Flu", "Other"))
SCHEMA = Schema(attributes=(SEX, DISEASE))
THESIS = np.array([[8, 16, 48], [12, 14, 2]])


def rows(counts):
    """A table with so many rows of each cell."""
    sex, disease = (np.repeat(each.ravel(), counts.ravel()) for each in np.indices(counts.shape))
    return pa.table(
        {
            "sex": np.array(SEX.labels)[sex].tolist(),
            "disease": np.array(DISEASE.labels)[disease].tolist(),
        }
    )


def release_of(counts, tmp_path, **parameters):
    """A seeded release of a table with these counts."""
    design = RandomizedResponse(**parameters)
    return publish(read_table(rows(counts), SCHEMA), design, tmp_path / "release", seed=11)


def posterior_of(published, prior, sex=0.8, disease=0.6):
    """Beliefs for counts given by hand, which are taken for the reconstructed ones too."""
    matrices = [uniform_with_diagonal(sex, 2).on_axis, uniform_with_diagonal(disease, 3).on_axis]
    counts = np.asarray(prior, float)
    return LinkingPosterior((SEX, DISEASE), matrices, np.asarray(published, float), counts, counts)


def test_linked_rows_are_the_sum_of_posteriors_over_published_rows():
    """Bayes row by row, without any product of matrices."""
    published = np.array([[20, 15, 30], [10, 15, 10]])
    sex, disease = warner(0.8).dense(), uniform_with_diagonal(0.6, 3).dense()
    expected = np.zeros((2, 3))
    cells = list(itertools.product(range(2), range(3)))
    for seen in cells:
        joint = {true: THESIS[true] * sex[true[0], seen[0]] * disease[true[1], seen[1]] for true in cells}
        for true in cells:
            expected[true] += published[seen] * joint[true] / sum(joint.values())
    assert np.allclose(posterior_of(published, THESIS).linked, expected, rtol=1e-12)


def test_linking_the_expected_release_gives_the_distribution_itself():
    """Published as expected, adding up posteriors returns the true counts: 12/28 for women and cancer."""
    from sfumato.randomness.distortion import contract

    true = posterior_of(THESIS, THESIS)
    expected = contract(THESIS, true.matrices)
    found = posterior_of(expected, THESIS)
    assert np.allclose(found.linked, THESIS)
    assert np.isclose(found.beliefs[1, 0], 12 / 28)
    assert np.isclose(found.read[1, 0], 12 / 28)


def test_the_chance_to_pick_the_own_row_is_recovery_over_group_size():
    """Eta (.80737, .50468) of the thesis over 72 and 28 rows."""
    found = posterior_of(THESIS, THESIS).link_probabilities
    assert np.allclose(found, np.array([0.80737, 0.50468]) / [72, 28], atol=1e-6)


def test_an_empty_group_is_believed_to_have_the_overall_distribution():
    """Nobody there says nothing."""
    found = posterior_of([[10, 20, 30], [0, 0, 0]], [[10, 20, 30], [0, 0, 0]])
    assert np.allclose(found.read[1], [1 / 6, 1 / 3, 1 / 2])


def test_without_perturbation_to_speak_of_the_attack_reads_the_table(tmp_path):
    """Retention .999 of both: beliefs are the shares of each group, in a table of 100,000 rows."""
    counts = 1_000 * THESIS
    release = release_of(counts, tmp_path, retention=0.999, attributes=("sex", "disease"))
    beliefs = Linking().posterior(release).beliefs
    # The standard error of a share is below .001.
    assert np.allclose(beliefs, counts / counts.sum(axis=1, keepdims=True), atol=0.01)


@pytest.mark.parametrize("feasibility", ["em", "projection", "clip"])
def test_the_attack_beats_the_overall_distribution_where_groups_differ(tmp_path, feasibility):
    """100,000 rows at epsilon about 2.2 and 1.8: what is expected is what happens, .627 against .5."""
    counts = 1_000 * THESIS
    release = release_of(counts, tmp_path, retention={"sex": 0.8, "disease": 0.6})
    attack = Linking(feasibility=feasibility)
    findings = attack.run(release).findings
    truth = read_table(rows(counts), SCHEMA)
    codes = next(iter(truth.scan())).codes
    guessed = attack.posterior(release).likeliest(codes)
    right = float((guessed == codes["disease"]).mean())
    # Men: 48/72 have the commonest disease, women 14/28; .72 * .667 + .28 * .5.
    assert abs(right - 0.62) < 0.01
    assert abs(findings["expected right, names the likeliest value"] - right) < 0.02
    assert findings["expected right, knows only the overall distribution"] < 0.52


def test_the_attack_gains_nothing_where_groups_are_alike(tmp_path):
    """Every group has the same distribution: naming the likeliest value is naming the commonest."""
    counts = np.array([[10_000, 20_000, 30_000], [5_000, 10_000, 15_000]])
    release = release_of(counts, tmp_path, retention={"sex": 0.8, "disease": 0.6})
    findings = Linking().run(release).findings
    gain = (
        findings["expected right, names the likeliest value"]
        - findings["expected right, knows only the overall distribution"]
    )
    assert abs(gain) < 0.01


def test_the_sampling_attacker_is_right_as_often_as_it_expects(tmp_path):
    """Drawn guesses against the truth, in a table of 100,000 rows."""
    counts = 1_000 * THESIS
    release = release_of(counts, tmp_path, retention={"sex": 0.8, "disease": 0.6})
    attack = Linking()
    codes = next(iter(read_table(rows(counts), SCHEMA).scan())).codes
    drawn = attack.posterior(release).drawn(codes, NoiseSource.seeded(3))
    right = float((drawn == codes["disease"]).mean())
    expected = attack.run(release).findings["expected right, draws from the beliefs"]
    assert abs(right - expected) < 0.02
    # The reconstruction risk of the thesis promises far less than a sampling attacker gets.
    assert right > 0.45


def test_outside_records_choose_the_targets(tmp_path):
    """Two women: the expectations are about women alone."""
    release = release_of(1_000 * THESIS, tmp_path, retention={"sex": 0.9, "disease": 0.9})
    knowledge = read_knowledge(pa.table({"sex": ["Female", "Female"]}), release.schema)
    result = Linking().run(release, knowledge)
    assert result.findings["targets"] == 2
    assert abs(result.findings["expected right, names the likeliest value"] - 0.5) < 0.02
    assert "audit" in result.summary()


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        (Linking(sensitive="sex", quasi_identifiers=("sex",)), "no attribute to link by"),
        (Linking(quasi_identifiers=("disease",), sensitive="disease"), "no attribute to link by"),
    ],
)
def test_an_attack_without_knowledge_is_refused(tmp_path, attack, message):
    """There must be something to link by."""
    release = release_of(THESIS, tmp_path, retention=0.5)
    with pytest.raises(ParameterError, match=message):
        attack.run(release)


def test_records_that_lack_an_attribute_are_refused(tmp_path):
    """The attacker cannot link by what is not known."""
    release = release_of(THESIS, tmp_path, retention=0.5)
    knowledge = read_knowledge(pa.table({"disease": ["Flu"]}), release.schema)
    with pytest.raises(ParameterError, match="have no 'sex'"):
        Linking(quasi_identifiers=("sex",)).run(release, knowledge)


def test_no_targets_are_refused(tmp_path):
    """An empty list of people."""
    release = release_of(THESIS, tmp_path, retention=0.5)
    empty = read_knowledge(pa.table({"sex": pa.array([], pa.string())}), release.schema)
    with pytest.raises(ParameterError, match="nobody to link"):
        Linking().run(release, empty)


def test_several_sensitive_attributes_have_to_be_told_apart(tmp_path):
    """The attack infers one."""
    sensitive = Schema(
        attributes=(
            SEX,
            DISEASE,
            Attribute(name="pay", role=Role.SENSITIVE, categories=("low", "high")),
        )
    )
    table = rows(THESIS).append_column("pay", [["low", "high"] * 50])
    release = publish(
        read_table(table, sensitive), RandomizedResponse(retention=0.5), tmp_path / "release", seed=1
    )
    with pytest.raises(ParameterError, match="exactly one sensitive"):
        Linking().run(release)


def test_the_attack_is_found_by_its_name():
    """As the command line calls it."""
    assert ATTACKS.get("linking") is Linking


TOWN = Attribute(name="town", role=Role.QUASI_IDENTIFIER, categories=tuple(f"t{n:03}" for n in range(100)))
JOB = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c", "d", "e"))
OVERALL = np.array([0.4, 0.3, 0.15, 0.1, 0.05])


def linked_towns(tmp_path, shares, **settings):
    """Beliefs of the attack on 100 towns of 60 people each, and how often naming the likeliest was right.

    Town and job are both perturbed, so that a town's own 60 rows say little of it.
    """
    generator = np.random.default_rng(5)
    counts = np.stack([generator.multinomial(60, each) for each in shares])
    town, job = (np.repeat(each.ravel(), counts.ravel()) for each in np.indices(counts.shape))
    data = pa.table({"town": np.array(TOWN.labels)[town].tolist(), "job": np.array(JOB.labels)[job].tolist()})
    design = RandomizedResponse(retention={"town": 0.6, "job": 0.5})
    release = publish(read_table(data, Schema(attributes=(TOWN, JOB))), design, tmp_path / "release", seed=8)
    beliefs = Linking(**settings).posterior(release).beliefs
    named = beliefs.argmax(axis=-1)
    right = counts[np.arange(len(counts)), named].sum() / counts.sum()
    return float(beliefs.max(axis=-1).mean()), float(right), float(counts.sum(axis=0).max() / counts.sum())


def test_where_small_groups_are_alike_the_attack_neither_gains_nor_claims_to(tmp_path):
    """Towns alike: what it expects is what it gets, and that is what the overall distribution gives."""
    expected, right, baseline = linked_towns(tmp_path, np.tile(OVERALL, (100, 1)))
    # Of 6,000 people: the standard error of a share is .0063, here four of them.
    assert abs(right - baseline) < 0.025
    assert abs(expected - right) < 0.025


def test_where_small_groups_differ_the_attack_gains_and_does_not_overstate_it(tmp_path):
    """Each town has its own commonest job, held by nine in ten: the safe case's twin."""
    shares = 0.1 * np.tile(OVERALL, (100, 1))
    shares[np.arange(100), np.arange(100) % 5] += 0.9
    expected, right, baseline = linked_towns(tmp_path, shares)
    assert baseline < 0.25
    assert right > 0.85
    # Beliefs lean on the overall distribution: too modest, never too bold.
    assert right - 0.2 < expected < right + 0.025


def test_groups_that_do_not_lean_on_all_make_the_attack_overconfident(tmp_path):
    """The broken twin: towns alike, each judged by its own noisy estimate, and the claims are far off."""
    expected, right, baseline = linked_towns(tmp_path, np.tile(OVERALL, (100, 1)), smoothing=1e-6)
    assert right < baseline + 0.025
    # Four times what the checks above allow.
    assert expected > right + 0.1


def test_where_nothing_is_perturbed_beliefs_are_the_shares_of_the_group():
    """Two rows of one disease: certain, whatever all the others have."""
    counts = np.array([[2.0, 0.0, 0.0], [10.0, 20.0, 30.0]])
    found = LinkingPosterior((SEX, DISEASE), [None, None], counts, counts + 1, counts)
    assert np.allclose(found.beliefs[0], [1, 0, 0])
