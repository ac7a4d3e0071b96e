"""A promise that does not follow from the law beside it is not believed."""

from __future__ import annotations

import json
import shutil

import pytest

from foreign import rewritten
from samples import SCHEMA, people
from sfumato import METHODS, load_release, publish, read_table, write_report
from sfumato.errors import SfumatoError
from sfumato.methods.columnized_counts.design import ColumnizedCounts
from sfumato.methods.generalization.design import Generalization
from sfumato.methods.noisy_marginals.design import NoisyMarginals
from sfumato.methods.splu_gen.design import SPLUGen
from sfumato.schema import Schema

DESIGNS = {
    **{name: method.example(SCHEMA) for name, method in METHODS.members.items()},
    "gaussian": NoisyMarginals(epsilon=1.0, delta=1e-6, mechanism="discrete-gaussian"),
    "queries": NoisyMarginals(epsilon=1.0, queries=("sex = 'Male'",)),
    "cut": ColumnizedCounts(k=5, epsilon=4.0, columns=(2,)),
    "threshold": SPLUGen(gamma=2, suppress_rarer_than=5),
    "fixed": Generalization(k=5, search="fixed", levels={"age": 1}),
    "diverse": Generalization(k=5, l_value=1.1, t=0.9),
}
UNITS = Schema.from_toml(SCHEMA.to_toml().replace('role = "identifier"', 'role = "unit"\nrows_per_unit = 3'))
LEARNED = Schema.from_dict(
    {
        "attributes": {
            name: fields | ({"learned": True} if name == "job" else {})
            for name, fields in SCHEMA.to_dict()["attributes"].items()
        }
    }
)


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Releases of every method, some of units of several rows and of learned categories."""
    folder = tmp_path_factory.mktemp("promised")
    rows = people(600)
    for name, design in DESIGNS.items():
        publish(read_table(rows, SCHEMA), design, folder / name, seed=1, format="csv")
    of_units = rows.set_column(0, "person", [[f"person-{number // 3}" for number in range(rows.num_rows)]])
    for name in ("randomized-response", "noisy-marginals"):
        publish(read_table(of_units, UNITS), DESIGNS[name], folder / f"{name} of units", seed=1)
        publish(read_table(rows, LEARNED), DESIGNS[name], folder / f"{name} learned", seed=1)
    return folder


@pytest.fixture
def copied(originals, tmp_path):
    """Gives a copy of a release."""

    def copy(name):
        return shutil.copytree(originals / name, tmp_path / "release")

    return copy


def stated(place, **numbers):
    """A change of one promise's numbers."""
    return lambda block: block["guarantees"][place].update(numbers)


def also(**promise):
    """A promise more."""
    return lambda block: block["guarantees"].append(promise)


