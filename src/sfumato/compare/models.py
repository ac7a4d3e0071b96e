"""Classifiers that an analyst would train on a release, judged on people who were not in the table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.analysis.classifying.growing import grow_tree
from sfumato.custody.audit.people import People
from sfumato.errors import MissingExtraError, SfumatoError
from sfumato.release import Release
from sfumato.values.arrays import Floats, Integers

TREE, BAYES = "tree right", "naive Bayes right"
"""Shares of people whose value is predicted rightly."""

DEPTH = 2
"""Splits of the tree: deeper ones ask about cells that most releases know little of."""


def measure_models(release: Release, members: People, outside: People) -> dict[str, float]:
    """How often models trained on a release predict the sensitive value of people outside it.

    Where a release refuses what a model needs, the most frequent value is all that is left to predict. Without
    scikit-learn there is no naive Bayes, and its number is none.
    """
    likeliest = int(members.margin().argmax())
    names = [each.name for each in members.public]

    def tree() -> Integers:
        grown = grow_tree(release, members.sensitive.name, names, depth=DEPTH)
        return grown.predict_codes(outside.rows)

    def bayes() -> Integers:
        from sfumato.analysis.naive_bayes import CountNaiveBayes

        model = CountNaiveBayes.from_release(release, members.sensitive.name, names)
        found: Integers = np.asarray(model.predict_proba(outside.rows)).argmax(axis=1)
        return found

    return {TREE: _right(tree, outside, likeliest), BAYES: _right(bayes, outside, likeliest)}


def _right(predict: Callable[[], Integers], outside: People, likeliest: int) -> float:
    try:
        predicted: Integers | Floats = predict()
    except MissingExtraError:
        return float("nan")
    except SfumatoError:
        predicted = np.full(outside.number, likeliest)
    return float((predicted == outside.truth).mean()) if outside.number else float("nan")
