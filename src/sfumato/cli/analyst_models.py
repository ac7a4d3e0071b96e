"""The analyst's verbs about models: measures, independence, regression, rules, loglinear, classify, shrink, impute, recommend, advise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfumato.cli.analyst import attribute_names
from sfumato.cli.options import (
    AsJson,
    Confidence,
    Given,
    Reading,
    ReleaseFolder,
    Running,
    TargetName,
    Where,
    with_options,
)
from sfumato.cli.output import show_json, show_result, talk, tell

if TYPE_CHECKING:
    from sfumato.analysis.classifiers import Tree
    from sfumato.analysis.naive_bayes import CountNaiveBayes
    from sfumato.data.private_table import PrivateTable
    from sfumato.results import ResultTable

# --------------------------------------------------------------------------------------------------
# ``sfumato measures``: how two attributes go together.


MEASURES_EXAMPLES = (
    "sfumato measures release --of sex,occupation",
    "sfumato measures release --of sex --of \"occupation = 'Sales'\"",
)


Of = Annotated[
    list[str],
    typer.Option(
        "--of",
        metavar="FIRST,SECOND",
        help="Two attributes; or --of twice, each an attribute or a condition of the query language.",
        show_default=False,
    ),
]


@with_options
def measures(
    release: ReleaseFolder,
    *,
    of: Of,
    where: Where = "",
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="MEASURES", help="These measures, separated by commas; all unless given."
        ),
    ] = None,
    interval: Annotated[
        Literal["normal", "chebyshev", "bootstrap"],
        typer.Option(
            "--interval",
            help="Normal ranges, wider ones that hold for any law of the errors, or from rows drawn anew (independent rows, --target population).",
        ),
    ] = "normal",
    confidence: Confidence = 0.95,
    target: TargetName = "table",
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Measure how two attributes go together: odds ratio, phi, Cramér's V, lift, and more."""
    measured = reading.load_release(release).measures(
        *two_sides(of),
        where=where,
        only=only and attribute_names(only),
        interval=interval,
        confidence_level=confidence,
        target=target,
    )
    show_result(measured, as_json=as_json)


def two_sides(of: list[str]) -> tuple[str, str]:
    """The two texts of ``--of``: one with a comma, or two.

    Examples
    --------
    >>> two_sides(["sex,job"]), two_sides(["sex", "job IN ('a', 'b')"])
    (('sex', 'job'), ('sex', "job IN ('a', 'b')"))
    """
    # A condition may hold commas of its own, so only a single text is split.
    sides = of if len(of) > 1 else attribute_names(of)
    if len(sides) != 2:
        raise typer.BadParameter(f"--of names two attributes or conditions, got {len(sides)}.")
    return sides[0], sides[1]


# --------------------------------------------------------------------------------------------------
# ``sfumato independence``: whether attributes could be independent.


INDEPENDENCE_EXAMPLES = (
    "sfumato independence release --of sex,occupation",
    "sfumato independence release --of sex --of \"occupation = 'Sales'\"",
    "sfumato independence release --of sex,occupation --given region",
    "sfumato independence release --of sex,age,occupation --counts published",
)


