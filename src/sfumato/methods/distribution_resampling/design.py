"""Distribution-based resampling (DBR): the baseline that keeps a distribution and nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np

from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.guarantees import Guarantee
from sfumato.methods.base import Design, Repetition
from sfumato.methods.distribution_resampling.kernels import ResampleCodes
from sfumato.methods.distribution_resampling.law import ResampledRows
from sfumato.randomness.streams import NoiseSource
from sfumato.release.publication import MadeRows, Publication, PublishedTable
from sfumato.schema import Role, Schema


class DistributionResampling(Design):
    """Replace each sensitive value by the value of a row drawn at random from the whole table.

    Promise
        None is proved. A published value says nothing of its own row, but the release as a whole shows
        how frequent each value is.
    Against whom
        Nobody in particular; it is the baseline that decoys are compared with.
    Weaknesses
        How sensitive values go with anything else is lost, for analysts and attackers alike.

    References
    ----------
    Fu, Wang, Wong, Wang and Jiang (2014), section 6.2.3 (there called DBR).

    Examples
    --------
    >>> DistributionResampling().to_dict()
    {'method': 'distribution-resampling'}
    """

    method: Literal["distribution-resampling"] = "distribution-resampling"

    title: ClassVar[str] = "distribution-based resampling (DBR)"
    summary: ClassVar[str] = (
        "Every row is published with each sensitive value replaced by that of a row drawn at random from the whole "
        "table. The distribution of each sensitive attribute survives; its association with everything else does not."
    )
    weaknesses: ClassVar[tuple[str, ...]] = (
        "No promise is proved: a value that one person holds can appear, and then is known to exist.",
        "Associations with other attributes are lost; answers about them only pretend independence.",
        "Publishing the same rows again averages the error of each value's count away.",
    )
    published_twice: ClassVar[str] = (
        "A row's published value says next to nothing about the row, however often it is drawn anew; the distribution is learned more accurately."
    )
    citations: ClassVar[tuple[str, ...]] = (
        (
            "Fu, A. W.-C., Wang, K., Wong, R. C.-W., Wang, J., Jiang, M. (2014). Small sum privacy and large sum "
            "utility in data publishing. Journal of Biomedical Informatics."
        ),
    )

    @classmethod
    def example(cls, schema: Schema) -> Self:
        """There is nothing to choose."""
        del schema
        return cls()

    @classmethod
    def published_again(cls, releases: Sequence[Repetition]) -> str:
        """How surely a value that one person holds is shown at least once."""
        rows = max(each.number_of_rows for each in releases)
        # Every row of every release shows it with probability 1 / N.
        once, together = (
            -math.expm1(number * rows * math.log1p(-1 / rows)) if rows > 1 else 1.0
            for number in (1, len(releases))
        )
        return (
            f"{cls.published_twice} A value that one of {rows:,} people holds is shown at all with probability {once:.3f} by one "
            f"release, and with {together:.3f} by {len(releases)}."
        )

    def drawn(self, schema: Schema) -> tuple[str, ...]:
        """Attributes that are drawn anew: the sensitive ones.

        Raises
        ------
        ParameterError
            When there is none.
        """
        names = tuple(each.name for each in schema.with_role(Role.SENSITIVE))
        if not names:
            raise ParameterError(
                "no attribute is marked sensitive, so there is nothing to draw anew. "
                'Give one role = "sensitive" in the schema.',
                parameter="schema",
            )
        return names

    def guarantees(self, schema: Schema) -> tuple[Guarantee, ...]:
        """None: it is a baseline."""
        self.drawn(schema)
        return ()

    def publish(self, table: PrivateTable, noise: NoiseSource) -> Publication:
        """Rows with their sensitive values drawn anew."""
        schema = table.schema.publishable
        names = self.drawn(table.schema)
        del noise  # Nothing is drawn before rows are made.
        counts = {name: np.asarray(table.count_by([name]).counts) for name in names}
        return Publication(
            tables=(PublishedTable("rows", schema, MadeRows(schema.names, ResampleCodes(counts))),),
            law=self.planned_law(table.schema),
            published_as_they_are=tuple(name for name in schema.names if name not in names),
        )

    def planned_law(self, schema: Schema) -> ResampledRows:
        """The law of the release itself."""
        return ResampledRows(attributes=self.drawn(schema))
