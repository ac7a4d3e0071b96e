"""Attack every method on the same make-believe table, and write what was found into its page.

``python docs/method_figures.py`` takes half a minute of processor time and writes between the marks of ``docs/methods/*.md``; everything is seeded.
``figures(names)`` gives the numbers, so that a test can hold pages against a recomputation.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

import sfumato
from sfumato.datasets import make_dataset

DOCS = Path(__file__).parent
ROWS, SEED = 2_000, 3
PUBLIC, SECRET = ("sex", "education", "marital"), "occupation"
MARKS = re.compile(r"(<!-- attacked: begin -->\n).*?(<!-- attacked: end -->)", re.DOTALL)

DESIGNS: dict[str, sfumato.Design] = {
    "randomized-response": sfumato.RandomizedResponse(retention=0.5),
    "sample-perturb-scale": sfumato.SamplePerturbScale(retention=0.5),
    "splu-gen": sfumato.SPLUGen(gamma=4),
    "distribution-resampling": sfumato.DistributionResampling(),
    "anatomy": sfumato.Anatomy(l_value=4),
    "generalization": sfumato.Generalization(k=10),
    "noisy-marginals": sfumato.NoisyMarginals(epsilon=1.0),
    "columnized-counts": sfumato.ColumnizedCounts(k=10, epsilon=1.0, delta=1e-5),
}
"""A middling design of each method."""
SHOWN = ("retention", "gamma", "l_value", "k", "epsilon", "delta")
CATEGORIES = 50


def figures(names: Iterable[str]) -> dict[str, tuple[str, str, str]]:
    """For each method named, the cells of its row: everybody and the most linkable, without to with, and what *without* is."""
    with tempfile.TemporaryDirectory() as folder:
        people = make_dataset("census", ROWS, SEED, Path(folder) / "people.parquet")
        whole = sfumato.Schema.from_toml(people.schema.read_text(encoding="utf-8"))
        schema = sfumato.Schema(attributes=whole.select([*PUBLIC, SECRET]))
        with sfumato.read_table(people.data, schema) as table:
            return {name: _found(name, table, Path(folder) / name) for name in names}


def _found(name: str, table: sfumato.PrivateTable, folder: Path) -> tuple[str, str, str]:
    release = sfumato.publish(
        table, DESIGNS[name], folder, seed=SEED, say=lambda _: None, accept=("singled-out",)
    )
    with release:
        found = sfumato.audit(release, table, repeats=3, seed=SEED).attributes[0]
    measured, cells = found.measured, []
    for key in ("right by the top guess", "right among the most linkable"):
        difference = measured[key].difference
        assert difference is not None
        width = f"{100 * difference.low:.1f} to {100 * difference.high:.1f} points"
        cells.append(f"{difference.absent:.1%} to {difference.present:.1%} ({width})")
    return cells[0], cells[1], found.control


def sentence(name: str, cells: tuple[str, str, str]) -> str:
    """What a method's page says."""
    parameters = ", ".join(
        f"`{key}={value}`"
        for key, value in DESIGNS[name].to_dict().items()
        if key in SHOWN and value is not None
    )
    return (
        f"{ROWS:,} make-believe people, {', '.join(PUBLIC)} known to the attacker, {SECRET} ({CATEGORIES} values) wanted{'; ' + parameters if parameters else ''}. "
        f"[An audit](../audit.md) takes the best of its attackers, and compares with {cells[2]}. Right of those first and of people in the table then: {cells[0]}; of the "
        f"most linkable: {cells[1]}. The difference, in brackets with its 95 % interval, is what being in the table costs."
    )


def table_of(found: dict[str, tuple[str, str, str]]) -> str:
    """All methods beside each other."""
    head = "| method | right of everybody | right of the most linkable | compared with |\n|---|---|---|---|"
    return "\n".join(
        [head, *(f"| [`{name}`]({name}.md) | {' | '.join(cells)} |" for name, cells in found.items())]
    )


def written(page: str, content: str) -> str:
    """The page with this between its marks."""
    assert MARKS.search(page), "the page has no marks"
    return MARKS.sub(lambda found: f"{found[1]}{content}\n{found[2]}", page)


def main() -> None:
    """Write all pages."""
    found = figures(DESIGNS)
    for name, cells in found.items():
        _write(DOCS / "methods" / f"{name}.md", sentence(name, cells))
    _write(DOCS / "methods" / "index.md", table_of(found))


def _write(path: Path, content: str) -> None:
    path.write_text(written(path.read_text(encoding="utf-8"), content), encoding="utf-8")


if __name__ == "__main__":
    main()
