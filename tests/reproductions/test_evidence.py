"""Stored evidence stands or falls with a recomputation, and every way to falsify it is noticed."""

from __future__ import annotations

import copy
import json
import math

import numpy as np
import pytest

import evidence
from evidence import Moves, agree, check, drift, leaves, merged
from scripts import load_script

NAMES = evidence.names()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Where data sets are unpacked."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def quick_results(data):
    """Computes a reproduction's sample once."""
    found = {}

    def computed(name):
        if name not in found:
            reproduction = evidence.load(name)
            found[name] = reproduction, reproduction.quick(reproduction.claims, data)
        return found[name]

    return computed


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_computed_from_scratch_agrees_with_the_evidence(name, quick_results):
    """Numbers within their Monte-Carlo error, verdicts as pinned, claims as transcribed."""
    reproduction, fresh = quick_results(name)
    assert check(reproduction, fresh, is_complete=False) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_has_a_pinned_verdict_and_every_pin_a_claim(name):
    """Those that differ are named in code; the evidence has all of its parts."""
    reproduction = evidence.load(name)
    verdicts = reproduction.stored["verdicts"]
    assert reproduction.differs <= verdicts.keys()
    assert {key for key, each in verdicts.items() if not each["matched"]} == reproduction.differs
    assert reproduction.stored["results"].keys() == reproduction.parts.keys()


@pytest.mark.parametrize("name", NAMES)
def test_allowances_say_why_and_are_used(name):
    """A pattern that fits no number is a slip."""
    reproduction = evidence.load(name)
    paths = [path for path, _ in leaves(reproduction.stored["results"])]
    for each in reproduction.moves:
        assert each.why
        assert any(each.allow(path, 0.0, 0.0) for path in paths), each.pattern


def falsified(value, path, moves, chance):
    """Another value: a number beyond rounding and its Monte-Carlo error, the other truth value, another text."""
    if isinstance(value, bool):
        return not value
    if not isinstance(value, int | float):
        return f"{value}, or nearly"
    for step in (1.0, 10.0, 1e3, 1e6, 1e9):
        moved = value + (1 if chance.random() < 0.5 else -1) * step * (abs(value) + 1e-3) * chance.uniform(
            0.01, 1
        )
        moved = round(moved) if isinstance(value, int) else moved
        if not agree(path, value, moved, moves):
            return moved
    raise AssertionError(path)


def places_of(tree, here=()):
    """The keys that lead to every leaf, in the order of their paths."""
    if isinstance(tree, dict):
        return [place for key, each in tree.items() for place in places_of(each, (*here, key))]
    if isinstance(tree, list):
        return [place for key, each in enumerate(tree) for place in places_of(each, (*here, key))]
    return [here]


def spoil(tree, number, chance, moves):
    """A copy with one leaf falsified, and its path."""
    tree = copy.deepcopy(tree)
    path, value = list(leaves(tree))[number]
    *keys, last = places_of(tree)[number]
    here = tree
    for key in keys:
        here = here[key]
    here[last] = falsified(value, path, moves, chance)
    return tree, path


@pytest.mark.parametrize("name", NAMES)
def test_every_stored_number_can_be_falsified(name):
    """No allowance is so wide that any number would do."""
    reproduction = evidence.load(name)
    chance = np.random.default_rng(2)
    for path, value in leaves(reproduction.stored["results"]):
        assert not agree(path, value, falsified(value, path, reproduction.moves, chance), reproduction.moves)


def test_an_allowance_that_nothing_exceeds_is_refused():
    """Two numbers of one sign differ by no more than twice their middle, and by some factor."""
    with pytest.raises(ValueError, match="below 1"):
        Moves(pattern="*", relative=1.0, why="x")
    for factor in (0.5, math.inf, math.nan):
        with pytest.raises(ValueError, match="finite"):
            Moves(pattern="*", factor=factor, why="x")


@pytest.mark.parametrize(
    ("allowance", "stored", "fresh", "same"),
    [
        ({"relative": 0.6}, 1.0, 1.85, True),
        ({"relative": 0.6}, 1.0, 1.86, False),
        ({"relative": 0.6}, 1.86, 1.0, False),
        ({"relative": 0.6}, -1.0, -1.85, True),
        ({"relative": 0.6}, 1.0, 0.0, False),
        ({"relative": 0.6}, 1.0, -1.0, False),
        ({"factor": 5.6}, 1.0, 5.5, True),
        ({"factor": 5.6}, 5.7, 1.0, False),
        ({"factor": 5.6}, 1.0, -1.1, False),
        ({"factor": 5.6}, 0.0, 0.1, False),
        ({"factor": 5.6, "absolute": 0.1}, 0.0, 0.1, True),
        ({"relative": 0.1, "absolute": 1.0}, 10.0, 12.1, True),
        ({"relative": 0.1, "absolute": 1.0}, 10.0, 12.3, False),
    ],
)
def test_how_far_two_numbers_may_lie_apart(allowance, stored, fresh, same):
    """Six tenths once let a number grow to two and a half times itself, since they were of the larger one."""
    assert Moves(pattern="*", why="x", **allowance).allow("a", stored, fresh) == same


