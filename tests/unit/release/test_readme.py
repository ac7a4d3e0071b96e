"""The page that a release explains itself with: it says what each column is, and its code gives sfumato's numbers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from samples import SCHEMA, people
from sfumato import Anatomy, NoisyMarginals, RandomizedResponse, Schema, SPLUGen, publish, read_table

AWKWARD = Schema.from_toml(
    """
[attributes.sex]
role = "quasi-identifier"
categories = ["F", "M"]
description = "Sex | as stated"
[attributes."a \\"job\\" `x`"]
role = "sensitive"
categories = ["Ca're", "a\\\\b", "```", "Größe 😀"]
missing = "category"
description = "What they do"
measured_in = "main jobs"
"""
)
NAME = AWKWARD.names[1]


def awkward_rows(number=3_000):
    """Rows with labels that careless quoting would break."""
    draw = np.random.default_rng(5)
    labels = [*AWKWARD[NAME].labels[:-1], None]
    return pa.table(
        {
            "sex": draw.choice(["F", "M"], number),
            NAME: [labels[place] for place in draw.choice(5, number, p=[0.5, 0.2, 0.1, 0.1, 0.1])],
        }
    )


def blocks(folder, language):
    """The blocks of code in one language."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)\n```", text, flags=re.DOTALL)


MATRIX = [[0.6 if row == column else 0.1 for column in range(5)] for row in range(4)] + [
    [0.0, 0.1, 0.2, 0.3, 0.4]
]


DESIGNS = [RandomizedResponse(retention=0.4), RandomizedResponse(matrix={NAME: MATRIX})]


@pytest.mark.parametrize("format", ["parquet", "csv"])
@pytest.mark.parametrize("design", DESIGNS, ids=["uniform", "dense"])
def test_the_pandas_code_gives_the_numbers_of_the_law(tmp_path, design, format):
    """Run as it stands, in the folder, with nothing but pandas and numpy."""
    release = publish(
        read_table(awkward_rows(), AWKWARD), design, tmp_path / "release", seed=1, format=format
    )
    (code,) = blocks(release.folder, "python")
    asked = "import json; print(json.dumps([estimate.tolist(), std_error.tolist()]))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{asked}"],
        cwd=release.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    estimate, std_error = json.loads(done.stdout.splitlines()[-1])
    expected = release.counts([NAME])
    # Matrix inverses of size 5 by two routines agree to about 1e-12 of 3,000 rows.
    assert estimate == pytest.approx(expected.estimates.values, rel=1e-9, abs=1e-8)
    assert std_error == pytest.approx(expected.estimates.standard_errors, rel=1e-9, abs=1e-6)


def r_problems(code):
    """What is wrong with R code as far as brackets, quotes and statements go; R itself may not be installed."""
    problems, open_brackets = [], []
    for line in code.splitlines():
        rest = re.sub(r'"(?:[^"\\]|\\.)*"', "S", line)
        rest = rest.partition("#")[0]
        if '"' in rest:
            problems.append(f"a quote is not closed: {line}")
        for letter in rest:
            if letter in "([{":
                open_brackets.append(letter)
            elif letter in ")]}" and (
                not open_brackets or open_brackets.pop() + letter not in ("()", "[]", "{}")
            ):
                problems.append(f"a bracket closes nothing: {line}")
        if rest.strip() and not open_brackets and not re.match(r"\s*([A-Za-z_.]+ <- \S|print\()", rest):
            problems.append(f"no statement: {line}")
    return problems + (["brackets stay open"] if open_brackets else [])


@pytest.mark.parametrize("design", DESIGNS, ids=["uniform", "dense"])
def test_the_r_code_is_well_formed(tmp_path, design):
    """R is not needed to test: brackets and quotes balance, every line is a statement, numbers are the law's."""
    release = publish(read_table(awkward_rows(), AWKWARD), design, tmp_path / "release", seed=1)
    (code,) = blocks(release.folder, "r")
    assert r_problems(code) == []
    assert r_problems(code.replace(")", "", 1))
    assert r_problems(code.replace('"', "", 1))
    if written := re.search(r"distortion <- matrix\(c\((.*?)\)", code):
        numbers = [float(each) for each in written[1].split(", ")]
        assert np.reshape(numbers, (5, 5)) == pytest.approx(release.law.matrices()[NAME])
    else:
        retention, elsewhere = (
            float(re.search(rf"^{name} <- (\S+)", code, flags=re.MULTILINE)[1])
            for name in ("retention", "elsewhere")
        )
        matrix = release.law.distortions[NAME].dense()
        assert retention * np.eye(5) + elsewhere == pytest.approx(matrix)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed: apt-get install r-base-core")
@pytest.mark.parametrize("design", DESIGNS, ids=["uniform", "dense"])
def test_the_r_code_gives_the_numbers_of_the_law(tmp_path, design):
    """Run as it stands by R itself, in the folder, with nothing but what R comes with."""
    release = publish(read_table(awkward_rows(), AWKWARD), design, tmp_path / "release", seed=1, format="csv")
    (code,) = blocks(release.folder, "r")
    (tmp_path / "correction.R").write_text(
        f'{code}\ncat("ANSWER", sprintf("%.17g", c(estimate, std_error)), "\\n")\n', encoding="utf-8"
    )
    done = subprocess.run(
        ["Rscript", "--vanilla", str(tmp_path / "correction.R")],
        cwd=release.folder,
        capture_output=True,
        check=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    (answer,) = (line for line in done.stdout.decode().splitlines() if line.startswith("ANSWER"))
    numbers = [float(each) for each in answer.split()[1:]]
    expected = release.counts([NAME]).estimates
    assert numbers[:5] == pytest.approx(expected.values, rel=1e-9, abs=1e-8)
    assert numbers[5:] == pytest.approx(expected.standard_errors, rel=1e-9, abs=1e-6)


def test_columns_are_described_in_page_and_descriptor(tmp_path):
    """What a column means, in what it is measured, and that it must not be counted as it stands."""
    release = publish(
        read_table(awkward_rows(), AWKWARD), RandomizedResponse(retention=0.4), tmp_path / "r", seed=1
    )
    text = (release.folder / "README.md").read_text(encoding="utf-8")
    assert "What they do. Measured in main jobs." in text
    assert "Sex \\| as stated." in text
    assert "Do not count these columns as they stand" in text
    assert "not private" in text
    fields = json.loads((release.folder / "datapackage.json").read_text(encoding="utf-8"))["resources"][0][
        "schema"
    ]["fields"]
    assert fields[0]["description"] == "Sex | as stated. As it is."
    assert fields[1]["description"].startswith(
        "What they do. Measured in main jobs. Perturbed: the published value is not"
    )


@pytest.mark.parametrize(
    "design", [Anatomy(l_value=2), NoisyMarginals(epsilon=1), SPLUGen(gamma=2)], ids=lambda each: each.method
)
def test_every_method_explains_itself(tmp_path, design):
    """Promise, law and columns are on the page, whatever the method; code only where the law is a matrix."""
    release = publish(read_table(people(), SCHEMA), design, tmp_path / "release")
    text = (release.folder / "README.md").read_text(encoding="utf-8")
    assert release.law.sentence in text
    assert release.guarantees[0].plain_words[:40] in text
    assert all(f"`{name}`" in text for name in release.published_schema.names)
    assert blocks(release.folder, "python") == []
    assert "person-" not in text
