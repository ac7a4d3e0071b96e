"""Rows drawn from a release: by hand, by brute force, and refused where nothing says what a row may have been."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest

from published_rows import category_attribute
from sfumato import Anatomy, NoisyMarginals, RandomizedResponse, SamplePerturbScale, SPLUGen
from sfumato.analysis.imputation import (
    Hierarchical,
    Saturated,
    SeenRows,
    draw_shares,
    impute,
    pool,
    told_shares,
)
from sfumato.analysis.loglinear import Model
from sfumato.arrays import MixedRadix
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import NoSolutionError, NotIdentifiableError, ParameterError, QueryError, TooLargeError
from sfumato.schema import Role, Schema
from sfumato.testing import release_in_memory

A, B, Y = (
    category_attribute("a", 2, Role.QUASI_IDENTIFIER),
    category_attribute("bärte", 3, Role.QUASI_IDENTIFIER),
    category_attribute("y", 3, Role.SENSITIVE),
)
SCHEMA = Schema(attributes=(A, B, Y))


def table_of(rows):
    """Skewed, with one combination that nobody has; y goes with a."""
    draw = np.random.default_rng(3)
    a, b = (draw.random(rows) < 0.2).astype(np.int64), draw.choice(3, rows, p=[0.85, 0.15, 0])
    y = np.where(draw.random(rows) < 0.2 + 0.5 * a, 2, draw.choice(3, rows, p=[0.6, 0.38, 0.02]))
    return PrivateTable(CodedRows(SCHEMA, {"a": a, "bärte": b, "y": y}), SCHEMA, engine=ArrayEngine())


TABLE = table_of(4_000)


def published(design=None, seed=1):
    """Half of the answers about y kept, unless said otherwise."""
    return release_in_memory(TABLE, design or RandomizedResponse(retention=0.5), seed=seed)


def test_a_draw_has_the_published_rows_and_redraws_what_was_redrawn():
    """Unperturbed columns stay row by row; labels are the release's; the same seed gives the same rows, another does not."""
    release = published()
    found = impute(release, ["y", "a"], draws=3)
    frame = found[0].to_pandas()
    assert list(frame.columns) == ["y", "a"]
    assert len(frame) == len(found[0]) == 4_000
    codes = next(iter(release.scan("rows", ["a", "y"]))).codes
    assert frame["a"].cat.codes.tolist() == codes["a"].tolist()
    assert frame["y"].cat.codes.tolist() != codes["y"].tolist()
    assert frame.equals(impute(release, ["y", "a"], draws=3)[0].to_pandas())
    assert not frame.equals(found[1].to_pandas())
    assert not frame.equals(impute(release, ["y", "a"], draws=3, seed=1)[0].to_pandas())
    assert found[-1].place == 2
    with pytest.raises(IndexError):
        found[3]


def test_draws_are_around_what_the_law_estimates():
    """Cells of all draws together, within four standard errors of the unbiased estimates: wrong codes would be far off."""
    release = published()
    counts = release.counts(["a", "y"])
    cells = np.zeros((2, 3))
    drawn = impute(release, ["a", "y"], draws=20)
    for each in drawn:
        for batch in each.batches():
            np.add.at(cells, (batch.codes["a"], batch.codes["y"]), 1 / drawn.draws)
    off = (cells - counts.values) / counts.std_errors
    assert np.abs(off).max() < 4


def test_memory_does_not_hang_on_how_rows_come():
    """In batches of any size the same rows follow."""
    release = published()
    whole = impute(release, ["a", "y"], draws=2)[0].to_arrow().to_pydict()
    release.engine = ArrayEngine(rows_per_batch=17)
    assert impute(release, ["a", "y"], draws=2)[0].to_arrow().to_pydict() == whole


def test_chances_of_a_true_value_by_hand():
    """Bayes: share times the chance to be published so. Shares .5, .3, .2; retention .5 of three: .6667 and .1667."""
    seen = SeenRows.of(published(), ["y"], published().law.matrices())
    chances = seen.chances(np.array([[0.5, 0.3, 0.2]]))
    first = np.array([0.5 * 2 / 3, 0.3 / 6, 0.2 / 6])
    np.testing.assert_allclose(chances[0], first / first.sum(), rtol=1e-12)


