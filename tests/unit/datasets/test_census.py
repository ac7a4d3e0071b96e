"""The census-like generator: domains, skew, dependence, determinism, refusals."""

from __future__ import annotations

import errno
import tomllib
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from sfumato.datasets import census, get_card, make_dataset
from sfumato.datasets import census_population as census_draw
from sfumato.datasets.census import census_batches
from sfumato.errors import ParameterError
from sfumato.schema import Role, Schema

DOMAIN_SIZES = {
    "age": 77,
    "sex": 2,
    "education": 14,
    "marital": 6,
    "race": 9,
    "workclass": 7,
    "country": 69,
    "occupation": 50,
    "salary": 50,
}
"""As the literature on publishing census extracts prints them."""

GOLDEN_ROWS = [
    {
        "age": "25",
        "sex": "Male",
        "education": "Grade 10",
        "marital": "Never married",
        "race": "White",
        "workclass": "Private company",
        "country": "Australia",
        "occupation": "Construction labourer",
        "salary": "20-24k",
    },
    {
        "age": "40",
        "sex": "Female",
        "education": "Master degree",
        "marital": "Never married",
        "race": "White",
        "workclass": "Private company",
        "country": "United States",
        "occupation": "Registered nurse",
        "salary": "44-48k",
    },
]
"""The first rows of seed 2024, as the first version drew them."""

BLOCK = census_draw.ROWS_PER_BLOCK


@pytest.fixture(scope="module")
def table():
    """Two blocks and a bit, so that a block's edge lies inside."""
    return pa.Table.from_batches(census_batches(300_000, 11, 100_000))


def codes_of(table, name):
    """Codes of a column, in the order of the shipped categories."""
    column = table[name].combine_chunks()
    return column.indices.to_numpy()


def cramers_v(first, second):
    """Cramer's V of two columns of codes, from the chi-squared statistic of their table."""
    counts = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(counts, (first, second), 1)
    expected = counts.sum(1, keepdims=True) * counts.sum(0) / counts.sum()
    chi_squared = ((counts - expected) ** 2 / np.where(expected, expected, 1)).sum()
    return np.sqrt(chi_squared / counts.sum() / (min(counts.shape) - 1))


@pytest.mark.parametrize(("name", "size"), DOMAIN_SIZES.items())
def test_every_category_of_the_literatures_domains_occurs(table, name, size):
    """Each attribute has the stated number of categories, and all of them are found in the rows."""
    assert len(np.unique(codes_of(table, name))) == size


def test_the_shipped_schema_lists_exactly_the_categories_drawn(table):
    """Names, order and categories of the schema are those of the columns."""
    attributes = tomllib.loads(get_card("census").read_schema())["attributes"]
    assert list(attributes) == table.column_names
    for name, attribute in attributes.items():
        dictionary = table[name].chunk(0).dictionary.to_pylist()
        assert attribute["categories"] == dictionary


def test_the_shipped_schema_is_one_that_sfumato_reads():
    """The schema parses, with occupation and salary sensitive."""
    schema = Schema.from_toml(get_card("census").read_schema())
    assert [each.name for each in schema.with_role(Role.SENSITIVE)] == ["occupation", "salary"]


def test_one_country_dominates_and_the_rest_is_a_long_tail(table):
    """The largest country holds over three quarters of the rows; most hold under a thousandth."""
    shares = np.sort(np.bincount(codes_of(table, "country")))[::-1] / table.num_rows
    assert shares[0] > 0.75
    assert (shares < 0.001).sum() > 69 / 2


@pytest.mark.parametrize(
    ("first", "second", "level"),
    [
        ("education", "occupation", 0.3),
        ("sex", "occupation", 0.4),
        ("age", "marital", 0.3),
        ("race", "country", 0.3),
        ("occupation", "workclass", 0.3),
        ("country", "education", 0.1),
    ],
)
def test_attributes_that_belong_together_depend_strongly(table, first, second, level):
    """Cramer's V of each natural pair is above the stated level."""
    assert cramers_v(codes_of(table, first), codes_of(table, second)) > level


def test_occupation_explains_most_of_the_salary(table):
    """Over 60 % of the variance of the salary band lies between occupations."""
    salaries = codes_of(table, "salary").astype(float)
    jobs = codes_of(table, "occupation")
    means = np.bincount(jobs, salaries) / np.bincount(jobs)
    assert means[jobs].var() / salaries.var() > 0.6


