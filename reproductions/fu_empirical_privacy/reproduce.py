"""Fu et al. (2014), section 7: empirical privacy, the fraction of tuples that a classifier trained on a release predicts, by ``compare``.

``python reproductions/run.py fu_empirical_privacy`` computes everything anew and compares; ``--renew`` writes ``results.json``.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from adult import ESGRO, read_adult
from evidence import Claims, Moves, Reproduction, Results, Verdicts, bundled
from sfumato import compare_designs
from sfumato.compare.grid import Candidate, read_candidates
from sfumato.data.private_table import PrivateTable

HERE = Path(__file__).parent
REPEATS, SEED = 3, 5
RAW, RESAMPLED = "the table itself", "distribution-resampling"
SOON = "noisy-marginals epsilon=1.0"
LEVELS = (2, 4, 6)


def predicted(
    table: PrivateTable, designs: Sequence[Candidate], workers: int | None = None
) -> dict[str, dict[str, float]]:
    """Shares predicted rightly, of people in the table and of people outside it; and what being in it costs the most linkable."""
    with tempfile.TemporaryDirectory() as folder:
        found = compare_designs(
            table,
            Path(folder) / "comparison",
            candidates=designs,
            queries=60,
            repeats=REPEATS,
            classifier_repeats=REPEATS,
            seed=SEED,
            workers=workers,
        )
    numbers = {}
    for each in found.points:
        assert each.predicted is not None
        assert each.risk is not None
        numbers[each.candidate.label] = {
            "predicted in the table": each.predicted.present,
            "predicted outside": each.predicted.absent,
            "risk": each.risk.excess,
        }
    return numbers


def privacy(claims: Claims, folder: Path) -> dict[str, dict[str, float]]:
    """All designs."""
    del claims
    table = read_adult(bundled("adult", folder), ESGRO)
    return predicted(table, read_candidates(HERE / "designs.toml"))


def margin(claims: Claims, folder: Path) -> dict[str, float]:
    """The share of the most frequent value."""
    del claims
    table = read_adult(bundled("adult", folder), ESGRO)
    counts = np.asarray(table.count_by([ESGRO[-1]]).counts)
    return {"most frequent": float(counts.max() / counts.sum())}


def quick(claims: Claims, folder: Path) -> Results:
    """The margin, and the design whose classifiers are soonest trained; draws of a design do not depend on the others."""
    table = read_adult(bundled("adult", folder), ESGRO)
    chosen = [each for each in read_candidates(HERE / "designs.toml") if each.label == SOON]
    return {"margin": margin(claims, folder), "privacy": predicted(table, chosen, workers=0)}


def judge(claims: Claims, results: Results) -> Verdicts:
    """The statements, each wherever it can be wrong."""
    del claims
    found: Mapping[str, Mapping[str, float]] = results["privacy"]
    inside = {name: each["predicted in the table"] for name, each in found.items()}
    decoys, buckets = (
        [inside[f"{kind}={level}"] for level in LEVELS] for kind in ("splu-gen gamma", "anatomy l_value")
    )
    verdicts: Verdicts = {}
    for told, line in (("falls with gamma", decoys), ("falls with l", buckets)):
        is_falling = all(one > other for one, other in itertools.pairwise(line))
        verdicts[told] = {"printed": "falls", "ours": rounded(line), "matched": is_falling}
    for name, share in inside.items():
        if name != RAW:
            verdicts[f"no more than the table itself: {name}"] = {
                "printed": "no more",
                "ours": rounded([share, inside[RAW]]),
                "matched": share <= inside[RAW] + 0.005,
            }
    frequent = results["margin"]["most frequent"]
    verdicts["resampling tells the margin"] = {
        "printed": round(frequent, 4),
        "ours": round(inside[RESAMPLED], 4),
        "matched": abs(inside[RESAMPLED] - frequent) <= 0.015,
    }
    for level, one, other in zip(LEVELS, decoys, buckets, strict=True):
        verdicts[f"decoys tell no more than buckets: {level}"] = {
            "printed": "no more",
            "ours": rounded([one, other]),
            "matched": one <= other + 0.005,
        }
        outside = found[f"splu-gen gamma={level}"]["predicted outside"]
        verdicts[f"mostly about the population: gamma = {level}"] = {
            "printed": "less than 0.05 apart",
            "ours": rounded([one, outside]),
            "matched": one - outside < 0.05,
        }
    return verdicts


def rounded(numbers: Sequence[float]) -> list[float]:
    """To four decimals."""
    return [round(float(each), 4) for each in numbers]


REPRODUCTION = Reproduction(
    folder=HERE,
    parts={"margin": margin, "privacy": privacy},
    quick=quick,
    judge=judge,
    differs=frozenset(),
    moves=(
        Moves(
            pattern="privacy > * > risk", absolute=0.1, why="a few hundred people in each of three releases"
        ),
        Moves(
            pattern="privacy > *", absolute=0.012, why="three splits: the spread between them is about .003"
        ),
    ),
)