@pytest.mark.parametrize("name", NAMES)
def test_few_numbers_may_be_doubled_or_vanish_unnoticed(name):
    """Of numbers that rest on draws some are smaller than their error; no more than one in four of a reproduction.

    The share was decided after these numbers were seen (one in four of the few numbers of Fu, section 7, one in six of Guo).
    """
    reproduction = evidence.load(name)
    numbers = [
        (path, value)
        for path, value in leaves(reproduction.stored["results"])
        if isinstance(value, int | float) and not isinstance(value, bool) and value
    ]
    loose = [
        path
        for path, value in numbers
        if any(agree(path, value, times * value, reproduction.moves) for times in (0.0, 2.0))
    ]
    assert len(loose) <= 0.25 * len(numbers), loose[:5]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["claims", "verdicts", "stored claims"])
def test_a_falsified_claim_or_verdict_is_noticed_by_a_quick_check(name, kind, quick_results):
    """Five random places of each, also where the verdict would not turn."""
    reproduction, fresh = quick_results(name)
    chance = np.random.default_rng(len(name))
    for _ in range(5):
        stored, claims = reproduction.stored, reproduction.claims
        if kind == "claims":
            claims, path = spoil(claims, chance.integers(len(list(leaves(claims)))), chance, ())
        else:
            key = "verdicts" if kind == "verdicts" else "claims"
            stored[key], path = spoil(
                stored[key], chance.integers(len(list(leaves(stored[key])))), chance, ()
            )
        assert check(reproduction, fresh, is_complete=False, stored=stored, claims=claims), path


