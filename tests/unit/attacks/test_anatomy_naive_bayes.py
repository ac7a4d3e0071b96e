"""The attack on Anatomy releases, through the release."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato import RandomizedResponse, Schema, publish, read_table
from sfumato.attacks.anatomy_naive_bayes import AnatomyNaiveBayes
from sfumato.attacks.base import read_knowledge
from sfumato.errors import DataError, ParameterError
from sfumato.methods.anatomy.design import Anatomy

VALUES = 30
SCHEMA = Schema.from_toml(f"""
[attributes.sex]
role = "quasi-identifier"
categories = ["F", "M"]
[attributes.team]
role = "quasi-identifier"
categories = ["0", "1", "2", "3"]
[attributes.job]
role = "sensitive"
categories = {[f"j{number}" for number in range(VALUES)]}
""")


def table(values=6, rows=600):
    """A sensitive attribute that goes with the team; no man holds j5."""
    draw = np.random.default_rng(3)
    job = np.arange(rows) % values
    team = np.where(draw.random(rows) < 0.8, job % 4, draw.integers(0, 4, rows))
    return read_table(
        pa.table(
            {
                "sex": np.where(job == 5, "F", np.array(["F", "M"])[draw.integers(0, 2, rows)]),
                "team": [str(each) for each in team],
                "job": [f"j{each}" for each in job],
            }
        ),
        SCHEMA,
    )


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Buckets of three."""
    return publish(table(), Anatomy(l_value=3), tmp_path_factory.mktemp("attacked") / "r", seed=2)


def finding(result, name):
    """One headline number."""
    return result.findings[name]


def test_the_attacker_is_surer_than_promised(release):
    """On data built to be vulnerable."""
    result = AnatomyNaiveBayes().run(release)
    assert finding(result, "variant") == "exact"
    assert finding(result, "promised chance of a guess") == pytest.approx(1 / 3)
    assert finding(result, "mean probability of the guesses") > 0.5
    assert finding(result, "people") == 600


@pytest.mark.parametrize("variant", ["exact", "balanced", "restricted", "approximate", "gibbs", "random"])
def test_every_variant_runs_and_says_its_name(release, variant):
    """With tables and caveats."""
    result = AnatomyNaiveBayes(variant=variant, starts=2, sweeps=10).run(release)
    assert finding(result, "variant") == variant
    assert result.tables
    assert result.caveats
    assert ("arbitrary" in " ".join(result.caveats)) == (variant == "approximate")


def test_every_start_of_every_part_is_shown(release):
    """Five parts of four starts; what is stated is in bits, at most what the buckets leave open."""
    result = AnatomyNaiveBayes(starts=4).run(release)
    starts = next(each for each in result.tables if each.title.startswith("Starts"))
    assert [row[:2] for row in starts.rows] == [
        (part, start) for part in range(1, 6) for start in range(1, 5)
    ]
    assert 0 < finding(result, "learned about a person, bits") < np.log2(VALUES)


def test_beliefs_in_sample_say_that_they_are_too_sure(release):
    """They are kept to repeat the thesis."""
    result = AnatomyNaiveBayes(beliefs="in-sample").run(release)
    assert any("too sure" in sentence for sentence in result.caveats)
    assert "learned about a person, bits" not in result.findings


def test_auto_is_exact_only_where_that_takes_seconds(tmp_path):
    """Buckets of twelve are within the exact limit, and cost 2^12 steps a person, cycle and start."""
    made = publish(table(values=14, rows=3_600), Anatomy(l_value=12), tmp_path / "r", seed=1)
    assert finding(AnatomyNaiveBayes(starts=1, cycles=1).run(made), "variant") == "exact"
    assert finding(AnatomyNaiveBayes(tolerance=0.01).run(made), "variant") == "balanced"


@pytest.mark.parametrize(
    "setting",
    [{"starts": 10**9}, {"sweeps": 10**12}, {"cycles": 10**12}, {"learn_from": 1}, {"seed": -1}],
)
def test_numbers_that_would_never_end_are_refused(setting):
    """Where they are declared."""
    with pytest.raises(ParameterError, match="should be"):
        AnatomyNaiveBayes(**setting)


