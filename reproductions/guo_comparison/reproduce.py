"""Guo (2010), section 5.3, by ``compare``: Table 5.3, figures 5.3, 5.4 and 5.7, and 5.5 and 5.6(b) besides.

``python reproductions/run.py guo_comparison`` computes everything anew and compares; ``--renew`` writes ``results.json``.
The designs are in the TOML files beside this one, as ``sfumato compare --designs`` takes them.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adult import EMGRW, ESGRO, read_adult
from evidence import Claims, Moves, Reproduction, Results, Verdicts, bundled
from sfumato import compare_designs
from sfumato.compare.grid import read_candidates
from sfumato.compare.trial import uncertainty
from sfumato.custody.publish import in_memory
from sfumato.data.engine import ArrayEngine
from sfumato.data.private_table import PrivateTable

HERE = Path(__file__).parent
REPEATS, SEED = 3, 5
RR_QI, RR_S, RR_BOTH = "RR-QI", "RR-S", "RR-Both"
XIAO_TAO, INVERTED, DIVERSE = "Anatomy by Xiao and Tao", "Anatomy by its law", "l-diversity"
LEVELS, LEVELS_OF_ESGRO = range(2, 6), range(2, 8)
SIZES = (0.5, 1.0, 1.5, 2.0, 2.5)
"""Numbers of copies of the rows, figure 5.4."""

DISTANCES = ("total variation", "KL", "L2", "chi-square")
"""Those of section 5.4 of the thesis."""

NAMES = {
    "emgrw": [
        *(f"{RR_QI}, l = {each}" for each in LEVELS),
        *(f"{RR_S}, l = {each}" for each in LEVELS),
        # At l = 2 the thesis prints the same parameters as for RR-QI.
        *(f"{RR_BOTH}, l = {each}" for each in LEVELS if each > 2),
    ],
    "esgro": [
        *(f"{RR_QI}, l = {each}" for each in LEVELS_OF_ESGRO),
        *(f"{kind}, l = {each}" for each in LEVELS_OF_ESGRO for kind in (INVERTED, XIAO_TAO)),
        *(f"{DIVERSE}, l = {each}" for each in LEVELS_OF_ESGRO),
    ],
    "sizes_emgrw": [RR_BOTH],
    "sizes_esgro": [XIAO_TAO, DIVERSE],
}
"""By designs file, what the thesis calls the designs in it, in their order."""


def compared(
    file: str,
    table: PrivateTable,
    tables: Sequence[Sequence[str]],
    *,
    workload: Any = "strata",
    queries: int = 60,
    chosen: Sequence[str] | None = None,
    workers: int | None = None,
) -> dict[str, dict[str, float]]:
    """What ``compare`` measures of the designs of a file, by the thesis's names: the table itself and all of them, or some.

    Splits, draws and questions of a design do not depend on what else is compared.
    """
    every = dict(zip(["original", *NAMES[file]], read_candidates(HERE / f"{file}.toml"), strict=True))
    candidates = {name: each for name, each in every.items() if chosen is None or name in chosen}
    with tempfile.TemporaryDirectory() as folder:
        found = compare_designs(
            table,
            Path(folder) / "comparison",
            candidates=list(candidates.values()),
            tables=tables,
            workload=workload,
            queries=queries,
            repeats=REPEATS,
            seed=SEED,
            workers=workers,
        )
    named = zip(candidates, found.points, strict=True)
    return {
        name: {
            **{
                key: value for key, value in point.numbers.items() if " of " in key or key == "relative error"
            },
            "risk": point.risk.excess if point.risk is not None else float("nan"),
        }
        for name, point in named
    }


def scenarios(claims: Claims, folder: Path) -> dict[str, dict[str, float]]:
    """Figure 5.3: RR-QI, RR-S and RR-Both on EMGRW."""
    del claims
    found = compared("emgrw", read_adult(bundled("adult", folder), EMGRW), [EMGRW])
    kept = {*(f"{distance} of {', '.join(EMGRW)}" for distance in DISTANCES), "risk"}
    return {
        name: {key: value for key, value in numbers.items() if key in kept} for name, numbers in found.items()
    }


def models(
    claims: Claims, folder: Path, chosen: Sequence[str] | None = None, workers: int | None = None
) -> dict[str, dict[str, float]]:
    """Table 5.3 and figures 5.5 to 5.7: RR-QI, Anatomy and l-diversity on ESGRO."""
    table = read_adult(bundled("adult", folder), ESGRO)
    tables = [*claims["table_5_3"]["pairs"], ESGRO]
    found = compared("esgro", table, tables, workload="cube", queries=300, chosen=chosen, workers=workers)
    kept = {coefficient(pair) for pair in claims["table_5_3"]["pairs"]}
    joint = {f"{distance} of {', '.join(ESGRO)}" for distance in DISTANCES}
    return {
        name: {
            key: value for key, value in numbers.items() if key in kept | joint | {"relative error", "risk"}
        }
        for name, numbers in found.items()
    }


def sizes(claims: Claims, folder: Path) -> dict[str, dict[str, float]]:
    """Figure 5.4: more rows of the same distribution; half and two and a half times of them for what shall not change."""
    del claims
    return {
        **{f"{RR_BOTH}, {size:g}": size_of("emgrw", size, folder)[RR_BOTH] for size in SIZES},
        **{
            f"{name}, {size:g}": numbers
            for size in (SIZES[0], SIZES[-1])
            for name, numbers in size_of("esgro", size, folder).items()
        },
    }


def size_of(which: str, size: float, folder: Path) -> dict[str, dict[str, float]]:
    """Distances of the joint table on so many copies of the rows."""
    names = {"emgrw": EMGRW, "esgro": ESGRO}[which]
    table = copies(read_adult(bundled("adult", folder), names), size)
    found = compared(f"sizes_{which}", table, [names], chosen=NAMES[f"sizes_{which}"])
    return {
        name: {distance: numbers[f"{distance} of {', '.join(names)}"] for distance in DISTANCES}
        for name, numbers in found.items()
    }


def copies(table: PrivateTable, number: float) -> PrivateTable:
    """Whole copies of the rows, and every second row of the sorted ones for half a copy: the distribution stays as it is."""
    held = in_memory(table)
    rows: Any = held.source
    everybody = np.lexsort([rows.codes[name] for name in held.schema.names])
    whole = [everybody] * int(number)
    places = np.concatenate([*whole, everybody[::2]] if number % 1 else whole)
    return PrivateTable(rows.take(places), held.schema, engine=ArrayEngine())


def coefficient(pair: Sequence[str]) -> str:
    """The name of the share of the second's entropy."""
    return f"uncertainty of {pair[1]} by {pair[0]}"


