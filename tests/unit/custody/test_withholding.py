"""Publishing without the law: nothing that depends on the matrices leaves the house."""

from __future__ import annotations

import json
import re
import warnings

import pyarrow as pa
import pytest

from foreign import rewritten
from samples import SCHEMA, people
from sfumato import METHODS, RandomizedResponse, load_release, publish, read_table, write_report
from sfumato.errors import (
    NotIdentifiableError,
    ParameterError,
    ReleaseDamagedError,
    ReleaseUnsupportedError,
    SfumatoError,
)
from sfumato.guarantees.reconstruction_risk import ReconstructionRisk
from sfumato.laws import LAWS
from sfumato.release.verification import verify_release
from sfumato.schema import Schema
from sfumato.testing import in_memory, release_in_memory

TABLE = in_memory(read_table(people(900), SCHEMA))
BOTH = ("sex", "job")
DESIGNS = {
    "retention": RandomizedResponse(retention=0.62345, attributes=BOTH),
    "by attribute": RandomizedResponse(retention={"sex": 0.3, "job": 0.8}, attributes=BOTH),
    "epsilon": RandomizedResponse(epsilon=1.2345, attributes=BOTH),
    "matrix": RandomizedResponse(
        matrix={"sex": ((0.75, 0.25), (0.375, 0.625))}, retention={"job": 0.51}, attributes=BOTH
    ),
}


@pytest.fixture
def withheld(tmp_path):
    """A release in a folder, without its law."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return publish(
            read_table(people(900), SCHEMA),
            DESIGNS["retention"],
            tmp_path / "release",
            withhold_law=True,
            format="csv",
        )


def descriptor(release):
    """The whole manifest but for what depends on the rows drawn."""
    text = json.dumps(release.manifest.to_descriptor(), sort_keys=True)
    return re.sub(r"[0-9a-f]{64}", "", text)


def test_manifests_of_all_parameters_are_one_and_the_same():
    """So that none of them can be read off it."""
    found = {
        name: descriptor(release_in_memory(TABLE, design, seed=3, withhold_law=True))
        for name, design in DESIGNS.items()
    }
    assert len(set(found.values())) == 1
    told = {name: descriptor(release_in_memory(TABLE, design, seed=3)) for name, design in DESIGNS.items()}
    assert len(set(told.values())) == len(DESIGNS)


def test_what_was_chosen_from_private_rows_is_named_and_not_how():
    """A bound on risk that was reached gives the retention away, and a custodian's own words may."""
    goals = [
        RandomizedResponse(
            retention=kept,
            attributes=("job",),
            chosen_for=ReconstructionRisk(bound=bound, quasi_identifiers=("sex",), sensitive="job"),
            chosen_from_private_data={"retention": f"the best of {bound}"},
        )
        for kept, bound in ((0.5, 0.9), (0.6, 0.95))
    ]
    found = [release_in_memory(TABLE, each, seed=3, withhold_law=True) for each in goals]
    assert len({descriptor(each) for each in found}) == 1
    assert found[0].manifest.chosen_from_private_data == {
        "retention": "chosen by looking at the private rows; how is withheld with the law"
    }


def test_no_file_holds_a_number_of_the_design(withheld):
    """Retention, epsilon, amplification, condition number: not in the manifest, not in README.md."""
    told = release_in_memory(TABLE, DESIGNS["retention"], seed=1)
    numbers = set(re.findall(r"\d+\.\d{2,}", json.dumps([told.manifest.law, told.manifest.guarantees])))
    numbers |= {"0.62345", f"{1 / 0.62345:.3g}"}
    for path in sorted(withheld.folder.iterdir()):
        if path.suffix == ".csv":
            continue
        text = path.read_text(encoding="utf-8")
        assert not [each for each in numbers if each in text], path.name


def test_the_law_names_what_was_perturbed_and_nothing_else(withheld):
    """And is read again."""
    assert withheld.manifest.law == {"law": "withheld", "perturbed": ["sex", "job"]}
    assert load_release(withheld.folder).law.sentence.endswith("by matrices that are withheld.")


@pytest.mark.parametrize(
    "ask",
    [
        lambda release: release.query("job = 'Sales'"),
        lambda release: release.counts(["age", "sex"]),
        lambda release: release.consistent_counts("job"),
        lambda release: release.proportion("job = 'Sales'", given="age < 35"),
        lambda release: release.difference("age < 35", given="sex = 'Male'", versus="sex = 'Female'"),
        lambda release: release.measures("age", "job"),
        lambda release: release.mean("age", where="job = 'Tech'"),
        lambda release: release.regression("job ~ age"),
    ],
)
def test_estimates_about_what_was_perturbed_are_refused(withheld, ask):
    """With what stays valid."""
    with pytest.raises(NotIdentifiableError, match=r"not valid: the law is withheld.*sfumato advise"):
        ask(withheld)


