"""Questions by labels that were merged before publishing."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Schema, load_release, publish, read_table
from sfumato.errors import QueryError
from sfumato.methods.sample_perturb_scale.design import SamplePerturbScale
from sfumato.schema.recoding import MergedLabels, attributes_left_out

TOWNS = ["Åbo", "it's", "Pori | Raumo", "Turku"]
SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "town": {"role": "quasi-identifier", "categories": TOWNS},
            "ill": {"role": "sensitive", "categories": ["no", "yes", "Åbo"]},
        }
    }
)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """The first two towns merged, and the third with the last; one label holds what stands between labels."""
    draw = np.random.default_rng(2)
    rows = {
        "town": np.array(TOWNS)[draw.integers(0, 4, 2_000)].tolist(),
        "ill": np.array(SCHEMA["ill"].labels)[draw.integers(0, 3, 2_000)].tolist(),
    }
    merged = {"town": (("Åbo", "it's"), ("Pori | Raumo", "Turku"))}
    design = SamplePerturbScale(retention=0.6, merged_values=merged)
    folder = tmp_path_factory.mktemp("merged") / "release"
    publish(read_table(pa.table(rows), SCHEMA), design, folder, seed=1)
    return load_release(folder)


@pytest.mark.parametrize(
    ("label", "merged"), [("Åbo", "Åbo | it''s"), ("it''s", "Åbo | it''s"), ("Turku", "Pori | Raumo | Turku")]
)
def test_an_original_label_is_answered_for_the_merged_value_and_says_so(release, label, merged):
    """The same number, and a sentence about what it is of."""
    answer, whole = release.query(f"town = '{label}'"), release.query(f"town = '{merged}'")
    assert answer.estimate == whole.estimate
    assert "was published merged with others" in answer.note
    assert "merged" not in (whole.note or "")
    assert answer.question == whole.question


def test_every_kind_of_question_says_it(release):
    """Lists, shares and differences; each label once."""
    assert release.query("town IN ('Åbo', 'Turku')").note.count("was published merged") == 2
    assert release.query("town = 'Åbo' OR town = 'Åbo'").note.count("was published merged") == 1
    assert "merged" in release.proportion("ill = 'yes'", given="town = 'Åbo'").note
    assert "merged" in release.difference("ill = 'yes'", given="town = 'Åbo'", versus="town = 'Turku'").note
    assert "merged" in release.queries(["town != 'Åbo'"])[0].note


def test_a_list_of_all_labels_of_a_merged_value_is_what_was_published(release):
    """Nothing is read as more than was asked; all but one of them still is."""
    assert release.query("town IN ('it''s', 'Åbo')").note == ""
    assert release.query("town NOT IN ('it''s', 'Åbo')").note == ""
    assert "'Turku'" in release.query("town IN ('it''s', 'Åbo', 'Turku')").note
    assert "'Åbo'" not in release.query("town IN ('it''s', 'Åbo', 'Turku')").note


def test_the_note_is_true_of_what_is_not_the_value_too(release):
    """Rows of other values are at least as many as the answer says, so nothing is said of the answer's ends."""
    note = release.query("town != 'Åbo'").note
    assert note.endswith("one of them alone has at most as many rows as they have together")


def test_only_labels_of_that_attribute_are_read_so(release):
    """A label that another attribute really has is its own; one that nobody merged is refused as before."""
    assert not release.query("ill = 'Åbo'").note
    with pytest.raises(QueryError, match="no category 'Vaasa'"):
        release.query("town = 'Vaasa'")
    with pytest.raises(QueryError, match="no category 'Åbo'"):
        release.counts("ill", where="town = 'Åbo'")


@pytest.mark.parametrize(
    "stated",
    [None, [], {"town": 3}, {"town": [3]}, {"town": [[1, 2]]}, {"nobody": [["a", "b"]]}, {"town": [["Åbo"]]}],
)
def test_a_strange_manifest_merges_nothing(stated):
    """A manifest may be anybody's."""
    assert MergedLabels.of(SCHEMA, stated).published == {}


def test_the_command_line_says_it(release, capsys):
    """In the note of the answer."""
    from typer.testing import CliRunner

    from sfumato.cli.app import app

    done = CliRunner().invoke(app, ["query", str(release.folder), "town = 'Turku'", "--json"])
    assert "was published merged with others" in json.loads(done.stdout)["note"]
    # The sizes of groups are exact, and of the merged value all the same.
    spoken = CliRunner().invoke(app, ["query", str(release.folder), "town = 'Turku'"])
    assert "Exactly" in spoken.stdout
    assert "was published merged with others" in spoken.stdout
    del capsys


@pytest.fixture(scope="module")
def without_town(tmp_path_factory):
    """All towns merged into one, so that the attribute is not published."""
    schema = Schema.from_dict(
        {
            "attributes": {
                **SCHEMA.to_dict()["attributes"],
                "sex": {"role": "quasi-identifier", "categories": ["f", "m"]},
            }
        }
    )
    draw = np.random.default_rng(3)
    rows = {
        each.name: np.array(each.labels)[draw.integers(0, each.size, 900)].tolist()
        for each in schema.attributes
    }
    design = SamplePerturbScale(retention=0.6, merged_values={"town": (tuple(TOWNS),)})
    folder = tmp_path_factory.mktemp("left-out") / "release"
    publish(read_table(pa.table(rows), schema), design, folder, seed=1)
    return load_release(folder)


ASKED = {
    "query": lambda release: release.query("town = 'Turku'"),
    "questions": lambda release: release.queries(["sex = 'f'", "town = 'Turku'"]),
    "given": lambda release: release.proportion("ill = 'yes'", given="town = 'Turku'"),
    "counts": lambda release: release.counts(["sex", "town"]),
    "where": lambda release: release.counts("sex", where="town != 'Turku'"),
    "measures": lambda release: release.measures("town", "ill"),
    "condition": lambda release: release.measures("town = 'Turku'", "ill"),
    "regression": lambda release: release.regression("ill ~ town"),
}


@pytest.mark.parametrize("asked", ASKED)
def test_an_attribute_whose_values_were_all_merged_is_said_to_be_left_out(without_town, asked):
    """Whatever is asked of it; a name that nobody knows is no such attribute."""
    with pytest.raises(
        QueryError, match="'town' was left out of the release: all of its values were merged into one"
    ) as told:
        ASKED[asked](without_town)
    assert "'sex'" in str(told.value)
    assert "town" not in without_town.schema
    with pytest.raises(QueryError, match="there is no attribute 'village'"):
        without_town.counts("village")


@pytest.mark.parametrize(
    "stated", [{"sex": [["f", "m"]]}, {"town": 3}, {"town": [["Turku"]]}, {3: [["a", "b"]]}]
)
def test_what_is_published_or_told_strangely_is_not_left_out(stated):
    """A manifest may be anybody's."""
    schema = Schema.from_toml('[attributes.sex]\nrole = "other"\ncategories = ["f | m", "d"]')
    assert attributes_left_out(schema, stated) == ()