@pytest.mark.parametrize("name", NAMES)
def test_a_falsified_number_that_is_recomputed_is_noticed(name, quick_results):
    """Five random ones of those in the sample."""
    reproduction, fresh = quick_results(name)
    chance = np.random.default_rng(1 + len(name))
    stored = reproduction.stored
    everything = [path for path, _ in leaves(stored["results"])]
    sampled = [everything.index(path) for path, _ in leaves(json.loads(json.dumps(fresh)))]
    for place in chance.choice(sampled, 5):
        changed = dict(stored)
        changed["results"], path = spoil(stored["results"], int(place), chance, reproduction.moves)
        assert check(reproduction, fresh, is_complete=False, stored=changed), path


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_thirty_random_falsifications_of_all_evidence_are_noticed(name, data):
    """Every number computed anew, once; then thirty changes of claims, verdicts and results, one at a time.

    Results are changed in each part in turn. Parts whose data nobody brought are left out, and so are their numbers from what is changed.
    """
    reproduction = evidence.load(name)
    lacking = reproduction.without_data(data)
    parts = [part for part in reproduction.parts if part not in lacking]
    fresh = json.loads(json.dumps(evidence.compute(reproduction, data, parts)))
    assert check(reproduction, fresh, is_complete=True) == []
    chance = np.random.default_rng(30)
    changed = chance.permutation(parts)
    for number in range(30):
        stored, claims = reproduction.stored, reproduction.claims
        kind = ("claims", "verdicts", "results")[number % 3]
        if kind == "claims":
            claims, path = spoil(claims, chance.integers(len(list(leaves(claims)))), chance, ())
        else:
            part = changed[number // 3 % changed.size]
            places = [
                place
                for place, (path, _) in enumerate(leaves(stored[kind]))
                if kind == "verdicts" or path.startswith(f"{part} > ")
            ]
            moves = reproduction.moves if kind == "results" else ()
            stored[kind], path = spoil(stored[kind], int(chance.choice(places)), chance, moves)
        assert check(reproduction, fresh, is_complete=True, stored=stored, claims=claims), (kind, path)


@pytest.mark.parametrize(
    ("stored", "fresh", "same"),
    [
        (1.0, 1.0 + 1e-9, True),
        (1.0, 1.001, False),
        (True, 1, True),
        (True, False, False),
        ("a", "b", False),
        (math.nan, math.nan, True),
        (math.nan, 1.0, False),
        (None, 0.0, False),
        ([1], 1, False),
    ],
)
def test_values_agree_up_to_rounding(stored, fresh, same):
    """Numbers, truth values, texts, nothing."""
    assert agree("a", stored, fresh, ()) == same


def test_the_first_allowance_that_fits_decides():
    """A narrow one before a wide one."""
    moves = (Moves(pattern="a > *", absolute=0.1, why="x"), Moves(pattern="*", absolute=10, why="y"))
    assert not agree("a > b", 1.0, 1.2, moves)
    assert agree("c", 1.0, 1.2, moves)


def test_drift_names_what_is_missing_and_what_is_new():
    """Complete results must have the same numbers; of a sample only what it has is compared."""
    stored, fresh = {"a": 1, "b": [1, 2]}, {"b": [1, 3], "c": 4}
    assert len(drift(stored, fresh, (), is_complete=True)) == 3
    assert drift(stored, {"b": [1, 2]}, (), is_complete=False) == []
    assert merged(stored, {"b": [5, 6]}) == {"a": 1, "b": [5, 6]}


@pytest.fixture
def runner():
    """The command line of the reproductions."""
    return load_script(evidence.HERE / "run.py")


@pytest.mark.parametrize("arguments", [["han"], ["han", "--renew"], ["han", "--quick"]])
def test_without_data_nothing_is_written_and_the_run_fails(runner, monkeypatch, tmp_path, arguments, capsys):
    """Also when the evidence was to be made anew."""
    before = (evidence.HERE / "han" / "results.json").read_bytes()
    monkeypatch.setattr(evidence, "DATA", tmp_path / "nowhere")
    assert runner.main([*arguments, "--data", str(tmp_path)]) == 1
    assert (evidence.HERE / "han" / "results.json").read_bytes() == before
    assert "data are missing" in capsys.readouterr().err


@pytest.fixture
def with_a_file_of_yours(runner, monkeypatch, tmp_path):
    """A reproduction of two numbers, of which one is read from a file that the caller brings."""
    folder = tmp_path / "brought"
    folder.mkdir()
    (folder / "claims.toml").write_text("", encoding="utf-8")

    def yours(claims, data):
        del claims
        if not (data / "mine.csv").exists():
            raise evidence.MissingDataError("mine.csv is not there.")
        return {"number": int((data / "mine.csv").read_text())}

    reproduction = evidence.Reproduction(
        folder=folder,
        parts={"ours": lambda *_: {"number": 1}, "yours": yours},
        quick=lambda *_: {"ours": {"number": 1}},
        judge=lambda *_: {},
        differs=frozenset(),
        brought={"yours": "mine.csv"},
    )
    stored = {"claims": {}, "verdicts": {}, "results": {"ours": {"number": 1}, "yours": {"number": 2}}}
    (folder / "results.json").write_text(json.dumps(stored), encoding="utf-8")
    monkeypatch.setattr(runner, "load", lambda _: reproduction)
    monkeypatch.setattr(runner, "names", lambda: ["brought"])
    return folder / "results.json"


def test_what_nobody_brought_is_left_out_and_said(runner, with_a_file_of_yours, tmp_path, capsys):
    """Everything else is computed; with the file it is computed too, and a wrong number is a drift."""
    assert runner.main(["--data", str(tmp_path)]) == 0
    assert (
        "not run, for lack of data that cannot be had for you: brought > yours (mine.csv)"
        in capsys.readouterr().err
    )
    (tmp_path / "mine.csv").write_text("2")
    assert runner.main(["--data", str(tmp_path)]) == 0
    assert "not run" not in capsys.readouterr().err
    (tmp_path / "mine.csv").write_text("3")
    assert runner.main(["--data", str(tmp_path)]) == 1
    assert "yours > number: stored 2, now 3" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--part", "yours"], ["--renew"]])
def test_asked_for_by_name_or_to_be_written_it_fails(
    runner, with_a_file_of_yours, tmp_path, arguments, capsys
):
    """Nothing is written, and the run says why."""
    before = with_a_file_of_yours.read_bytes()
    assert runner.main([*arguments, "--data", str(tmp_path)]) == 1
    assert with_a_file_of_yours.read_bytes() == before
    assert "data are missing" in capsys.readouterr().err


def test_a_number_that_a_part_no_longer_computes_is_a_drift(runner, with_a_file_of_yours, tmp_path, capsys):
    """Also where only that part is run."""
    stored = json.loads(with_a_file_of_yours.read_text())
    stored["results"]["ours"]["other"] = 5
    with_a_file_of_yours.write_text(json.dumps(stored))
    assert runner.main(["--part", "ours", "--data", str(tmp_path)]) == 1
    assert "ours > other: stored, and no longer computed" in capsys.readouterr().err


def test_a_run_fails_on_a_drift_and_says_where(runner, monkeypatch, tmp_path, capsys):
    """One number of the evidence is off by a percent."""
    real = evidence.Reproduction.stored.fget

    def spoiled(reproduction):
        found = real(reproduction)
        found["results"]["half_widths"]["GH"]["0.65"] *= 1.01
        return found

    assert runner.main(["guo_rules", "--quick", "--data", str(tmp_path)]) == 0
    monkeypatch.setattr(evidence.Reproduction, "stored", property(spoiled))
    assert runner.main(["guo_rules", "--quick", "--data", str(tmp_path)]) == 1
    assert "half_widths > GH > 0.65" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adult", "nursery"])
def test_bundled_data_are_what_is_fetched(name, tmp_path):
    """The same rows in the same order, as far as columns are bundled."""
    import csv

    from sfumato.datasets import fetch_dataset

    def rows(path):
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    ours = rows(evidence.bundled(name, tmp_path / "bundled"))
    theirs = rows(fetch_dataset(name, tmp_path / "fetched").data)
    assert ours == [{key: row[key] for key in ours[0]} for row in theirs]