@with_options
def independence(
    release: ReleaseFolder,
    *,
    of: Annotated[
        list[str],
        typer.Option(
            "--of",
            metavar="FIRST,SECOND,...",
            help="Two attributes or more, which are then tested for mutual independence; or --of for each attribute or "
            "condition of the query language.",
            show_default=False,
        ),
    ],
    given: Given = None,
    where: Where = "",
    counts: Annotated[
        Literal["estimated", "published"] | None,
        typer.Option(
            "--counts",
            help="Counts estimated through the law, or published rows as they stand where that keeps the level.",
        ),
    ] = None,
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Test whether attributes are independent in the population, at the right level."""
    sides = of if len(of) > 1 else attribute_names(of)
    if len(sides) < 2:
        raise typer.BadParameter(f"--of names two attributes or conditions, or more, got {len(sides)}.")
    names = attribute_names(given) if given else ()
    tested = reading.load_release(release).independence(*sides, given=names, where=where, counts=counts)
    show_result(tested, as_json=as_json)


# --------------------------------------------------------------------------------------------------
# ``sfumato regression``: a model fitted through the law of a release.


REGRESSION_EXAMPLES = (
    'sfumato regression release "income ~ age + sex"',
    "sfumato regression release \"job IN ('Sales', 'Tech') ~ sex*score(age)\"",
    'sfumato regression release "income ~ sex" --interval score',
)


@with_options
def regression(
    release: ReleaseFolder,
    formula: Annotated[
        str,
        typer.Argument(
            metavar="FORMULA",
            help="Response ~ terms joined by +: attributes, a:b, a*b, score(age), sex[ref='F']. The response is "
            "an attribute, a condition or score(attribute).",
            show_default=False,
        ),
    ],
    *,
    family: Annotated[
        Literal["logistic", "multinomial", "poisson", "linear"] | None,
        typer.Option("--family", help="Follows from the response unless given."),
    ] = None,
    where: Where = "",
    interval: Annotated[
        Literal["normal", "score"],
        typer.Option("--interval", help="Score intervals keep their level where the release tells little."),
    ] = "normal",
    confidence: Confidence = 0.95,
    target: TargetName = "table",
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Fit a regression; response, covariates or both may be perturbed."""
    fitted = reading.load_release(release).regression(
        formula,
        family=family,
        where=where,
        interval=interval,
        confidence_level=confidence,
        target=target,
    )
    show_result(fitted, as_json=as_json)


# --------------------------------------------------------------------------------------------------
# ``sfumato rules``: frequent item sets and association rules.


RULES_EXAMPLES = (
    "sfumato rules release --minimum-support 0.01 --minimum-confidence 0.5",
    "sfumato rules release --decide-by lower --longest 3 --json",
    "sfumato rules release --among \"bread = 'yes'\" --among \"milk = 'yes'\"",
    "sfumato rules receipts.csv --schema schema.toml --minimum-support 0.02",
)


@with_options
def rules(
    release: Annotated[
        str,
        typer.Argument(
            metavar="RELEASE",
            help="Folder of a release; or, with --schema, private data, of which the result is private too.",
            show_default=False,
        ),
    ],
    *,
    minimum_support: Annotated[
        float, typer.Option("--minimum-support", metavar="SHARE", help="Least share of rows that have a set.")
    ] = 0.01,
    minimum_confidence: Annotated[
        float,
        typer.Option(
            "--minimum-confidence",
            metavar="SHARE",
            help="Least share of the antecedent's rows that have the consequent.",
        ),
    ] = 0.5,
    longest: Annotated[int, typer.Option("--longest", metavar="N", help="Items of the longest sets.")] = 4,
    decide_by: Annotated[
        Literal["estimate", "lower", "upper"],
        typer.Option(
            "--decide-by",
            help="What the thresholds are held against: the estimate, or an end of its interval (lower: few false, upper: few missed).",
        ),
    ] = "estimate",
    among: Annotated[
        list[str] | None,
        typer.Option(
            "--among",
            metavar="ITEMS",
            help="An attribute, or a condition on one; may be repeated. All unless given.",
        ),
    ] = None,
    category: Annotated[
        str | None,
        typer.Option(
            "--category",
            metavar="NAME",
            help="Only this category of every attribute is an item, such as yes.",
        ),
    ] = None,
    consequent: Annotated[
        list[str] | None,
        typer.Option(
            "--consequent", metavar="ITEMS", help="What rules may be about, as --among; may be repeated."
        ),
    ] = None,
    longest_consequent: Annotated[
        int, typer.Option("--longest-consequent", metavar="N", help="Items that may follow at a time.")
    ] = 1,
    interval: Annotated[
        Literal["normal", "chebyshev"],
        typer.Option(
            "--interval",
            help="Ranges of confidence and lift: normal, or wider ones that hold for any law of the errors.",
        ),
    ] = "normal",
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Ranges that hold for all rules considered together.")
    ] = False,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema", metavar="FILE", help="Schema file (TOML) of private data.", show_default=False
        ),
    ] = None,
    confidence: Confidence = 0.95,
    target: TargetName = "table",
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Find frequent item sets and association rules, with support, confidence, lift and their errors."""
    from sfumato.analysis.rules import Settings

    settings = Settings(
        minimum_support=minimum_support,
        minimum_confidence=minimum_confidence,
        longest=longest,
        decide_by=decide_by,
        longest_consequent=longest_consequent,
        interval=interval,
        confidence_level=confidence,
        simultaneous=simultaneous,
        target=target,
    )
    if schema is None:
        from sfumato.analysis.rules import mine_release

        opened = reading.load_release(Path(release))
        found = mine_release(opened, settings, among=among, category=category, consequents=consequent)
    else:
        from sfumato.custody.rules import mine_table

        table = reading.read_table(release, schema)
        found = mine_table(table, settings, among=among, category=category, consequents=consequent)
    show_result(found, as_json=as_json)


# --------------------------------------------------------------------------------------------------
# ``sfumato loglinear``: a loglinear model fitted through the law, or a search for one.


LOGLINEAR_EXAMPLES = (
    'sfumato loglinear release "sex*job + job*region"',
    "sfumato loglinear release --search sex,job,region",
)


@with_options
def loglinear(
    release: ReleaseFolder,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help="Products of attributes joined by +, such as a*b + b*c: a and c are independent given b.",
            show_default=False,
        ),
    ] = None,
    *,
    search: Annotated[
        list[str] | None,
        typer.Option(
            "--search",
            metavar="ATTRIBUTES",
            help="Test every model of these two to four attributes instead, and name the smallest that fits. Exploratory.",
        ),
    ] = None,
    level: Annotated[float, typer.Option("--level", help="At which a search rejects a model.")] = 0.05,
    counts: Annotated[
        Literal["estimated", "published"] | None,
        typer.Option(
            "--counts",
            help="Counts estimated through the law, or published rows as they stand where randomization preserves the model.",
        ),
    ] = None,
    where: Where = "",
    confidence: Confidence = 0.95,
    target: TargetName = "table",
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Fit a loglinear model and test whether it fits, or search among models."""
    if (model is None) == (search is None):
        raise typer.BadParameter("give a model, or --search with attributes, one of them.")
    opened = reading.load_release(release)
    if model is None:
        names = attribute_names(search or [])
        show_result(opened.search_loglinear(names, where=where, counts=counts, level=level), as_json=as_json)
        return
    fitted = opened.loglinear(model, where=where, counts=counts, confidence_level=confidence, target=target)
    show_result(fitted, as_json=as_json)


