"""Small sums of a release, held against the truth: how often the answers about few people are right."""

from __future__ import annotations

import dataclasses

from sfumato.attacks.base import AttackResult
from sfumato.attacks.small_sum import SmallSum
from sfumato.data.coded_rows import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.methods.splu_gen.law.decoy_rows import DecoyRows
from sfumato.release import Release

TRUTH = "The drawing was repeated on the private rows: the numbers are about this table, and private."


def audit_small_sums(
    release: Release, table: PrivateTable, *, attack: SmallSum | None = None
) -> AttackResult:
    """Repeat the drawing on the private rows themselves, and ask about every small concept.

    What an attacker can only do on rows like these, the custodian does on the rows.

    Parameters
    ----------
    release
        Of a method with decoys.
    table
        What it was published from.
    attack
        With its parameters; the defaults when not given.

    Raises
    ------
    ParameterError
        When the release has no decoys, or the table is not the one it was published from.

    Examples
    --------
    >>> from sfumato import SPLUGen
    >>> from sfumato.testing import release_in_memory, sample_table
    >>> table = sample_table(300)
    >>> release = release_in_memory(table, SPLUGen(gamma=2, largest_small_count=3))
    >>> sorted(audit_small_sums(release, table, attack=SmallSum(trials=10)).findings)
    ['Theorem 4 for job', 'trials']
    """
    if not isinstance(release.law, DecoyRows):
        raise ParameterError(
            "small sums are audited of releases with decoys, and this one has none. Publish by splu-gen.",
            parameter="release",
        )
    schema = table.schema.publishable
    if schema.names != release.schema.names:
        raise ParameterError(
            "the table has other attributes than the release. Give the one that was published from.",
            parameter="table",
        )
    result = (attack or SmallSum()).simulate(release.law, CodedRows.gathered(schema, table.scan()))
    return dataclasses.replace(
        result,
        tables=tuple(dataclasses.replace(each, is_private=True) for each in result.tables),
        caveats=(*result.caveats, TRUTH),
    )
