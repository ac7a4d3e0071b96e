"""Averaging over repeated releases: the protection left, and what an average looks like."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato import publish, read_table
from sfumato.attacks.small_sums import Averaging, averaged_error_probability, exposed_share
from sfumato.errors import ParameterError
from sfumato.methods.splu_gen.design import SPLUGen
from sfumato.schema import Schema

COUNTS = [3, 97, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100]
SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "area": {"role": "quasi-identifier", "categories": ["a", "b"]},
            "job": {"role": "sensitive", "categories": [f"job-{code}" for code in range(len(COUNTS))]},
        }
    }
)


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """Twenty releases of the same rows, three of which hold the first job."""
    job = np.repeat(np.arange(len(COUNTS)), COUNTS)
    data = pa.table({"area": ["a", "b"] * 550, "job": [f"job-{code}" for code in job]})
    table = read_table(data, SCHEMA)
    design = SPLUGen(gamma=10, largest_small_count=5)
    folder = tmp_path_factory.mktemp("averaging")
    return [publish(table, design, folder / str(seed), seed=seed) for seed in range(20)]


def test_the_average_of_a_rare_value_comes_close(releases):
    """Twenty releases: three rows within 30 %, which one release hides with probability .61 or more."""
    others = tuple(str(each.folder) for each in releases[1:])
    result = Averaging(other_releases=others).run(releases[0])
    row = next(each for each in result.tables[0].rows if each[0] == "job-0")
    # Standard error sqrt(3 * .9 / 20) = .37; the bound is five of them.
    assert abs(row[1] - 3) < 1.9
    assert result.findings["releases"] == 20
    assert result.findings["probability left after 20 releases"] < 0.2


def test_protection_falls_with_every_release():
    """And the share of decoys seen rises: .65 after ten releases at gamma 10."""
    left = [averaged_error_probability(3, 10, 0.3, each) for each in (1, 5, 20, 100)]
    assert left == sorted(left, reverse=True)
    assert left[-1] < 0.02
    assert exposed_share(10, 10) == pytest.approx(0.65, abs=0.005)


def test_releases_of_other_designs_are_refused(releases, tmp_path):
    """Averages of different groups sizes mean nothing."""
    job = np.repeat(np.arange(len(COUNTS)), COUNTS)
    data = pa.table({"area": ["a", "b"] * 550, "job": [f"job-{code}" for code in job]})
    publish(read_table(data, SCHEMA), SPLUGen(gamma=5), tmp_path / "other", seed=1)
    with pytest.raises(ParameterError, match="same decoy method"):
        Averaging(other_releases=(str(tmp_path / "other"),)).run(releases[0])
