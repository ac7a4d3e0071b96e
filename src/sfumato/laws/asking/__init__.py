"""What every law shares when it is asked: taking a question apart, and putting its answer together."""

from sfumato.laws.asking.binomial import binomial_limits, unseen_variance
from sfumato.laws.asking.feasible import feasible, feasible_by_group
from sfumato.laws.asking.few_steps import FewSteps, chances_of_being_seen, largest_chances
from sfumato.laws.asking.formula import LARGEST_COVARIANCE, Formula, answer, for_population, without_errors
from sfumato.laws.asking.joint_counts import JointCounts
from sfumato.laws.asking.questions import (
    binding,
    cell_of,
    codes_shown,
    common_conditions,
    conditions_on,
    conditions_outside,
    indicator,
    names_of,
    order_of,
    require_small,
    satisfying,
    shape_of,
    take_codes,
)
from sfumato.laws.asking.second_moments import second_moment

__all__ = [
    "LARGEST_COVARIANCE",
    "FewSteps",
    "Formula",
    "JointCounts",
    "answer",
    "binding",
    "binomial_limits",
    "cell_of",
    "chances_of_being_seen",
    "codes_shown",
    "common_conditions",
    "conditions_on",
    "conditions_outside",
    "feasible",
    "feasible_by_group",
    "for_population",
    "indicator",
    "largest_chances",
    "names_of",
    "order_of",
    "require_small",
    "satisfying",
    "second_moment",
    "shape_of",
    "take_codes",
    "unseen_variance",
    "without_errors",
]
