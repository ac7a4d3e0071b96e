"""Naive Bayes from estimated counts, as a scikit-learn estimator where that is installed.

The only module that needs scikit-learn when it is imported: a classifier must derive from its bases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from sfumato.analysis.classifiers import codes_of_rows, prediction_error
from sfumato.analysis.moments import NumberEstimate
from sfumato.analysis.shrinkage import Mode, shrink_counts
from sfumato.arrays import Floats, Integers, MixedRadix
from sfumato.errors import MissingExtraError, ParameterError
from sfumato.laws import Target
from sfumato.release import Release
from sfumato.results import ResultTable

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise MissingExtraError("the naive Bayes classifier", extra="learning") from None

Codes = npt.NDArray[np.integer[Any]]

Impossible = Literal["prior", "first"]
"""What to say of a row that every class makes impossible: what is most frequent, or the first class."""


class CountNaiveBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes classifier over category codes, made of class-by-feature counts.

    :meth:`fit` counts rows itself. :meth:`from_counts` and :meth:`from_release` take counts that were
    estimated: noisy marginals, perturbed rows, decoys. Negative estimates are cut at zero.

    Parameters
    ----------
    pseudo_count
        Added to every count. Without it one empty cell rules a class out.
    impossible
        See :data:`Impossible`; matters with a pseudo-count of 0 only.
    categories
        Number of categories of each feature for :meth:`fit`; one more than the largest code when not
        given.

    Notes
    -----
    Each noisy table gives its own class totals. A feature's probabilities are normalised within its
    own table, and the prior comes from the mean of the totals over all tables.

    References
    ----------
    Mothali (2011), table 8.1, with n_ijk / n_i for eq. 8.3.

    Examples
    --------
    >>> rows = [[0, 0], [0, 1], [1, 0], [1, 1], [1, 1], [0, 1]]
    >>> model = CountNaiveBayes(pseudo_count=0).fit(rows, [0, 0, 0, 1, 1, 1])
    >>> model.predict_proba([[0, 1]]).round(6).tolist()
    [[0.4, 0.6]]
    """

    def __init__(
        self,
        *,
        pseudo_count: float = 1.0,
        impossible: Impossible = "prior",
        categories: Sequence[int] | None = None,
    ) -> None:
        self.pseudo_count = pseudo_count
        self.impossible = impossible
        self.categories = categories

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:  # noqa: N803 - scikit-learn's names
        """Count rows of category codes, ``(rows, features)``, by class, ``(rows,)``."""
        codes, labels = validate_data(self, X, y)
        check_classification_targets(labels)
        codes = _whole_codes(codes)
        classes, class_codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"a classifier needs two classes or more, got {len(classes)} class. Add rows.")
        sizes = self.categories or (codes.max(axis=0) + 1).tolist()
        return self._learn(count_classes(codes, class_codes, sizes, len(classes)), classes)

    @classmethod
    def from_counts(
        cls,
        tables: Sequence[npt.ArrayLike],
        classes: Sequence[Any],
        *,
        pseudo_count: float = 1.0,
        impossible: Impossible = "prior",
    ) -> Self:
        """Classifier from one ``(classes, categories)`` table of counts for each feature.

        Examples
        --------
        >>> tables = [[[2, 1], [1, 2]], [[2, 1], [0, 3]]]
        >>> CountNaiveBayes.from_counts(tables, ["no", "yes"], pseudo_count=0).predict([[0, 1]]).tolist()
        ['yes']
        """
        model = cls(pseudo_count=pseudo_count, impossible=impossible)
        counts = [np.asarray(each, np.float64) for each in tables]
        wrong = [each.shape for each in counts if each.ndim != 2 or len(each) != len(classes)]
        if wrong or not counts:
            raise ParameterError(
                f"each table must have one row for each of the {len(classes)} classes, got shape "
                f"{wrong[0] if wrong else 'none'}. Tabulate the class first, then the feature.",
                parameter="tables",
            )
        model.n_features_in_ = len(counts)
        return model._learn(counts, np.asarray(classes))

    @classmethod
    def from_release(
        cls,
        release: Release,
        class_attribute: str,
        features: Sequence[str],
        *,
        estimator: str | None = None,
        shrink: Mode | None = None,
        pseudo_count: float = 1.0,
        impossible: Impossible = "prior",
    ) -> Self:
        """Classifier from a release's estimates of the class-by-feature counts.

        Parameters
        ----------
        release
            Of any method whose law can estimate two-way counts.
        class_attribute, features
            What to predict, and from what. Rows are given as codes of the features' categories, in this order, or as a
            table of their labels; predictions are labels of the class attribute.
        estimator
            Another estimator of the release's law, by name.
        shrink
            Of tables with noise of one size on every count: move them towards zero first, as
            :func:`~sfumato.analysis.shrinkage.shrink` has it. Classes are then told apart by what noise did not make.
        """
        if estimator is not None and shrink is not None:
            raise ParameterError(
                "counts are taken from another estimator or shrunken, one of them.", parameter="shrink"
            )
        tables = [
            release.counts([class_attribute, name], estimator=estimator).values
            if shrink is None
            else shrink_counts(release, [class_attribute, name], mode=shrink).values
            for name in features
        ]
        made = cls.from_counts(
            tables, release.schema[class_attribute].labels, pseudo_count=pseudo_count, impossible=impossible
        )
        made.class_attribute_ = class_attribute
        made.feature_attributes_ = release.schema.select(features)
        made.feature_names_in_ = np.array(list(features), dtype=object)
        return made

    def error(
        self, release: Release, *, confidence_level: float = 0.95, target: Target = "table"
    ) -> NumberEstimate:
        """Share of a release's true rows whose class it predicts wrongly, through the law.

        Raises
        ------
        ParameterError
            When it was not made from a release: which attributes the columns are is then not known.
        """
        if not hasattr(self, "feature_attributes_"):
            raise ParameterError(
                "which attributes of a release the columns are is known of classifiers made by from_release only.",
                parameter="release",
            )
        labels = {label: code for code, label in enumerate(release.schema[self.class_attribute_].labels)}
        return prediction_error(
            release,
            self.class_attribute_,
            [each.name for each in self.feature_attributes_],
            lambda codes: np.array([labels[str(each)] for each in self.predict(codes)]),
            confidence_level=confidence_level,
            target=target,
        )

    def to_dict(self) -> dict[str, Any]:
        """Prior and conditional probabilities of a classifier made by :meth:`from_release`, by label."""
        classes = [str(each) for each in self.classes_]
        return {
            "prior": dict(zip(classes, np.exp(self.log_prior_).tolist(), strict=True)),
            "likelihoods": {
                each.name: {
                    name: dict(zip(each.labels, row, strict=True))
                    for name, row in zip(classes, np.exp(table).tolist(), strict=True)
                }
                for each, table in zip(self.feature_attributes_, self.log_likelihoods_, strict=True)
            },
        }

    def summary(self) -> str:
        """The same as text: the prior, then the categories of each feature given the class."""
        found, of = self.to_dict(), self.class_attribute_
        prior = ResultTable(f"Naive Bayes: prior of {of}", (of, "probability"), tuple(found["prior"].items()))
        given = [
            ResultTable(
                f"Probability of {name} given {of}",
                (name, *likelihoods),
                tuple(
                    (label, *(row[label] for row in likelihoods.values()))
                    for label in next(iter(likelihoods.values()))
                ),
            )
            for name, likelihoods in found["likelihoods"].items()
        ]
        return "\n\n".join(each.to_text() for each in (prior, *given))

    def _learn(self, tables: Sequence[Floats], classes: npt.NDArray[Any]) -> Self:
        if self.impossible not in get_args(Impossible) or not self.pseudo_count >= 0:
            raise ParameterError(
                f"pseudo_count must be 0 or more and impossible one of {', '.join(get_args(Impossible))}, "
                f"got {self.pseudo_count} and {self.impossible!r}. Try 1 and 'prior'.",
                parameter="pseudo_count",
            )
        self.classes_ = classes
        self.log_prior_, self.log_likelihoods_ = log_probabilities(tables, self.pseudo_count)
        return self

    def predict_log_proba(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        """Logarithms of :meth:`predict_proba`; minus infinity where a class is impossible."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict_proba(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        """Probability of every class for each row, ``(rows, classes)``."""
        check_is_fitted(self)
        if hasattr(self, "feature_attributes_"):
            X = codes_of_rows(X, self.feature_attributes_)  # noqa: N806
        elif hasattr(self, "n_features_in_"):
            X = validate_data(self, X, reset=False)  # noqa: N806
        codes = _whole_codes(X)
        for place, table in enumerate(self.log_likelihoods_):
            if codes.size and codes[:, place].max() >= table.shape[1]:
                raise ParameterError(
                    f"feature {place} has codes outside 0 to {table.shape[1] - 1}. "
                    "Encode rows with the schema that the counts were made for.",
                    parameter="X",
                )
        joint = log_joint(codes, self.log_prior_, self.log_likelihoods_)
        is_impossible = np.isneginf(joint).all(axis=1)
        joint[is_impossible] = self._impossible_row()
        joint -= joint.max(axis=1, keepdims=True)
        weights = np.exp(joint)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:  # noqa: N803
        """The most probable class of each row; the first of equally probable ones."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(probabilities, axis=1)])

    def _impossible_row(self) -> Floats:
        if self.impossible == "prior" and np.isfinite(self.log_prior_).any():
            return self.log_prior_
        return np.where(np.arange(len(self.classes_)) == 0, 0.0, -np.inf)


def count_classes(
    codes: Codes,
    class_codes: Codes,
    sizes: Sequence[int],
    number_of_classes: int,
) -> list[Floats]:
    """One ``(classes, categories)`` table of counts for each feature.

    Examples
    --------
    >>> [table.tolist() for table in count_classes(np.array([[0], [1], [1]]), np.array([0, 0, 1]), [2], 2)]
    [[[1.0, 1.0], [0.0, 1.0]]]
    """
    return [
        MixedRadix([number_of_classes, size]).tabulate([class_codes, codes[:, place]]).astype(np.float64)
        for place, size in enumerate(sizes)
    ]


def log_probabilities(tables: Sequence[Floats], pseudo_count: float) -> tuple[Floats, list[Floats]]:
    """Logarithms of the prior, ``(classes,)``, and of each feature's ``(classes, categories)``.

    A class without counts in a table has no distribution over it and is made impossible.
    """
    counts = [np.clip(each, 0, None) + pseudo_count for each in tables]
    totals = [each.sum(axis=1, keepdims=True) for each in counts]
    # The prior from the mean of the totals; pseudo-counts of wide tables must not weigh more there.
    class_totals = np.mean([np.clip(each, 0, None).sum(axis=1) for each in tables], axis=0) + pseudo_count
    with np.errstate(divide="ignore", invalid="ignore"):
        likelihoods = [
            np.log(np.divide(each, total, out=np.zeros_like(each), where=total > 0))
            for each, total in zip(counts, totals, strict=True)
        ]
        return np.log(class_totals) - np.log(max(class_totals.sum(), 1e-300)), likelihoods


def log_joint(codes: Codes, log_prior: Floats, log_likelihoods: Sequence[Floats]) -> Floats:
    """``log prior + sum over features of log likelihood``, ``(rows, classes)``."""
    joint = np.tile(log_prior, (len(codes), 1))
    for place, table in enumerate(log_likelihoods):
        joint += table.T[codes[:, place]]
    return joint


def _whole_codes(values: npt.ArrayLike) -> Integers:
    codes = np.asarray(values)
    whole = codes.astype(np.int64)
    if codes.ndim != 2 or (codes != whole).any() or (whole < 0).any():
        raise ValueError(
            "rows must be given as category codes: whole numbers from 0 on, one column for each feature. "
            "Negative values in data are not codes; encode categories first."
        )
    return whole