def test_what_was_not_perturbed_is_counted_exactly(withheld):
    """As in the private table."""
    answer = withheld.query("age < 35 AND region = 'North'")
    assert answer.is_exact
    rows = people(900).to_pylist()
    assert answer.estimate == sum(each["age"] < 35 and each["region"] == "North" for each in rows)


def test_verify_and_report_say_that_the_promise_cannot_be_checked(withheld, tmp_path):
    """Neither kept nor broken."""
    found = verify_release(withheld.folder)
    (about,) = [each for each in found.checks if each.about == "promises"]
    assert (about.verdict, found.is_kept) == ("cannot be told", True)
    assert about.sentence.startswith("Cannot be checked")
    page = tmp_path / "report.html"
    write_report(withheld, page)
    text = page.read_text(encoding="utf-8")
    assert "Cannot be checked" in text
    assert "only the custodian can publish the same again" in text
    assert "Cannot be checked" in str(withheld.overview())
    assert "Promised:" not in str(withheld.overview())


def test_a_promise_beside_a_withheld_law_is_not_believed(withheld):
    """It follows from nothing that can be seen."""
    told = release_in_memory(TABLE, DESIGNS["retention"], seed=1)

    def promise(block):
        block["guarantees"] = told.manifest.model_dump(mode="json")["guarantees"]

    with pytest.raises(ReleaseDamagedError, match="do not follow from its law"):
        load_release(rewritten(withheld.folder, promise))


@pytest.mark.parametrize(
    ("perturbed", "said"),
    [(["age", "salary"], "which it does not publish"), ([], "at least 1"), (["sex", "sex"], "different")],
)
def test_a_withheld_law_that_does_not_fit_is_refused(withheld, perturbed, said):
    """On opening."""

    def change(block):
        block["law"]["perturbed"] = perturbed

    with pytest.raises((ReleaseDamagedError, ReleaseUnsupportedError), match=said):
        load_release(rewritten(withheld.folder, change))


@pytest.mark.parametrize("method", [each for each in METHODS.members if each != "randomized-response"])
def test_laws_that_leave_nothing_valid_are_not_withheld(method, tmp_path):
    """Refused before anything is written."""
    design = METHODS.members[method].example(SCHEMA)
    with pytest.raises((ParameterError, SfumatoError), match="cannot be withheld"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        publish(read_table(people(900), SCHEMA), design, tmp_path / "release", withhold_law=True)
    assert not (tmp_path / "release").exists()


def test_the_custodian_is_told_what_the_release_does_not_say(tmp_path):
    """The promise holds all the same."""
    said = []
    publish(
        read_table(people(900), SCHEMA),
        DESIGNS["retention"],
        tmp_path / "release",
        withhold_law=True,
        say=said.append,
    )
    assert any("local differential privacy" in each for each in said)


def test_errors_to_expect_are_refused_of_what_was_perturbed():
    """And are zero of the rest."""
    law = LAWS.read({"law": "withheld", "perturbed": ["job"]})
    table = TABLE.count_by(["sex"])
    assert not law.expected_standard_errors(table).any()
    with pytest.raises(NotIdentifiableError):
        law.expected_standard_errors(TABLE.count_by(["job"]))


def test_an_audit_asks_for_a_release_with_its_law(withheld):
    """In words, and not as a missing parameter."""
    from sfumato.custody.audit.attackers import design_of

    with pytest.raises(ParameterError, match="withholds its law"):
        design_of(withheld)


def test_baskets_are_not_sent_to_the_method_that_they_came_by(tmp_path):
    """Their law has no withheld form either, and the refusal says which tables have one."""
    schema = Schema.from_toml(
        '[long]\nunit = "who"\nitem = "what"\n[attributes.who]\nrole = "unit"\n'
        '[attributes.what]\nrole = "sensitive"\ncategories = ["a", "b"]\n'
    )
    rows = pa.table({"who": [f"u{number}" for number in range(40)], "what": ["a", "b"] * 20})
    with pytest.raises(ParameterError, match="tables that are not unit-item-value"):
        publish(
            read_table(rows, schema), RandomizedResponse(retention=0.5), tmp_path / "r", withhold_law=True
        )
