"""Contribution bounding: rows of each unit are drawn when the table is read, and row guarantees are then about persons."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from contextlib import ExitStack

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from sfumato import (
    Anatomy,
    ColumnizedCounts,
    Generalization,
    NoisyMarginals,
    RandomizedResponse,
    Schema,
    load_release,
    publish,
    read_table,
)
from sfumato.compare.grid import RAW, Candidate
from sfumato.compare.run import compare_designs
from sfumato.custody.audit.audit import audit
from sfumato.custody.calibrate import choose
from sfumato.custody.inspect import inspect_table
from sfumato.custody.ledger import Ledger
from sfumato.custody.plan import plan
from sfumato.data.distributed import splits
from sfumato.data.distributed.engine import LocalRunner, SplitEngine
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.errors import DataError, ParameterError, PublishedBeforeError, SchemaError
from sfumato.guarantees.k_anonymity import KAnonymity
from sfumato.query.selection import Selection
from sfumato.randomness.streams import NoiseSource
from sfumato.report import write_report

ONE = 'rows_per_unit = 1\nexcess_rows = "sample"'
VISITS = 8
REMEDY = 'rows_per_unit = 1 and excess_rows = "sample"'
pytestmark = pytest.mark.filterwarnings("ignore")


def schema(unit=ONE, extra=""):
    """Visits of patients; ``visit`` is the place of a row among those of its patient."""
    return Schema.from_toml(f"""