def test_parameters_of_a_model_without_noise_by_hand():
    """Of independence, both margins have Dirichlet distributions: mean (count + prior) / (rows + prior), products between.

    4,000 draws: the mean of a share is within .006 of it (six standard errors), and cells are products of their margins
    exactly, in every draw.
    """
    schema = Schema(attributes=(A, Y))
    grid = np.indices((2, 3))
    model = Hierarchical.of(Model.read("a + y", schema), schema, {"a": grid[0], "y": grid[1]})
    counts = np.array([[10.0, 4.0, 1.0], [3.0, 2.0, 10.0]])
    assert model.prior_rows == 0.5 * (1 + 1 + 2)
    generator = np.random.default_rng(1)
    state, firsts = model.start(), []
    for _ in range(4_000):
        state = model.draw(state, counts, generator)
        table = state.reshape(2, 3)
        np.testing.assert_allclose(table, np.outer(table.sum(axis=1), table.sum(axis=0)), rtol=1e-9)
        firsts.append([table.sum(axis=1)[0], table.sum(axis=0)[0]])
    expected = [(15 + 1) / (30 + 2), (13 + 2 / 3) / (30 + 2)]
    np.testing.assert_allclose(np.mean(firsts, axis=0), expected, atol=0.008)
    assert Saturated(2, 3).prior_rows == 3


def test_draws_follow_the_posterior_by_brute_force():
    """Six rows of a binary answer, all published 1 with retention .6: all true rows enumerated, the share integrated.

    Posterior mean of the share from a grid of 20,000 points; 3,000 chains, within .012, five standard errors.
    """
    attribute = category_attribute("y", 2, Role.SENSITIVE)
    matrix = np.array([[0.8, 0.2], [0.2, 0.8]])
    shown = (1,) * 6
    grid = (np.arange(20_000) + 0.5) / 20_000
    weights = sum(
        math.prod(matrix[true, seen] for true, seen in zip(rows, shown, strict=True))
        * grid ** sum(rows)
        * (1 - grid) ** (6 - sum(rows))
        for rows in itertools.product((0, 1), repeat=6)
    ) / np.sqrt(grid * (1 - grid))
    expected = float((grid * weights).sum() / weights.sum())
    seen = SeenRows(
        (),
        (attribute.name,),
        MixedRadix([]),
        MixedRadix([2]),
        np.array([0]),
        np.array([0]),
        np.array([1]),
        np.array([6]),
        matrix,
        (0.36, 0.36),
    )
    generator = np.random.default_rng(1)
    drawn = [draw_shares(seen, Saturated(1, 2), 25, generator)[0, 1] for _ in range(3_000)]
    assert np.mean(drawn) == pytest.approx(expected, abs=0.012)
    # Had they been published as they are, the mean would be another.
    assert expected < 6.5 / 7 - 2 * 0.012


def test_what_rows_tell_by_hand():
    """A matrix of one retention on even shares keeps its square in every direction; the identity all."""
    matrix = 0.4 * np.eye(3) + 0.2
    assert told_shares(matrix, np.full(3, 1e6)) == pytest.approx((0.16, 0.16), abs=1e-6)
    assert told_shares(np.eye(4), np.full(4, 5.0)) == pytest.approx((1, 1))


def test_pooling_by_hand():
    """Rubin's example of five: mean 3, within 2, between 2.5: total 5, share 3/5, degrees 4 / .36."""
    found = pool([1, 2, 3, 4, 5], [2, 2, 2, 2, 2], names=["slope"], confidence_level=0.9)
    assert found.estimates[0] == 3
    assert found.std_errors[0] ** 2 == pytest.approx(2 + 1.2 * 2.5)
    assert found.missing_information[0] == pytest.approx(0.6)
    assert found.degrees[0] == pytest.approx(4 / 0.36)
    assert found.high[0] - 3 == pytest.approx(1.794 * math.sqrt(5), abs=2e-3)  # t table, 11.1 degrees, 95 %
    assert found.to_pandas()["name"].tolist() == ["slope"]
    assert "slope" in found.summary()
    # No draw differs from another: nothing is missing, and the quantile is the normal one.
    sure = pool([[3.0], [3.0]], [[4.0], [4.0]])
    assert sure.high[0] == pytest.approx(3 + 1.959964 * 2)
    assert pickle.loads(pickle.dumps(found)) == found
    for estimates, variances in (([1.0], [1.0]), ([1.0, 2.0], [1.0, -1.0]), ([1.0, math.nan], [1.0, 1.0])):
        with pytest.raises(ParameterError):
            pool(estimates, variances)
    with pytest.raises(ParameterError, match="names"):
        pool([1.0, 2.0], [1.0, 1.0], names=["a", "b"])


