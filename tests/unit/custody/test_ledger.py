"""What was released from which table, and what it adds up to."""

from __future__ import annotations

import re
import shutil
import stat
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from samples import SCHEMA, people
from sfumato import METHODS, load_release, publish, read_table
from sfumato.custody.ledger import Ledger, compose_entries
from sfumato.data.sources.columnar import ArrowData
from sfumato.data.sources.delimited import CsvFile
from sfumato.errors import LedgerError, PublishedBeforeError, SourceError
from sfumato.guarantees.differential_privacy import LocalDifferentialPrivacy
from sfumato.guarantees.small_sum_privacy import SmallSumPrivacy, averaged_over
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.noisy_marginals.design import NoisyMarginals
from sfumato.methods.randomized_response.design import RandomizedResponse
from sfumato.methods.sample_perturb_scale.design import SamplePerturbScale
from sfumato.methods.splu_gen.design import SPLUGen
from sfumato.schema import Schema


def only(*names):
    """The schema of some columns."""
    return Schema(attributes=SCHEMA.select(names))


@pytest.fixture
def ledger(tmp_path):
    """A new ledger."""
    return Ledger(tmp_path / "books" / "ledger.db")


@pytest.fixture
def table():
    """Private rows with an identifier."""
    return read_table(people(400), SCHEMA)


@pytest.fixture
def said():
    """What the ledger had to tell."""
    return []


@pytest.fixture
def again(tmp_path, table, ledger, said):
    """Publishes the table, or another, into a numbered folder."""

    def make(design=None, *, rows=table, **options):
        number = len(list(tmp_path.glob("release-*")))
        chosen = design or RandomizedResponse(retention=0.5)
        return publish(
            rows, chosen, tmp_path / f"release-{number}", ledger=ledger, say=said.append, **options
        )

    return make


def test_a_second_release_is_refused_with_what_it_would_cost(again, ledger):
    """The composed epsilon is twice that of one release."""
    first = again()
    epsilon = first.guarantees[0].epsilon
    with pytest.raises(PublishedBeforeError, match="neither deleted nor withdrawn") as refusal:
        again()
    assert f"{2 * epsilon:.4g}-local differential privacy" in str(refusal.value)
    assert str(first.folder) in str(refusal.value)
    assert "--again" in str(refusal.value)
    assert len(ledger.entries()) == 1


def test_another_order_and_other_columns_are_still_the_same_table(again):
    """Whatever part of the rows is published."""
    again()
    part = read_table(
        people(400).sort_by("age").select(["person", "sex", "job"]), only("person", "sex", "job")
    )
    with pytest.raises(PublishedBeforeError):
        again(rows=part)


def test_again_publishes_and_both_count(again, ledger):
    """What is accepted is written down too."""
    again()
    again(again=True)
    together = compose_entries(ledger.entries()).together
    assert isinstance(together[0], LocalDifferentialPrivacy)
    assert len(ledger.entries()) == 2


def test_a_deleted_release_no_longer_refuses_and_is_mentioned(again, said):
    """Its folder is gone; whether somebody has a copy, the custodian must know."""
    shutil.rmtree(again().folder)
    again()
    assert "no longer at" in said[0]


def test_a_withdrawn_release_no_longer_counts(again, ledger, said):
    """The custodian has said so."""
    again()
    ledger.withdraw(1)
    again()
    assert not said
    with pytest.raises(LedgerError, match="no entry 9"):
        ledger.withdraw(9)


def test_seeded_releases_never_touch_the_ledger(again, ledger):
    """They are not private anyway."""
    again(seed=1)
    assert not ledger.path.parent.exists()


def test_publishing_without_a_ledger_touches_none(table, tmp_path, monkeypatch):
    """Python's publish has none unless it is given."""
    monkeypatch.setenv("SFUMATO_LEDGER", str(tmp_path / "never.db"))
    publish(table, RandomizedResponse(retention=0.5), tmp_path / "plain")
    assert not (tmp_path / "never.db").exists()