[attributes.patient]
role = "unit"
{unit}
[attributes.sex]
role = "quasi-identifier"
categories = ["f", "m"]
[attributes.visit]
role = "quasi-identifier"
categories = [{", ".join(f'"{each}"' for each in range(VISITS))}]
[attributes.illness]
role = "sensitive"
categories = ["flu", "cold", "none"]
{extra}
""")


def rows(patients=60):
    """One to eight visits of each patient, those of one patient apart from each other."""
    listed = [
        {
            "patient": f"p{n}",
            "sex": "fm"[n % 2],
            "visit": str(visit),
            "illness": ["flu", "cold", "none"][n % 3],
        }
        for visit in range(VISITS)
        for n in range(patients)
        if visit <= n % VISITS
    ]
    return pa.Table.from_pylist(listed)


def files(folder, table):
    """The same rows as a text file and as a Parquet file of several row groups."""
    pc.write_csv(table, folder / "visits.csv")
    pq.write_table(table, folder / "visits.parquet", row_group_size=37)
    return {"memory": table, "csv": folder / "visits.csv", "parquet": folder / "visits.parquet"}


@pytest.fixture
def small_splits(monkeypatch):
    """Splits of about 40 rows, so that visits of a patient lie in different ones."""
    monkeypatch.setattr(splits, "ROWS_PER_SPLIT", 40)


@pytest.fixture
def engine():
    """Makes an engine on this machine, whole or in splits, and closes it."""
    with ExitStack() as made:

        def make(kind, folder):
            found = DuckDBEngine(threads=3) if kind == "duckdb" else SplitEngine(LocalRunner(folder))
            made.callback(found.close)
            return found

        yield make


@pytest.mark.parametrize("kind", ["duckdb", "splits"])
@pytest.mark.parametrize("form", ["memory", "csv", "parquet"])
@pytest.mark.parametrize("most", [1, 2, 3, 100])
def test_each_unit_keeps_so_many_of_its_own_rows(tmp_path, engine, small_splits, kind, form, most):
    """By brute force: of every unit min(k, its rows), each of them a row that it has."""
    numbers = "\n".join(f'"p{n}",' for n in range(24))
    declared = schema(
        f'rows_per_unit = {most}\nexcess_rows = "sample"',
        f'[attributes.copy]\nrole = "other"\ncategories = [{numbers}]',
    )
    whole = rows(24)
    whole = whole.append_column("copy", whole["patient"])
    table = read_table(files(tmp_path, whole)[form], declared, engine=engine(kind, tmp_path))
    found = table.count_occupied(["copy", "sex", "visit", "illness"])
    labels = [
        [each.labels[code] for code in codes]
        for each, codes in zip(found.attributes, found.codes, strict=True)
    ]
    kept = Counter(dict(zip(zip(*labels, strict=True), found.counts.tolist(), strict=True)))
    given = Counter(
        tuple(row[name] for name in ("patient", "sex", "visit", "illness")) for row in whole.to_pylist()
    )
    assert kept <= given
    of_units = Counter(row["patient"] for row in whole.to_pylist())
    assert Counter({unit: min(most, size) for unit, size in of_units.items()}) == Counter(
        unit for (unit, *_), times in kept.items() for _ in range(times)
    )
    # Every later look sees the same rows.
    assert table.count_by(["visit"]).counts.sum() == table.number_of_rows == kept.total()
    again = table.count_occupied(["copy", "sex", "visit", "illness"])
    assert {*zip(*again.codes, strict=True)} == {*zip(*found.codes, strict=True)}
    table.close()
    assert table.number_of_rows == kept.total()
    table.close()


@pytest.mark.parametrize("kind", ["duckdb", "splits"])
def test_the_same_seed_draws_the_same_rows(tmp_path, engine, small_splits, kind):
    """Published twice with a seed: the same visits; with another seed, and without one: others."""
    source = files(tmp_path, rows(200))["parquet"]

    def visits(name, seed):
        table = read_table(source, schema(), engine=engine(kind, tmp_path))
        release = publish(table, RandomizedResponse(retention=0.5), tmp_path / name, seed=seed)
        return release.counts("visit").values.tolist()

    assert visits("a", 5) == visits("b", 5)
    others = [visits("c", 6), visits("d", None), visits("e", None)]
    assert len({*map(tuple, others), tuple(visits("f", 5))}) == 4


@pytest.mark.parametrize("kind", ["duckdb", "splits"])
def test_what_stands_in_cells_does_not_decide_what_is_drawn(tmp_path, engine, small_splits, kind):
    """Other illnesses and other names of patients at the same places: the same visits."""
    whole = rows(60)
    renamed = [f"Q-{name[1:]}" for name in whole["patient"].to_pylist()]
    other = whole.set_column(0, "patient", [renamed]).set_column(3, "illness", [["none"] * whole.num_rows])
    drawn = []
    for number, each in enumerate((whole, other)):
        pq.write_table(each, tmp_path / f"{number}.parquet", row_group_size=37)
        table = read_table(tmp_path / f"{number}.parquet", schema(), engine=engine(kind, tmp_path))
        counted = table.drawn_by(NoiseSource.seeded(4)).count_by(["sex", "visit"])
        drawn.append(counted.counts.tolist())
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("kind", ["duckdb", "splits"])
def test_k_anonymity_of_a_long_table_is_about_persons(tmp_path, engine, small_splits, kind):
    """Refused with the remedy; with it, every row is of another person, and the release says so."""
    source = files(tmp_path, rows(60))["parquet"]
    design = Generalization(k=5)
    for unit in ("", "rows_per_unit = 8", 'rows_per_unit = 2\nexcess_rows = "sample"'):
        with pytest.raises(ParameterError) as refused:
            publish(read_table(source, schema(unit), engine=engine(kind, tmp_path)), design, tmp_path / "no")
        assert REMEDY in str(refused.value)
        assert len(str(refused.value)) <= 240
        with pytest.raises(ParameterError, match="rows_per_unit = 1"):
            plan(design, schema(unit), 60)
    assert not (tmp_path / "no").exists()
    release = publish(
        read_table(source, schema(), engine=engine(kind, tmp_path)), design, tmp_path / "release"
    )
    assert isinstance(release.guarantees[0], KAnonymity)
    assert release.number_of_rows == 60
    assert "nothing was drawn but which rows of each person there are" in release.manifest.privacy
    assert release.manifest.rows_drawn_per_unit == 1
    said = " ".join(release.manifest.assumptions)
    assert "one row of each person, drawn at random" in said
    assert "people with several rows" not in " ".join(release.manifest.not_protected)
    assert "Every person has one row." not in said
    for text in (
        (tmp_path / "release" / "README.md").read_text(encoding="utf-8"),
        str(release.overview()),
    ):
        assert "one row of each person, drawn at random" in text
    # How many rows the private table has is not told.
    everything = (tmp_path / "release" / "datapackage.json").read_text(encoding="utf-8")
    assert str(rows(60).num_rows) not in everything
    assert "patient" not in json.loads(everything)["sfumato"]["tables"][0]["attributes"]
    assert load_release(tmp_path / "release").manifest.rows_drawn_per_unit == 1


def test_a_bound_of_one_that_holds_needs_no_draw(tmp_path):
    """Where no person has a second row, rows are persons already; a second row is refused, as before."""
    one_each = rows(60).slice(0, 60)
    release = publish(
        read_table(one_each, schema("rows_per_unit = 1")), Anatomy(l_value=2), tmp_path / "release"
    )
    assert release.manifest.rows_drawn_per_unit is None
    with pytest.raises(DataError, match="more than the 1 rows of rows_per_unit"):
        publish(read_table(rows(60), schema("rows_per_unit = 1")), Anatomy(l_value=2), tmp_path / "no")


def test_differential_privacy_of_units_of_several_drawn_rows(tmp_path):
    """K rows of each are kept, epsilon is that of the person, and both are said."""
    table = read_table(rows(60), schema('rows_per_unit = 2\nexcess_rows = "sample"'))
    release = publish(table, NoisyMarginals(epsilon=1), tmp_path / "release")
    assert release.guarantees[0].rows_per_unit == 2
    assert release.manifest.rows_drawn_per_unit == 2
    assert "at most 2 rows of each person, drawn at random" in " ".join(release.manifest.assumptions)


@pytest.mark.parametrize(
    "design",
    [
        Anatomy(l_value=2),
        Generalization(k=2),
        ColumnizedCounts(k=2, epsilon=8.0),
        RandomizedResponse(epsilon=1),
    ],
)
def test_what_is_published_is_one_row_of_each(tmp_path, design):
    """Every kind of method sees the drawn rows alone."""
    release = publish(read_table(rows(120), schema()), design, tmp_path / "release", seed=3)
    if not isinstance(design, ColumnizedCounts):
        assert release.number_of_rows == 120


def test_plan_and_inspect_see_the_drawn_table():
    """One row of each patient, the same for every question."""
    table = read_table(rows(80), schema())
    assert table.number_of_rows == 80
    assert inspect_table(table).number_of_rows == 80
    found = plan(RandomizedResponse(retention=0.5), schema(), table.number_of_rows, table=table)
    assert found.is_private
    where = Selection.parse("visit = '0'", table.schema)
    assert table.count_by(["visit"]).counts[0] == table.count_by([], where).total


def unfit(cells):
    """A table whose units are given."""
    table = rows(60).slice(0, len(cells))
    return table.set_column(0, "patient", pa.array(cells))


BAD_UNITS = {
    "missing": (
        ["p", None, "q", "", "r", "s"],
        "column 'patient' has no value in 2 rows. Every row must say whose it is",
    ),
    "constant": (
        ["p"] * 6,
        "column 'patient' is the unit and has one value in 6 rows. Declare the column that",
    ),
    "case": (
        ["p1", "P1", "q", "r", "s", "p1"],
        "has 2 units that differ only by case or spaces, in 3 rows. Write each",
    ),
    "spaces": (
        ["p 1", "p1", "q", "q ", "r", "s"],
        "has 4 units that differ only by case or spaces, in 4 rows",
    ),
}


@pytest.mark.parametrize("name", BAD_UNITS)
@pytest.mark.parametrize("kind", ["duckdb", "splits"])
@pytest.mark.parametrize("unit", [ONE, "rows_per_unit = 6"])
def test_a_unit_that_is_none_is_refused(tmp_path, engine, name, kind, unit):
    """One sentence, and nothing is written; also by what only looks at the table."""
    if kind == "splits" and unit != ONE:
        pytest.skip("tables in splits do not count rows of units")
    cells, words = BAD_UNITS[name]
    table = read_table(unfit(cells), schema(unit), engine=engine(kind, tmp_path))
    with pytest.raises(DataError) as refused:
        publish(table, RandomizedResponse(epsilon=1), tmp_path / "release")
    assert words in str(refused.value)
    assert len(str(refused.value)) <= 240
    assert not (tmp_path / "release").exists()
    if unit == ONE:
        with pytest.raises(DataError) as refused:
            assert inspect_table(read_table(unfit(cells), schema(), engine=engine(kind, tmp_path)))
        assert words in str(refused.value)


def test_units_of_two_numbers_are_different_people():
    """Only spaces beside a letter are taken out: 1 12 is not 11 2."""
    assert read_table(unfit(["1 12", "11 2", "12", "1 2"]), schema()).number_of_rows == 4


def test_a_row_outside_the_schema_is_refused_whether_it_was_drawn_or_not():
    """Otherwise the same command would fail now and then."""
    whole = rows(60).to_pydict()
    whole["illness"][-1] = "plague"
    for _ in range(12):
        with pytest.raises(DataError, match="in 1 row") as refused:
            assert read_table(pa.table(whole), schema()).number_of_rows
        assert "plague" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            'role = "other"\ncategories = ["a", "b"]\nrows_per_unit = 1',
            "rows_per_unit is about a unit, and the role is other",
        ),
        (
            'role = "other"\ncategories = ["a", "b"]\nexcess_rows = "sample"',
            "excess_rows is about a unit, and the role is other",
        ),
        (
            'role = "identifier"\nexcess_rows = "refuse"',
            "excess_rows is about a unit, and the role is identifier",
        ),
        ('role = "unit"\nexcess_rows = "sample"', "needs rows_per_unit. Add rows_per_unit = 1"),
        (
            'role = "unit"\nrows_per_unit = 1\nexcess_rows = "drop"',
            "excess_rows should be 'refuse' or 'sample'",
        ),
        (
            'role = "unit"\n[attributes.y]\nrole = "unit"',
            "'x' and 'y' all have the role unit; a table has one unit",
        ),
    ],
)
def test_keys_without_a_unit_are_refused(text, words):
    """One clear sentence each."""
    with pytest.raises(SchemaError) as refused:
        Schema.from_toml(f'[attributes.x]\n{text}\n[attributes.z]\nrole = "other"\ncategories = ["a", "b"]')
    assert words in str(refused.value)
    assert len(refused.value.problems) == 1
    assert len(str(refused.value)) <= 240


@pytest.mark.parametrize("kind", ["duckdb", "splits"])
def test_the_ledger_knows_the_whole_table(tmp_path, engine, small_splits, kind):
    """Two draws of one table are releases of the same people, also after a draw and a release without one."""
    ledger = Ledger(tmp_path / "ledger.db")
    source = files(tmp_path, rows(60))["parquet"]

    def table(unit=ONE):
        return read_table(source, schema(unit), engine=engine(kind, tmp_path))

    publish(table(), Anatomy(l_value=2), tmp_path / "first", ledger=ledger, accept="singled-out")
    assert ledger.entries()[0].table.number_of_rows == rows(60).num_rows
    with pytest.raises(PublishedBeforeError):
        publish(table(), Anatomy(l_value=2), tmp_path / "second", ledger=ledger, accept="singled-out")
    assert not (tmp_path / "second").exists()
    publish(table(), Generalization(k=2), tmp_path / "third", ledger=ledger, again=True)
    assert len(ledger.entries()) == 2


@pytest.mark.parametrize("unit", [ONE, "rows_per_unit = 8"])
def test_an_audit_of_drawn_rows_says_not_testable(tmp_path, unit):
    """The rows that were drawn are not known: nothing is refuted, and what was not tested is named."""
    release = publish(
        read_table(rows(200), schema()),
        Anatomy(l_value=2),
        tmp_path / "release",
        seed=3,
        accept="singled-out",
    )
    found = audit(release, read_table(rows(200), schema(unit)), seed=1)
    assert not found.is_refuted
    assert not found.law_checks
    assert any("not testable" in each.reason for each in found.skipped)
    assert "not testable" in str(found)


def test_a_release_that_breaks_its_promise_is_refuted_although_rows_were_drawn(tmp_path):
    """What can be checked without the private rows still is: l = 3 of a table published with l = 2."""
    release = publish(read_table(rows(200), schema()), Generalization(k=2), tmp_path / "release", seed=3)
    manifest = release.manifest
    stated = ({**manifest.guarantees[0], "k": 150}, *manifest.guarantees[1:])
    path = tmp_path / "release" / "datapackage.json"
    text = json.dumps(manifest.model_copy(update={"guarantees": stated}).to_descriptor())
    path.write_text(text, encoding="utf-8")
    damaged = load_release(tmp_path / "release")
    found = audit(damaged, read_table(rows(200), schema()), seed=1)
    assert found.is_refuted


class Sending(LocalRunner):
    """Sends tasks and splits as another machine would get them."""

    def map(self, task, splits):
        """Through bytes."""
        return super().map(pickle.loads(pickle.dumps(task)), pickle.loads(pickle.dumps(list(splits))))


def test_tasks_that_draw_can_be_sent(tmp_path, small_splits):
    """Where tasks run elsewhere; nothing is left on the disk when the engine is closed."""
    source = files(tmp_path, rows(60))["parquet"]
    before = sorted(tmp_path.iterdir())
    table = read_table(source, schema(), engine=SplitEngine(Sending(tmp_path)))
    assert table.number_of_rows == 60
    assert sorted(tmp_path.iterdir()) != before
    table.close()
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("method", "goal"), [("anatomy", {"l_value": 2}), ("splu-gen", {"wanted_error_probability": 0.6})]
)
def test_calibrating_refuses_what_publishing_would(method, goal):
    """A design that cannot be published is not chosen; with one row of each it is."""
    with pytest.raises(ParameterError, match="rows_per_unit = 1"):
        choose(method, goal, schema(""))
    assert choose(method, goal, schema()).design


def test_a_comparison_that_is_gone_on_with_draws_the_same_rows(tmp_path):
    """The seed in the folder draws them; without units drawn again, its rows would be others."""

    def compared():
        table = read_table(rows(200), schema())
        designs = [RAW, Candidate("anatomy", "anatomy", {"l_value": 2})]
        return compare_designs(table, tmp_path / "out", candidates=designs, repeats=3, queries=10, workers=0)

    first, second = compared(), compared()
    assert first.seed == second.seed
    assert first.to_dict("data", "schema") == second.to_dict("data", "schema")


def test_a_report_is_not_held_against_all_rows(tmp_path):
    """Their counts are no truth about the drawn ones."""
    release = publish(
        read_table(rows(60), schema()), Anatomy(l_value=2), tmp_path / "release", accept="singled-out"
    )
    with pytest.raises(ParameterError, match="drawn from each person"):
        write_report(release, tmp_path / "report.html", against=read_table(rows(60), schema()))
    assert not (tmp_path / "report.html").exists()