def original(claims: Claims, folder: Path) -> dict[str, float]:
    """Coefficients of all rows, by the same function as those of releases."""
    table = read_adult(bundled("adult", folder), ESGRO)
    return {
        coefficient(pair): uncertainty(np.asarray(table.count_by(pair).counts, np.float64))
        for pair in claims["table_5_3"]["pairs"]
    }


def quick(claims: Claims, folder: Path) -> Results:
    """Coefficients of the original, and of three of its splits beside a design that is soon made; others take a quarter of a minute each."""
    return {
        "original": original(claims, folder),
        "models": models(claims, folder, ["original", f"{DIVERSE}, l = 2"], workers=0),
    }


def judge(claims: Claims, results: Results) -> Verdicts:
    """Every number of table 5.3, and every statement wherever it can be wrong."""
    return {
        **of_table(claims["table_5_3"], results["models"]),
        **of_scenarios(results["scenarios"]),
        **of_sizes(results["sizes"]),
        **of_models(claims["table_5_3"]["pairs"], results["models"]),
    }


def verdict(printed: Any, ours: Any, *, is_matched: bool) -> dict[str, Any]:
    """What is printed, what we have, whether it holds."""
    return {"printed": printed, "ours": ours, "matched": bool(is_matched)}


def of_table(claim: Mapping[str, Any], found: Mapping[str, Mapping[str, float]]) -> Verdicts:
    """Numbers of table 5.3, times 100."""
    lines = [
        ("original", "original", claim["original"], claim["original_absolute"], claim["original_relative"])
    ]
    for key, kind in (("anatomy", XIAO_TAO), ("rr_qi", RR_QI)):
        lines += [
            (f"{kind}, l = {level}", f"{kind}, l = {level}", line, claim["absolute"], claim["relative"])
            for level, line in claim[key].items()
        ]
    verdicts: Verdicts = {}
    for told, name, line, absolute, relative in lines:
        for pair, printed in zip(claim["pairs"], line, strict=True):
            if printed != "lost":
                ours = 100 * found[name][coefficient(pair)]
                is_near = abs(ours - printed) <= absolute + relative * printed
                verdicts[f"table 5.3, {told}: {pair[0]} and {pair[1]}"] = verdict(
                    printed, round(ours, 3), is_matched=is_near
                )
    return verdicts


