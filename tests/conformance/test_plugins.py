"""A ninth method in a package of its own: found, honest, and caught when its law is broken."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest

from conformance.sabotage import off_by_fifty, sabotage, too_narrow, without_covariance
from samples import SCHEMA, people
from sfumato import METHODS, RandomizedResponse, load_release, publish, read_table
from sfumato.custody.ledger import Ledger
from sfumato.errors import ParameterError, PublishedBeforeError, ReleaseUnsupportedError
from sfumato.laws import LAWS
from sfumato.testing import check_method

PLUGINS = Path(__file__).parent.parent / "plugins"


@pytest.fixture
def installed(monkeypatch):
    """Put a package's folder on the import path and let the families look again; undone afterwards."""
    before = set(sys.modules)

    def forget():
        for family in (METHODS, LAWS):
            vars(family).pop("members", None)
            family.unusable.clear()

    def install(name):
        monkeypatch.syspath_prepend(PLUGINS / name)
        forget()

    yield install
    monkeypatch.undo()
    forget()
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("record_swapping", "broken_method"):
            del sys.modules[name]


@pytest.fixture
def swapping(installed):
    """The plugin's design class."""
    installed("record_swapping")
    return METHODS.get("record-swapping")


@pytest.mark.parametrize("within", [(), ("sex",)])
def test_the_ninth_method_passes_the_suite(swapping, within, alarm_budget):
    """Null and statistics as for our own; over the whole table and within groups."""
    check = alarm_budget.draw("record swapping is honest", pieces=2)
    design = swapping(share=0.4, within=within)
    check_method(design, releases=60, alpha=check.alpha, seed=check.seed).raise_for_failures()


@pytest.mark.parametrize(
    ("fault", "aspect"),
    [(off_by_fifty, "bias"), (too_narrow, "spread"), (without_covariance, "width")],
    ids=["off by fifty", "errors too small", "no covariance"],
)
def test_its_law_sabotaged_is_caught(swapping, fault, aspect, monkeypatch, alarm_budget):
    """Three times, each by the aspect that is broken."""
    check = alarm_budget.draw("record swapping sabotaged", pieces=3)
    with monkeypatch.context() as broken:
        sabotage(broken, LAWS.get("swapped-rows"), fault)
        report = check_method(swapping, releases=60, alpha=check.alpha, seed=check.seed)
    assert aspect in {each.aspect for each in report.failures}


def swaps(values, chosen):
    """The values after every choice of so many rows and every way to deal their values out; all equally likely."""
    for rows in itertools.combinations(range(len(values)), chosen):
        for order in itertools.permutations(rows):
            swapped = np.array(values)
            swapped[list(rows)] = np.array(values)[list(order)]
            yield swapped


