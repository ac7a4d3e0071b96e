"""The designs that papers are compared by are those that the papers print."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path

import numpy as np
import pytest

from adult import ESGRO, read_adult
from evidence import bundled
from sfumato.compare.grid import read_candidates

FOLDER = Path(__file__).parents[2] / "reproductions"
CLAIMS = tomllib.loads((FOLDER / "guo" / "claims.toml").read_text(encoding="utf-8"))
SIZES = {"education": 16, "marital_status": 7, "sex": 2, "race": 5, "workclass": 7, "income": 2}


def kept(design):
    """By attribute, the thesis's p that a value is published as it is; 1 where it is not perturbed."""
    return {
        name: retention + (1 - retention) / SIZES[name]
        for name, retention in design.parameters["retention"].items()
    }


def uncertainty(counts):
    """Mutual information of two attributes as a share of the entropy of the first, and of the second."""
    shares = counts / counts.sum()
    first, second = shares.sum(axis=1), shares.sum(axis=0)
    here = shares > 0
    information = (shares * np.log(np.where(here, shares, 1) / np.outer(first, second)))[here].sum()
    return tuple(float(-information / (each * np.log(each)).sum()) for each in (first, second))


def test_designs_of_table_5_2_have_its_parameters():
    """RR-QI at l = 2 to 5, RR-S, RR-Both from l = 3 on, which at l = 2 is RR-QI; to the five decimals of a retention."""
    designs = read_candidates(FOLDER / "guo_comparison" / "emgrw.toml")[1:]
    printed = [
        (CLAIMS[table]["attributes"], CLAIMS[table][str(level)])
        for table in ("table_5_2_a", "table_5_2_b", "table_5_2_c")
        for level in (2, 3, 4, 5)
        if (table, level) != ("table_5_2_c", 2)
    ]
    assert len(designs) == len(printed)
    for design, (names, parameters) in zip(designs, printed, strict=True):
        assert kept(design) == pytest.approx(dict(zip(names, parameters, strict=True)), abs=1e-5)
    assert CLAIMS["table_5_2_c"]["2"] == [*CLAIMS["table_5_2_a"]["2"], 1.0]
    (size,) = read_candidates(FOLDER / "guo_comparison" / "sizes_emgrw.toml")[1:]
    assert size == designs[0]


def test_designs_against_anatomy_have_the_given_parameters():
    """RR-QI at l = 2 to 7, Anatomy read by its law and as the thesis does, l-diversity."""
    claim = CLAIMS["against_anatomy"]
    designs = read_candidates(FOLDER / "guo_comparison" / "esgro.toml")[1:]
    assert len(designs) == 24
    for level, design in zip(range(2, 8), designs[:6], strict=True):
        given = dict(zip(claim["attributes"], claim["parameters"][str(level)], strict=True))
        assert kept(design) == pytest.approx(given, abs=1e-5)
    told = [(each.method, each.parameters["l_value"], each.estimator) for each in designs[6:]]
    expected = [("anatomy", level, read) for level in range(2, 8) for read in ("", "xiao-tao")]
    assert told == [*expected, *(("generalization", level, "") for level in range(2, 8))]


def test_one_pair_of_table_5_3_is_divided_by_the_entropy_of_the_other_attribute(tmp_path):
    """All ten pairs by (5.19), on the rows that give the other nine to two hundredths of a percent."""
    printed = tomllib.loads((FOLDER / "guo_comparison" / "claims.toml").read_text(encoding="utf-8"))[
        "table_5_3"
    ]["original"]
    table = read_adult(bundled("adult", tmp_path), ESGRO)
    pairs = [*itertools.combinations(ESGRO[:-1], 2), *((name, ESGRO[-1]) for name in ESGRO[:-1])]
    ours = {pair: uncertainty(np.asarray(table.count_by(pair).counts)) for pair in pairs}
    differing = [
        pair for pair, number in zip(pairs, printed, strict=True) if abs(100 * ours[pair][1] - number) > 0.02
    ]
    assert differing == [("sex", "race")]
    assert 100 * np.array(ours["sex", "race"]) == pytest.approx([1.08, 1.27], abs=5e-3)
