"""DBR: values are drawn anew from the table's own distribution, and associations are gone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from samples import SCHEMA, people
from sfumato import publish, read_table
from sfumato.custody.plan import plan
from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.methods.distribution_resampling import kernels
from sfumato.methods.distribution_resampling.design import DistributionResampling
from sfumato.schema import Schema


def test_only_values_that_occur_are_published(tmp_path):
    """A category that no row holds is never drawn."""
    rows = people(1_000)
    rows = rows.set_column(
        4, "job", pa.array(["Sales" if each == "Tech" else each for each in rows["job"].to_pylist()])
    )
    release = publish(read_table(rows, SCHEMA), DistributionResampling(), tmp_path / "r", seed=1)
    counts = release.count_by(["job"]).counts
    assert counts[1] == 0
    assert counts.sum() == 1_000


def test_a_margin_is_answered_and_an_association_is_not(tmp_path):
    """The baseline's published count has its own name."""
    table = read_table(people(2_000), SCHEMA)
    release = publish(table, DistributionResampling(), tmp_path / "r", seed=1)
    truth = table.count_by(["job"]).counts
    answers = release.counts(["job"])
    # Six standard errors: a seeded draw is that far off once in a billion.
    assert (np.abs(answers.values - truth) < 6 * answers.std_errors).all()
    with pytest.raises(NotIdentifiableError):
        release.query("sex = 'Female' AND job = 'Care'")
    assert release.query("sex = 'Female' AND job = 'Care'", estimator="paper").estimate > 0


def test_it_promises_nothing_and_plans_errors():
    """A baseline; the plan has the binomial's error."""
    design = DistributionResampling()
    assert design.guarantees(SCHEMA) == ()
    (planned,) = plan(design, SCHEMA, 1_000).to_dict()["tables"]
    assert planned["rows"][0]["0.1"] == pytest.approx((1_000 * 0.1 * 0.9) ** 0.5)


def test_a_table_without_sensitive_attributes_is_refused():
    """There would be nothing to draw."""
    public = Schema(attributes=tuple(each for each in SCHEMA.attributes if each.name != "job"))
    with pytest.raises(ParameterError, match="nothing to draw"):
        DistributionResampling().guarantees(public)


@pytest.mark.parametrize("counts", [[3], [0, 5, 0, 2], [1, 0, 4_000, 3_000, 1, 996], [5_000, 1, 4_095, 0]])
def test_values_are_found_from_counts_as_from_the_sorted_column(counts):
    """Every row of it, also where rows of equal leading bits hold different values."""
    values = kernels._SortedRows(np.array(counts))
    rows = np.arange(sum(counts), dtype=np.uint64)
    assert np.array_equal(values.at(rows), np.repeat(np.arange(len(counts)), counts))
