"""What every method of ours must do besides what ``test_honesty.py`` asks of all: files, seeds, leaks."""

from __future__ import annotations

import copy
import importlib
import itertools
import json
import time

import numpy as np
import pyarrow as pa
import pytest

from array_tables import published
from samples import SCHEMA, people
from sfumato import load_release, publish, read_table
from sfumato.custody.plan import plan
from sfumato.errors import DataError, NotIdentifiableError, TooLargeError
from sfumato.estimates.counts import CountTable
from sfumato.methods.base import METHODS
from sfumato.methods.planning import ExpectedErrors
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.randomness.distortion import DenseDistortion
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute, Schema

MEMBERS = list(METHODS.members.items())
each_method = pytest.mark.parametrize(("name", "method"), MEMBERS, ids=[name for name, _ in MEMBERS])

MAY_VARY = {"sha256", "hash", "number_of_rows", "checksum"}
"""Published statistics: these may differ between tables that differ in one person."""


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """One seeded release by the example design of every method, made when first asked for."""
    folder = tmp_path_factory.mktemp("conformance")
    made = {}

    def release_of(name):
        if name not in made:
            table = read_table(people(2_000), SCHEMA)
            made[name] = publish(table, METHODS.get(name).example(SCHEMA), folder / name, seed=11)
        return made[name]

    return release_of


@each_method
def test_the_public_name_is_the_file_name(name, method):
    """With hyphens for underscores; a folder when it takes several files."""
    home = f"sfumato.methods.{name.replace('-', '_')}"
    assert f"{method.__module__}.".startswith(f"{home}.")


@each_method
def test_the_manifest_says_what_holds_of_every_release(name, method, releases):
    """Shared assumptions first, then the method's own; its weaknesses, citations and promises word for word."""
    manifest = releases(name).manifest
    assert manifest.assumptions[:2] == ("Every person has one row.", "The private table is published once.")
    assert len(set(manifest.assumptions)) == len(manifest.assumptions)
    assert (manifest.weaknesses, manifest.citations) == (method.weaknesses, method.citations)
    assert releases(name).guarantees == method.example(SCHEMA).guarantees(SCHEMA)


@each_method
def test_the_release_opens_again_as_it_was(name, method, releases):
    """Law and guarantees are read back equal."""
    again = load_release(releases(name).folder)
    assert again.law == releases(name).law
    assert again.guarantees == releases(name).guarantees
    assert all(each.sentence and each.plain_words for each in again.guarantees)
    assert again.law.sentence


@each_method
def test_every_published_attribute_can_be_asked_about(name, method, releases):
    """An estimate with a standard error and an interval around it, or a reason why there is none."""
    release = releases(name)
    for attribute in release.schema.attributes:
        try:
            table = release.counts([attribute.name])
        except NotIdentifiableError as refusal:
            assert len(str(refusal)) > 20
            continue
        low, high = table.intervals()
        assert np.isfinite(table.values).all()
        assert np.isfinite(table.std_errors).all()
        assert (low <= table.values.ravel() + 1e-9).all()
        assert (table.values.ravel() <= high + 1e-9).all()


@each_method
def test_an_answer_without_error_is_the_truth(name, method, tmp_path):
    """A standard error of zero claims exactness, so it may only stand where the number is exact."""
    table = read_table(people(300), SCHEMA)
    release = publish(table, method.example(SCHEMA), tmp_path / "small", seed=4)
    names = [each.name for each in release.schema.attributes]
    for by in [
        *itertools.combinations(names, 1),
        *itertools.combinations(names, 2),
        *itertools.combinations(names, 3),
    ]:
        try:
            answered = release.counts(by)
        except NotIdentifiableError:
            continue
        truth = table.count_by(by).counts
        certain = np.array([each is None or each[0] == each[1] for each in answered.bounds()])
        claimed = (answered.std_errors == 0) & certain.reshape(truth.shape)
        assert np.allclose(answered.values[claimed], truth[claimed], atol=1e-6), by


