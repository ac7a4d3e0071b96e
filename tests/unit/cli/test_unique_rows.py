"""Checks before publication: persons singled out on unperturbed columns, and columns that look like keys."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from sfumato import RandomizedResponse, Schema, load_release, publish, read_table
from sfumato.errors import CheckRefusedError, ParameterError

ROWS, COLUMNS = 2_000, 30
METHOD = ("--method", "randomized-response", "--set", "retention=0.5")
PUBLISH = ("publish", "wide.csv", "--schema", "wide.toml", "--out", "out")


def wide_schema(role):
    """A secret and many columns of ten categories."""
    digits = json.dumps(list("0123456789"))
    columns = [
        f'[attributes.c{place}]\nrole = "{role}"\ncategories = {digits}' for place in range(COLUMNS - 1)
    ]
    return "\n".join([*columns, f'[attributes.secret]\nrole = "sensitive"\ncategories = {digits}'])


@pytest.fixture
def wide(folder):
    """Writes a table whose rows are all unique on columns of a role; or all alike."""

    def write(role, *, alike=False):
        draw = np.random.default_rng(1)
        names = [*(f"c{place}" for place in range(COLUMNS - 1)), "secret"]
        columns = {name: draw.integers(0, 10, ROWS).astype(str) for name in names}
        if alike:
            columns |= {name: np.zeros(ROWS, int).astype(str) for name in names[:-1]}
        csv.write_csv(pa.table(columns), folder / "wide.csv")
        (folder / "wide.toml").write_text(wide_schema(role), encoding="utf-8")

    return write


def test_persons_unique_on_quasi_identifiers_are_refused(run, wide, folder):
    """Nothing is written; the sentence says how many, what to coarsen, and the option."""
    wide("quasi-identifier")
    outcome = run(*PUBLISH, *METHOD)
    assert outcome.exit_code == 1, outcome.stderr
    said = " ".join(outcome.stderr.split())
    assert "100.0 % of the persons are unique on 29 columns that were not changed; at most 5 % may be" in said
    assert "--accept singled-out" in said
    assert not (folder / "out").exists()
    assert not [each for each in folder.iterdir() if each.name.startswith(".")]


def test_they_are_published_when_that_is_accepted_by_name(run, wide, folder):
    """Manifest, README, show, report and publish say first that the release is weak, and how."""
    wide("quasi-identifier")
    outcome = run(*PUBLISH, *METHOD, "--accept", "singled-out,key-column")
    assert outcome.exit_code == 0, outcome.stderr
    weak = "This release is weak: 100.0 % of the persons are unique on 29 columns that were not changed."
    assert weak in outcome.stdout
    manifest = json.loads((folder / "out" / "datapackage.json").read_text(encoding="utf-8"))["sfumato"]
    assert list(manifest["accepted"]) == ["singled-out"]
    assert manifest["format_version"] == 2
    readme = (folder / "out" / "README.md").read_text(encoding="utf-8").split("\n\n")
    assert readme[1] == f"**{weak}**"
    assert run("show", "out").stdout.startswith(weak)
    assert json.loads(run("show", "out", "--json").stdout)["weakness"] == weak
    assert run("verify", "out").exit_code == 0
    assert run("report", "out", "--out", "report.html").exit_code == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert weak in page[: page.index("What was published")]


def test_a_refused_release_is_in_no_ledger(run, wide):
    """It was not made, so that the next one is the first."""
    wide("quasi-identifier")
    assert run(*PUBLISH, *METHOD).exit_code == 1
    assert run(*PUBLISH, *METHOD, "--accept", "singled-out").exit_code == 0


def test_an_unknown_check_is_refused_before_anything(run, wide, folder):
    """In one sentence with the nearest name."""
    wide("quasi-identifier")
    outcome = run(*PUBLISH, *METHOD, "--accept", "singledout")
    assert outcome.exit_code != 0
    assert "singled-out" in outcome.stderr
    assert not (folder / "out").exists()


@pytest.mark.parametrize("role", ["other", "sensitive"])
def test_what_others_do_not_know_does_not_count(run, wide, role):
    """Role other declares that; sensitive attributes beside quasi-identifiers are a note."""
    wide(role)
    outcome = run(*PUBLISH, *METHOD, "--set", "attributes=secret", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout)["singled_out"] is None
    assert "weak" not in run("show", "out").stdout


def test_persons_that_are_alike_are_published_with_the_share(run, wide, folder):
    """The share is said when it is nought too."""
    wide("quasi-identifier", alike=True)
    outcome = run(*PUBLISH, *METHOD, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    found = json.loads(outcome.stdout)["singled_out"]
    assert (found["unique_persons"], found["persons"]) == (0, ROWS)
    assert "accepted" not in json.loads((folder / "out" / "datapackage.json").read_text())["sfumato"]


@pytest.mark.parametrize(
    "design",
    [
        ("noisy-marginals", "--set", "epsilon=1", "--set", 'marginals=[["c0", "c1"]]'),
        ("randomized-response", "--set", "retention=0.5", "--set", f"attributes={','.join(f'c{n}' for n in range(29))},secret"),
    ],
)  # fmt: skip
def test_nothing_unperturbed_is_nothing_to_count(run, wide, design):
    """Where no row, or no column of it, is as it was."""
    wide("quasi-identifier")
    outcome = run(*PUBLISH, "--method", *design, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout)["singled_out"] is None


def test_inspect_and_plan_say_it_before(run, wide):
    """The same share, by the same function; a plan refuses nothing."""
    wide("quasi-identifier")
    outcome = run("inspect", "wide.csv", "--schema", "wide.toml")
    assert outcome.exit_code == 0, outcome.stderr
    first = outcome.stdout.splitlines()[0]
    assert first.startswith(
        "100.0 % of the persons are unique on 29 columns that are quasi-identifiers; publish refuses"
    )
    planned = run("plan", "wide.csv", "--schema", "wide.toml", *METHOD)
    assert planned.exit_code == 0, planned.stderr
    assert (
        "publish would refuse: 100.0 % of the persons are unique on 29 columns that were not changed"
        in planned.stdout
    )


# --------------------------------------------------------------------------------------------------
# In Python.


def table_of(columns, roles, engine=None, **extra):
    """Columns of codes with their roles."""
    schema = Schema.from_dict(
        {
            "attributes": {
                name: {
                    "role": role,
                    **({} if role == "unit" else {"categories": sorted(set(columns[name]), key=int)}),
                }
                | extra.get(name, {})
                for name, role in roles.items()
            }
        }
    )
    return read_table(pa.table(columns), schema, engine=engine)


def visits():
    """300 persons of ten visits each: no row is unique on sex, age and town, and every person is alone on them."""
    person = np.repeat(np.arange(300), 10)
    columns = {
        "person": person,
        "sex": person % 2,
        "age": person % 3,
        "town": person // 6,
        "ill": np.arange(3_000) % 4,
    }
    return {name: each.astype(str).tolist() for name, each in columns.items()}


ROLES = dict.fromkeys(("sex", "age", "town"), "quasi-identifier") | {"ill": "sensitive"}


def test_persons_are_counted_and_not_rows(tmp_path):
    """Ten equal rows of one person hide nobody; without the unit nobody is seen to be alone."""
    design = RandomizedResponse(retention=0.5)
    publish(table_of(visits(), ROLES), design, tmp_path / "rows", seed=1, say=str)
    table = table_of(visits(), {"person": "unit"} | ROLES, person={"rows_per_unit": 10})
    with pytest.raises(
        CheckRefusedError, match=r"100\.0 % of the persons are unique on 3 columns"
    ) as refused:
        publish(table, design, tmp_path / "persons", seed=1, say=str)
    assert refused.value.check == "singled-out"
    assert refused.value.columns == ("sex", "age", "town")
    assert "Coarsen, perturb or remove one of sex, age, town" in str(refused.value)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["rows"]


def test_the_refusal_names_columns_that_help(tmp_path):
    """Without them few enough persons are unique, which publishing shows."""
    draw = np.random.default_rng(4)
    sizes = {"a": 2, "b": 3, "c": 40, "d": 50}
    columns = {name: draw.integers(0, size, 3_000).astype(str).tolist() for name, size in sizes.items()}
    columns["ill"] = draw.integers(0, 3, 3_000).astype(str).tolist()
    table = table_of(columns, dict.fromkeys(sizes, "quasi-identifier") | {"ill": "sensitive"})
    with pytest.raises(CheckRefusedError, match="one of c, d") as refused:
        publish(table, RandomizedResponse(retention=0.5), tmp_path / "out", seed=1)
    assert refused.value.columns == ("c", "d")
    for name in refused.value.columns:
        kept = {each: "quasi-identifier" for each in sizes if each != name} | {"ill": "sensitive"}
        publish(table_of(columns, kept), RandomizedResponse(retention=0.5), tmp_path / name, seed=1)


def test_several_columns_are_named_where_none_alone_helps(tmp_path):
    """Greedy: the columns beyond the longest prefix, by number of categories, that passes."""
    draw = np.random.default_rng(4)
    columns = {name: draw.integers(0, 30, 900).astype(str).tolist() for name in "abcd"}
    columns["ill"] = draw.integers(0, 3, 900).astype(str).tolist()
    table = table_of(columns, dict.fromkeys("abcd", "quasi-identifier") | {"ill": "sensitive"})
    with pytest.raises(CheckRefusedError) as refused:
        publish(table, RandomizedResponse(retention=0.5), tmp_path / "out", seed=1)
    assert refused.value.columns == ("b", "c", "d")
    assert len(str(refused.value)) <= 240


def test_a_key_is_refused_by_name(tmp_path):
    """Whatever its role; accepted, the release says so."""
    number = [str(each) for each in range(100, 400)]
    columns = {"number": number, "ill": [str(each % 3) for each in range(300)]}
    table = table_of(columns, {"number": "other", "ill": "sensitive"})
    with pytest.raises(CheckRefusedError, match="number looks like a key of persons") as refused:
        publish(table, RandomizedResponse(retention=0.5), tmp_path / "out", seed=1)
    assert refused.value.check == "key-column"
    assert "--accept key-column" in str(refused.value)
    with pytest.raises(CheckRefusedError, match="key"):
        publish(table, RandomizedResponse(retention=0.5), tmp_path / "out", seed=1, accept="singled-out")
    release = publish(
        table, RandomizedResponse(retention=0.5), tmp_path / "out", seed=1, accept=("key-column",), say=str
    )
    assert release.manifest.weakness.startswith("This release is weak: number looks like a key of persons")


def test_checks_hold_for_memory_files_and_splits(tmp_path):
    """The same refusal, whoever counts."""
    from sfumato.custody.publish import in_memory
    from sfumato.data.distributed.engine import LocalRunner, SplitEngine

    columns = {name: each[::10] for name, each in visits().items()}
    csv.write_csv(pa.table(columns), tmp_path / "visits.csv")
    schema = table_of(columns, ROLES)._declared
    tables = [
        read_table(tmp_path / "visits.csv", schema),
        in_memory(read_table(pa.table(columns), schema)),
        read_table(tmp_path / "visits.csv", schema, engine=SplitEngine(LocalRunner())),
    ]
    for table in tables:
        with pytest.raises(CheckRefusedError, match=r"100\.0 % of the persons are unique on 3 columns"):
            publish(table, RandomizedResponse(retention=0.5), tmp_path / "out", seed=1)


def test_accept_is_a_name_or_several(tmp_path):
    """And nothing else."""
    table = table_of(visits(), ROLES)
    with pytest.raises(ParameterError, match="no check 'unique'") as refused:
        publish(table, RandomizedResponse(retention=0.5), tmp_path / "out", seed=1, accept="unique")
    assert refused.value.parameter == "accept"


def test_an_epsilon_above_ten_is_called_no_protection(tmp_path):
    """In the promise, README and show; nine is not."""
    table = table_of(visits(), ROLES)
    weak = publish(table, RandomizedResponse(epsilon=11), tmp_path / "weak", seed=1)
    assert "no protection by itself" in weak.guarantees[0].statement
    assert weak.manifest.weakness == "This release is weak: epsilon is 11, no protection by itself."
    assert weak.manifest.weakness in (tmp_path / "weak" / "README.md").read_text(encoding="utf-8")
    assert weak.overview().summary().startswith(weak.manifest.weakness)
    strong = publish(table, RandomizedResponse(epsilon=9), tmp_path / "strong", seed=1)
    assert "no protection" not in (tmp_path / "strong" / "README.md").read_text(encoding="utf-8")
    assert strong.manifest.weakness == ""
    assert load_release(tmp_path / "weak").manifest.weakness