def test_a_declared_model_is_said():
    """What the draws are for, in the summary and in plain data."""
    found = impute(published(), model='a*y + a*"bärte"')
    assert found.names == ("a", "y", "bärte")
    assert found.model == 'a*y + a*"bärte"'
    assert "nothing beyond a*y" in found.congenial
    assert found.to_dict()["target"] == "population"
    assert "no model" in impute(published(), ["a", "y"]).congenial


def test_a_model_in_which_nothing_goes_together_draws_nothing_together():
    """The omitted product is gone from the draws, which is why the model is declared."""
    release = published()
    tables = {}
    for model in ("a + y", "a*y"):
        cells = np.zeros((2, 3))
        for each in impute(release, model=model, draws=20):
            for batch in each.batches():
                np.add.at(cells, (batch.codes["a"], batch.codes["y"]), 1)
        shares = cells / cells.sum(axis=1, keepdims=True)
        tables[model] = abs(shares[0, 2] - shares[1, 2])
    # In truth the shares differ by .5 * .78 = .39. Published rows, half of whose answers are kept, still pull each draw.
    assert tables["a*y"] > 0.3
    assert tables["a + y"] < 0.25


@pytest.mark.parametrize(
    "design",
    [
        Anatomy(l_value=2),
        SPLUGen(gamma=2),
        NoisyMarginals(epsilon=1.0, marginals=(("a", "y"),)),
        SamplePerturbScale(retention=0.5, relative_error=0.3, error_probability=0.3),
    ],
)
def test_other_laws_are_refused_with_their_sentence(design):
    """Only rows redrawn one by one say by themselves what they may have been."""
    release = published(design)
    with pytest.raises(NotIdentifiableError, match="true rows cannot be drawn") as refusal:
        impute(release)
    assert release.law.sentence in str(refusal.value)


def test_a_withheld_law_is_refused():
    """Nobody can tell what a published value may have been."""
    release = release_in_memory(TABLE, RandomizedResponse(retention=0.5), seed=1, withhold_law=True)
    with pytest.raises(NotIdentifiableError, match="withheld"):
        impute(release)


def test_too_little_is_refused_with_the_rows_that_would_do():
    """The prior would show; a smaller model passes."""
    release = published(RandomizedResponse(retention=0.08))
    with pytest.raises(NoSolutionError, match=r"About .* rows would do"):
        impute(release, ["a", "bärte", "y"])
    assert impute(release, "y").draws == 20
    with pytest.raises(NoSolutionError, match="steps each"):
        impute(published(RandomizedResponse(retention=0.03)), "y")


def test_too_much_is_refused():
    """What a row may have been, the model's table, and the time it would take."""
    wide = Schema(attributes=tuple(category_attribute(name, 50, Role.SENSITIVE) for name in "uvw"))
    draw = np.random.default_rng(1)
    codes = {name: draw.integers(0, 50, 500) for name in "uvw"}
    table = PrivateTable(CodedRows(wide, codes), wide, engine=ArrayEngine())
    release = release_in_memory(table, RandomizedResponse(retention=0.9), seed=1)
    with pytest.raises(TooLargeError, match="125,000"):
        impute(release)
    with pytest.raises(TooLargeError, match="2,500 combinations"):
        impute(release, ["u", "v"])


def test_misuse_is_explained():
    """Numbers out of range, nothing to draw, attributes twice, a model and attributes."""
    release = published()
    for draws in (1, 1_001):
        with pytest.raises(ParameterError, match="draws"):
            impute(release, draws=draws)
    with pytest.raises(ParameterError, match="seed"):
        impute(release, seed=-1)
    with pytest.raises(QueryError, match="true ones"):
        impute(release, ["a"])
    with pytest.raises(QueryError, match="nobody"):
        impute(release, ["nobody"])
    with pytest.raises(ParameterError, match="once"):
        impute(release, ["y", "y"])
    with pytest.raises(ParameterError, match="one of them"):
        impute(release, ["y"], model="a*y")


def test_files_are_plain_and_written_whole(tmp_path):
    """One Parquet file a draw, a page that says what they are; nothing is overwritten."""
    import pyarrow.parquet as pq

    found = published().impute(["a", "y"], draws=10)
    out = found.write(tmp_path / "draws")
    assert sorted(each.name for each in out.iterdir()) == [
        "README.md",
        *(f"draw-{place:02d}.parquet" for place in range(1, 11)),
    ]
    assert pq.read_table(out / "draw-03.parquet").to_pydict() == found[2].to_arrow().to_pydict()
    assert "Congenial with any analysis of a and y" in (out / "README.md").read_text(encoding="utf-8")
    with pytest.raises(ParameterError, match="already exists"):
        found.write(out)
    assert len(list(tmp_path.iterdir())) == 1