STRONGER = {
    "a tiny local epsilon": ("randomized-response", stated(0, epsilon_by_attribute={"job": 1e-9})),
    "an attribute more": ("randomized-response", stated(0, epsilon_by_attribute={"job": 9, "sex": 9})),
    "an attribute that nobody hid": ("randomized-response", stated(0, unprotected=[])),
    "units for rows": ("randomized-response", stated(0, rows_per_unit=100)),
    "a small gamma": ("randomized-response", stated(1, gamma_by_attribute={"job": 1.01})),
    "a belief bound": ("randomized-response", also(guarantee="belief-bound", prior=0.1, posterior=0.11)),
    "belief growth": ("randomized-response", also(guarantee="belief-growth", growth=0.01)),
    "a tiny epsilon": ("noisy-marginals", stated(0, epsilon=1e-9)),
    "another relation": ("noisy-marginals", stated(0, epsilon=0.4, relation="add-remove")),
    "adding beside a public number of rows": (
        "noisy-marginals",
        stated(0, epsilon=9.0, relation="add-remove"),
    ),
    "whole units for rows": ("noisy-marginals", stated(0, whole_units=True)),
    "whole units for rows in crowds": ("columnized-counts", stated(0, whole_units=True)),
    "whole units for noisy rows": ("columnized-counts", stated(1, whole_units=True)),
    "units for rows of counts": ("noisy-marginals", stated(0, rows_per_unit=2)),
    "a smaller epsilon of units": ("noisy-marginals of units", stated(0, epsilon=0.5)),
    "a smaller local epsilon of units": (
        "randomized-response of units",
        stated(0, epsilon_by_attribute={"job": 1.7}),
    ),
    "a smaller epsilon with queries": ("queries", stated(0, epsilon=0.9)),
    "a tiny epsilon of Gaussian noise": ("gaussian", stated(0, epsilon=0.5)),
    "a tiny delta": ("gaussian", stated(0, delta=1e-12)),
    "no delta": ("gaussian", stated(0, delta=0.0)),
    "a tiny rho": ("gaussian", stated(0, rho=1e-6)),
    "a large semantic k": ("columnized-counts", stated(0, k=10**6)),
    "a tiny epsilon of rows": ("columnized-counts", stated(1, epsilon=0.1)),
    "a tiny delta of rows": ("columnized-counts", stated(1, delta=1e-200)),
    "replacing for adding": ("columnized-counts", stated(1, relation="replace-one")),
    "whole rows for columns": ("cut", stated(0, scope="table")),
    "one column for all": ("cut", stated(1, epsilon=2.0)),
    "more diversity than buckets have": ("anatomy", stated(0, l_value=1_000)),
    "a little more diversity": ("anatomy", stated(0, l_value=3)),
    "diversity of a public attribute": ("anatomy", stated(0, attribute="unknown")),
    "more equals than rows": ("generalization", stated(0, k=10**6)),
    "equal on nothing known": ("generalization", stated(0, quasi_identifiers=["unknown"])),
    "more diversity than values": ("diverse", stated(1, l_value=5)),
    "a semantic promise of a searched recoding": (
        "generalization",
        also(guarantee="semantic-k-anonymity", k=2),
    ),
    "a larger semantic promise": ("fixed", stated(1, k=6)),
    "a likelier error": ("sample-perturb-scale", stated(0, error_probability=0.9)),
    "another retention": ("sample-perturb-scale", stated(0, retention=0.1)),
    "larger groups of decoys": ("splu-gen", stated(0, gamma_by_attribute={"job": 1_000})),
    "rare values left out that were not": ("splu-gen", stated(0, smallest_count=500)),
    "larger groups for small sums": ("splu-gen", stated(1, gamma_by_attribute={"job": 1_000})),
    "a threshold that nothing met": ("splu-gen", stated(1, smallest_count=2)),
    "no word of the threshold": ("threshold", stated(1, smallest_count=1)),
    "drawn together though it was not": ("splu-gen", stated(1, together=["job", "sex"])),
    "larger groups of decoys for analysts": ("splu-gen", stated(2, gamma_by_attribute={"job": 1_000})),
    "a promise of a baseline": ("distribution-resampling", also(guarantee="differential-privacy", epsilon=1)),
    "a promise of another method": ("generalization", also(guarantee="differential-privacy", epsilon=1)),
    "no word of learned categories": ("randomized-response learned", stated(0, given=[])),
    "no word of learned categories beside counts": ("noisy-marginals learned", stated(0, given=[])),
    "rows that are not there": (
        "randomized-response",
        lambda block: block["tables"][0].update(number_of_rows=10**18),
    ),
}


@pytest.mark.parametrize("case", list(STRONGER))
def test_a_stronger_statement_is_refused_on_opening(case, copied):
    """Whatever the manifest's own words are."""
    name, change = STRONGER[case]
    with pytest.raises(SfumatoError, match=r"do not follow|without saying|rows that the manifest"):
        load_release(rewritten(copied(name), change))


WEAKER = {
    "a larger epsilon": ("noisy-marginals", stated(0, epsilon=2.0)),
    "fewer rows of a unit": ("noisy-marginals of units", stated(0, rows_per_unit=2)),
    "a larger local epsilon": ("randomized-response", stated(0, epsilon_by_attribute={"job": 9.0})),
    "a belief bound that gamma keeps": (
        "randomized-response",
        also(guarantee="belief-bound", prior=0.1, posterior=0.9),
    ),
    "less diversity": ("anatomy", stated(0, l_value=1.5)),
    "a smaller k": ("generalization", stated(0, k=2)),
    "a smaller semantic k": ("columnized-counts", stated(0, k=2)),
    "columns for the table": ("columnized-counts", stated(0, scope="each-column")),
}


@pytest.mark.parametrize("case", list(WEAKER))
def test_a_weaker_statement_is_a_promise_too(case, copied):
    """A custodian may claim less than the law gives."""
    name, change = WEAKER[case]
    release = load_release(rewritten(copied(name), change))
    assert release.guarantees


CERTIFIED = "the certificate of an independent body that nobody can be identified"


def counts_alone(block):
    """States what the counts cost, and nothing for the columns that were learned before."""
    law = block["law"]
    spent = len(law["columns"]) * law["matrix"]["epsilon"] + law["total"]["epsilon"]
    law.pop("columns_epsilon", None)
    for promise in block["guarantees"]:
        if promise["guarantee"] == "differential-privacy":
            promise["epsilon"] = spent * (1 + 1e-9) * (2 if promise["relation"] == "replace-one" else 1)


def test_learned_columns_are_paid_for_or_taken_as_known(copied):
    """An epsilon that covers no more than the counts is not that of a release whose columns came from the rows."""
    folder = copied("cut")
    rewritten(folder, counts_alone)
    with pytest.raises(SfumatoError, match="neither pays for it nor takes it as known"):
        load_release(folder)


def test_columns_that_are_paid_for_cost_what_the_law_says(copied):
    """The counts' epsilon beside a law that spends some on the columns is too small; without the law's word it is believed."""
    folder = copied("cut")
    rewritten(folder, lambda block: block["law"].pop("columns_epsilon"))
    assert load_release(folder).guarantees
    rewritten(folder, lambda block: block["law"].update(columns_epsilon=2.0))
    with pytest.raises(SfumatoError, match="do not follow from its law"):
        load_release(folder)


