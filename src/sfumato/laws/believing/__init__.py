"""What every law shares when it is attacked: who is asked about, what is believed beforehand, and what rows say then."""

from sfumato.laws.believing.counted_cells import beliefs_of_counts, expected_counts
from sfumato.laws.believing.grouped_rows import GroupedRows
from sfumato.laws.believing.prior import SharedPrior
from sfumato.laws.believing.targets import Posterior, Targets
from sfumato.laws.believing.through_matrix import GroupBeliefs

__all__ = [
    "GroupBeliefs",
    "GroupedRows",
    "Posterior",
    "SharedPrior",
    "Targets",
    "beliefs_of_counts",
    "expected_counts",
]