def test_only_the_owner_can_read_ledger_and_key(again, ledger):
    """Mode 600, both; the key is not in the ledger."""
    again()
    for path in (ledger.path, ledger.path.with_suffix(".key")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ledger.key.hex().encode() not in ledger.path.read_bytes()


def test_no_private_value_is_in_the_ledger(again, ledger):
    """Neither a cell nor a count; the identifier's values least of all."""
    again()
    content = ledger.path.read_bytes()
    for marker in (b"person-1", b"Sales", b"Tech"):
        assert marker not in content


def test_a_lost_key_is_said(again, ledger):
    """Without it every table would look new."""
    again()
    ledger.path.with_suffix(".key").unlink()
    with pytest.raises(LedgerError, match="key"):
        again()


def test_a_failed_publication_leaves_no_entry(again, ledger, monkeypatch):
    """Nothing was released."""
    monkeypatch.setattr("sfumato.custody.publish.write_release", _fail)
    with pytest.raises(KeyboardInterrupt):
        again()
    assert ledger.entries() == ()


def _fail(*_, **__):
    raise KeyboardInterrupt


def test_an_entry_whose_release_was_never_written_does_not_count(again, ledger, table, tmp_path):
    """As a killed process leaves it."""
    again()
    first = ledger.entries()[0]
    ledger.withdraw(1)
    ledger.enter(tmp_path / "never", first.table, first.design, first.guarantees)
    again()
    assert [each.counts for each in ledger.entries()] == [False, False, True]


def identified(rows, seed=7, *, persons=None):
    """A table in which a person's identifier occurs nowhere else, or is given."""
    given = [sha256(str(number).encode()).hexdigest()[:12] for number in range(rows)]
    column = pa.array(given if persons is None else list(persons))
    return read_table(people(rows, seed=seed).set_column(0, "person", column), SCHEMA)


def test_shared_people_are_noticed(again):
    """Half of the people of another table are in the first."""
    again(rows=identified(400))
    with pytest.raises(PublishedBeforeError, match="about 400 people"):
        again(rows=identified(800, seed=9))


@pytest.mark.parametrize(
    "persons",
    [
        lambda rows, _seed: range(1, rows + 1),
        lambda rows, seed: 1_000 + np.random.default_rng(seed).choice(2 * rows, rows, replace=False),
        lambda rows, _seed: [f"P{each:04}" for each in range(rows)],
    ],
    ids=["row names", "dense subject numbers", "prefixed numbers"],
)
def test_serial_numbers_of_unrelated_tables_refuse_neither(again, said, persons):
    """It is said once, however many releases there were, that nothing can be told."""
    for number in range(6):
        rows = 400 + 50 * number
        said.clear()
        again(rows=identified(rows, seed=number, persons=persons(rows, number)))
    assert len(said) == 1
    assert said[0].startswith("cannot tell whether this table shares people with 5 earlier tables, last ")
    with pytest.raises(PublishedBeforeError):
        again(rows=identified(rows, seed=number, persons=persons(rows, number)))


def test_tables_that_share_the_row_numbers_of_r_alone_are_not_the_same(again):
    """Of as many rows; no column of the one is in the other."""
    for seed, name in enumerate(("sex", "job")):
        rows = people(300, seed=seed).select([name]).add_column(0, "rownames", pa.array(range(1, 301)))
        design = RandomizedResponse(retention=0.5, attributes=(name,))
        again(design, rows=read_table(rows, only(name)))


def test_deleted_releases_are_said_in_one_line(again, said):
    """However many there were."""
    for _ in range(4):
        said.clear()
        shutil.rmtree(again().folder)
    assert len(said) == 1
    assert "nor are 2 more" in said[0]


def test_without_an_identifier_it_says_that_it_cannot_tell(again, said):
    """Rather than that nobody is shared."""
    names = ["sex", "age", "job"]
    again(rows=read_table(people(400).select(names), only(*names)))
    again(rows=read_table(people(400, seed=9).select(names), only(*names)))
    assert "cannot tell whether this table shares people with an earlier table" in said[0]


def test_methods_without_a_rule_say_what_a_second_release_costs(again):
    """Anatomy has no epsilon to add up."""
    again(Anatomy(l_value=2))
    with pytest.raises(PublishedBeforeError, match="most people are certain after two releases"):
        again(Anatomy(l_value=2))


def test_central_epsilons_add_up(again):
    """Under one neighbouring relation."""
    again(NoisyMarginals(epsilon=1))
    with pytest.raises(PublishedBeforeError, match=r"1\.5-differential privacy"):
        again(NoisyMarginals(epsilon=0.5))


@pytest.mark.parametrize("name", list(METHODS.members))
def test_every_method_says_what_a_second_release_adds(name):
    """In a sentence."""
    assert METHODS.members[name].published_twice.endswith(".")


def test_a_file_that_is_no_ledger_is_refused(tmp_path, again, ledger):
    """And is left as it was."""
    ledger.path.parent.mkdir()
    ledger.path.write_text("this is a letter, not a ledger, and it is long enough to be read as a page " * 40)
    with pytest.raises(LedgerError, match="cannot be used"):
        again()


@pytest.mark.parametrize("is_pattern", [False, True])
@pytest.mark.parametrize("query", [None, "from data"])
def test_rows_that_changed_after_they_were_looked_up_are_not_published(tmp_path, ledger, is_pattern, query):
    """The release would be of other rows than the ledger says; another of those rows would then pass for the first."""
    schema = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
    (tmp_path / "earlier.csv").write_text("job\n" + "a\nb\nb\n" * 90, encoding="utf-8")
    design = RandomizedResponse(retention=0.5)
    publish(read_table(tmp_path / "earlier.csv", schema), design, tmp_path / "1", ledger=ledger)
    path = tmp_path / "people.csv"
    path.write_text("job\n" + "a\nb\n" * 100, encoding="utf-8")
    table = read_table(tmp_path / "peop*.csv" if is_pattern else path, schema, query=query)

    def meanwhile(_sentence):
        """The ledger tells of the earlier release after it looked these rows up, and before they are read to be published."""
        path.write_text("job\n" + "a\na\nb\n" * 100, encoding="utf-8")

    with pytest.raises(SourceError, match="changed between two readings"):
        publish(table, design, tmp_path / "2", ledger=ledger, say=meanwhile)
    assert not (tmp_path / "2").exists()
    assert sum(each.counts for each in ledger.entries()) == 1


COSTS = {
    "anatomy": (
        Anatomy(l_value=2),
        r"After 2 releases in buckets of 2, for 4 equally frequent values: 66\.7 %",
    ),
    "decoys": (
        SPLUGen(gamma=2),
        r"wrong by more than 30 % with probability 0\.\d+ in the last of 2 releases; the mean over them is with 0\.\d+",
    ),
    "samples": (
        SamplePerturbScale(retention=0.5, relative_error=0.3, error_probability=0.3),
        r"30 % off with probability 0\.\d+, and the mean over 2 with \d",
    ),
}


@pytest.mark.parametrize("name", list(COSTS))
def test_methods_without_an_epsilon_are_refused_with_a_number_of_their_own(name, again, ledger):
    """Computed for the design and the table at hand; a third release has another number, and the ledger says the same."""
    design, stated = COSTS[name]
    again(design)
    with pytest.raises(PublishedBeforeError, match=stated) as second:
        again(design)
    again(design, again=True)
    with pytest.raises(PublishedBeforeError) as third:
        again(design)
    assert re.search(r"After 3 releases|over 3 |of 3 releases", str(third.value))
    assert str(second.value) != str(third.value)
    assert re.search(stated, compose_entries(ledger.entries()).summary())


def test_averaging_releases_is_what_tied_attributes_are():
    """The numbers of one to four draws about the same small counts, as computed elsewhere: .241, .124, .066, .037."""
    promise = SmallSumPrivacy(gamma_by_attribute={"job": 10}, relative_error=0.3, largest_small_count=10)
    found = [averaged_over([promise] * releases, "job") for releases in (1, 2, 3, 4)]
    assert found == pytest.approx([0.241, 0.124, 0.066, 0.037], abs=5e-4)
    assert found[0] == promise.error_probability("job")


def test_epsilons_of_items_add_up(tmp_path, ledger):
    """Baskets published twice."""
    schema = Schema.from_toml(
        '[long]\nunit = "who"\nitem = "what"\n[attributes.who]\nrole = "unit"\n'
        '[attributes.what]\nrole = "sensitive"\ncategories = ["a", "b", "c"]\n'
    )
    rows = pa.table({"who": [f"u{n // 2}" for n in range(80)], "what": ["abc"[n % 3] for n in range(80)]})
    for number in range(2):
        table = read_table(rows, schema)
        publish(
            table,
            RandomizedResponse(retention=0.5),
            tmp_path / f"r{number}",
            ledger=ledger,
            again=True,
            say=str,
        )
    (one,) = load_release(tmp_path / "r0").guarantees
    (together,) = compose_entries(ledger.entries()).together
    assert together.epsilon == pytest.approx(2 * one.epsilon)


@pytest.mark.parametrize(
    "design", [RandomizedResponse(retention=0.5), Anatomy(l_value=2)], ids=lambda each: each.method
)
def test_rows_are_read_once_with_the_ledger_open(tmp_path, ledger, design, monkeypatch):
    """What passes by, or is at rest, is looked up; a file is not read a second time for it."""
    path, out, read = tmp_path / "people.csv", tmp_path / "out", []
    known = only("sex", "job")
    csv.write_csv(people(400).select(["sex", "job"]), path)
    opened = CsvFile.relation
    monkeypatch.setattr(
        CsvFile, "relation", lambda self, cursor: read.append(self.path) or opened(self, cursor)
    )
    publish(read_table(path, known), design, out, ledger=ledger)
    assert read.count(path) == 1
    with pytest.raises(PublishedBeforeError):
        publish(read_table(path, known), design, tmp_path / "second", ledger=ledger)
    assert not (tmp_path / "second").exists()
    assert len(list(tmp_path.iterdir())) == 3, "nothing half written is left"
    # The same rows from elsewhere, whose cells are looked up by reading them: it is the same table.
    with pytest.raises(PublishedBeforeError):
        publish(read_table(people(400), SCHEMA), design, tmp_path / "second", ledger=ledger)


@pytest.mark.parametrize("spoil", ["letters", "no key"])
def test_a_ledger_that_cannot_be_used_is_refused_before_rows_are_read(
    tmp_path, again, ledger, spoil, monkeypatch
):
    """Nobody waits for a release that could not be entered."""
    again()
    if spoil == "letters":
        ledger.path.write_text("this is a letter " * 400, encoding="utf-8")
    else:
        ledger.path.with_suffix(".key").unlink()
    monkeypatch.setattr(ArrowData, "relation", lambda *_: pytest.fail("rows are read"))
    with pytest.raises(LedgerError):
        again(again=True)