def of_scenarios(found: Mapping[str, Mapping[str, float]]) -> Verdicts:
    """Figure 5.3."""
    verdicts: Verdicts = {}
    for distance in DISTANCES:
        key = f"{distance} of {', '.join(EMGRW)}"
        by_kind = {
            kind: [
                found[f"{kind if level > 2 or kind != RR_BOTH else RR_QI}, l = {level}"][key]
                for level in LEVELS
            ]
            for kind in (RR_QI, RR_S, RR_BOTH)
        }
        for kind, line in by_kind.items():
            verdicts[f"grows with l: {distance} of {kind}"] = verdict(
                "grows", rounded(line), is_matched=all(one < other for one, other in itertools.pairwise(line))
            )
        for place, level in enumerate(LEVELS):
            at = {kind: line[place] for kind, line in by_kind.items()}
            verdicts[f"RR-Both is best: {distance}, l = {level}"] = verdict(
                RR_BOTH, rounded(at.values()), is_matched=at[RR_BOTH] <= min(at.values())
            )
    return verdicts


def of_sizes(found: Mapping[str, Mapping[str, float]]) -> Verdicts:
    """Figure 5.4, and what is said below it."""
    verdicts: Verdicts = {}
    for distance in DISTANCES:
        line = [found[f"{RR_BOTH}, {size:g}"][distance] for size in SIZES]
        verdicts[f"falls with size: {distance}"] = verdict(
            "falls", rounded(line), is_matched=all(one > other for one, other in itertools.pairwise(line))
        )
    euclidean = [found[f"{RR_BOTH}, {size:g}"]["L2"] for size in SIZES]
    slope = float(np.polyfit(np.log(SIZES), np.log(euclidean), 1)[0])
    verdicts["as the root of the rows"] = verdict(-0.5, round(slope, 3), is_matched=-0.65 <= slope <= -0.35)
    for kind in (XIAO_TAO, DIVERSE):
        few, many = (found[f"{kind}, {size:g}"]["L2"] for size in (SIZES[0], SIZES[-1]))
        verdicts[f"does not fall with size: {kind}"] = verdict(
            "the same", rounded([few, many]), is_matched=abs(many / few - 1) < 0.15
        )
    return verdicts


