"""The base class of laws: from published counts to estimates of true ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import ClassVar, Protocol

import numpy as np

from sfumato.arrays import Codes, Floats, Integers
from sfumato.data.chunks import CodedBatch
from sfumato.data.long_format import LongTable
from sfumato.errors import NotIdentifiableError, ParameterError, ReleaseDamagedError, nearest
from sfumato.estimates.counts import CountTable, Feasibility, OccupiedCounts
from sfumato.estimates.estimates import Estimates, OccupiedCells
from sfumato.guarantees.base import Guarantee
from sfumato.immutable import Frozen
from sfumato.laws.estimator import Formula, Target, answer, binding
from sfumato.laws.posterior import GroupBeliefs, GroupedRows, Posterior, SharedPrior, Targets
from sfumato.query.selection import Predicate, Selection, Tabulation
from sfumato.randomness.distortion import TwoValued
from sfumato.schema import Schema
from sfumato.schema.hierarchies import Hierarchy

# --------------------------------------------------------------------------------------------------
# Whether a law is about the attributes that its release publishes.


def refuse_unfit_matrices(sizes: Mapping[str, int], published: Schema, others: Sequence[str] = ()) -> None:
    """Refuse a release whose law is not about its attributes: wrong numbers would look right.

    Parameters
    ----------
    sizes
        By perturbed attribute, the categories that its matrix is made for.
    published
        What the release publishes.
    others
        Further attributes that the law names.

    Raises
    ------
    ReleaseDamagedError
        Naming the first that does not fit.
    """
    found = {each.name: each.size for each in published.attributes}
    unfit = [name for name, size in sizes.items() if found.get(name) != size]
    if unfit:
        raise ReleaseDamagedError(
            f"the release's law has a distortion matrix of {unfit[0]!r} that fits no attribute it publishes. "
            "Get the release again from where it came."
        )
    absent = [name for name in others if name not in found]
    if absent:
        raise ReleaseDamagedError(
            f"the release's law names {absent[0]!r}, which the release does not publish. "
            "Get the release again from where it came."
        )


# --------------------------------------------------------------------------------------------------
# What every law can do: turn published counts into estimates of true ones.


NOTHING_PROMISED = "Nothing is promised."
"""What stands where a method proves nothing of anybody."""

WITHHELD_PROMISE = "Cannot be checked: the law, the method's parameters and the numbers of its promise are withheld, since each of them gives the others away."
"""What is said of the promise wherever a release withholds its law."""


class ItemColumns(Protocol):
    """The wide table that a long one stands for: a code for each unit and item, 0 where the unit lacks the item."""

    def counts(self) -> Integers:
        """Units by item and code, ``(items, codes)``."""

    def codes(self, places: Sequence[int]) -> tuple[Codes, ...]:
        """What every unit has of some items, ``(units,)`` each."""


class Published(Protocol):
    """What a law may ask of a release."""

    @property
    def schema(self) -> Schema:
        """The published schema."""

    @property
    def number_of_rows(self) -> int:
        """Rows of the published table."""

    def count_by(self, names: Sequence[str], where: Selection) -> CountTable:
        """Published counts over some attributes, among the rows of the first table selected."""

    def count_occupied(self, names: Sequence[str], *, weight: str | None = None) -> OccupiedCounts:
        """Combinations that occur in the first table, with their rows or the sum of an integer column."""

    def items(self, long: LongTable) -> ItemColumns:
        """What the units of a long table have of its items, as published."""

    def scan(self, table: str, names: Sequence[str]) -> Iterator[CodedBatch]:
        """Columns of a published table, categories as codes and whole numbers as they are, in batches."""


class Law(Frozen):
    """The exact statistical link between what was published and the true counts.

    A member adds the tag field ``law`` with its public name, whatever numbers the link needs, and its
    :meth:`formula`. Everything that is asked, tables and selections alike, is answered by that one formula.
    Estimates are unbiased; :meth:`consistent` gives feasible ones, which are not. Estimators from the
    literature that are not unbiased have names and are asked for by :meth:`estimate_by`.
    """

    estimate_is: ClassVar[str] = "unbiased"
    """What a reader of :meth:`estimate`'s numbers must know: that they are unbiased, or what they assume."""
    estimators: ClassVar[Mapping[str, str]] = {}
    """Other estimators, by public name: in a few words, what a reader of their numbers must know."""

    rows_are_independent: ClassVar[bool] = False
    """Whether published rows are independent draws about a population, so that drawing them anew shows the errors."""

    unanswerable: ClassVar[str] = ""
    """Why the law answers no question over one attribute, or none over two; empty for a law that answers both."""

    is_withheld: ClassVar[bool] = False
    """Whether the numbers of the link are kept back, so that what it promises cannot be checked."""
    chosen_from_rows: ClassVar[tuple[str, ...]] = ()
    """What may have been chosen from the private rows to make such a release, in the words that a promise names it by.
    A name that ends in "of" is followed by an attribute's. A release that names anything else is refused."""
    accounted_choices: ClassVar[tuple[str, ...]] = ()
    """Those of them that a promise accounts for by itself: it pays for them, or has a condition of its own."""
    own_conditions: ClassVar[tuple[str, ...]] = ()
    """What else a promise of such a release may take as known, each in words."""

    is_row_by_row: ClassVar[bool] = False
    """Whether published rows are the true ones, each changed value redrawn from its own true value and chance alone.
    What is independent in truth is then independent in the release, whatever the matrices are."""

    @property
    def keeps_independence(self) -> bool:
        """Whether published rows are the true ones, each changed column made from that column and chance alone.

        What is independent in truth is then independent in the release, within groups of unchanged values too: whoever
        knows the published column knows nothing of the others but what the true column tells.
        """
        return self.is_row_by_row

    def conditions_of(self, chosen: Collection[str], stated: Guarantee, schema: Schema) -> tuple[str, ...]:
        """What a promise must take as known for choices that the law accounts for by itself; none unless it says otherwise.

        Parameters
        ----------
        chosen
            What was chosen from the private rows, as the release declares it.
        stated
            The promise as the release makes it.
        schema
            Of the release.
        """
        del chosen, stated, schema
        return ()

    def withheld(self) -> Law | None:
        """The law that names what was changed and keeps the numbers back; None where nothing would stay valid."""
        return None

    def question_schema(self, published: Schema) -> Schema:
        """The attributes that questions are asked in: the published ones, unless the law says otherwise."""
        return published

    def trees(self, published: Schema) -> Mapping[str, Hierarchy | None]:
        """By attribute, the tree of its published values over the original categories; None where they form none.

        Empty unless a law merges categories.
        """
        del published
        return {}

    @property
    def without_column(self) -> tuple[str, ...]:
        """Attributes of the private table that have no column in the release, and whose categories are not published."""
        return ()

    @property
    def changed_attributes(self) -> tuple[str, ...]:
        """Attributes whose published values are not the true ones of the row, so that plain counts of them are wrong."""
        return ()

    def refuse_unfit_tables(self, published: Published) -> None:
        """Refuse published tables that do not fit each other; there is nothing to fit unless a law says otherwise.

        Raises
        ------
        ReleaseDamagedError
            Saying what does not fit.
        """
        del published

    def promises(self, schema: Schema, stated: Guarantee) -> tuple[Guarantee, ...]:
        """The strongest promises that follow from the law: none, unless a law says otherwise.

        Parameters
        ----------
        schema
            Of the questions.
        stated
            The promise in question; numbers that a law leaves free, such as a relative error, are taken from it.
        """
        del schema, stated
        return ()

    def matrices(self) -> Mapping[str, Floats | TwoValued]:
        """By attribute, ``matrix[true, published]`` where each row's value was drawn from it and from nothing else."""
        return {}

    @abstractmethod
    def formula(self, published: Published, asked: Sequence[Tabulation]) -> Formula:
        """The law applied to a release, with what it must read there to answer a question.

        Parameters
        ----------
        published
            The release.
        asked
            One tabulation, or several without axes; conditions that every category satisfies are gone.

        Raises
        ------
        NotIdentifiableError
            Here or by the formula, when the release leaves open what is asked.
        """

    def estimate(
        self, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """Unbiased estimates of the cells asked for, flattened in the order of the tabulation."""
        asked = (binding(tabulation, published.schema),)
        return answer(self.formula(published, asked), asked, target)

    def estimate_by(
        self, estimator: str, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """Estimates by one of the law's other estimators.

        Raises
        ------
        ParameterError
            When the law has none of that name.
        """
        del published, tabulation, target
        raise ParameterError(
            f"releases of this kind have no estimator {estimator!r}; {nearest(estimator, self.estimators)} "
            "Leave it out for the unbiased estimate.",
            parameter="estimator",
        )

    def estimate_selections(
        self, published: Published, selections: Sequence[Selection], *, target: Target = "table"
    ) -> Estimates:
        """Unbiased estimates of how many rows satisfy each selection, with the covariance between them."""
        asked = tuple(binding(Tabulation(where=each), published.schema) for each in selections)
        return answer(self.formula(published, asked), asked, target)

    def estimate_predicates(
        self, published: Published, predicates: Sequence[Predicate], *, target: Target = "table"
    ) -> Estimates:
        """Unbiased estimates of how many rows satisfy each predicate, with the covariance between them."""
        selections = [part for each in predicates for part in each.parts]
        if len(selections) == len(predicates):
            return self.estimate_selections(published, selections, target=target)
        asked = tuple(binding(Tabulation(where=each), published.schema) for each in selections)
        sums = np.repeat(np.eye(len(predicates)), [len(each.parts) for each in predicates], axis=1)
        return answer(self.formula(published, asked), asked, target, sums)

    def estimate_occupied(self, published: Published, names: Sequence[str]) -> OccupiedCells | None:
        """Estimates of the cells that occur, for sums over tables too large for a covariance; None where a law has no such form."""
        del published, names
        return None

    def difference(
        self,
        published: Published,
        question: Selection,
        first: Selection,
        second: Selection,
        *,
        target: Target = "table",
    ) -> Estimates:
        """Share of the first group that satisfies a question, minus that of the second group.

        Each share is a ratio of two unbiased counts; the standard error is the delta method's.
        """
        asked = (first & question, first, second & question, second)
        counts = self.estimate_selections(published, asked, target=target)
        return _difference_of_shares(counts, asked)

    def compare(
        self,
        published: Published,
        question: Predicate,
        first: Predicate,
        second: Predicate,
        *,
        target: Target = "table",
    ) -> Estimates:
        """The :meth:`difference` of two groups' shares, all three made by conditions joined in any way."""
        asked = question, first, second
        if all(len(each.parts) == 1 for each in asked):
            return self.difference(published, *(each.single() for each in asked), target=target)
        parts = (first & question, first, second & question, second)
        return _difference_of_shares(self.estimate_predicates(published, parts, target=target), parts)

    @abstractmethod
    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """Non-negative estimates that add up to what is known exactly; biased where they had to be cut."""

    def treats_alike(self, name: str) -> bool:
        """Whether errors are the same whichever category of an attribute has which count; else each must be tried in turn."""
        del name
        return False

    @abstractmethod
    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Standard errors that the estimates of a table's cells will have, from its true counts."""

    def grouped_rows(self, published: Published, public: Sequence[str], sensitive: str) -> GroupedRows | None:
        """Published rows by true public values, each with its own sensitive value seen through a matrix.

        None unless a law says otherwise: then its rows are not of this kind, or the matrix is not determined.
        """
        del published, public, sensitive
        return None

    def prior(self, published: Published, targets: Targets, *, only_outliers: bool = False) -> SharedPrior:
        """What the release's estimates say of people by themselves, before its law does; the same for every law.

        Parameters
        ----------
        published, targets
            The release, and whom it is about.
        only_outliers
            Believe estimated cells only where they stand out from their noise.
        """
        rows = self.grouped_rows(published, targets.names, targets.sensitive.name)
        return SharedPrior.from_release(
            self, published, targets.public, targets.sensitive, rows, only_outliers=only_outliers
        )

    def posterior(self, published: Published, targets: Targets, prior: SharedPrior) -> Posterior:
        """What somebody with the release and people's public values believes of their sensitive value.

        Where published rows are seen through a matrix (:meth:`grouped_rows`) they are inverted within public
        groups; elsewhere the shared prior is all, unless a law says otherwise.

        Parameters
        ----------
        published
            The release.
        targets
            The people, and whether they are known to be in the table.
        prior
            Of the release, by :meth:`prior`; it is worked out once.
        """
        before = prior.at(targets.names, targets.combinations)
        rows = self.grouped_rows(published, targets.names, targets.sensitive.name)
        if rows is None:
            return Posterior(before, targets.index)
        groups = GroupBeliefs.fitted(rows, prior, targets.names)
        places = groups.places(targets.combinations)
        known = places >= 0
        inside = places[known]
        before[known] = groups.of_members(inside) if targets.are_members else groups.compositions[inside]
        return Posterior(before, targets.index)

    def posterior_without(
        self,
        published: Published,
        targets: Targets,
        values: Integers,
        prior: SharedPrior,
        generator: np.random.Generator,
    ) -> tuple[Posterior, Posterior]:
        """What would be believed of members had their own row not been published; for who knows their values.

        Parameters
        ----------
        published, targets, prior
            As for :meth:`posterior`.
        values, generator
            ``(targets,)``: the true value of each; draws which published row is each one's own.

        Returns
        -------
        tuple
            By the law, and by the shared prior alone.

        Raises
        ------
        NotIdentifiableError
            When a single row cannot be taken out of releases of this kind.
        """
        rows = self.grouped_rows(published, targets.names, targets.sensitive.name)
        if rows is None:
            raise NotIdentifiableError(
                "a single row cannot be taken out of a release of this kind, so nobody can be compared with themselves "
                "left out. Give people who are not in the table, or publish the design again without some."
            )
        groups = GroupBeliefs.fitted(rows, prior, targets.names)
        places = groups.places(targets.combinations)[targets.index]
        found = prior.at(targets.names, targets.combinations)[targets.index]
        before, known = found.copy(), places >= 0
        found[known], before[known] = groups.left_out(
            places[known], np.asarray(values, np.int64)[known], generator
        )
        each = np.arange(len(found))
        return Posterior(found, each), Posterior(before, each)

    def notes(self, published: Published, where: Selection, estimates: Estimates) -> tuple[str, ...]:
        """What a reader must know of one answer beyond its interval; nothing unless a law says otherwise."""
        del published, where, estimates
        return ()

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The link in words."""


def _difference_of_shares(counts: Estimates, asked: Sequence[Selection | Predicate]) -> Estimates:
    """From the rows of a group that satisfy a question, the group, and both again for another group."""
    each = np.eye(4)
    # A question that all of a group satisfies is about the group itself.
    top = each[1 if asked[0] == asked[1] else 0], each[3 if asked[2] == asked[3] else 2]
    shares = counts.ratios(top, (each[1], each[3]))
    return shares.within(0.0, 1.0).linear(np.array([[1.0, -1.0]]))
