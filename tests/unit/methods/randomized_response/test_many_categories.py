"""A perturbed attribute of many categories is published and asked without a matrix of the square of their number."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato import RandomizedResponse, Schema, load_release, publish, read_table
from sfumato.randomness.distortion import TwoValued

SIZE, ROWS = 3_000, 20_000
LARGEST_ENTRIES = 100 * SIZE
"""Of any matrix made on the way: the chosen columns are fewer than a hundred."""


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A sensitive attribute of many categories, each more frequent than the next."""
    labels = [f"c{place:04}" for place in range(SIZE)]
    draw = np.random.default_rng(4)
    codes = (SIZE * draw.random(ROWS) ** 3).astype(int)
    rows = pa.table({"code": [labels[code] for code in codes], "sex": draw.choice(["F", "M"], ROWS)})
    schema = Schema.from_dict(
        {
            "attributes": {
                "code": {"role": "sensitive", "categories": labels},
                "sex": {"role": "quasi-identifier", "categories": ["F", "M"]},
            }
        }
    )
    folder = tmp_path_factory.mktemp("many") / "release"
    with pytest.MonkeyPatch.context() as patch:
        forbid_squares(patch)
        publish(read_table(rows, schema), RandomizedResponse(retention=0.5), folder, seed=1)
    return folder


def forbid_squares(patch):
    """Make writing out a large matrix a failure."""
    written = TwoValued.dense

    def dense(self, size):
        made = written(self, size)
        assert made.size <= LARGEST_ENTRIES, "a matrix of the square of the categories was made"
        return made

    patch.setattr(TwoValued, "dense", dense)
    identity = np.eye

    def eye(number, *arguments, **settings):
        assert number**2 <= LARGEST_ENTRIES, "an identity of the square of the categories was made"
        return identity(number, *arguments, **settings)

    patch.setattr(np, "eye", eye)


@pytest.mark.parametrize(
    "ask",
    [
        lambda release: release.query("code = 'c0000' AND sex = 'F'"),
        lambda release: release.query("code != 'c0000'", target="population"),
        lambda release: release.query("code IN ('c0000', 'c0001', 'c2999')"),
        lambda release: release.queries(["code = 'c0000'", "code = 'c0001' AND sex = 'F'"])[1],
        lambda release: release.proportion("code = 'c0000'", given="sex = 'F'", target="population"),
        lambda release: release.proportion("sex = 'F'", given="code != 'c0000'"),
        lambda release: release.difference("code = 'c0000'", given="sex = 'F'", versus="sex = 'M'"),
    ],
)
def test_questions_take_no_square(release, monkeypatch, ask):
    """One question, many, shares and differences, about the table and about the population."""
    forbid_squares(monkeypatch)
    answer = ask(load_release(release))
    assert np.isfinite(answer.estimate)
    assert answer.std_error > 0


@pytest.mark.parametrize("target", ["table", "population"])
def test_tables_take_no_square(release, monkeypatch, target):
    """All categories at once, unbiased and consistent."""
    forbid_squares(monkeypatch)
    opened = load_release(release)
    table = opened.counts(["code", "sex"], target=target)
    assert table.estimates.values.sum() == pytest.approx(ROWS)
    assert len(list(table.cells())) == 2 * SIZE
    consistent = opened.consistent_counts(["code"])
    assert consistent.estimates.values.min() >= 0


def test_one_question_and_its_cell_agree(release):
    """The chosen column alone gives what the whole table has in that place."""
    opened = load_release(release)
    cell = next(cell for cell in opened.counts(["code", "sex"]).cells() if cell[0] == ("c0001", "F"))
    alone = opened.query("code = 'c0001' AND sex = 'F'")
    assert (alone.estimate, alone.std_error) == pytest.approx((cell[1], cell[2]))
