"""Promises about classes judge rows and releases by themselves, also those of another package."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from samples import SCHEMA, people
from sfumato import load_release, publish, read_table
from sfumato.data.chunks import CodedBatch
from sfumato.errors import ParameterError
from sfumato.guarantees import GUARANTEES
from sfumato.guarantees import class_criteria as class_counts
from sfumato.guarantees.base import Guarantee
from sfumato.guarantees.k_anonymity import KAnonymity, LDiversity, TCloseness
from sfumato.methods.base import METHODS
from sfumato.methods.generalization.design import Generalization
from sfumato.schema import Attribute, Role, Schema

TOY = '''
"""No lone value: whoever holds a value shares it with somebody of the class."""

from typing import ClassVar, Literal

import numpy as np

from sfumato.guarantees.class_criteria import SensitiveCriterion


class NoLoneValue(SensitiveCriterion):
    """Every value that occurs in a class occurs there at least twice."""

    guarantee: Literal["no-lone-value"] = "no-lone-value"
    protected_unit: ClassVar[str] = "the sensitive value of one row"
    neighbours: ClassVar[str] = "two rows of a class with the same value"
    attacker: ClassVar[str] = "knows a person's class"
    reference: ClassVar[str] = "made up for a test"
    sentence: ClassVar[str] = "No value of a class is held by one row alone."
    plain_words: ClassVar[str] = "Whoever holds a value shares it with somebody."

    def classes_that_hold(self, counts, overall):
        return (np.asarray(counts) != 1).all(axis=1)
'''


@pytest.fixture
def toy_package(tmp_path, monkeypatch):
    """An installed package that brings a criterion along by entry point."""
    home = tmp_path / "installed"
    (home / "toy_promises-1.0.dist-info").mkdir(parents=True)
    (home / "toy_promises.py").write_text(TOY)
    (home / "toy_promises-1.0.dist-info" / "METADATA").write_text("Name: toy-promises\nVersion: 1.0\n")
    entry = "[sfumato.guarantees]\nno-lone-value = toy_promises\n"
    (home / "toy_promises-1.0.dist-info" / "entry_points.txt").write_text(entry)
    monkeypatch.syspath_prepend(home)
    # Members are looked for once; this test comes later, and leaves no trace.
    monkeypatch.delitem(GUARANTEES.__dict__, "members", raising=False)
    yield GUARANTEES.get("no-lone-value")
    GUARANTEES.__dict__.pop("members", None)


@pytest.mark.parametrize("search", ["mondrian", "full-domain"])
def test_a_criterion_of_another_package_is_searched_for_promised_and_judged(toy_package, search, tmp_path):
    """One file elsewhere, no line here: the search keeps it, the manifest states it, the release is judged by it."""
    table = read_table(people(60), SCHEMA)
    form = {"guarantee": "no-lone-value", "attribute": "region"}
    design = METHODS.make("generalization", {"k": 2, "search": search, "criteria": [form]})
    release = publish(table, design, tmp_path / "r", seed=1, accept=("singled-out",))
    assert release.manifest.method["criteria"] == [form]
    stored = dict(release.manifest.method)
    assert METHODS.make(stored.pop("method"), stored) == design
    promise = load_release(release.folder).guarantees[-1]
    assert isinstance(promise, toy_package)
    assert promise.judge(release).holds
    # With k alone the classes are finer, and some value of some class stands alone.
    plain = publish(
        table, Generalization(k=2, search=search), tmp_path / "plain", seed=1, accept=("singled-out",)
    )
    assert not promise.judge(plain).holds


def test_a_criterion_is_taken_as_a_value_too(tmp_path):
    """Of one attribute only, beside the parameters that speak of all sensitive ones."""
    design = Generalization(k=5, l_value=2, criteria=(TCloseness(attribute="region", t=0.2),))
    assert [type(each) for each in design.guarantees(SCHEMA)] == [KAnonymity, LDiversity, TCloseness]
    release = publish(read_table(people(500), SCHEMA), design, tmp_path / "r", seed=1)
    assert all(each.judge(release).holds for each in release.guarantees)
    assert 'criteria = [{attribute = "region", guarantee = "t-closeness", t = 0.2' in design.to_toml()


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        ([{"guarantee": "t-closenes", "attribute": "job", "t": 0.1}], "did you mean 't-closeness'"),
        ([{"guarantee": "t-closeness", "attribute": "job", "t": 3.0}], "less than or equal to 1"),
        ([{"guarantee": "belief-growth", "growth": 0.1}], "classes of rows, and belief-growth is none"),
        ([{"attribute": "job"}], "no guarantee 'None'"),
    ],
)
def test_what_is_no_criterion_is_refused(criteria, message):
    """When the design is made, with what would be one."""
    with pytest.raises(ParameterError, match=message):
        Generalization(k=2, criteria=criteria)


@pytest.mark.parametrize(
    ("criterion", "message"),
    [
        (TCloseness(attribute="age", t=0.1), "'age', which is no published attribute beside"),
        (TCloseness(attribute="person", t=0.1), "'person', which is no published attribute beside"),
        (KAnonymity(k=3, quasi_identifiers=("age", "region")), "equal on 'region', which is no quasi-id"),
    ],
)
def test_a_criterion_that_does_not_fit_the_classes_is_refused(criterion, message):
    """It must be about the classes that are made, and about something that varies within them."""
    with pytest.raises(ParameterError, match=message):
        Generalization(k=2, criteria=(criterion,)).guarantees(SCHEMA)


def test_a_fixed_recoding_takes_no_criteria():
    """It drops classes by k alone; a criterion of t = 0 is one too."""
    with pytest.raises(ParameterError, match="criteria needs a search"):
        Generalization(k=2, search="fixed", criteria=(TCloseness(attribute="job", t=0.1),))
    with pytest.raises(ParameterError, match="t needs a search"):
        Generalization(k=2, search="fixed", t=0.0)


def test_a_second_size_can_be_asked_for():
    """A criterion that watches no attribute needs no sensitive one."""
    schema = Schema(attributes=SCHEMA.select(["sex", "age"]))
    table = read_table(people(60).select(["sex", "age"]), schema)
    twelve = KAnonymity(k=12, quasi_identifiers=("sex",))
    design = Generalization(k=2, criteria=(twelve,), search="full-domain")
    assert design.recode(table).sizes.min() >= 12
    assert Generalization(k=2, search="full-domain").recode(table).sizes.min() < 12


def published(batches, *, integers=(), others=()):
    """A release of one table over (place, job), and of other tables."""
    place = Attribute(name="place", role=Role.QUASI_IDENTIFIER, categories=("x", "y", "z"))
    job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b"))
    schema = Schema(attributes=(job,) if integers else (place, job))
    rows = sum(len(next(iter(codes.values()))) for codes in batches)
    main = SimpleNamespace(name="main", schema_of_attributes=schema, integers=integers, number_of_rows=rows)

    def scan(table, names):
        assert table == "main"
        for codes in batches:
            columns = {name: np.asarray(codes[name]) for name in names}
            yield CodedBatch(columns, len(next(iter(columns.values()))))

    return SimpleNamespace(tables=[*others, main], scan=scan)


def test_classes_are_counted_over_all_batches():
    """Two rows of a class may come in different batches."""
    release = published([{"place": [0, 1], "job": [0, 0]}, {"place": [1, 0], "job": [1, 0]}])
    two = KAnonymity(k=2, quasi_identifiers=("place",))
    assert two.judge(release).sentence == "0 of 2 classes of published rows break the promise"
    assert not KAnonymity(k=3, quasi_identifiers=("place",)).judge(release).holds
    # Both people of place x have job a.
    verdict = LDiversity(attribute="job", l_value=2).judge(release)
    assert (verdict.holds, verdict.sentence[:6]) == (False, "1 of 2")


def test_rows_that_two_tables_share_a_number_for_are_a_class():
    """As the buckets of two tables; numbers that only one table has are none."""
    other = SimpleNamespace(
        name="rows",
        schema_of_attributes=Schema(
            attributes=(Attribute(name="place", role=Role.QUASI_IDENTIFIER, categories=("x", "y")),)
        ),
        integers=("bucket",),
    )
    rows = [{"bucket": [7, 7, 2**62, 2**62], "job": [0, 1, 0, 0], "count": [1, 2, 3, 4]}]
    release = published(rows, integers=("bucket", "count"), others=(other,))
    verdict = LDiversity(attribute="job", l_value=2).judge(release)
    assert verdict.sentence.startswith("1 of 2 ")
    alone = published(rows, integers=("bucket", "count"))
    assert LDiversity(attribute="job", l_value=1.3).judge(alone).sentence.startswith("0 of 1 ")


def test_what_no_table_shows_is_not_judged():
    """Neither an attribute that is not published, nor a promise about an algorithm."""
    release = published([{"place": [0], "job": [0]}])
    assert LDiversity(attribute="pay", l_value=2).judge(release) is None
    assert GUARANTEES.make("belief-growth", {"growth": 0.5}).judge(release) is None


def test_many_classes_are_judged_in_turns(monkeypatch):
    """Whatever the number of counts that are held at a time."""
    draw = np.random.default_rng(3)
    batches = [{"place": draw.integers(0, 3, 40), "job": draw.integers(0, 2, 40)} for _ in range(5)]
    promises = (
        LDiversity(attribute="job", l_value=1.9),
        TCloseness(attribute="job", t=0.04),
        KAnonymity(k=64, quasi_identifiers=("place",)),
    )
    whole = [promise.judge(published(batches)) for promise in promises]
    for limit in (
        "CELLS_AT_ONCE",
        "DENSE_CELLS_AT_ONCE",
        "ROWS_WAITING_AT_ONCE",
        "KEYS_WAITING_AT_ONCE",
        "COMBINATIONS_AT_ONCE",
    ):
        monkeypatch.setattr(f"sfumato.guarantees.class_criteria.{limit}", 2)
        assert [promise.judge(published(batches)) for promise in promises] == whole


def test_classes_judged_in_turns_are_compared_with_all_rows(monkeypatch):
    """Three places, nine rows of one job and one of the other in each: as in the whole table, and far from half and half."""
    batches = [{"place": np.repeat(np.arange(3), 10), "job": np.tile([0] * 9 + [1], 3)}]
    for limit in ("DENSE_CELLS_AT_ONCE", "KEYS_WAITING_AT_ONCE", "COMBINATIONS_AT_ONCE"):
        monkeypatch.setattr(f"sfumato.guarantees.class_criteria.{limit}", 2)
    verdict = TCloseness(attribute="job", t=0.04).judge(published(batches))
    assert (verdict.holds, verdict.sentence[:6]) == (True, "0 of 3")
    # Exactly as in the whole table: no row more of either job.
    assert TCloseness(attribute="job", t=0).judge(published(batches)).holds


def test_a_few_rows_more_than_fit_are_judged_in_turns_too(monkeypatch):
    """Five rows where four fit: two of each of two places, and one alone."""
    for limit in (
        "DENSE_CELLS_AT_ONCE",
        "ROWS_WAITING_AT_ONCE",
        "KEYS_WAITING_AT_ONCE",
        "COMBINATIONS_AT_ONCE",
    ):
        monkeypatch.setattr(f"sfumato.guarantees.class_criteria.{limit}", 4)
    release = published([{"place": np.array([0, 0, 1, 1, 2]), "job": np.array([0, 1, 0, 1, 0])}])
    verdict = LDiversity(attribute="job", l_value=2).judge(release)
    assert (verdict.holds, verdict.sentence[:6]) == (False, "1 of 3")


def test_rows_are_told_apart_where_their_numbers_exceed_a_word():
    """As digits of one number of 64 bits, the first two rows would be the same: 2^24 times 2^40 is 0 there."""
    rows = np.array([[2**24, 0], [0, 0], [0, 2**40 - 1], [2**24, 0]])
    numbers = class_counts._numbered(rows)
    assert numbers[0] == numbers[3]
    assert len(set(numbers.tolist())) == 3


def test_design_files_and_settings_state_criteria(tmp_path):
    """What the manifest stores, TOML says too."""
    from sfumato.cli.parameters import member_from

    text = '[{guarantee = "t-closeness", attribute = "job", t = 0.2}]'
    design = member_from(METHODS, "generalization", ["k=3", f"criteria={text}"])
    assert design.criteria == (TCloseness(attribute="job", t=0.2),)
    assert json.loads(json.dumps(design.to_dict()))["criteria"][0]["t"] == 0.2


CRITERIA = (
    KAnonymity(k=4, quasi_identifiers=("place",)),
    *(
        LDiversity(attribute="job", l_value=l_value, variant=variant, c=2.0)
        for variant in ("fraction", "distinct", "entropy", "recursive")
        for l_value in (1.5, 2, 2.5)
    ),
    *(TCloseness(attribute="job", t=0.3, ground=ground) for ground in ("equal", "ordered")),
    GUARANTEES.make("beta-likeness", {"attribute": "job", "beta": 0.6}),
    GUARANTEES.make("delta-disclosure", {"attribute": "job", "bound": 0.9}),
)


@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda each: each.sentence[:40])
def test_classes_survive_what_the_criterion_says_they_survive(criterion):
    """Random pairs of classes: a search that skips by this declaration may not skip an answer."""
    draw = np.random.default_rng(8)
    first, second = draw.integers(0, 6, (2, 4_000, 3)) + np.eye(3, dtype=int)[0]
    overall = np.array([30, 20, 10])
    if criterion.watched is None:
        first, second = (each.sum(axis=1, keepdims=True) for each in (first, second))
    keeps = [criterion.classes_that_hold(each, overall) for each in (first, second)]
    merged = criterion.classes_that_hold(first + second, overall)
    starting = keeps[0] if criterion.survives_merging == "any" else keeps[0] & keeps[1]
    assert criterion.survives_merging != "none"
    assert starting.any()
    assert merged[starting].all()
    # What is declared is all there is: where only pairs that both keep it are safe, others break it.
    if criterion.survives_merging == "keeping":
        assert not merged[keeps[0]].all()


def test_promises_hold_of_tables_where_tables_can_judge_them():
    """Those about draws say so: tables alone cannot tell."""
    for each in GUARANTEES.members.values():
        assert each.holds_of_tables == (each.judge is not Guarantee.judge), each


def test_a_law_gives_less_only_by_a_promise_of_the_same_kind():
    """A closeness of the same attribute says nothing of its diversity; a smaller diversity does."""
    release = published([{"place": [0] * 6, "job": [0, 1] * 3}])
    release.schema = release.tables[0].schema_of_attributes
    two = LDiversity(attribute="job", l_value=2)
    assert two.follows_from((TCloseness(attribute="job", t=0.1),), release)
    assert not two.follows_from((LDiversity(attribute="job", l_value=1.5),), release)
    assert LDiversity(attribute="job", l_value=1.5).follows_from((two,), release)