@each_method
def test_consistent_counts_are_not_negative(name, method, releases):
    """Whatever else they are."""
    release = releases(name)
    for attribute in release.schema.attributes:
        try:
            assert (release.consistent_counts([attribute.name]).values >= -1e-9).all()
        except NotIdentifiableError as refusal:
            assert len(str(refusal)) > 20


@each_method
def test_a_plan_needs_no_data_and_marks_what_it_computes_from_data(name, method):
    """Without a table nothing is private; with one, what was computed from it says so."""
    design = method.example(SCHEMA)
    public = plan(design, SCHEMA, 2_000).tables
    assert public
    assert not any(each.is_private for each in public)
    with_data = plan(design, SCHEMA, 2_000, table=read_table(people(2_000), SCHEMA)).tables
    assert any(each.is_private for each in with_data)
    assert {each.title for each in public if not each.is_private} <= {each.title for each in with_data}


@each_method
def test_what_is_said_to_be_alike_is_alike(name, method, releases):
    """Counts that trade places trade errors: a plan then tries one category for all of them."""
    law = releases(name).law
    for attribute in SCHEMA.publishable.attributes:
        if not law.treats_alike(attribute.name):
            continue
        counts = np.arange(1, attribute.size + 1) * 240.0
        try:
            errors = law.expected_standard_errors(CountTable((attribute,), counts))
        except NotIdentifiableError:
            continue
        turned = law.expected_standard_errors(CountTable((attribute,), counts[::-1]))
        assert turned[::-1] == pytest.approx(errors, rel=1e-9)


def test_a_matrix_of_ones_own_is_tried_category_by_category():
    """The largest error is that of the third category, which is kept least often."""
    matrix = [[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.2, 0.2, 0.6]]
    law = PerturbedRows(distortions={"job": DenseDistortion(rows=matrix)})
    job = Attribute(name="job", role="sensitive", categories=("a", "b", "c"))
    assert not law.treats_alike("job")
    (alone, _) = ExpectedErrors(law, Schema(attributes=(job,)), 900, lambda _: True).by_share()
    alike = [law.expected_standard_errors(CountTable((job,), np.full(3, 300.0)))[code] for code in range(3)]
    assert alone.rows[0][-1] == pytest.approx(max(alike))
    assert max(alike) > alike[0] * 1.05


@each_method
def test_a_plan_grows_with_the_categories(name, method):
    """One category is tried for all that are alike: each by itself, 30,000 of them took minutes."""
    many = Attribute(name="town", role="sensitive", categories=tuple(map(str, range(30_000))))
    sex = Attribute(name="sex", role="quasi-identifier", categories=("F", "M"))
    schema = Schema(attributes=(sex, many))
    started = time.process_time()
    assert plan(method.example(schema), schema, 1_000_000).tables
    assert time.process_time() - started < 20


MANY = 5_000
"""Categories: more than any law lays out all pairs of."""


@pytest.mark.filterwarnings("ignore:the release is empty")
@each_method
def test_many_categories_can_be_asked_about(name, method, tmp_path):
    """One of them alone, and with another attribute: an answer, or a refusal that says what can be asked, at little cost."""
    rng = np.random.default_rng(1)
    codes = np.concatenate([np.arange(MANY), rng.integers(0, MANY, 3 * MANY)])
    labels = [f"town {number}" for number in codes]
    rows = pa.table({"sex": rng.choice(["F", "M"], len(codes)), "town": labels})
    town = Attribute(
        name="town", role="sensitive", categories=tuple(f"town {number}" for number in range(MANY))
    )
    sex = Attribute(name="sex", role="quasi-identifier", categories=("F", "M"))
    schema = Schema(attributes=(sex, town))
    release = publish(read_table(rows, schema), method.example(schema), tmp_path / "release", seed=1)
    started = time.process_time()
    for asked in ("town = 'town 7'", "town IN ('town 7', 'town 8')", "sex = 'F' AND town = 'town 7'"):
        try:
            answer = release.query(asked)
        except (NotIdentifiableError, TooLargeError) as refusal:
            assert "town" in str(refusal) or "categories" in str(refusal)
            assert "sex" in asked
        else:
            assert np.isfinite([answer.estimate, answer.std_error]).all()
    assert len(release.counts(["town"]).values) == MANY
    assert time.process_time() - started < 20


