"""Which law is tested by what."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sfumato.custody.audit.people import People
from sfumato.custody.audit.truth_checks import counts, groups, rows
from sfumato.custody.audit.truth_checks.p_values import TruthCheck
from sfumato.data.private_table import PrivateTable
from sfumato.methods.anatomy.law.bucketed_rows import BucketedRows
from sfumato.methods.columnized_counts.law.noisy_rows import NoisyRows
from sfumato.methods.distribution_resampling.law import ResampledRows
from sfumato.methods.generalization.law import GeneralizedRows
from sfumato.methods.noisy_marginals.law.noisy_counts import NoisyCounts
from sfumato.methods.randomized_response.law.perturbed_rows import PerturbedRows
from sfumato.methods.sample_perturb_scale.law.sampled_rows import SampledRows
from sfumato.methods.splu_gen.law.decoy_rows import DecoyRows
from sfumato.release import Release

Checks = Callable[[Release, People, PrivateTable], Iterator[TruthCheck]]

CHECKS: dict[type, Checks] = {
    PerturbedRows: rows.perturbed,
    SampledRows: rows.sampled,
    DecoyRows: rows.decoys,
    ResampledRows: rows.resampled,
    BucketedRows: groups.buckets,
    GeneralizedRows: groups.generalized,
    NoisyCounts: counts.noisy_counts,
    NoisyRows: counts.noisy_rows,
}
"""By law, what its releases are tested by."""


def check_against_truth(release: Release, people: People, table: PrivateTable) -> tuple[TruthCheck, ...]:
    """Everything about a release's law that the private rows can refute; nothing for laws that are not known here.

    Parameters
    ----------
    release
        What was published.
    people
        Everybody in the table, in the release's categories.
    table
        The private rows, for attributes that are neither public nor the one attacked.
    """
    for law, checks in CHECKS.items():
        if isinstance(release.law, law):
            return tuple(checks(release, people, table))
    return ()