def test_attributes_drawn_apart_do_not_depend(table):
    """Race and sex share no parent, so their Cramer's V is that of chance (under 0.01)."""
    # Under independence n V^2 is chi-squared with 8 degrees of freedom: 0.01 means 30, p = 0.0002.
    assert cramers_v(codes_of(table, "race"), codes_of(table, "sex")) < 0.01


def test_doctors_earn_more_than_cashiers(table):
    """The dependence has the direction a reader expects."""
    salaries = codes_of(table, "salary")
    occupations = np.asarray(table["occupation"].to_pylist())
    median = {job: np.median(salaries[occupations == job]) for job in ("Physician", "Cashier", "Lawyer")}
    assert median["Physician"] > median["Lawyer"] > median["Cashier"]


def test_the_same_seed_gives_the_same_rows():
    """Two runs agree value by value."""
    first, second = (pa.Table.from_batches(census_batches(1000, 5, 1000)) for _ in range(2))
    assert first.equals(second)


def test_another_seed_gives_other_rows():
    """The seed matters."""
    first, second = (pa.Table.from_batches(census_batches(1000, seed, 1000)) for seed in (5, 6))
    assert not first.equals(second)


def test_blocks_of_one_seed_differ():
    """No block repeats another one's random stream."""
    drawing = census_draw.prepare_drawing()
    first, second = (drawing.draw_block(seed=5, block=block)["age"] for block in (0, 1))
    assert (first == second).mean() < 0.1


def test_rows_of_a_seed_stay_the_same_over_versions():
    """Published numbers name a seed, so the rows of a seed must never change unnoticed."""
    first = next(census_batches(2, 2024, 2)).to_pylist()
    assert first == GOLDEN_ROWS


def test_a_shorter_table_is_the_beginning_of_a_longer_one():
    """Fewer rows of the same seed are a prefix, across the edge of a block."""
    short = pa.Table.from_batches(census_batches(BLOCK + 10, 5, BLOCK))
    long = pa.Table.from_batches(census_batches(2 * BLOCK, 5, BLOCK))
    assert long.slice(0, short.num_rows).equals(short)


@pytest.mark.parametrize("rows_per_batch", [999, BLOCK, BLOCK + 1, 3 * BLOCK])
def test_batches_have_the_size_asked_for_and_the_same_rows(rows_per_batch):
    """The size of batches changes where the rows are cut and nothing else."""
    rows = BLOCK + 2000
    batches = list(census_batches(rows, 5, rows_per_batch))
    assert {batch.num_rows for batch in batches[:-1]} <= {rows_per_batch}
    assert 0 < batches[-1].num_rows <= rows_per_batch
    whole = next(census_batches(rows, 5, rows))
    assert pa.Table.from_batches(batches).combine_chunks().equals(pa.Table.from_batches([whole]))


def test_columns_are_dictionary_coded_text():
    """Each column is coded text with codes that pandas takes as well."""
    batch = next(census_batches(10, 5, 10))
    assert {str(field.type) for field in batch.schema} == {
        "dictionary<values=string, indices=int8, ordered=0>"
    }
    assert batch.to_pandas().shape == (10, 9)


def test_memory_does_not_grow_with_rows():
    """A table of a trillion rows starts at once, and holds at most a few blocks."""
    before = pa.total_allocated_bytes()
    batches = census_batches(10**12, 5, BLOCK)
    assert [batch.num_rows for batch in islice(batches, 5)] == [BLOCK] * 5
    batches.close()
    assert pa.total_allocated_bytes() - before < 5 * BLOCK * len(DOMAIN_SIZES)


def test_tickets_are_shared_out_in_proportion_and_leave_no_category_out():
    """Counts are within one of the exact share; positive weights keep a ticket, zero gets none."""
    shared = census_draw.TicketTable.share_out(np.array([[1.0, 2.0, 1e-12, 0.0, 1.0]]))
    counts = np.bincount(shared.categories, minlength=5)
    assert counts.sum() == 65_536
    assert counts[2:4].tolist() == [1, 0]
    assert np.abs(counts[[0, 1, 4]] - np.array([16_384, 32_768, 16_384])).max() <= 2


