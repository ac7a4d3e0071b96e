"""Manifest, README and schema of a release list no value that is not public."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Schema, publish, read_table
from sfumato.errors import DataError
from sfumato.methods.base import METHODS
from sfumato.schema.hierarchies import PathsForm

MARKER = "Zq7"
ROWS = 400


def schema_of(*, learned=False, recode=False, marked="quasi-identifier"):
    """Four attributes; the labels of one carry a marker."""
    town = {
        "role": marked,
        "categories": [f"{MARKER}-{place}" for place in range(40)],
        **({"learned": True} if learned else {}),
        **({"recode": {f"{MARKER}-0": [f"source-{place}" for place in range(5)]}} if recode else {}),
    }
    return Schema.from_dict(
        {
            "attributes": {
                "sex": {"role": "quasi-identifier", "categories": ["f", "m"]},
                "town": {} | town,
                "name": {"role": "identifier", "categories": [f"{MARKER}-name"]},
                "job": {"role": "sensitive", "categories": ["a", "b", "c"]},
                "pay": {"role": "sensitive", "categories": ["low", "high"]},
            }
        }
    )


def rows(rare=0):
    """Towns of ten rows each; a few of the last ones are others'."""
    place = np.arange(ROWS) % 40
    if rare:
        place[(place >= 40 - rare) & (np.arange(ROWS) >= 40)] = 0
    draw = np.random.default_rng(2)
    return pa.table(
        {
            "sex": draw.choice(["f", "m"], ROWS),
            "town": [f"{MARKER}-{each}" for each in place],
            "name": [f"{MARKER}-name" for _ in range(ROWS)],
            "job": draw.choice(["a", "b", "c"], ROWS),
            "pay": draw.choice(["low", "high"], ROWS),
        }
    )


def published_text(folder):
    """What the public files beside the rows say."""
    return "".join((folder / name).read_text(encoding="utf-8") for name in ("datapackage.json", "README.md"))


PATHS = {f"{MARKER}-{place}": ["*"] for place in range(40)}
WITHOUT_TOWN = [
    ("generalization", {"k": 150, "search": "full-domain"}),
    ("generalization", {"k": 5, "search": "fixed", "levels": {"town": 1}, "hierarchies": {"town": {"paths": PATHS}}}),
    ("sample-perturb-scale", {"retention": 0.5, "merged_values": {"town": [[f"{MARKER}-{place}" for place in range(40)]]}, "attribute": "job"}),
    ("noisy-marginals", {"epsilon": 1.0, "marginals": [["sex", "job"]]}),
    ("anatomy", {"l_value": 2, "attribute": "job"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "parameters"), WITHOUT_TOWN, ids=lambda each: each if isinstance(each, str) else ""
)
def test_no_value_of_an_unpublished_column_is_listed(method, parameters, tmp_path):
    """Suppressed, merged away, not chosen, or an identifier."""
    marked = "sensitive" if method == "anatomy" else "quasi-identifier"
    fields = METHODS.members[method].model_fields
    design = METHODS.make(method, {name: value for name, value in parameters.items() if name in fields})
    # Generalization gives bounds of counts by a suppressed column whose list is public.
    schema = schema_of(marked=marked, learned=method == "generalization")
    if method == "sample-perturb-scale":
        schema = Schema(attributes=tuple(each for each in schema.attributes if each.name != "pay"))
    release = publish(read_table(rows(), schema), design, tmp_path / "out", seed=1, say=str)
    assert "town" not in release.published_schema
    assert MARKER not in published_text(tmp_path / "out")
    # The design in the manifest can be read.
    stored = {name: value for name, value in release.manifest.method.items() if name != "method"}
    assert METHODS.make(method, stored).to_dict() == release.manifest.method


def test_asking_about_a_suppressed_column_says_why(tmp_path):
    """It is not an unknown name."""
    design = METHODS.make("generalization", {"k": 150, "search": "full-domain"})
    release = publish(read_table(rows(), schema_of(learned=True)), design, tmp_path / "out", seed=1, say=str)
    with pytest.raises(Exception, match="'town' was left out of the release"):
        release.query(f"town = '{MARKER}-1'")
    assert release.query("sex = 'f'").estimate > 0
    assert release.law.published_size("town") == 1


def test_recode_targets_alone_are_listed(tmp_path):
    """Sources of a recoding are not published."""
    design = METHODS.make("randomized-response", {"retention": 0.5})
    release = publish(read_table(rows(), schema_of(recode=True)), design, tmp_path / "out", seed=1, say=str)
    text = published_text(tmp_path / "out")
    assert f"{MARKER}-0" in text
    assert "source-" not in text
    assert "recode" not in json.dumps(release.to_dict()["tables"])


@pytest.mark.parametrize("role", ["quasi-identifier", "sensitive", "other"])
@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("randomized-response", {"retention": 0.5}),
        ("noisy-marginals", {"epsilon": 1.0, "marginals": [["town"]]}),
    ],
)
def test_learned_categories_of_few_persons_are_refused(method, parameters, role, tmp_path):
    """Attribute and number of categories are named, and no value."""
    design = METHODS.make(method, parameters)
    table = read_table(rows(rare=3), schema_of(learned=True, marked=role))
    with pytest.raises(DataError, match="3 of the categories of 'town' learned from the data") as refused:
        publish(table, design, tmp_path / "out", seed=1, say=str)
    assert refused.value.attribute == "town"
    assert MARKER not in str(refused.value)
    assert len(str(refused.value)) <= 240
    assert not (tmp_path / "out").exists()


def test_declared_and_frequent_categories_are_published(tmp_path):
    """A public list may have categories of nobody; a learned one with ten persons each passes."""
    design = METHODS.make("randomized-response", {"retention": 0.5})
    publish(read_table(rows(rare=3), schema_of()), design, tmp_path / "declared", seed=1, say=str)
    publish(read_table(rows(), schema_of(learned=True)), design, tmp_path / "learned", seed=1, say=str)


def test_persons_hold_a_learned_category_and_not_rows(tmp_path):
    """Twenty rows of two persons are two holders."""
    person = np.repeat(np.arange(200), 10)
    job = np.where(person < 2, "rare", np.where(person % 2, "a", "b"))
    schema = Schema.from_dict(
        {
            "attributes": {
                "who": {"role": "unit", "rows_per_unit": 10},
                "job": {"role": "sensitive", "categories": ["a", "b", "rare"], "learned": True},
            }
        }
    )
    table = read_table(pa.table({"who": person.astype(str), "job": job}), schema)
    design = METHODS.make("noisy-marginals", {"epsilon": 1.0, "marginals": [["job"]]})
    with pytest.raises(DataError, match="1 of the categories of 'job'"):
        publish(table, design, tmp_path / "out", seed=1)


def test_a_stated_tree_of_a_published_column_stays():
    """It says what published values stand for."""
    form = PathsForm(paths={"a": ("x",), "b": ("x",)})
    assert METHODS.make("generalization", {"k": 2, "hierarchies": {"job": form}}).hierarchies["job"] == form
