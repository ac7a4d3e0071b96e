"""A law that is not that of the release is refuted against the truth."""

from __future__ import annotations

import numpy as np
import pytest

from coded_tables import table_of
from sfumato import Anatomy, NoisyMarginals, RandomizedResponse
from sfumato.custody.audit.law_checks import check_against_truth
from sfumato.custody.audit.people import people_of
from sfumato.data.engine import CodedRows
from sfumato.randomness.noise import DiscreteLaplace
from sfumato.testing import release_in_memory, sample_table


def smallest_p_value(release, table, sensitive="job"):
    """Over everything that the law says, corrected for how much that is."""
    found = check_against_truth(release, people_of(table, release, sensitive), table)
    assert found
    return min(1.0, min(each.p_value for each in found) * len(found))


def with_law(release, **changes):
    """The same files under a law that says something else."""
    law = release.law.model_copy(update=changes)
    manifest = release.manifest.model_copy(update={"law": law.model_dump(mode="json")})
    return type(release)(None, manifest, release.sources, release.engine)


def test_noise_of_half_the_scale_is_refuted(alarm_budget):
    """Null: noise of the stated scale. Exact binomials of how many counts lie within stated distances.

    Three two-way tables with the sensitive attribute have 52 cells, too few; the table of all attributes has 96.
    Twin: the law states twice the scale that was drawn.
    """
    check = alarm_budget.draw("noise of half the scale is refuted")
    table = sample_table(3_000)
    design = NoisyMarginals(
        epsilon=1.0, marginals=(("sex", "age", "region", "job"), ("age", "region", "job"))
    )
    release = release_in_memory(table, design, seed=9)
    alarm_budget.assert_passes(smallest_p_value(release, table), check)
    doubled = tuple(
        each.model_copy(update={"noise": DiscreteLaplace(scale=4 * each.noise.scale)})
        for each in release.law.marginals
    )
    alarm_budget.assert_rejects(smallest_p_value(with_law(release, marginals=doubled), table), check)


@pytest.mark.parametrize("stated", [0.35, 0.65])
def test_a_matrix_that_was_not_drawn_from_is_refuted(alarm_budget, stated):
    """Null: values drawn by the stated matrix. Bernstein's bound of margins and of agreement within groups.

    Twin: a law that states 30 % less or more than the retention of 0.5, at 20,000 rows.
    """
    check = alarm_budget.draw("a matrix that was not drawn from is refuted", pieces=2)
    table = sample_table(20_000)
    release = release_in_memory(table, RandomizedResponse(retention=0.5), seed=10)
    alarm_budget.assert_passes(smallest_p_value(release, table), check)
    other = release_in_memory(table, RandomizedResponse(retention=stated), seed=10).law
    wrong = with_law(release, distortions=other.distortions)
    alarm_budget.assert_rejects(smallest_p_value(wrong, table), check)


def test_buckets_in_a_telling_order_are_refuted(alarm_budget):
    """Null: the order of rows and values in the files says nothing. Bernstein's bound of the permutation statistic.

    Twin: within every bucket the values stand in the order of their own rows.
    """
    check = alarm_budget.draw("buckets in a telling order are refuted")
    generator = np.random.default_rng(17)
    number = 3_000
    table = table_of([number, 4], [np.arange(number), generator.integers(0, 4, number)])
    release = release_in_memory(table, Anatomy(l_value=2), seed=11)
    alarm_budget.assert_passes(smallest_p_value(release, table, "s"), check)
    rows, values = release.sources["rows"], release.sources["sensitive"]
    own = table.source.codes["s"][rows.codes["x0"].astype(np.int64)]
    order = np.lexsort((np.arange(number), rows.codes["bucket"]))
    told = CodedRows(values.schema, {"bucket": rows.codes["bucket"][order], "s": own[order]})
    telling = type(release)(None, release.manifest, {**release.sources, "sensitive": told}, release.engine)
    alarm_budget.assert_rejects(smallest_p_value(telling, table, "s"), check)
