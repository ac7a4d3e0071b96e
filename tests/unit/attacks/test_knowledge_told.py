"""What an attack says of the outside records it was given, and where guesses about people go."""

from __future__ import annotations

import csv
import stat

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

from sfumato import Attribute, RandomizedResponse, Role, Schema, publish, read_table
from sfumato.attacks.base import read_knowledge
from sfumato.attacks.linking import Linking
from sfumato.cli.app import app
from sfumato.errors import TooLargeError
from sfumato.laws.shrinkage import LARGEST_LINKED
from sfumato.methods.anatomy.design import Anatomy

WIDE = 60
SCHEMA = Schema(
    attributes=(
        *(
            Attribute(name=name, role=Role.QUASI_IDENTIFIER, categories=tuple(map(str, range(WIDE))))
            for name in ("a", "b", "c", "d", "e", "f")
        ),
        Attribute(name="job", role=Role.SENSITIVE, categories=("x", "y", "z")),
    )
)
"""46 billion combinations of quasi-identifiers, of which a table has at most as many as rows."""

SMOOTHING = 4.0
"""For what does not hang on how far groups lean: finding that out takes a second."""


def wide_rows(rows=400):
    """Groups of people alike, whose job is the group's."""
    draw = np.random.default_rng(1)
    kinds = draw.integers(0, WIDE, (40, 6))
    kind = draw.integers(0, 40, rows)
    columns = {name: kinds[kind, place].astype(str).tolist() for place, name in enumerate(SCHEMA.names[:-1])}
    return pa.table({**columns, "job": np.array(["x", "y", "z"])[kind % 3].tolist()})


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Only the job is perturbed."""
    folder = tmp_path_factory.mktemp("wide") / "r"
    design = RandomizedResponse(retention={"job": 0.7})
    return publish(read_table(wide_rows(), SCHEMA), design, folder, seed=1)


def test_linking_works_on_the_combinations_that_occur(release):
    """46 billion cells, 40 of them occupied: beliefs of the groups are those of a table over the groups alone."""
    result = Linking().run(release)
    assert result.findings["targets"] == 400
    assert result.findings["expected right, names the likeliest value"] > 0.7
    posterior = Linking().posterior(release)
    assert posterior.beliefs.shape == (40, 3)


def test_occupied_groups_give_the_beliefs_of_the_whole_table(tmp_path):
    """Two quasi-identifiers as they are: nearly the same as one that names their combination.

    Apart they can also be leaned on one by one, which moves what is expected by a point or two (tolerance set after that was seen).
    """
    rows = wide_rows()
    both = [f"{a}-{b}" for a, b in zip(rows["a"].to_pylist(), rows["b"].to_pylist(), strict=True)]
    joined = Attribute(name="both", role=Role.QUASI_IDENTIFIER, categories=tuple(sorted(set(both))))
    schema = Schema(attributes=(*SCHEMA.select(["a", "b"]), joined, SCHEMA["job"]))
    table = rows.select(["a", "b", "job"]).append_column("both", [both])
    made = publish(
        read_table(table, schema), RandomizedResponse(retention={"job": 0.7}), tmp_path / "r", seed=1
    )
    apart = Linking(quasi_identifiers=("a", "b")).run(made).findings
    together = Linking(quasi_identifiers=("both",)).run(made).findings
    assert apart == pytest.approx(together, abs=0.02)


def test_too_many_perturbed_combinations_are_refused_by_name(tmp_path):
    """Any combination of perturbed attributes may be a target's, so all of them would be weighed."""
    design = RandomizedResponse(retention=dict.fromkeys(SCHEMA.names, 0.7))
    made = publish(read_table(wide_rows(), SCHEMA), design, tmp_path / "r", seed=1)
    with pytest.raises(TooLargeError, match=f"at most {LARGEST_LINKED:,} fit. Leave some of the perturbed"):
        Linking().run(made)


def known(release, **columns):
    """Outside records about the first person's kind."""
    first = wide_rows().slice(0, 1).to_pylist()[0]
    number = len(next(iter(columns.values()))) if columns else 1
    return {name: [first[name]] * number for name in SCHEMA.names[:-1]} | columns


def test_columns_used_and_not_used_are_named(release):
    """A column of the records that the release has not."""
    records = read_knowledge(pa.table(known(release, zip=["1", "2"])), release.schema)
    text = Linking(smoothing=SMOOTHING).run(release, records).summary()
    assert "columns a, b, c, d, e, f were used; zip were not." in text


def test_people_outside_the_schema_are_skipped_and_counted(release):
    """Two of three records fit; the value itself is not repeated."""
    first = known(release)["a"][0]
    records = read_knowledge(pa.table(known(release, a=[first, first, "marker-7"])), release.schema)
    result = Linking(smoothing=SMOOTHING).run(release, records)
    assert result.findings["targets"] == 2
    assert (
        "1 of 3 outside records have a value outside the release's schema and were skipped." in result.caveats
    )
    assert "marker-7" not in result.summary()


def test_people_whom_no_row_fits_are_left_out_and_counted(release):
    """Quasi-identifiers are published as they are, so such a person is not in the table."""
    first = known(release)["a"][0]
    other = str((int(first) + 1) % WIDE)
    records = read_knowledge(pa.table(known(release, a=[first, other])), release.schema)
    result = Linking(smoothing=SMOOTHING).run(release, records)
    assert result.findings["targets"] == 1
    assert any(each.startswith("1 people have values that no published row has") for each in result.caveats)


def test_guesses_about_people_go_to_a_private_file_and_nowhere_else(release, tmp_path):
    """Mode 600, and neither in the text nor in the plain data."""
    pa.csv.write_csv(pa.table(known(release)), tmp_path / "known.csv")
    target = tmp_path / "people.csv"
    asked = ["attack", str(release.folder), "--attack", "linking", "--knowledge", str(tmp_path / "known.csv")]
    done = CliRunner().invoke(app, [*asked, "--people", str(target), "--json"])
    assert done.exit_code == 0, done.output
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with target.open(encoding="utf-8", newline="") as file:
        (line,) = csv.DictReader(file)
    assert line["guessed job"] == wide_rows()["job"][0].as_py()
    assert float(line["probability"]) > 0.5
    assert "guessed job" not in done.output
    again = CliRunner().invoke(app, [*asked, "--people", str(target)])
    assert again.exit_code == 1


def test_an_attack_without_guesses_about_people_refuses_the_file(release, tmp_path):
    """Before a file is made."""
    asked = ["attack", str(release.folder), "--attack", "linking", "--people", str(tmp_path / "people.csv")]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code != 0
    assert not (tmp_path / "people.csv").exists()


def test_the_anatomy_attack_has_a_guess_for_everybody(tmp_path):
    """One line for each published row."""
    made = publish(read_table(wide_rows(), SCHEMA), Anatomy(l_value=2), tmp_path / "r", seed=1)
    from sfumato.attacks.anatomy_naive_bayes import AnatomyNaiveBayes

    people = AnatomyNaiveBayes(starts=1).run(made).people
    assert len(people.columns["guessed job"]) == 400
    assert "x" not in repr(people)
