"""Numbers on pages that reproductions computed: read off ``reproductions/*/results.json``, which recomputations hold.

A figure is a page and the text that must stand on it, numbers filled in.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPRODUCTIONS = Path(__file__).parents[2] / "reproductions"
Figure = tuple[str, str]


def results(name: str) -> dict[str, Any]:
    """What a reproduction last computed."""
    found: dict[str, Any] = json.loads((REPRODUCTIONS / name / "results.json").read_text(encoding="utf-8"))
    return found["results"]


def figures() -> Iterator[Figure]:
    """All of them."""
    yield from buckets()
    yield from sparse_linking()
    yield from retentions()
    yield from noisy_marginals()
    yield from classifiers()
    yield from samples()
    widths = results("guo_rules")["half_widths"]
    pair, three, four = (
        max(widths[name]["0.65"] for name in names) for names in (("GH",), ("EHG", "EGI"), ("EGHF", "FGIE"))
    )
    yield (
        "docs/analysis/rules.md",
        f"±{pair:.2f} for two items, ±{three:.2f} for three, ±{four:.2f} for four, of 5,822 rows.",
    )


def buckets() -> Iterator[Figure]:
    """The attack on Anatomy, Adult (Mothali)."""
    page, found = "docs/attacks/anatomy-naive-bayes.md", results("mothali")
    claims = tomllib.loads((REPRODUCTIONS / "mothali" / "claims.toml").read_text(encoding="utf-8"))
    printed = {each["id"].removeprefix("exact-em-"): each["printed"] for each in claims["claims"]}
    for size, each in found.items():
        right = [f"{each[name]['accuracy']:.1f}" for name in ("balanced", "restricted", "gibbs")]
        theirs = f"{printed[size]:.2f}" if size in printed else ""
        loose = each.get("approximate")
        arbitrary = f"{loose['mean']:.1f} ({loose['minimum']:.1f} to {loose['maximum']:.1f})" if loose else ""
        cells = [
            size,
            f"{each['baseline']:.1f}",
            f"{each['exact']['accuracy']:.1f}",
            theirs,
            *right,
            arbitrary,
        ]
        yield page, _row(cells)
        exact, other = each["exact"], each["balanced"]
        yield (
            page,
            _row(
                [
                    size,
                    f"{exact['brier']:.3f}, {exact['calibration']:.3f}",
                    f"{exact['product_calibration']:.3f}",
                    f"{other['brier']:.3f}, {other['calibration']:.4f}",
                    f"{exact['share_above_0.9']:.0%}, {exact['precision_above_0.9']:.0%}".replace("%", " %"),
                ]
            ),
        )
    mixed = ", ".join(f"{each['exact_on_mixed_buckets']['accuracy']:.1f}" for each in found.values())
    yield page, f"Mixed buckets give the same picture ({mixed})."
    isotonic = max(each["exact"]["isotonic_calibration_on_the_other_half"] for each in found.values())
    yield page, f"brings the calibration part of the other half to {isotonic:.4f} or less."
    lost = max(each["exact"]["accuracy"] - each["balanced"]["accuracy"] for each in found.values())
    yield page, f"Adult it loses at most {lost:.1f} points of accuracy where both run"
    six = found["6"]["exact"]
    yield (
        page,
        f"in buckets of six they are right in {six['minimum']:.1f} to {six['maximum']:.1f} %, and the one of the best objective in {six['accuracy']:.1f} %",
    )
    right = [f"{found[size]['exact']['accuracy']:.0f}" for size in "234"]
    yield (
        "docs/methods/anatomy.md",
        f"it guesses {right[0]} % right in buckets of two, {right[1]} % in buckets of three, {right[2]} % in buckets of four, against 50, 33 and 25 % promised.",
    )


def _row(cells: list[str]) -> str:
    return "".join(f"| {each} " if each else "| " for each in cells) + "|"


def sparse_linking() -> Iterator[Figure]:
    """Ratings known of a person, raw and published (Li and Li)."""
    page, found = "docs/attacks/sparse-linking.md", results("li")
    real, made = found["linking, movielens"], found["linking, make-believe"]
    for name, each in (("MovieLens 100K", real), ("make-believe ratings", made)):
        claimed, right = each["raw: claimed"], each["raw: right among claimed"]
        yield page, f"| {name}, raw | {claimed:.0%} | {right:.0%} | 1 | |".replace("%", " %")
    assert not any(value for key, value in real.items() if key.startswith(("noisy", "ten")))
    for name in ("noisy counts", "ten columns"):
        told = (
            f"| make-believe ratings, {name} | {made[f'{name}: claimed']:.0%} | "
            f"| {made[f'{name}: highest chance of the right person']:.3f} | {made[f'{name}: expected found, at best']:.3f} |"
        )
        yield page, told.replace("%", " %")
    best = max(
        made[f"{name}: highest chance of the right person"] for name in ("noisy counts", "ten columns")
    )
    yield (
        "docs/methods/columnized-counts.md",
        f"finds {real['raw: claimed']:.0%} of MovieLens raters".replace("%", " %"),
    )
    yield "docs/methods/columnized-counts.md", f"its best claim on a release is worth 1 in {1 / best:.0f}."


def retentions() -> Iterator[Figure]:
    """The most accurate retentions for a risk (Guo)."""
    found = results("guo")
    for size in "2345":
        public, both = (found[f"table_5_2_{part}"][size]["loss"] for part in "ac")
        yield "docs/methods/randomized-response.md", f"| 1/{size} | {public:,.0f} | {both:,.0f} |"


def noisy_marginals() -> Iterator[Figure]:
    """Error and disclosure by epsilon (Han)."""
    setting = results("han")["adult"]["settings"]["education, occupation, race, sex to income"]
    for epsilon in ("2", "1", "0.5", "0.1"):
        scale = setting["sensitivity"] / float(epsilon)
        error = setting["expected error by epsilon, cells with rows"][epsilon]
        told = setting["disclosed two-way cells by epsilon"][epsilon]
        yield (
            "docs/methods/noisy-marginals.md",
            f"| {epsilon} | {scale:.0f} | {error:.0%} | {told} |".replace("%", " %"),
        )


def classifiers() -> Iterator[Figure]:
    """Ties of naive Bayes without pseudo-counts (Mothali)."""
    found = results("mothali_classifiers")["adult"]["pseudo-count 0, epsilon 0.01, 10 folds"]
    lost = {
        name: found["accuracy"][name] - found["accuracy_impossible_to_rarest"][name]
        for name in ("noisy", "shrunken")
    }
    yield (
        "docs/analysis/shrinkage.md",
        f"on Adult at epsilon 0.01 it is {lost['noisy']:.0f} points for noisy counts and {lost['shrunken']:.0f} for shrunken ones.",
    )


def samples() -> Iterator[Figure]:
    """Violations and errors of the thesis's default setting (Han)."""
    found = results("han_reconstruction")["settings"]["0.5-0.3-0.3"]
    times = found["sampled_error"] / found["plain_error"]
    yield (
        "docs/methods/sample-perturb-scale.md",
        f"{found['violating_groups']:.0%} of the occupied groups, and errors {times:.1f} times those of plain perturbation at its default setting.".replace(
            "%", " %"
        ),
    )