# --------------------------------------------------------------------------------------------------
# ``sfumato classify``: a classifier from estimated counts, and how often it is wrong.


CLASSIFY_EXAMPLES = (
    "sfumato classify release --of occupation --by sex,age",
    "sfumato classify release --of occupation --by sex,age --test other-release",
    "sfumato classify release --of salary --by sex,age --classifier naive-bayes",
    "sfumato classify release --of salary --by sex,age --predict rows.csv",
)


@with_options
def classify(
    release: ReleaseFolder,
    *,
    of: Annotated[
        str, typer.Option("--of", metavar="ATTRIBUTE", help="What to predict.", show_default=False)
    ],
    by: Annotated[
        list[str],
        typer.Option("--by", metavar="ATTRIBUTES", help="What to predict it from.", show_default=False),
    ],
    classifier: Annotated[
        Literal["tree", "naive-bayes"], typer.Option("--classifier", help="A decision tree, or naive Bayes.")
    ] = "tree",
    depth: Annotated[int, typer.Option("--depth", help="Splits of a tree, from the root to a leaf.")] = 3,
    shrink: Annotated[
        Literal["counts", "threshold", "signed", "printed", "exact"] | None,
        typer.Option("--shrink", help="For naive Bayes: move counts with equal noise towards zero first."),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            "--test",
            metavar="RELEASE",
            help="Estimate its error on this release; on the same one unless given.",
        ),
    ] = None,
    predict: Annotated[
        str | None,
        typer.Option(
            "--predict",
            metavar="FILE",
            help="Rows to predict the class of, in any form that data may have; their values as in the original data.",
            show_default=False,
        ),
    ] = None,
    confidence: Confidence = 0.95,
    target: TargetName = "table",
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Learn a classifier from estimated counts, estimate its error, predict rows."""
    from sfumato.errors import NotIdentifiableError, TooLargeError
    from sfumato.schema import Schema

    if shrink is not None and classifier == "tree":
        raise typer.BadParameter(
            "--shrink is for naive Bayes; the splits of a tree have their noise taken out."
        )
    opened = reading.load_release(release)
    features = attribute_names(by)
    learned = (
        opened.tree(of, features, depth=depth)
        if classifier == "tree"
        else opened.naive_bayes(of, features, shrink=shrink)
    )
    asked = opened if test is None else reading.load_release(test)
    predicted = None
    if predict is not None:
        rows = reading.read_table(predict, Schema(attributes=tuple(opened.schema.select(features))))
        predicted = _predictions(learned, rows, of)
    error, why = None, ""
    try:
        error = learned.error(asked, confidence_level=confidence, target=target)
    except (NotIdentifiableError, TooLargeError) as refusal:
        why = f"The error of prediction cannot be estimated: {refusal}"
    if as_json:
        told: dict[str, Any] = {"classifier": classifier, "of": of, "features": list(features)}
        told[classifier] = learned.to_dict()
        told["error"] = None if error is None else error.to_dict()
        if why:
            told["error_note"] = why
        if predicted is not None:
            told["predictions"] = predicted.to_dict()["rows"]
        show_json(told)
        return
    show_result(learned, as_json=False)
    if error is not None:
        show_result(error, as_json=False)
    else:
        tell(why)
    if predicted is not None:
        tell(predicted.to_text())


def _predictions(learned: Tree | CountNaiveBayes, rows: PrivateTable, of: str) -> ResultTable:
    """The features of each row, its predicted class, and the probabilities of all classes."""
    import numpy as np

    from sfumato.results import ResultTable

    attributes = rows.schema.attributes
    lines: list[tuple[str | float, ...]] = []
    for batch in rows.scan([each.name for each in attributes]):
        codes = np.column_stack([batch.codes[each.name] for each in attributes]).astype(np.int64)
        labels = [[each.labels[code] for code in codes[:, place]] for place, each in enumerate(attributes)]
        classes, probabilities = learned.predict(codes).tolist(), learned.predict_proba(codes).tolist()
        lines.extend(
            (*row, str(found), *shares)
            for *row, found, shares in zip(*labels, classes, probabilities, strict=True)
        )
    shares = (f"P({label})" for label in learned.classes_)
    columns = (*(each.name for each in attributes), f"predicted {of}", *shares)
    return ResultTable("Predicted classes", columns, tuple(lines))


# --------------------------------------------------------------------------------------------------
# ``sfumato shrink``: noisy counts moved towards zero.


SHRINK_EXAMPLES = (
    "sfumato shrink release --by sex,occupation",
    "sfumato shrink release --by occupation --mode exact",
)


@with_options
def shrink(
    release: ReleaseFolder,
    *,
    by: Annotated[
        list[str],
        typer.Option("--by", metavar="ATTRIBUTES", help="Attributes to tabulate.", show_default=False),
    ],
    mode: Annotated[
        Literal["counts", "threshold", "signed", "printed", "exact"],
        typer.Option("--mode", help="How counts are moved; the page on shrinkage says when which."),
    ] = "counts",
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Move noisy counts towards zero: better where many are near it, and biased on purpose."""
    show_result(reading.load_release(release).shrink(attribute_names(by), mode=mode), as_json=as_json)