@each_method
def test_a_seed_reproduces_and_its_absence_does_not(name, method, releases, tmp_path):
    """Same seed, same bytes; no seed, new entropy."""
    design = method.example(SCHEMA)
    again = publish(read_table(people(2_000), SCHEMA), design, tmp_path / "again", seed=11)
    assert again.manifest == releases(name).manifest
    fresh = publish(read_table(people(2_000), SCHEMA), design, tmp_path / "fresh")
    assert fresh.manifest.tables[0].sha256 != again.manifest.tables[0].sha256
    assert not fresh.manifest.reproducible


def without_published_statistics(value):
    """A descriptor without what may vary."""
    if isinstance(value, dict):
        return {key: without_published_statistics(each) for key, each in value.items() if key not in MAY_VARY}
    if isinstance(value, list):
        return [without_published_statistics(each) for each in value]
    return value


@each_method
def test_one_person_more_or_less_changes_no_word_of_the_manifest(name, method, releases, tmp_path):
    """Two tables that differ in one person have the same manifest outside the published statistics."""
    rows = people(2_000)
    changed = rows.set_column(4, "job", pa.array(["Other", *rows["job"].to_pylist()[1:]]))
    other = publish(read_table(changed, SCHEMA), method.example(SCHEMA), tmp_path / "other", seed=11)
    manifests = [
        without_published_statistics(json.loads((each.folder / "datapackage.json").read_text()))
        for each in (releases(name), other)
    ]
    assert manifests[0] == manifests[1]


@each_method
def test_the_same_noise_makes_the_same_rows(name, method):
    """So that an audit can run a method again."""
    table = read_table(people(2_000), SCHEMA)
    first, second = (
        published(method.example(SCHEMA).publish(table, NoiseSource.seeded(3)), table, NoiseSource.seeded(3))
        for _ in range(2)
    )
    assert all(np.array_equal(first.codes[column], second.codes[column]) for column in first.codes)


@each_method
def test_unknown_values_are_refused_without_a_trace(name, method, tmp_path, capfd, caplog):
    """The message, the terminal and the logs hold no cell, and no folder is left."""
    rows = people(500)
    for column in ("sex", "age", "region", "job"):
        place = rows.column_names.index(column)
        cells = [str(each) for each in rows[column].to_pylist()]
        broken = rows.set_column(place, column, pa.array([*cells[:-1], "SECRET-MARKER"]))
        with pytest.raises(DataError) as caught:
            publish(read_table(broken, SCHEMA), method.example(SCHEMA), tmp_path / "out" / "r", seed=1)
        assert repr(column) in str(caught.value)
        seen = [str(caught.value), repr(caught.value), caplog.text, *capfd.readouterr()]
        error = copy.copy(caught.value)
        while error is not None:
            seen.append(repr(error))
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        assert not any("MARKER" in text for text in seen)
        assert not list((tmp_path / "out").glob("*"))


@each_method
def test_identifiers_are_nowhere_in_a_release(name, method, releases):
    """Neither the column's name nor a cell."""
    release = releases(name)
    assert "person" not in release.schema
    for path in release.folder.iterdir():
        assert b"person-" not in path.read_bytes()


@each_method
def test_the_module_is_light(name, method):
    """Methods are listed on every start, so a module may not import heavy packages by itself."""
    source = importlib.import_module(method.__module__).__file__
    heavy = ("scipy", "sklearn", "kmedoids", "duckdb", "pyarrow")
    with open(source, encoding="utf-8") as file:  # noqa: PTH123 - a module's own file
        tops = [line.split()[1].split(".")[0] for line in file if line.startswith(("import ", "from "))]
    assert not set(tops) & set(heavy)