def of_models(pairs: Sequence[Sequence[str]], found: Mapping[str, Mapping[str, float]]) -> Verdicts:
    """Figures 5.5, 5.6(b) and 5.7."""
    secret = ESGRO[-1]
    kinds = {
        "with the sensitive": [pair for pair in pairs if secret in pair],
        "among public": [pair for pair in pairs if secret not in pair],
    }

    def average(name: str, kind: str) -> float:
        return float(np.mean([found[name][coefficient(pair)] for pair in kinds[kind]]))

    verdicts: Verdicts = {}
    for level in LEVELS_OF_ESGRO:
        ours, paper, diverse, own = (f"{kind}, l = {level}" for kind in (RR_QI, XIAO_TAO, DIVERSE, INVERTED))
        for distance in DISTANCES:
            key = f"{distance} of {', '.join(ESGRO)}"
            line = [found[name][key] for name in (ours, paper, diverse)]
            verdicts[f"RR-QI is nearest: {distance}, l = {level}"] = verdict(
                RR_QI, rounded(line), is_matched=line[0] < min(line[1:])
            )
        line = [found[name]["relative error"] for name in (ours, paper, diverse)]
        verdicts[f"RR-QI is better on the cube, l = {level}"] = verdict(
            RR_QI, rounded(line), is_matched=line[0] < min(line[1:])
        )
        for kind, others in (("with the sensitive", (paper, diverse)), ("among public", (diverse,))):
            off = [abs(average(name, kind) - average("original", kind)) for name in (ours, *others)]
            verdicts[f"coefficients {kind}: RR-QI is nearer, l = {level}"] = verdict(
                RR_QI, rounded(off), is_matched=off[0] < min(off[1:])
            )
        off = abs(average(paper, "among public") - average("original", "among public"))
        verdicts[f"coefficients among public: Anatomy is exact, l = {level}"] = verdict(
            0, round(off, 9), is_matched=off < 1e-9
        )
        line = [found[name][f"total variation of {', '.join(ESGRO)}"] for name in (ours, own)]
        verdicts[f"RR-QI is nearer than Anatomy inverted, l = {level}"] = verdict(
            RR_QI, rounded(line), is_matched=line[0] < line[1]
        )
    return verdicts


def rounded(numbers: Any) -> list[float]:
    """To four decimals."""
    return [round(float(each), 4) for each in numbers]


SPLITS = f"means of {REPEATS} releases of {REPEATS} splits"
REPRODUCTION = Reproduction(
    folder=HERE,
    parts={"original": original, "scenarios": scenarios, "sizes": sizes, "models": models},
    quick=quick,
    judge=judge,
    differs=frozenset(
        {
            "RR-Both is best: KL, l = 2",
            "RR-Both is best: L2, l = 5",
            "RR-Both is best: chi-square, l = 2",
            "RR-Both is best: chi-square, l = 3",
            "RR-Both is best: chi-square, l = 4",
            "RR-Both is best: total variation, l = 2",
            "RR-QI is nearer than Anatomy inverted, l = 2",
            "table 5.3, Anatomy by Xiao and Tao, l = 3: education and occupation",
            "table 5.3, Anatomy by Xiao and Tao, l = 4: education and occupation",
            "table 5.3, Anatomy by Xiao and Tao, l = 5: education and occupation",
            "table 5.3, RR-QI, l = 3: education and income",
            "table 5.3, RR-QI, l = 3: education and race",
            "table 5.3, RR-QI, l = 3: education and sex",
            "table 5.3, RR-QI, l = 3: income and race",
            "table 5.3, RR-QI, l = 4: education and income",
            "table 5.3, RR-QI, l = 4: education and occupation",
            "table 5.3, RR-QI, l = 4: education and race",
            "table 5.3, RR-QI, l = 4: education and sex",
            "table 5.3, RR-QI, l = 4: income and race",
            "table 5.3, RR-QI, l = 5: education and income",
            "table 5.3, RR-QI, l = 5: education and occupation",
            "table 5.3, RR-QI, l = 5: education and race",
            "table 5.3, RR-QI, l = 5: education and sex",
            "table 5.3, RR-QI, l = 5: income and occupation",
            "table 5.3, RR-QI, l = 5: income and race",
            "table 5.3, RR-QI, l = 5: income and sex",
        }
    ),
    moves=(
        Moves(pattern="[sm]* > risk", absolute=0.1, why=SPLITS),
        Moves(pattern="[sm]* > chi-square*", relative=0.5, why=SPLITS),
        Moves(pattern="[sm]* > *", relative=0.15, absolute=0.002, why=SPLITS),
    ),
)
