"""Rows whose sensitive values were drawn from secret groups of decoys."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.chance.partition import Partition
from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.guarantees import Guarantee
from sfumato.guarantees.decoy_promise import DecoyPromise
from sfumato.guarantees.large_sum_utility import LargeSumUtility
from sfumato.laws.asking import names_of
from sfumato.laws.base import Law, Published, Target
from sfumato.laws.believing import GroupedRows
from sfumato.methods.randomized_response.law.perturbed_rows import PerturbedCounts, PerturbedRows
from sfumato.methods.splu_gen.law.decoy_counts import DecoyCounts
from sfumato.methods.splu_gen.law.joint_cells import joint_errors
from sfumato.methods.splu_gen.law.model import DecoyModel, covariance, decoy_model, margin_variance
from sfumato.methods.splu_gen.law.pairwise import iterate, pairwise_counts
from sfumato.methods.splu_gen.law.questions import ask
from sfumato.methods.splu_gen.law.several_decoys import SeveralDecoys, product_of
from sfumato.methods.splu_gen.law.sums_of_values import variances_of
from sfumato.values.arrays import Floats
from sfumato.values.bounds import LARGEST_ERROR, MOST_ROWS, SMALLEST_ERROR
from sfumato.values.counts import CountTable
from sfumato.values.estimates import Estimates
from sfumato.values.feasibility import Feasibility
from sfumato.values.number_text import percent
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection, Tabulation

FEW_ROWS = 20
"""Published rows of a value below which a normal interval for its counts is not to be trusted."""


class DecoyRows(Law):
    """Each row shows a value drawn uniformly from the different values of its secret group.

    Counts of a sensitive value alone are Binomial(gamma f, 1/gamma): unbiased, whatever the groups. Within public groups the
    published counts y of true counts x satisfy ``E[y] = x T``, with T computed from the published margin (``model.DecoyModel``),
    so ``y T^-1`` estimates x, unbiased to first order, for all values at once and adding up to the group.

    Parameters
    ----------
    gamma_by_attribute
        Rows of a group, for each attribute that was drawn.
    partition
        How groups were made; the matrix needs ``"mixed"``.
    largest_small_count, relative_error, error_probability
        What answers are held against to say whether they are small or large sums.
    suppress_rarer_than
        Rows whose sensitive value fewer rows hold were left out; none were when not given.
    together
        Attributes that each row shows from one member of its group, whose members differ in each of them. The count of
        each value keeps its law; which values meet is then not known, and what depends on it is refused.

    Notes
    -----
    Several drawn attributes were grouped independently: their matrices form a product, whose errors are those of
    :class:`~sfumato.methods.splu_gen.law.joint_cells.JointCells`.

    Examples
    --------
    >>> print(DecoyRows(gamma_by_attribute={"job": 5}).sentence)
    Each row's job was drawn uniformly from the 5 different values of a secret group (mixed partition).
    """

    law: Literal["decoy-rows"] = "decoy-rows"
    gamma_by_attribute: dict[str, Annotated[int, Field(strict=True, ge=2, le=1_000_000)]]
    partition: Partition = "mixed"
    largest_small_count: Annotated[int, Field(ge=1, le=300)] = 10
    relative_error: Annotated[float, Field(ge=SMALLEST_ERROR, le=LARGEST_ERROR)] = 0.3
    error_probability: Annotated[float, Field(gt=0, lt=1)] = 0.05
    suppress_rarer_than: Annotated[int, Field(ge=1, le=MOST_ROWS)] | None = None
    together: tuple[str, ...] = ()

    # T is computed from the published margin, and its inverse is not linear in it.
    chosen_from_rows: ClassVar[tuple[str, ...]] = ("rows left out", "gamma")
    estimate_is: ClassVar[str] = "unbiased to first order"
    estimators: ClassVar[Mapping[str, str]] = {
        "pairwise": "one value against all others; biased where frequency and the question are related, no error known",
        "paper": "the iteration of Fu et al. (2014) with its printed matrix and 1 % stop; biased, no error known",
    }

    def promises(self, schema: Schema, stated: Guarantee) -> tuple[Guarantee, ...]:
        """What the sizes of groups, the smallest count and what was drawn together give, at every error.

        Which attributes are independent no law can tell: a promise that rests on it says so.
        """
        del schema
        gammas = {"gamma_by_attribute": dict(self.gamma_by_attribute)}
        if isinstance(stated, LargeSumUtility):
            return (stated.model_copy(update=gammas),)
        if isinstance(stated, DecoyPromise):
            drawn = {"smallest_count": self.suppress_rarer_than or 1, "together": self.together}
            return (stated.model_copy(update=gammas | drawn),)
        return ()

    def grouped_rows(self, published: Published, public: Sequence[str], sensitive: str) -> GroupedRows | None:
        """All published rows, seen through the matrix that the published margin gives; an attacker need not be sure of it."""
        drawn = self._model(published, sensitive) if sensitive in self.gamma_by_attribute else None
        if {*public} & {*self.gamma_by_attribute} or (drawn is not None and not drawn.has_law):
            return None
        channel = np.eye(published.schema[sensitive].size) if drawn is None else drawn.distortion
        return GroupedRows.of(published.count_occupied((*public, sensitive)), public, sensitive, channel)

    def formula(self, published: Published, asked: Sequence[Tabulation]) -> DecoyCounts | SeveralDecoys:
        """The model of one drawn attribute, or a product of the matrices of several.

        What it cannot say it refuses: counts within public groups when some value may be in every group, or
        the groups were made largest first; counts of a sensitive value alone are answered even then.
        """
        drawn = [name for name in names_of(asked) if name in self.gamma_by_attribute]
        left_out = partial(self._left_out, published)

        def single(name: str) -> DecoyCounts:
            mine = [each for each in asked if not {*names_of([each])} & {*drawn} - {name}]
            return DecoyCounts(
                published,
                mine,
                name,
                self._model(published, name),
                self._require_law,
                left_out(()),
                left_out((name,)),
                is_drawn_alone=name not in self.together,
            )

        if len(drawn) < 2:
            return single(drawn[0] if drawn else next(iter(self.gamma_by_attribute)))

        def product() -> PerturbedCounts:
            return self._product(published, drawn).formula(published, asked)

        return SeveralDecoys(
            single,
            drawn,
            product,
            lambda name: self._model(published, name),
            left_out,
            published,
            asked,
        )

    def most_left_out(self, published: Published) -> int:
        """Rows that may be missing: a remainder that groups do not divide, and rows with values called rare.

        A value was left out wholly or not at all, so a rare one is among those that no published row shows.
        """
        return self._left_out(published, ())

    def _left_out(self, published: Published, known: Sequence[str]) -> int:
        """The same without those of attributes whose values are asked for: which of these miss rows is known by value."""
        if self.suppress_rarer_than is None:
            return self._remainder
        unseen = sum(
            int(np.count_nonzero(self._model(published, name).counts == 0))
            for name in self.gamma_by_attribute
            if name not in known
        )
        return self._remainder + unseen * (self.suppress_rarer_than - 1)

    @property
    def _remainder(self) -> int:
        """Rows left out at random at the most, so that the groups of every attribute divide the rest."""
        return math.lcm(*self.gamma_by_attribute.values()) - 1

    def estimate_by(
        self, estimator: str, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """Estimates by the pairwise closed form or by the paper's iteration, one value at a time."""
        if estimator not in self.estimators:
            return super().estimate_by(estimator, published, tabulation, target=target)
        question = ask(published, tabulation, self.gamma_by_attribute)
        if not question.drawn:
            return self.estimate(published, tabulation, target=target)
        for name in question.drawn:
            self._require_drawn_alone(name)
        gammas = [self.gamma_by_attribute[name] for name in question.drawn]
        states = question.states(published)
        if estimator == "paper":
            inside = (slice(None),) + (1,) * (len(gammas) + 1)
            values = iterate(states, gammas)[0][inside]
        else:
            values = pairwise_counts(states, question.drawn, gammas)
        # How far they are off is not known, of a table or of a population.
        return Estimates(values[question.order], np.full(len(values), np.nan))

    def difference(
        self,
        published: Published,
        question: Selection,
        first: Selection,
        second: Selection,
        *,
        target: Target = "table",
    ) -> Estimates:
        """Difference of two groups' shares; between two values of a drawn attribute, by their contrast.

        The contrast stays determined where single counts are not, because a third value is in every group.
        """
        groups = (*first.conditions, *second.conditions)
        names = {name for name, _ in groups}
        is_pair = len(groups) == 2 and len(names) == 1 and all(len(codes) == 1 for _, codes in groups)
        is_public = not any(name in self.gamma_by_attribute for name in question.names)
        if target == "table" and is_pair and is_public and names <= set(self.gamma_by_attribute):
            (one, (left,)), (_, (right,)) = groups
            return self.contrast(published, one, left, right, question)
        return super().difference(published, question, first, second, target=target)

    def contrast(
        self, published: Published, attribute: str, first: int, second: int, where: Selection
    ) -> Estimates:
        """Difference between two values' shares of rows that satisfy a public condition.

        The share of the first value's rows minus that of the second's. It stays determined when a third
        value is in every group and single counts are not.

        Parameters
        ----------
        attribute
            A drawn attribute.
        first, second
            Codes of two of its values.
        where
            A condition on attributes published as they are.
        """
        if any(name in self.gamma_by_attribute for name in where.names):
            raise ParameterError(
                f"a contrast compares two categories of {attribute!r} under a condition on attributes that are "
                "published as they are; the condition names a drawn one. Leave it out.",
                parameter="where",
            )
        model = self._model(published, attribute)
        self._require_known_meetings(attribute)
        if not model.counts[[first, second]].all() or any(model.is_certain[[first, second]]):
            raise NotIdentifiableError(
                f"one of the two categories of {attribute!r} is in nearly every group or in no published row, "
                "so its share is not determined. Compare other categories."
            )
        counts = np.asarray(published.count_by((attribute,), where).counts, dtype=np.float64)
        shares = model.identified_shares(counts)
        predicate, everyone = model.predicate(shares), model.predicate(np.ones(len(counts)))
        weights = np.zeros((len(counts), 1))
        weights[first], weights[second] = 1 / model.counts[first], -1 / model.counts[second]
        # d(x/f) = (dx - theta df) / f, and f' is the estimate under the predicate that holds for all.
        drift = -shares[:, None] * weights
        cross = covariance(predicate, everyone, shares, weights, drift)
        variance = (
            covariance(predicate, predicate, shares, weights, weights)
            + cross
            + cross.T
            + covariance(everyone, everyone, everyone.shares, drift, drift)
        )
        estimates = counts @ model.inverse
        value = estimates[first] / model.counts[first] - estimates[second] / model.counts[second]
        return Estimates.with_covariance(np.array([value]), variance)

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """Non-negative cells that add up to the exact number of rows of every public combination."""
        names = {*tabulation.by, *tabulation.where.names}
        drawn = tuple(name for name in self.gamma_by_attribute if name in names)
        if len(drawn) == 1 and names == {drawn[0]}:
            # A value's published count is feasible as it is.
            return self.estimate(published, tabulation).values
        return self._product(published, drawn).consistent(published, tabulation, feasibility=feasibility)

    def treats_alike(self, name: str) -> bool:
        """Yes: decoys are drawn by how many rows have a value."""
        del name
        return True

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Standard errors that estimates of the table's cells will have, from its true counts."""
        drawn = [name for name in true_counts.names if name in self.gamma_by_attribute]
        models = {
            name: decoy_model(_whole(true_counts.project([name]).counts), self.gamma_by_attribute[name])
            for name in drawn
        }
        if not drawn:
            return np.zeros(true_counts.counts.shape)
        if len(true_counts.names) > 1:
            for each in drawn:
                self._require_drawn_alone(each)
        if len(drawn) > 1:
            return joint_errors(models, true_counts)
        name, model = drawn[0], models[drawn[0]]
        axis = true_counts.axis_of(name)
        moved = np.moveaxis(np.asarray(true_counts.counts, dtype=np.float64), axis, -1)
        if len(true_counts.names) == 1:
            return np.asarray(np.sqrt([margin_variance(each, model.gamma) for each in moved]))
        model.require_identifiable(name)
        model.require_solvable()
        weights = np.eye(len(model.counts))
        variances = [
            variances_of(model.predicate(model.shares(each)), weights)
            for each in moved.reshape(-1, moved.shape[-1])
        ]
        return np.moveaxis(np.sqrt(np.array(variances)).reshape(moved.shape), -1, axis)

    def notes(self, published: Published, where: Selection, estimates: Estimates) -> tuple[str, ...]:
        """What kind of sum the answer is, and whether its interval is to be trusted."""
        drawn = [name for name in where.names if name in self.gamma_by_attribute]
        if not drawn:
            return ()
        notes = [self._kind(float(estimates.values[0]), float(estimates.standard_errors[0]))]
        for name in drawn:
            codes = where.codes(name) or ()
            rows = self._model(published, name).counts[list(codes)]
            if rows.sum() < FEW_ROWS:
                notes.append(f"fewer than {FEW_ROWS} published rows of {name}: too few for a normal interval")
        return tuple(notes)

    def _kind(self, estimate: float, error: float) -> str:
        """Small, large or grey: whether an answer of this size is protected, dependable, or neither."""
        from scipy.special import ndtr

        if estimate <= self.largest_small_count:
            return f"small sum: at or below {self.largest_small_count} rows, inaccurate on purpose"
        if 2 * ndtr(-self.relative_error * estimate / max(error, 1e-300)) <= self.error_probability:
            chance = 1 - self.error_probability
            return (
                f"large sum: within {percent(self.relative_error)} of the truth with probability {chance:.4g}"
            )
        return "grey: neither small enough to be protected nor large enough to be dependable"

    @property
    def changed_attributes(self) -> tuple[str, ...]:
        """What rows do not have as they truly are."""
        return tuple(self.gamma_by_attribute)

    @property
    def keeps_independence(self) -> bool:
        """Groups are made of an attribute's own values; of attributes drawn together, one's groups are made of the others' too."""
        return not self.together

    @property
    def sentence(self) -> str:
        """The link in words."""
        names = " and ".join(self.gamma_by_attribute)
        sizes = " and ".join(str(each) for each in self.gamma_by_attribute.values())
        groups = "a secret group" if len(self.gamma_by_attribute) == 1 else "secret groups of its own"
        shared = (
            f"; {' and '.join(self.together)} together, from one member of a group whose members differ in each"
            if self.together
            else ""
        )
        return (
            f"Each row's {names} was drawn uniformly from the {sizes} different values of {groups}{shared} "
            f"({self.partition} partition)."
        )

    def _model(self, published: Published, name: str) -> DecoyModel:
        margin = published.count_by((name,), Selection())
        rarest = self.suppress_rarer_than or 1
        return decoy_model(_whole(margin.counts), self.gamma_by_attribute[name], rarest)

    def _require_law(self, model: DecoyModel, name: str) -> None:
        self._require_known_meetings(name)
        model.require_identifiable(name)

    def _require_drawn_alone(self, name: str) -> None:
        if name in self.together:
            raise NotIdentifiableError(
                f"{' and '.join(map(repr, self.together))} were drawn together, and which of their values meet in groups "
                "cannot be computed from the release. Counts of categories of one of them alone are determined; ask for those."
            )

    def _require_known_meetings(self, name: str) -> None:
        self._require_drawn_alone(name)
        if self.partition != "mixed":
            raise NotIdentifiableError(
                f"the groups of {name!r} were made {self.partition}, and which values meet in them cannot be "
                "computed from the release. Counts of its categories alone are determined; for others ask for "
                "estimator='pairwise' or 'paper', knowing that they are biased."
            )

    def _product(self, published: Published, names: Sequence[str]) -> PerturbedRows:
        models = {name: self._model(published, name) for name in names}
        for name, model in models.items():
            self._require_law(model, name)
        return product_of(models)


def _whole(counts: Floats) -> tuple[int, ...]:
    return tuple(int(each) for each in counts)