@pytest.mark.parametrize("name", ["people.parquet", "people.csv", "PEOPLE.CSV"])
def test_both_formats_hold_the_same_rows(tmp_path, name):
    """What is written reads back as what was drawn."""
    made = make_dataset("census", 5000, 5, tmp_path / name)
    if made.data.suffix == ".parquet":
        read = parquet.read_table(made.data)
    else:
        types = csv.ConvertOptions(column_types=dict.fromkeys(DOMAIN_SIZES, pa.string()))
        read = csv.read_csv(made.data, convert_options=types)
    assert read.to_pylist() == next(census_batches(5000, 5, 5000)).to_pylist()
    assert made.rows == 5000


def test_parquet_is_zstd_and_coded(tmp_path):
    """Every column chunk is compressed with zstd and has a dictionary page."""
    made = make_dataset("census", 1000, 5, tmp_path / "people.parquet")
    group = parquet.ParquetFile(made.data).metadata.row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    assert {column.compression for column in columns} == {"ZSTD"}
    assert all(column.has_dictionary_page for column in columns)


def test_csv_needs_no_quoting():
    """No category holds a character that a CSV file would have to quote."""
    text = "".join(label for labels in census_draw.CATEGORIES.values() for label in labels)
    assert not set(text) & set(",\"'\r\n")


def test_the_schema_is_written_beside_the_data(tmp_path):
    """The file stem names the schema, and nothing else is left in the folder."""
    made = make_dataset("census", 10, 5, tmp_path / "people.parquet")
    assert made.schema == tmp_path / "people.schema.toml"
    assert made.schema.read_text(encoding="utf-8") == get_card("census").read_schema()
    assert sorted(tmp_path.iterdir()) == sorted([made.data, made.schema])


def test_progress_counts_the_rows_written(tmp_path):
    """The callback sees a growing number that ends at the number of rows."""
    seen = []
    make_dataset("census", 2 * BLOCK + 1, 5, tmp_path / "people.parquet", progress=seen.append)
    assert seen == [BLOCK, 2 * BLOCK, 2 * BLOCK + 1]


@pytest.mark.parametrize(
    ("rows", "seed", "parameter"),
    [
        (0, 1, "rows"),
        (-5, 1, "rows"),
        (1.5, 1, "rows"),
        (True, 1, "rows"),
        ("10", 1, "rows"),
        (10, -1, "seed"),
        (10, 2**64, "seed"),
        (10, None, "seed"),
    ],
)
def test_impossible_numbers_are_refused_before_anything_is_written(tmp_path, rows, seed, parameter):
    """The error names the parameter, what is allowed and what was given."""
    with pytest.raises(ParameterError, match=f"{parameter} must be a whole number") as caught:
        make_dataset("census", rows, seed, tmp_path / "people.csv")
    assert caught.value.parameter == parameter
    assert repr(rows if parameter == "rows" else seed) in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_batch_needs_at_least_one_row():
    """The check is made at the call, not at the first batch."""
    with pytest.raises(ParameterError, match="rows_per_batch"):
        census_batches(10, 1, 0)


@pytest.mark.parametrize("name", ["people.xlsx", "people", "people.parquet.gz"])
def test_other_suffixes_are_refused(tmp_path, name):
    """The sentence names both formats."""
    with pytest.raises(ParameterError, match=r"\.parquet or \.csv"):
        make_dataset("census", 10, 5, tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["people.csv", "people.schema.toml"])
def test_an_existing_output_is_left_alone(tmp_path, name):
    """Neither the data nor the schema is ever overwritten."""
    (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(ParameterError, match="already exists"):
        make_dataset("census", 10, 5, tmp_path / "people.csv")
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text(encoding="utf-8") == "mine"


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    """The sentence names the folder."""
    with pytest.raises(ParameterError, match="absent' does not exist"):
        make_dataset("census", 10, 5, tmp_path / "absent" / "people.csv")


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
@pytest.mark.parametrize("interruption", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_run_leaves_nothing(tmp_path, name, interruption):
    """Whatever stops the writing, no part of a file stays."""

    def stop(_rows):
        raise interruption

    with pytest.raises(interruption):
        make_dataset("census", 10, 5, tmp_path / name, progress=stop)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_a_sentence_and_leaves_nothing(tmp_path, monkeypatch):
    """The operating system's refusal becomes a ParameterError without a trace on the disk."""
    batch = next(census_batches(10, 1, 10))

    def fill(_rows, _seed):
        yield batch
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(census, "_draw_blocks", fill)
    with pytest.raises(ParameterError, match=r"could not be written \(No space left on device\)"):
        make_dataset("census", 10, 5, tmp_path / "people.csv")
    assert not list(tmp_path.iterdir())
