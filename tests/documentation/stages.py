"""What lies in the folder that a page is run in: the private table, schema and releases which its text takes for granted."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow.csv

import sfumato

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
NOT_RUN = {
    "command-line.md",
    "errata.md",
    "mutants.md",
    "coverage.md",
    "performance.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
}
"""Pages without commands of their own: their blocks are differences, formulas, drawings, and the examples of help texts, which tests/unit/cli holds."""
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    if page.name not in NOT_RUN
    and page.parent.name != "decisions"
    and "```" in page.read_text(encoding="utf-8")
]
ROWS = 800
JOBS = ("Sales", "Tech", "Care", "Farm", "Other")
SCHEMA = """
[attributes.sex]
role = "quasi-identifier"
categories = ["Female", "Male"]

[attributes.age]
role = "quasi-identifier"
bins = [17, 25, 35, 55, 91]

[attributes.region]
role = "quasi-identifier"
categories = ["North", "South", "East"]

[attributes.work]
role = "quasi-identifier"
categories = ["State", "City", "Private"]

[attributes.opinion]
role = "other"
categories = ["agree", "neutral", "disagree"]

[attributes.hours]
role = "other"
bins = [0, 20, 40, 60]

[attributes.income]
role = "other"
categories = ["low", "high"]

[attributes.{secret}]
role = "sensitive"
categories = {jobs}
"""
LONG = """
[long]
unit = "{unit}"
item = "{item}"
{value}
[attributes.{unit}]
role = "identifier"

[attributes.{item}]
role = "sensitive"
categories = {items}
"""


@dataclass(frozen=True)
class Stage:
    """A page's folder: the name of the secret, the designs of its releases by folder, and which table is published."""

    secret: str = "occupation"
    releases: dict[str, sfumato.Design] = field(default_factory=dict)
    table: str = "people"
    rows: int = ROWS
    jobs: tuple[str, ...] = JOBS


MARGINALS = sfumato.NoisyMarginals(epsilon=20.0, marginals=(("sex", "age", "occupation"),))
RESPONSE = sfumato.RandomizedResponse(retention=0.9)
DECOYS = sfumato.SPLUGen(gamma=2)
FRAGMENTS = sfumato.ColumnizedCounts(k=2, epsilon=20.0, delta=0.01, columns=2, schema_share=0.0)
ANALYSIS = Stage(releases={"release": RESPONSE})
STAGES = {
    "README.md": Stage(),
    "docs/analysis/classifiers.md": Stage(releases={"release": RESPONSE, "other-release": RESPONSE}),
    "docs/analysis/impute.md": Stage(releases={"release": RESPONSE}, rows=3_000),
    "docs/analysis/means.md": Stage("job", releases={"release": RESPONSE}),
    "docs/analysis/questions.md": Stage("job", releases={"release": RESPONSE}),
    "docs/analysis/recommend.md": Stage(releases={"release": FRAGMENTS}, table="ratings"),
    "docs/analysis/rules.md": Stage(releases={"release": RESPONSE}, table="receipts"),
    "docs/analysis/shrinkage.md": Stage(releases={"release": MARGINALS}),
    "docs/attacks/anatomy-naive-bayes.md": Stage(releases={"release": sfumato.Anatomy(l_value=2)}),
    "docs/attacks/averaging.md": Stage(releases=dict.fromkeys(["release", "second", "third"], DECOYS)),
    "docs/attacks/itemset-breach.md": Stage(releases={"release": RESPONSE}, table="receipts"),
    "docs/attacks/outside-linking.md": Stage(releases={"release": sfumato.Generalization(k=5)}),
    "docs/attacks/ratio.md": Stage(releases={"release": MARGINALS}),
    "docs/audit.md": Stage(releases=dict.fromkeys(["release", "first", "second"], RESPONSE), rows=300),
    "docs/attacks/scale-factor.md": Stage(
        releases={"release": sfumato.SamplePerturbScale(retention=0.5, cap="group")}
    ),
    "docs/attacks/small-sum.md": Stage(releases={"release": DECOYS}, rows=200),
    "docs/attacks/sparse-linking.md": Stage(releases={"release": FRAGMENTS}, table="ratings"),
    "docs/ledger.md": Stage("job"),
    "docs/methods/generalization.md": Stage(),
    "docs/methods/noisy-marginals.md": Stage(),
    "docs/methods/splu-gen.md": Stage("job", jobs=("Sales", *(f"job {number}" for number in range(20)))),
}
"""Pages that need something else than :data:`ANALYSIS` (under ``analysis`` and ``attacks``) or a table alone."""