def chosen(name, how="looked at the rows"):
    """A parameter said to have been chosen from the rows, and a promise that takes it as known, by the tool's words."""

    def change(block):
        block["chosen_from_private_data"][name] = how
        for each in block["guarantees"]:
            each["given"] = [*each.get("given", ()), f"the parameter {name}, chosen from the private rows"]

    return change


INVENTED = {
    "a sentence": ("randomized-response", stated(0, given=[CERTIFIED])),
    "a sentence beside counts": ("noisy-marginals", stated(0, given=[CERTIFIED])),
    "a sentence beside rows": ("columnized-counts", stated(1, given=[CERTIFIED])),
    "a sentence beside classes": ("generalization", stated(0, given=[CERTIFIED])),
    "a sentence beside buckets": ("anatomy", stated(0, given=[CERTIFIED])),
    "a sentence beside decoys": ("splu-gen", stated(0, given=[CERTIFIED])),
    "a sentence beside samples": ("sample-perturb-scale", stated(0, given=[CERTIFIED])),
    "a sentence after the right one": (
        "randomized-response learned",
        lambda block: block["guarantees"][0]["given"].append(CERTIFIED),
    ),
    "a list that nobody learned": (
        "randomized-response",
        stated(0, given=["the list of categories of job, which was read off the private rows"]),
    ),
    "a list of no attribute": (
        "randomized-response",
        stated(0, given=[f"the list of categories of {CERTIFIED}, which was read off the private rows"]),
    ),
    "a list of no attribute, declared": (
        "randomized-response",
        lambda block: (
            block["chosen_from_private_data"].update({f"categories of {CERTIFIED}": "learned"}),
            stated(0, given=[f"the list of categories of {CERTIFIED}, which was read off the private rows"])(
                block
            ),
        ),
    ),
    "a parameter that nobody chose": (
        "randomized-response",
        stated(0, given=["the parameter retention, chosen from the private rows"]),
    ),
    "a parameter that is a sentence": ("randomized-response", chosen(CERTIFIED)),
    "a parameter of another law": ("noisy-marginals", chosen("retention")),
    "no word of a chosen parameter": (
        "randomized-response",
        lambda block: block["chosen_from_private_data"].update(retention="for the largest risk"),
    ),
    "no word of rows left out": ("threshold", stated(0, given=[])),
    "another law's sentence": (
        "randomized-response",
        stated(0, given=["the number of rows or units, which is stated as public"]),
    ),
    "a category that is a sentence": (
        "randomized-response",
        also(
            guarantee="reconstruction-risk",
            sensitive="job",
            quasi_identifiers=["sex"],
            bound=0.9,
            bound_by_value={CERTIFIED: 0.1},
        ),
    ),
    "an attribute that is a sentence": ("randomized-response", stated(1, unbounded=[CERTIFIED])),
}


@pytest.mark.parametrize("case", list(INVENTED))
def test_words_that_do_not_follow_are_refused_on_opening(case, copied):
    """What a promise takes as known is said by the law, the attributes and what the manifest declares, in fixed words."""
    name, change = INVENTED[case]
    with pytest.raises(SfumatoError, match=r"do not follow|without saying|words that"):
        load_release(rewritten(copied(name), change))


def test_a_chosen_parameter_in_the_words_of_the_tool_is_believed(copied):
    """The other side: what is declared and said in the fixed words opens."""
    release = load_release(rewritten(copied("randomized-response"), chosen("retention")))
    assert "given the parameter retention, chosen from the private rows" in release.guarantees[0].statement


def test_words_of_a_promise_beside_its_numbers_are_never_shown(copied):
    """A manifest describes each promise for people who read it raw; here the description is made anew."""

    def describe(block):
        for each in block["guarantees"]:
            each["description"] = dict.fromkeys(each["description"], CERTIFIED)

    release = load_release(rewritten(copied("randomized-response"), describe))
    assert CERTIFIED not in str(release.overview().to_dict())
    assert CERTIFIED not in release.overview().summary()


def test_what_is_published_is_believed(originals):
    """Every release that the methods write opens again, with the promises that it was written with."""
    for folder in originals.iterdir():
        manifest = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
        assert len(load_release(folder).guarantees) == len(manifest["sfumato"]["guarantees"])


def test_other_words_of_a_release_are_marked_as_its_own_in_the_report(copied, tmp_path):
    """What is not protected, what is assumed and what was chosen is said by the publisher and stands apart from the promise."""

    def say(block):
        block["not_protected"] = block["weaknesses"] = block["assumptions"] = [CERTIFIED]

    release = load_release(rewritten(copied("randomized-response"), say))
    page = write_report(release, tmp_path / "report.html").read_text(encoding="utf-8")
    promise, rest = page.split("What is not protected</h2>", maxsplit=1)
    assert CERTIFIED not in promise
    assert rest.index("no program can check them") < rest.index(CERTIFIED)