# --------------------------------------------------------------------------------------------------
# ``sfumato impute``: tables of rows as they may have been.


IMPUTE_EXAMPLES = (
    "sfumato impute release --by sex,occupation --out draws",
    'sfumato impute release --model "age*sex + sex*job" --out draws',
)


@with_options
def impute(
    release: ReleaseFolder,
    *,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="Folder to make; it must not exist.", show_default=False),
    ],
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="ATTRIBUTES", help="Attributes to draw; all of them when not given."),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="A loglinear model of the attributes to draw, in place of --by; none is assumed when not given.",
        ),
    ] = "",
    draws: Annotated[int, typer.Option("--draws", metavar="N", help="How many tables.")] = 20,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="The same draws follow from the same seed.")
    ] = 0,
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Draw tables of rows as they may have been, for tools that know multiple imputation."""
    names = None if by is None else attribute_names(by)
    found = reading.load_release(release).impute(names, model=model, draws=draws, seed=seed)
    found.write(out)
    show_result(found, as_json=as_json)
    talk(f"Next: analyse every file of {out} by itself, then pool the results by Rubin's rules.")


# --------------------------------------------------------------------------------------------------
# ``sfumato recommend``: what a person may like, from published ratings.


RECOMMEND_EXAMPLES = (
    "sfumato recommend release",
    'sfumato recommend release --rated "Alien=5" --rated "Heat=2" --number 5',
)


@with_options
def recommend(
    release: ReleaseFolder,
    *,
    rated: Annotated[
        list[str] | None,
        typer.Option("--rated", metavar="ITEM=VALUE", help="A rating of the person; may be repeated."),
    ] = None,
    number: Annotated[int, typer.Option("--number", help="Items to give, at most.")] = 10,
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Predict what a person would rate items, from published ratings and his own."""
    pairs = [each.rpartition("=") for each in rated or ()]
    if any(not item or not equals for item, equals, _ in pairs):
        raise typer.BadParameter("--rated is ITEM=VALUE.")
    known = {item: value for item, _, value in pairs}
    show_result(reading.load_release(release).recommend(known, number=number), as_json=as_json)


# --------------------------------------------------------------------------------------------------
# ``sfumato advise``: what stays valid when the distortion matrices are unknown.


ADVISE_EXAMPLES = (
    "sfumato advise release",
    "sfumato advise release --of sex,occupation --given region",
    "sfumato advise release --of sex,occupation --knowing uniform",
)


@with_options
def advise(
    release: ReleaseFolder,
    *,
    of: Annotated[
        list[str] | None,
        typer.Option(
            "--of",
            metavar="FIRST,SECOND",
            help="Two attributes, or --of twice; any perturbed pair unless given.",
        ),
    ] = None,
    given: Given = None,
    knowing: Annotated[
        Literal["nothing", "keeping", "uniform"],
        typer.Option(
            "--knowing",
            help="What is known of the matrices: nothing; that values are kept more often than changed; that all other "
            "values are equally likely.",
        ),
    ] = "nothing",
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Say what published rows tell without the matrices: valid, known in one direction, or not valid."""
    sides = two_sides(of) if of else ()
    names = attribute_names(given) if given else ()
    show_result(reading.load_release(release).advise(*sides, given=names, knowing=knowing), as_json=as_json)