def test_a_seed_repeats_the_attack(release):
    """Random starts and ties included."""
    assert (
        AnatomyNaiveBayes(seed=4).run(release).to_dict() == AnatomyNaiveBayes(seed=4).run(release).to_dict()
    )


def test_ruling_out_l_minus_one_values_gives_certainty(release):
    """The last line of the table: one value is left."""
    result = AnatomyNaiveBayes().run(release)
    elimination = next(each for each in result.tables if "rule out" in each.title)
    assert [row[0] for row in elimination.rows] == [0, 1, 2]
    assert [row[1] for row in elimination.rows] == pytest.approx([1 / 3, 1 / 2, 1])
    assert elimination.rows[-1][2] == pytest.approx(1)
    assert all(row[2] >= row[1] - 1e-9 for row in elimination.rows)


def test_knowledge_rules_out_what_it_lists(release):
    """Who knows that no man holds j5 is surer, even without learning anything else."""
    knowledge = read_knowledge(pa.table({"sex": ["M"], "job": ["j5"]}), release.schema)
    random = AnatomyNaiveBayes(variant="random")
    before, after = random.run(release), random.run(release, knowledge)
    assert finding(after, "mean probability of the guesses") > finding(
        before, "mean probability of the guesses"
    )
    assert any("impossible" in sentence for sentence in after.caveats)


@pytest.mark.parametrize("variant", ["exact", "balanced", "gibbs"])
def test_every_learning_variant_takes_knowledge(release, variant):
    """And never guesses what was ruled out."""
    knowledge = read_knowledge(pa.table({"sex": ["M"], "job": ["j5"]}), release.schema)
    result = AnatomyNaiveBayes(variant=variant, starts=1, sweeps=10).run(release, knowledge)
    assert finding(result, "mean probability of the guesses") > 1 / 3


def test_knowledge_that_contradicts_the_release_is_refused(release):
    """Somebody holds j0."""
    knowledge = read_knowledge(pa.table({"job": ["j0"]}), release.schema)
    for variant in ("exact", "random", "gibbs"):
        with pytest.raises(DataError, match="without a possible assignment"):
            AnatomyNaiveBayes(variant=variant).run(release, knowledge)


def test_knowledge_without_the_sensitive_attribute_is_refused(release):
    """It would rule out nothing."""
    with pytest.raises(DataError, match="no column 'job'"):
        AnatomyNaiveBayes().run(release, read_knowledge(pa.table({"team": ["0"]}), release.schema))


def test_knowledge_with_a_column_of_its_own_is_refused(release):
    """Without that column its lines would rule out more than they say."""
    knowledge = read_knowledge(pa.table({"zip": ["1"], "sex": ["M"], "job": ["j5"]}), release.schema)
    with pytest.raises(DataError, match="column 'zip'"):
        AnatomyNaiveBayes().run(release, knowledge)


def test_equal_value_sets_are_diagnosed(tmp_path):
    """Three values in buckets of three."""
    made = publish(table(values=3), Anatomy(l_value=3), tmp_path / "r", seed=1)
    result = AnatomyNaiveBayes(starts=1).run(made)
    assert finding(result, "different sets of values in buckets") == 1
    assert any("nothing to learn" in sentence for sentence in result.caveats)
    assert finding(result, "mean probability of the guesses") == pytest.approx(1 / 3)


def test_large_buckets_say_which_variant_ran(tmp_path):
    """Above the exact limit the balanced one takes its place; asked for by name, exact is refused."""
    made = publish(table(values=30, rows=900), Anatomy(l_value=14), tmp_path / "r", seed=1)
    result = AnatomyNaiveBayes(starts=1).run(made)
    assert finding(result, "variant") == "balanced"
    assert any("too large for the exact variant" in sentence for sentence in result.caveats)
    with pytest.raises(ParameterError, match=r"at most 12, and one has 1[45]"):
        AnatomyNaiveBayes(variant="exact").run(made)


def test_other_laws_are_refused(tmp_path):
    """There are no buckets to read."""
    made = publish(table(), RandomizedResponse(retention=0.5), tmp_path / "r", seed=1)
    with pytest.raises(ParameterError, match="by randomized-response"):
        AnatomyNaiveBayes().run(made)
