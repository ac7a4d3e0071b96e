"""The verbs of a release: each loads its analysis when it is called.

Analyses are built on releases; only these doors point the other way, so that what can be asked of a release
stands on the release. They load an analysis when it is asked for and hold nothing of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from sfumato.analysis.classifiers import Tree
    from sfumato.analysis.counts import Countable
    from sfumato.analysis.formulas import FamilyName
    from sfumato.analysis.imputation import Imputations
    from sfumato.analysis.independence import Counts, IndependenceTest
    from sfumato.analysis.loglinear import Loglinear, LoglinearSearch
    from sfumato.analysis.measures import Interval, MeasureInterval, Measures
    from sfumato.analysis.moments import NumberEstimate
    from sfumato.analysis.naive_bayes import CountNaiveBayes
    from sfumato.analysis.overview import Overview
    from sfumato.analysis.recommender import RatingModel, Recommendations
    from sfumato.analysis.regression import CoefficientInterval, Regression
    from sfumato.analysis.rules import DecideBy, Rules
    from sfumato.analysis.shrinkage import Mode, ShrunkenCounts
    from sfumato.analysis.unknown_distortion import Advice, Knowledge, Suspicion
    from sfumato.estimates.answers import AnswerTable
    from sfumato.laws import Target
    from sfumato.release.release import Release
    from sfumato.release.tabulation import Simultaneous
    from sfumato.release.verification import Check


class Analyses:
    """What can be computed from a release's estimated counts, with the law's errors carried on."""

    def overview(self: Countable) -> Overview:
        """What it holds and promises, and how large the errors of its answers are: see :func:`sfumato.analysis.overview.overview`."""
        from sfumato.analysis.overview import overview

        return overview(cast("Release", self))

    def self_checks(self) -> tuple[Check, ...]:
        """What can be held against it without the private rows: see :func:`sfumato.analysis.overview.check_release`."""
        from sfumato.analysis.overview import check_release

        return check_release(cast("Release", self))

    def measures(
        self: Countable,
        first: str,
        second: str,
        *,
        where: str = "",
        only: Sequence[str] | None = None,
        interval: MeasureInterval = "normal",
        confidence_level: float = 0.95,
        target: Target = "table",
    ) -> Measures:
        """How two attributes, or conditions, go together: see :func:`sfumato.analysis.measures.measure`."""
        from sfumato.analysis.measures import measure

        return measure(
            self,
            first,
            second,
            where=where,
            only=only,
            interval=interval,
            confidence_level=confidence_level,
            target=target,
        )

    def independence(
        self: Countable,
        first: str,
        second: str,
        *others: str,
        given: Sequence[str] = (),
        where: str = "",
        counts: Counts | None = None,
    ) -> IndependenceTest:
        """Test whether attributes are independent in the population: see :func:`sfumato.analysis.independence.independence`."""
        from sfumato.analysis.independence import independence

        return independence(self, first, second, *others, given=given, where=where, counts=counts)

    def shares(
        self: Countable,
        by: str | Sequence[str],
        *,
        within: str | Sequence[str] = (),
        where: str = "",
        confidence_level: float = 0.95,
        target: Target = "table",
        simultaneous: Simultaneous | None = None,
    ) -> AnswerTable:
        """Shares of a table's cells, of all rows or within groups: see :func:`sfumato.analysis.counts.shares`."""
        from sfumato.analysis.counts import shares

        return shares(
            self,
            by,
            within=within,
            where=where,
            confidence_level=confidence_level,
            target=target,
            simultaneous=simultaneous,
        )

    def mean(
        self: Countable,
        attribute: str,
        *,
        where: str = "",
        scores: Mapping[str, float] | None = None,
        confidence_level: float = 0.95,
        target: Target = "table",
    ) -> NumberEstimate:
        """Mean of an attribute whose categories stand for numbers: see :func:`sfumato.analysis.moments.mean`."""
        from sfumato.analysis.moments import mean

        return mean(
            self,
            attribute,
            where=where,
            scores=scores,
            confidence_level=confidence_level,
            target=target,
        )

    def variance(
        self: Countable,
        attribute: str,
        *,
        where: str = "",
        scores: Mapping[str, float] | None = None,
        confidence_level: float = 0.95,
        target: Target = "table",
    ) -> NumberEstimate:
        """Variance of such an attribute, noise taken out: see :func:`sfumato.analysis.moments.variance`."""
        from sfumato.analysis.moments import variance

        return variance(
            self,
            attribute,
            where=where,
            scores=scores,
            confidence_level=confidence_level,
            target=target,
        )

    def quantile(
        self: Countable,
        attribute: str,
        share: float,
        *,
        where: str = "",
        scores: Mapping[str, float] | None = None,
        confidence_level: float = 0.95,
        target: Target = "table",
    ) -> NumberEstimate:
        """Number below which a share of the rows lies: see :func:`sfumato.analysis.moments.quantile`."""
        from sfumato.analysis.moments import quantile

        return quantile(
            self,
            attribute,
            share,
            where=where,
            scores=scores,
            confidence_level=confidence_level,
            target=target,
        )

    def correlation(
        self: Countable,
        first: str,
        second: str,
        *,
        where: str = "",
        confidence_level: float = 0.95,
        target: Target = "table",
    ) -> NumberEstimate:
        """Pearson's correlation of two such attributes."""
        from sfumato.analysis.moments import correlation

        return correlation(self, first, second, where=where, confidence_level=confidence_level, target=target)

    def regression(
        self: Countable,
        formula: str,
        *,
        family: FamilyName | None = None,
        where: str = "",
        interval: CoefficientInterval = "normal",
        confidence_level: float = 0.95,
        target: Target = "table",
    ) -> Regression:
        """Fit ``"income ~ age + sex"`` through the law: see :func:`sfumato.analysis.regression.regress`."""
        from sfumato.analysis.regression import regress

        return regress(
            self,
            formula,
            family=family,
            where=where,
            interval=interval,
            confidence_level=confidence_level,
            target=target,
        )

    def rules(
        self: Countable,
        *,
        minimum_support: float = 0.01,
        minimum_confidence: float = 0.5,
        longest: int = 4,
        decide_by: DecideBy = "estimate",
        among: Sequence[str] | None = None,
        category: str | None = None,
        consequents: Sequence[str] | None = None,
        longest_consequent: int = 1,
        interval: Interval = "normal",
        confidence_level: float = 0.95,
        simultaneous: bool = False,
        target: Target = "table",
    ) -> Rules:
        """Frequent item sets and association rules: see :func:`sfumato.analysis.rules.mine_release`."""
        from sfumato.analysis.rules import Settings, mine_release

        settings = Settings(
            minimum_support=minimum_support,
            minimum_confidence=minimum_confidence,
            longest=longest,
            decide_by=decide_by,
            longest_consequent=longest_consequent,
            interval=interval,
            confidence_level=confidence_level,
            simultaneous=simultaneous,
            target=target,
        )
        release = cast("Release", self)
        return mine_release(release, settings, among=among, category=category, consequents=consequents)

    def advise(
        self: Countable,
        first: str | None = None,
        second: str | None = None,
        *,
        given: Sequence[str] = (),
        knowing: Knowledge = "nothing",
    ) -> Advice:
        """What stays valid when the matrices are unknown: see :func:`sfumato.analysis.unknown_distortion.advise`."""
        from sfumato.analysis.unknown_distortion import advise

        return advise(cast("Release", self), first, second, given=given, knowing=knowing)

    def check_matrix(
        self: Countable,
        attribute: str,
        *,
        retention: float | None = None,
        matrix: Sequence[Sequence[float]] | None = None,
        margin: Mapping[str, float] | None = None,
        target: Target = "population",
    ) -> Suspicion:
        """Whether a published margin could come from a suspected matrix: see :func:`sfumato.analysis.unknown_distortion.check_matrix`."""
        from sfumato.analysis.unknown_distortion import check_matrix

        return check_matrix(
            cast("Release", self),
            attribute,
            retention=retention,
            matrix=matrix,
            margin=margin,
            target=target,
        )

    def loglinear(
        self: Countable,
        model: str,
        *,
        where: str = "",
        counts: Counts | None = None,
        confidence_level: float = 0.95,
        target: Target = "table",
    ) -> Loglinear:
        """Fit ``"sex*job + job*region"`` through the law: see :func:`sfumato.analysis.loglinear.fit_loglinear`."""
        from sfumato.analysis.loglinear import fit_loglinear

        return fit_loglinear(
            self, model, where=where, counts=counts, confidence_level=confidence_level, target=target
        )

    def search_loglinear(
        self: Countable,
        of: Sequence[str],
        *,
        where: str = "",
        counts: Counts | None = None,
        level: float = 0.05,
    ) -> LoglinearSearch:
        """The smallest loglinear model that fits, exploratory: see :func:`sfumato.analysis.loglinear.search_loglinear`."""
        from sfumato.analysis.loglinear import search_loglinear

        return search_loglinear(self, of, where=where, counts=counts, level=level)

    def tree(
        self: Countable,
        of: str,
        features: Sequence[str],
        *,
        depth: int = 3,
        level: float = 0.05,
        least_rows: float = 50,
        where: str = "",
    ) -> Tree:
        """A decision tree from estimated counts: see :func:`sfumato.analysis.classifiers.grow_tree`."""
        from sfumato.analysis.classifiers import grow_tree

        return grow_tree(self, of, features, depth=depth, level=level, least_rows=least_rows, where=where)

    def naive_bayes(
        self: Countable,
        of: str,
        features: Sequence[str],
        *,
        shrink: Mode | None = None,
        pseudo_count: float = 1.0,
    ) -> CountNaiveBayes:
        """A naive Bayes classifier from estimated counts: see :class:`sfumato.analysis.naive_bayes.CountNaiveBayes`."""
        from sfumato.analysis.naive_bayes import CountNaiveBayes

        return CountNaiveBayes.from_release(
            cast("Release", self), of, features, shrink=shrink, pseudo_count=pseudo_count
        )

    def shrink(self: Countable, by: Sequence[str], *, mode: Mode = "counts") -> ShrunkenCounts:
        """Noisy counts moved towards zero: see :func:`sfumato.analysis.shrinkage.shrink_counts`."""
        from sfumato.analysis.shrinkage import shrink_counts

        return shrink_counts(self, by, mode=mode)

    def impute(
        self: Countable,
        by: str | Sequence[str] | None = None,
        *,
        model: str = "",
        draws: int = 20,
        seed: int = 0,
    ) -> Imputations:
        """Tables of rows as they may have been, for multiple imputation: see :func:`sfumato.analysis.imputation.impute`."""
        from sfumato.analysis.imputation import impute

        return impute(self, by, model=model, draws=draws, seed=seed)

    def rating_model(self: Countable) -> RatingModel:
        """What predicts ratings from published ones: see :func:`sfumato.analysis.recommender.fit_release`."""
        from sfumato.analysis.recommender import fit_release

        return fit_release(cast("Release", self))

    def recommend(self: Countable, rated: Mapping[str, str], *, number: int = 10) -> Recommendations:
        """What a person may like, from published ratings and his own: see :func:`sfumato.analysis.recommender.recommend`."""
        from sfumato.analysis.recommender import recommend

        return recommend(cast("Release", self), rated, number=number)

    def partial_correlation(
        self: Countable,
        first: str,
        second: str,
        *,
        given: str,
        where: str = "",
        confidence_level: float = 0.95,
        target: Target = "table",
    ) -> NumberEstimate:
        """Correlation with what a third attribute explains taken out: see :func:`sfumato.analysis.moments.partial_correlation`."""
        from sfumato.analysis.moments import partial_correlation

        return partial_correlation(
            self,
            first,
            second,
            given=given,
            where=where,
            confidence_level=confidence_level,
            target=target,
        )
