"""What releases and pages say in words is true of the release at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from samples import LONG_SCHEMA, SCHEMA, people, ratings
from sfumato import METHODS, publish, read_table
from sfumato.methods.columnized_counts.design import ColumnizedCounts
from sfumato.methods.generalization.design import Generalization
from sfumato.methods.noisy_marginals.design import NoisyMarginals
from sfumato.methods.sample_perturb_scale.design import SamplePerturbScale
from sfumato.report import write_report

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Publishes without a seed, once for each name."""
    folder, kept = tmp_path_factory.mktemp("words"), {}

    def release(name, design, table=None):
        if name not in kept:
            kept[name] = publish(table or read_table(people(600), SCHEMA), design, folder / name)
        return kept[name]

    return release


def report_of(release, folder):
    """The text of a report."""
    write_report(release, folder / "report.html")
    return (folder / "report.html").read_text()


def test_the_unit_of_ratings_is_the_user(released):
    """All promises of a release of ratings that protect somebody are about a unit with all its rows."""
    design = ColumnizedCounts(k=5, epsilon=2.0)
    release = released("ratings", design, read_table(ratings(), LONG_SCHEMA))
    for each in release.manifest.guarantees:
        assert "unit" in each["description"]["protected_unit"], each["guarantee"]
        assert "all its rows" in each["description"]["protected_unit"]
    assert not any("one row" in each.statement for each in release.guarantees)


def test_the_report_names_the_same_unit(released, tmp_path):
    """As the manifest."""
    release = released("ratings", ColumnizedCounts(k=5, epsilon=2.0), read_table(ratings(), LONG_SCHEMA))
    text = report_of(release, tmp_path)
    assert "one row of the private table" not in text


def test_a_recoding_has_no_noise(released):
    """Where nothing was drawn but the order of the rows, the release does not speak of noise."""
    release = released("coarse", Generalization(k=5))
    assert "noise" not in release.manifest.privacy
    assert "order" in release.manifest.privacy
    assert "noise" in released("noisy", NoisyMarginals(epsilon=1.0)).manifest.privacy


def test_a_release_without_a_promise_says_so_and_what_for(released):
    """Distribution resampling: not nothing, but that nothing is promised."""
    release = released("baseline", METHODS.get("distribution-resampling").example(SCHEMA))
    assert release.guarantees == ()
    assert any("no promise" in each for each in release.manifest.not_protected)
    assert "no promise" in (release.folder / "README.md").read_text()


@pytest.mark.parametrize("retention", [0.5, 0.3])
def test_a_person_alone_in_a_group_keeps_the_value_with_a_stated_probability(released, retention):
    """Retention and the chance to be redrawn as it was: 0.5 + 0.5 / 10 for ten categories."""
    release = released(f"sampled {retention}", SamplePerturbScale(retention=retention))
    size = SCHEMA["job"].size
    chance = retention + (1 - retention) / size
    said = [each for each in release.manifest.not_protected if "alone" in each]
    assert said
    assert f"{chance:.3g}" in said[0]


def test_the_readme_says_which_draws_are_of_whole_numbers():
    """Groups of different values and samples of groups are drawn from floats."""
    said = (ROOT / "README.md").read_text()
    assert "Every probability is an integer over 2^64" not in said
    assert "floats" in said


def test_a_public_number_of_rows_is_stated_exactly(released, tmp_path):
    """Where neighbouring tables have the same number of rows it is published, and the report does not say about."""
    release = released("noisy", NoisyMarginals(epsilon=1.0))
    found = release.query()
    assert found.is_exact
    assert found.estimate == 600
    assert "About" not in report_of(release, tmp_path).split("attributes")[0]
    unknown = released("adding", NoisyMarginals(epsilon=1.0, neighbours="add-remove"))
    assert not unknown.query().is_exact
