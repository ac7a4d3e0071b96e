"""What counts as enough, and how survivors are shown."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from mutants import equivalent
from mutants.__main__ import draw, main
from mutants.mutations import Mutation, mutations
from mutants.rooms import ROOMS, files_of
from mutants.scores import Score, page, report
from mutants.trial import Outcome

MUTATION = Mutation("a.py", 3, "f", "constant", "x = 1", "x = 2", (), ast.Pass())


def score(killed, survived, *, endless=0, same=0, room="laws"):
    """The score of a room."""
    outcomes = {Outcome.KILLED: killed, Outcome.SURVIVED: survived, Outcome.ENDLESS: endless}
    return Score(room, outcomes, same)


def test_the_score_counts_mutants_that_never_end_as_killed_and_leaves_out_the_equivalent():
    """18 and 1 of 20, whatever was called equivalent."""
    some = score(18, 1, endless=1, same=2)
    assert (some.tried, some.killed, some.share) == (20, 19, 0.95)
    assert some.equivalent_share == 2 / 22
    assert some.is_enough


@pytest.mark.parametrize("some", [score(94, 6), score(88, 0, same=12)])
def test_too_many_survivors_or_too_many_called_equivalent_are_not_enough(some):
    """In laws and guarantees; other rooms are only reported."""
    assert not some.is_enough
    assert "BELOW 95%" in some.line
    assert Score("kernels", some.outcomes, some.equivalent).is_enough


def test_survivors_are_shown_as_differences():
    """With file and line."""
    text = report([score(1, 1)], [MUTATION])
    assert "a.py:3 in f (constant)\n  - x = 1\n  + x = 2" in text
    assert "killed 1 of 2" in text


def test_a_run_is_written_as_a_page():
    """With its seed, its survivors and the reasons of those that compute the same."""
    text = page(
        77, [score(19, 1, same=1)], [MUTATION], {replace(MUTATION, mutated="x = 3"): "It is only said."}
    )
    assert "seed 77" in text
    assert "| laws | 95.0% | 19 | 20 | 1 (4.8%) |" in text
    assert "  + x = 2" in text.split("## Called equivalent")[0]
    assert "It is only said.\n```diff\na.py:3 in f (constant)\n  - x = 1\n  + x = 3\n```" in text
    assert "Left out were: no tests." in text
    assert "## Survivors\n\nNone." in page(1, [score(1, 0)], [], {})


def test_a_seed_always_draws_the_same_mutants_and_another_draws_others():
    """Without repetition, at most all."""
    pool = mutations("x = [a + 1, b + 2, c + 3, d + 4, e + 5]", "a.py")
    drawn = draw(pool, 5, "1 laws")
    assert drawn == draw(pool, 5, "1 laws") != draw(pool, 5, "2 laws")
    assert len(set(drawn)) == 5
    assert len(draw(pool, 10**6, "1 laws")) == len(pool)


def test_every_mutant_called_equivalent_has_a_reason_and_a_file_of_formulas():
    """Whether its statement is still there is told by a run, not by every change of a formula."""
    rooms = {str(file) for room in ROOMS for file in files_of(room)}
    assert {identity[0] for identity in equivalent.reasons()} <= rooms


def test_an_entry_without_a_reason_is_refused(tmp_path):
    """Equivalent is a claim."""
    path = tmp_path / "list.toml"
    path.write_text('[[mutant]]\nfile = "a"\nfunction = "f"\noriginal = "x"\nmutated = "y"\nreason = " "\n')
    with pytest.raises(ValueError, match="without a reason"):
        equivalent.reasons(path)


def test_a_statement_that_is_gone_is_outdated():
    """Only of files that were looked at."""
    gone, elsewhere = ("a.py", "f", "x = 9", "x = 8"), ("b.py", "f", "x = 9", "x = 8")
    assert equivalent.outdated([gone, elsewhere, MUTATION.identity], [MUTATION]) == [gone]


def test_an_unknown_room_is_refused(capsys):
    """With the rooms there are."""
    with pytest.raises(SystemExit):
        main(["--rooms", "attic"])
    assert "there is no room 'attic'" in capsys.readouterr().err
