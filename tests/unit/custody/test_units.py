"""Tables in which a person has several rows: what is refused, what epsilon is about, what a release says."""

from __future__ import annotations

import json
import math

import pyarrow as pa
import pytest

from sfumato import Anatomy, NoisyMarginals, RandomizedResponse, Schema, publish, read_table
from sfumato.custody.plan import plan
from sfumato.custody.privacy_unit import design_for_units, promises_for_units
from sfumato.errors import DataError, ParameterError
from sfumato.guarantees.differential_privacy import DifferentialPrivacy, LocalDifferentialPrivacy

BOUND = "rows_per_unit = 4"


def schema(bound=BOUND, extra=""):
    """Illnesses of patients, each with several rows."""
    return Schema.from_toml(f"""
[attributes.patient]
role = "unit"
{bound}
[attributes.ward]
role = "quasi-identifier"
categories = ["a", "b"]
[attributes.illness]
role = "sensitive"
categories = ["flu", "cold", "none"]
{extra}
""")


def rows(patients=("p", "q") * 4, **columns):
    """Rows of some patients."""
    number = len(patients)
    return pa.table(
        {
            "patient": patients,
            "ward": ["a", "b"] * (number // 2),
            "illness": (["flu", "cold", "none"] * number)[:number],
            **columns,
        }
    )


@pytest.mark.parametrize(
    "design", [RandomizedResponse(epsilon=1), RandomizedResponse(retention=0.5), NoisyMarginals(epsilon=1)]
)
def test_differential_privacy_is_refused_without_a_bound(tmp_path, design):
    """A promise about a row says nothing about a person with any number of rows."""
    table = read_table(rows(), schema(bound=""))
    with pytest.raises(ParameterError, match="State rows_per_unit for the unit"):
        publish(table, design, tmp_path / "release")
    with pytest.raises(ParameterError, match="State rows_per_unit for the unit"):
        plan(design, table.schema, 8)


def test_epsilon_is_that_of_the_unit(tmp_path):
    """Each row is perturbed with its part; the promise states the whole, not more than was asked."""
    release = publish(
        read_table(rows(), schema()),
        RandomizedResponse(epsilon=1),
        tmp_path / "release",
        seed=1,
        accept=("singled-out",),
    )
    (promise,) = [each for each in release.guarantees if each.guarantee == "local-differential-privacy"]
    assert promise.rows_per_unit == 4
    assert 0.999 < promise.epsilon <= 1
    assert release.law.distortions["illness"].retention < 0.1
    assert "for each unit of at most 4 rows" in promise.sentence
    assert "No person has more than 4 rows." in " ".join(release.manifest.assumptions)
    assert "Every person has one row." not in release.manifest.assumptions


def test_retention_stays_and_its_epsilon_is_stated_for_the_unit(tmp_path):
    """What was asked of a row is done to the row; the promise counts all rows of a person."""
    release = publish(
        read_table(rows(), schema()),
        RandomizedResponse(retention=0.5),
        tmp_path / "release",
        seed=1,
        accept=("singled-out",),
    )
    (promise,) = [each for each in release.guarantees if each.guarantee == "local-differential-privacy"]
    assert promise.epsilon == pytest.approx(4 * math.log1p(0.5 * 3 / 0.5), rel=1e-9)


@pytest.mark.parametrize(
    "design",
    [NoisyMarginals(epsilon=1), NoisyMarginals(epsilon=1, delta=1e-6, mechanism="discrete-gaussian")],
)
def test_group_privacy_gives_what_was_asked(design):
    """Epsilon and delta of the unit are those of the design, by group privacy of its rows."""
    made = design_for_units(design, schema())
    promises = promises_for_units(made.guarantees(schema()), made, schema())
    (promise,) = [each for each in promises if isinstance(each, DifferentialPrivacy)]
    assert 0.999 < promise.epsilon <= 1
    assert promise.delta <= design.delta
    assert promise.delta == pytest.approx(design.delta, rel=1e-6)
    if promise.rho is not None:
        (row,) = [each for each in made.guarantees(schema()) if isinstance(each, DifferentialPrivacy)]
        assert promise.rho == pytest.approx(16 * row.rho)


def test_group_privacy_by_hand():
    """Three rows at epsilon ln 2 and delta 0.01: 3 ln 2, and 3 times 4 times 0.01."""
    promise = DifferentialPrivacy(epsilon=math.log(2), delta=0.01).for_units(3)
    assert promise.epsilon == pytest.approx(3 * math.log(2))
    assert promise.delta == pytest.approx(0.12)
    with pytest.raises(ParameterError, match="says nothing about a unit of 9 rows"):
        DifferentialPrivacy(epsilon=1.0, delta=0.01).for_units(9)


def test_other_promises_are_about_rows_and_the_release_says_so(tmp_path):
    """Anatomy protects rows and is refused; the second promise of randomized response is about rows, and is said to be."""
    whole = schema(extra='[attributes.home]\nrole = "household"')
    data = rows(home=["h"] * 8)
    with pytest.raises(ParameterError, match="anatomy protects rows, not people"):
        publish(read_table(data, whole), Anatomy(l_value=2), tmp_path / "no")
    design = RandomizedResponse(retention=0.5)
    release = publish(read_table(data, whole), design, tmp_path / "release", seed=1, accept="singled-out")
    said = " ".join(release.manifest.not_protected)
    assert "protect rows, not people" in said
    assert "households: the promises protect rows or people, not households" in said
    text = (tmp_path / "release" / "datapackage.json").read_text(encoding="utf-8")
    assert "patient" not in json.loads(text)["sfumato"]["tables"][0]["attributes"]


@pytest.mark.parametrize(
    ("patients", "words"),
    [
        (
            ("p", "q", "p", "q", "p", "q", None, ""),
            "column 'patient' has no value in 2 rows. Every row must say whose it is",
        ),
        (
            ("p",) * 5 + ("q",) * 3,
            "has 1 unit with more than the 4 rows of rows_per_unit, in 5 rows. Raise rows_per_unit",
        ),
    ],
)
def test_units_that_do_not_fit_are_refused(tmp_path, patients, words):
    """A row without a person, or a person with too many rows, would break the promise."""
    with pytest.raises(DataError) as caught:
        publish(read_table(rows(patients), schema()), RandomizedResponse(epsilon=1), tmp_path / "release")
    assert words in str(caught.value)
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (["1,5"] * 7 + ["0"], "is a weight and is 0 in 1 row. A weight is a number above 0"),
        (["1,5"] * 6 + ["-2", "-0,1"], "is a weight and is below 0 in 2 rows"),
        (["1,5"] * 7 + [None], "is a weight and has no value in 1 row"),
        (["1,5"] * 7 + ["secret"], "is a weight and holds no number in 1 row"),
        (["1.5"] * 8, "is a weight and holds no number in 8 rows"),
    ],
)
def test_weights_that_are_no_weights_are_refused(tmp_path, weights, words):
    """Zero, negative, missing or text: each has its sentence, without the value."""
    whole = schema(extra='[attributes.weight]\nrole = "weight"\ndecimal = ","')
    with pytest.raises(DataError) as caught:
        publish(read_table(rows(weight=weights), whole), RandomizedResponse(epsilon=1), tmp_path / "release")
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)


def test_weights_are_not_published_and_the_release_says_what_it_counts(tmp_path):
    """The column is not in the files; the manifest says that counts are of rows."""
    whole = schema(extra='[attributes.weight]\nrole = "weight"')
    release = publish(
        read_table(rows(weight=[1.5] * 8), whole),
        RandomizedResponse(epsilon=1),
        tmp_path / "release",
        seed=1,
        accept=("singled-out",),
    )
    assert release.published_schema.names == ("ward", "illness")
    assert any("weights are not published" in each for each in release.manifest.assumptions)


def test_local_promises_for_units_name_the_unit_and_not_a_row():
    """The epsilon is that of all rows of a person, and so is who is protected."""
    one = LocalDifferentialPrivacy(epsilon_by_attribute={"job": 0.5})
    described = one.for_units(3).describe()
    for key in ("protected_unit", "neighbours"):
        assert "one row" not in described[key]
        assert "at most 3 rows" in described[key]
        assert "one row" in one.describe()[key]