def prepare(page: Path) -> dict[str, Any]:
    """Fill the working directory for a page; gives the names that its Python blocks begin with."""
    name = str(page.relative_to(ROOT))
    if "howto" in page.parts or page.name == "tutorial.md":
        return {"sfumato": sfumato}
    folder_of = page.parent.name
    stage = STAGES.get(name, ANALYSIS if folder_of in {"analysis", "attacks"} else Stage("job"))
    _people(stage)
    _baskets("receipts", "receipt", "article", ["bread", "butter", "milk"])
    _baskets("ratings", "user", "movie", ["Alien", "Heat", *(f"film {each}" for each in range(12))], "rating")
    if stage.table == "ratings":
        Path("known-ratings.csv").rename("known.csv")
    names = _names(stage)
    for number, (folder, design) in enumerate(stage.releases.items()):
        names[folder.replace("-", "_")] = sfumato.publish(
            names["private"], design, folder, seed=number, say=lambda _: None, accept=("singled-out",)
        )
    return names


def _names(stage: Stage) -> dict[str, Any]:
    schema = "people.toml" if stage.table == "people" else f"{stage.table}.schema.toml"
    private = sfumato.read_table(f"{stage.table}.csv", schema)
    people = sfumato.read_table("people.csv", "people.toml")
    records = [{"sex": "Female", "age": "[17,25)"}, {"sex": "Male", "age": "[25,35)"}]
    # Rows of a session are taken by their Arrow stream here; tests/spark has a real one.
    session = SimpleNamespace(table=lambda _: pyarrow.csv.read_csv("people.csv"))
    return {
        "sfumato": sfumato,
        "private": private,
        "table": people,
        "schema": people.schema,
        "publish": sfumato.publish,
        "people": records,
        "session": session,
        "my_fit": _share,
        "noisy_counts": np.array([30.0, -2.0, 1.0, 0.0, 12.0, -1.0]),
        "scale": 2.0,
    }


def _share(draw: Any) -> tuple[float, float]:
    sexes = draw.to_arrow().column("sex").to_pylist()
    women = sexes.count("Female") / len(sexes)
    return women, women * (1 - women) / len(sexes)


def _people(stage: Stage) -> None:
    secret, rows, jobs = stage.secret, stage.rows, stage.jobs
    draw = np.random.default_rng(11)
    sex = draw.choice(["Female", "Male"], rows)
    tilt = np.linspace(0.7, 1.3, len(jobs)) / len(jobs)
    job = np.where(sex == "Female", draw.choice(jobs, rows, p=tilt), draw.choice(jobs, rows, p=tilt[::-1]))
    age = draw.integers(17, 91, rows)
    # What nobody has, for knowledge that rules it out.
    job[(sex == "Male") & (age < 25) & (job == "Other")] = "Sales"
    columns = {
        "sex": sex,
        "age": age,
        "region": draw.choice(["North", "South", "East"], rows),
        "work": draw.choice(["State", "City", "Private"], rows),
        "opinion": draw.choice(["agree", "neutral", "disagree"], rows),
        "hours": draw.integers(0, 60, rows),
        "income": draw.choice(["low", "high"], rows),
        secret: job,
    }
    _write("people.csv", columns)
    halves = {name: values[:200] for name, values in columns.items()}
    _write("last-year.csv", halves)
    _write("others.csv", halves)
    _write("known.csv", {name: halves[name] for name in ("sex", "age", "region")})
    _write("impossible.csv", {"sex": ["Male"], "age": [20], secret: ["Other"]})
    for name in ("people.toml", "schema.toml"):
        Path(name).write_text(
            SCHEMA.replace("{secret}", secret).replace("{jobs}", str(list(jobs))), encoding="utf-8"
        )
    Path("sex.csv").write_text("0.9,0.1\n0.1,0.9\n", encoding="utf-8")
    Path("matrix.csv").write_text(
        "\n".join(",".join(str(0.92 if a == b else 0.02) for b in jobs) for a in jobs), encoding="utf-8"
    )
    Path("work.csv").write_text(
        "State;Government;*\nCity;Government;*\nPrivate;Private;*\n", encoding="utf-8"
    )


def _baskets(name: str, unit: str, item: str, items: list[str], value: str = "") -> None:
    draw = np.random.default_rng(5)
    has = draw.random((300, len(items))) < 0.6
    has[:, 0] |= ~has.any(axis=1)
    units, which = np.nonzero(has)
    columns = {unit: [f"{unit}-{each}" for each in units], item: [items[each] for each in which]}
    schema = LONG.format(unit=unit, item=item, items=items, value=f'value = "{value}"\n' if value else "")
    if value:
        columns[value] = draw.integers(1, 6, units.size)
        schema += f'\n[attributes.{value}]\nrole = "sensitive"\ncategories = ["1", "2", "3", "4", "5"]\n'
        _write("known-ratings.csv", {"target": ["a", "a"], item: items[:2], value: [3, 4]})
    _write(f"{name}.csv", columns)
    for ending in ("schema.toml", "toml"):
        Path(f"{name}.{ending}").write_text(schema, encoding="utf-8")


def _write(name: str, columns: dict[str, Any]) -> None:
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
