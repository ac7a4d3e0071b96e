"""The demonstration: what it makes, what it says, and what it refuses to replace."""

from __future__ import annotations

import re

import pytest

from sfumato.data.private_table import read_table
from sfumato.errors import ParameterError, ReleaseError, ReleaseExistsError
from sfumato.query.selection import Selection
from sfumato.release import load_release
from sfumato.report.demonstration import (
    MARKER_NAME,
    OTHERS,
    QUESTIONS,
    REPORT_NAME,
    VARIANTS,
    run_demonstration,
)
from web_pages import Page

ROWS = 2_000


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder of a small demonstration, and what was said."""
    folder = tmp_path_factory.mktemp("demonstration") / "demo"
    said: list[str] = []
    run_demonstration(folder, rows=ROWS, say=said.append)
    return folder, "\n".join(said)


def test_it_leaves_data_schema_releases_and_report(made):
    """Everything that is needed to go on from there."""
    folder, _ = made
    assert sorted(each.name for each in folder.iterdir()) == sorted(
        [
            MARKER_NAME,
            "people.parquet",
            "people.schema.toml",
            REPORT_NAME,
            *(each.folder for each in (*VARIANTS, *OTHERS)),
        ]
    )


def test_three_methods_answer_the_same_questions(made):
    """Their names are those of the releases; each estimate stands beside the truth."""
    folder, said = made
    assert {
        load_release(folder / each.folder).manifest.method["method"] for each in (*VARIANTS, *OTHERS)
    } == {
        "randomized-response",
        "anatomy",
        "noisy-marginals",
    }
    for each in OTHERS:
        assert each.label in said


def test_one_attack_succeeds(made):
    """It names more people's occupations than the promise of its release speaks of: twice as many at least."""
    folder, said = made
    sentence = next(line for line in said.splitlines() if line.startswith("An attack that succeeds"))
    promised, right = (int(each) for each in re.findall(r"(\d+) %", sentence))
    assert promised == 25
    assert right >= 2 * promised
    assert sentence in (folder / REPORT_NAME).read_text(encoding="utf-8")


def test_every_release_opens_and_says_that_it_is_not_private(made):
    """The seed is in the manifest's words, not only in ours."""
    folder, _ = made
    for each in VARIANTS:
        release = load_release(folder / each.folder)
        assert release.number_of_rows == ROWS
        assert release.manifest.reproducible


def test_it_says_loudly_that_seeded_releases_are_not_private(made):
    """In capitals, before any number."""
    _, said = made
    assert said.index("NOT PRIVATE") < said.index("epsilon")


def test_it_says_epsilon_of_each_release(made):
    """Two attributes of 50 categories: 2 ln(1 + 50 p/(1-p)) is 10.61, 7.864 and 5.205 at 0.8, 0.5 and 0.2."""
    _, said = made
    for number in ("10.61", "7.864", "5.205"):
        assert number in said


def test_it_ends_by_saying_where_the_report_is(made):
    """The last line."""
    folder, said = made
    assert said.splitlines()[-1] == f"Report: {folder / REPORT_NAME}"


def test_truths_are_those_of_the_data(made):
    """Counted again from the file."""
    folder, said = made
    table = read_table(folder / "people.parquet", folder / "people.schema.toml")
    truth = table.count_by((), Selection.parse(QUESTIONS[0].text, table.schema)).total
    line = next(line for line in said.splitlines() if line.startswith(QUESTIONS[0].name))
    assert f" {int(truth):,} " in line


def test_the_report_loads_nothing_and_says_that_it_is_not_private(made):
    """A banner, three charts, and links within the page only."""
    folder, _ = made
    page = Page((folder / REPORT_NAME).read_text(encoding="utf-8"))
    assert "banner not-private" in page.values_of("class")
    assert len(page.charts) == 3
    assert page.values_of("src") == []
    assert all(address.startswith("#") for address in page.values_of("href"))


def test_a_second_run_replaces_the_first_and_says_the_same(made):
    """The same seed, so the same numbers and the same rows."""
    folder, said = made
    digests = [load_release(folder / each.folder).manifest.tables[0].sha256 for each in VARIANTS]
    again: list[str] = []
    run_demonstration(folder, rows=ROWS, say=again.append)
    assert "\n".join(again) == said
    assert [load_release(folder / each.folder).manifest.tables[0].sha256 for each in VARIANTS] == digests


def test_the_noise_of_the_releases_differs(made):
    """Three seeds: had they shared one, every value kept at 0.2 would have been kept at 0.8."""
    folder, _ = made
    counts = [
        load_release(folder / each.folder).count_by(["occupation"]).counts.tolist() for each in VARIANTS
    ]
    assert counts[0] != counts[1] != counts[2]


@pytest.mark.parametrize(
    "marked", [False, True], ids=["a stranger's folder", "a demonstration with a stranger's file"]
)
def test_what_is_not_ours_is_not_replaced(tmp_path, marked):
    """Refused with a sentence, and the file stays."""
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    if marked:
        (tmp_path / MARKER_NAME).touch()
    with pytest.raises(ReleaseExistsError, match="choose another name"):
        run_demonstration(tmp_path, say=lambda _: None)
    assert (tmp_path / "thesis.txt").read_text(encoding="utf-8") == "mine"


def test_a_file_in_the_way_is_said(tmp_path):
    """A demonstration is a folder."""
    (tmp_path / "demo").touch()
    with pytest.raises(ReleaseError, match="must be a folder"):
        run_demonstration(tmp_path / "demo", say=lambda _: None)


def test_too_few_rows_are_refused_before_anything_is_written(tmp_path):
    """The sentence says how many are needed."""
    with pytest.raises(ParameterError, match="at least 1,000 rows"):
        run_demonstration(tmp_path / "demo", rows=10)
    assert not (tmp_path / "demo").exists()


def test_a_linked_folder_of_an_earlier_run_is_unlinked_not_emptied(tmp_path, made):
    """What a link points to is not ours to remove."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.txt").touch()
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / MARKER_NAME).touch()
    (folder / VARIANTS[0].folder).symlink_to(elsewhere)
    run_demonstration(folder, rows=1_000, say=lambda _: None)
    assert (elsewhere / "mine.txt").exists()
    assert not (folder / VARIANTS[0].folder).is_symlink()