@pytest.mark.parametrize(
    ("rest", "values", "chosen"),
    [
        ([0, 0, 0, 1, 1], [0, 0, 1, 1, 0], 3),
        ([0, 0, 1, 1, 2, 2], [0, 1, 1, 0, 0, 1], 4),
        ([0, 1, 1, 0, 2, 0], [0, 1, 2, 2, 0, 1], 3),
        ([0, 1, 1, 0], [0, 1, 0, 0], 2),
        ([0, 1, 1, 0, 1], [0, 1, 2, 0, 0], 2),
        ([0, 1, 0, 1], [0, 0, 1, 1], 1),
    ],
)
def test_its_moments_are_those_of_every_swap(swapping, rest, values, chosen):
    """Brute force: mean and covariance of the published cells, and both estimates without bias."""
    kernels = importlib.import_module("record_swapping.kernels.moments")
    shape = (max(rest) + 1, max(values) + 1)

    def tabulate(these):
        table = np.zeros(shape)
        np.add.at(table, (rest, these), 1)
        return table

    true = tabulate(values)
    published = np.array([tabulate(each) for each in swaps(values, chosen)])
    estimates = np.array([kernels.unbiased_cells(each, chosen) for each in published])

    def covariance(tables):
        centred = tables - tables.mean(axis=0)
        return np.einsum("tas,tbr->asbr", centred, centred) / len(tables)

    np.testing.assert_allclose(kernels.published_mean(true, chosen), published.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(kernels.published_covariance(true, chosen), covariance(published), atol=1e-12)
    np.testing.assert_allclose(estimates.mean(axis=0), true, atol=1e-12)
    estimated = np.mean([kernels.unbiased_covariance(each, chosen) for each in estimates], axis=0)
    np.testing.assert_allclose(estimated, covariance(estimates), atol=1e-12)


def run(folder, plugin, *arguments):
    """The command line in a new process, with a plugin's folder on the path."""
    path = os.pathsep.join([str(PLUGINS / plugin), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", "from sfumato.cli import main; main()", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_is_used_from_the_command_line_like_our_own(tmp_path):
    """Listed, published by, asked; and opening its release loads no design."""
    pyarrow.csv.write_csv(people(400), tmp_path / "people.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml())
    assert (
        "share of the rows that are swapped"
        in run(tmp_path, "record_swapping", "methods", "record-swapping").stdout
    )
    publishing = (
        "publish people.csv --schema schema.toml --method record-swapping --set share=0.3 --out release"
    )
    assert run(tmp_path, "record_swapping", *publishing.split()).returncode == 0
    asked = run(tmp_path, "record_swapping", "query", "release", "job = 'Care' AND sex = 'Female'", "--json")
    assert json.loads(asked.stdout)["law"] == "swapped-rows"
    refused = run(tmp_path, "broken", "query", "release", "job = 'Care'")
    assert refused.returncode == 1
    assert "'swapped-rows'" in refused.stderr


def test_a_choice_that_its_law_does_not_name_is_refused_in_a_sentence(swapping, monkeypatch, tmp_path):
    """It would write a release that nobody can open; that is its author's to mend, and nothing is left behind."""
    made = swapping.publish

    def publish_and_choose(self, table, noise):
        return dataclasses.replace(
            made(self, table, noise), chosen_from_private_data={"the moon": "as it stood"}
        )

    monkeypatch.setattr(swapping, "publish", publish_and_choose)
    with pytest.raises(ParameterError, match=r"'the moon'.*SwappedRows.*chosen_from_rows"):
        publish(read_table(people(200), SCHEMA), swapping(share=0.3), tmp_path / "release")
    assert not list(tmp_path.iterdir())


def test_a_second_release_of_it_is_refused_like_our_own(swapping, tmp_path):
    """Although it says nothing of what two tell together."""
    table, ledger = read_table(people(200), SCHEMA), Ledger(tmp_path / "ledger.db")
    publish(table, swapping(share=0.3), tmp_path / "1", ledger=ledger)
    with pytest.raises(PublishedBeforeError, match="record-swapping: What a second release"):
        publish(table, swapping(share=0.3), tmp_path / "2", ledger=ledger)


def test_a_broken_package_does_not_keep_releases_from_opening(installed, tmp_path):
    """Our own laws are found; the package is named where something is missing, without its own words."""
    release = publish(
        read_table(people(200), SCHEMA), RandomizedResponse(retention=0.5), tmp_path / "r", seed=1
    )
    installed("broken")
    assert load_release(release.folder).query("sex = 'Male'").estimate > 0
    with pytest.raises(ParameterError, match="no method 'record-swapping'") as caught:
        METHODS.get("record-swapping")
    assert "broken-method: broken_method could not be loaded (RuntimeError)" in str(caught.value)
    with pytest.raises(ReleaseUnsupportedError, match="broken-method") as refused:
        LAWS.read({"law": "swapped-rows"})
    assert "not repeated" not in str(caught.value) + str(refused.value)


def test_a_package_cannot_take_the_name_of_another(installed, monkeypatch):
    """Whoever is there first keeps it, and whoever lists all is told so."""
    installed("record_swapping")
    design = importlib.import_module("record_swapping.design")
    monkeypatch.setattr(design.RecordSwapping.model_fields["method"], "default", "anatomy")
    vars(METHODS).pop("members", None)
    assert METHODS.get("anatomy").__module__.startswith("sfumato.")
    assert METHODS.members["anatomy"] is METHODS.get("anatomy")
    assert "exists already" in METHODS.unusable["record-swapping"]
