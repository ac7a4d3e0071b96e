"""A k-anonymous table beside anjana: the same rows, hierarchies, k and share of rows that may be dropped, in whole processes.

``python benchmarks/beside_anjana.py``. The peer is installed from PyPI into an environment of its own, made once and kept in ``work``. It goes up the hierarchy of the attribute
with the most values left until enough classes are large enough; ours looks at every combination of levels (`search=full-domain`) and takes the one that loses least. `mondrian`, which
recodes locally, is stated beside it. Both read CSV and write CSV; ours writes a manifest too and checks what was written. The loss of a cell is the share of the other categories that its label leaves possible, 1 in dropped
rows; discernibility is the number of rows that a row is like, N for dropped ones. Limits were set before the first run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from measuring import (
    FOLDER,
    WORK,
    Measurement,
    Run,
    environment,
    finish,
    measured,
    median,
    publishing,
    run_for_output,
    sfumato,
)

ROWS, K, SUPPRESSION, ROUNDS = 30_000, 10, 5, 3

PREPARE = """
import json, sys
from pathlib import Path
from sfumato import Schema
from sfumato.datasets import make_dataset
data, hierarchies, design, rows, k, suppression = sys.argv[1:]
for old in (Path(data), Path(data).with_suffix(".schema.toml")):
    old.unlink(missing_ok=True)
make_dataset("census", int(rows), 1, Path(data))
path = Path(data).with_suffix(".schema.toml")
schema = Schema.read(path)
widths = {"age": (5, 10, 20, 40), "education": (2, 4, 8), "marital": (2, 4), "race": (3,), "sex": ()}
levels = {}
for name, blocks in widths.items():
    labels = [str(each) for each in schema[name].labels]
    steps = [[f"{labels[p // w * w]}..{labels[min(p // w * w + w, len(labels)) - 1]}" for p in range(len(labels))] for w in blocks]
    levels[name] = [labels, *steps, ["*"] * len(labels)]
Path(hierarchies).write_text(json.dumps(levels), encoding="utf-8")
roles = {"occupation": "sensitive"} | dict.fromkeys(levels, "quasi-identifier")
told = {name: {"role": roles[name], "categories": [str(each) for each in schema[name].labels]} for name in (*levels, "occupation")}
path.write_text(Schema.from_dict({"attributes": told}).to_toml(), encoding="utf-8")
lines = ['method = "generalization"', f"k = {k}", f"suppression = {int(suppression) / 100}"]
for name, (labels, *steps) in levels.items():
    lines.append(f"[hierarchies.{name}.paths]")
    lines += [f"{json.dumps(label)} = {json.dumps([step[place] for step in steps])}" for place, label in enumerate(labels)]
Path(design).write_text("\\n".join(lines), encoding="utf-8")
"""

LOSS = """
import collections, csv, json, sys
out, hierarchies, number = sys.argv[1:]
levels = json.load(open(hierarchies, encoding="utf-8"))
reach = {name: collections.Counter() for name in levels}
for name, (labels, *steps) in levels.items():
    for step in (labels, *steps):
        for label, leaves in collections.Counter(step).items():
            reach[name][label] = max(leaves, reach[name][label])
rows = list(csv.DictReader(open(out, encoding="utf-8", newline="")))
number = int(number)
def left(name, label):
    if label not in reach[name]:
        raise SystemExit(f"the label {label!r} of {name} stands in no hierarchy.")
    return (reach[name][label] - 1) / (len(levels[name][0]) - 1)
loss = sum(left(name, row[name]) for row in rows for name in levels) + (number - len(rows)) * len(levels)
classes = collections.Counter(tuple(row[name] for name in levels) for row in rows)
print(json.dumps({
    "loss": loss / number / len(levels),
    "dropped": number - len(rows),
    "classes": len(classes),
    "smallest": min(classes.values()),
    "discernibility": (sum(each * each for each in classes.values()) + (number - len(rows)) * number) / number,
}))
"""


def main() -> Iterator[Measurement]:
    """Processor time and losses over the peer's, and those of local recoding."""
    WORK.mkdir(exist_ok=True)
    data, hierarchies, design = (WORK / f"beside-anjana{suffix}" for suffix in (".csv", ".json", ".toml"))
    if not hierarchies.exists():
        run_for_output(PREPARE, data, hierarchies, design, str(ROWS), str(K), str(SUPPRESSION))
    out = WORK / "beside-anjana-out.csv"
    script = [environment("anjana"), FOLDER / "peers" / "anjana_table.py", data, hierarchies]
    runs: dict[str, list[Run]] = {"anjana": [], "full-domain": [], "mondrian": []}
    for _ in range(ROUNDS):
        runs["anjana"].append(measured([*script, str(K), str(SUPPRESSION), out])[1])
        for search in ("full-domain", "mondrian"):
            runs[search].append(sfumato(*command(data, design, search)))
    theirs, peer = lost(out, hierarchies), median(runs["anjana"])
    for search, most_time, most_loss in (("full-domain", 1.0, 1.0), ("mondrian", 1.0, 1.0)):
        (table,) = (WORK / f"release-anjana-{search}").glob("*.csv")
        ours, own = lost(table, hierarchies), median(runs[search])
        about = f"{K}-anonymous table of {ROWS:,} rows, {search}"
        yield Measurement(
            f"{about}, CPU over anjana's", own.cpu / peer.cpu, most_time, f"{own} against {peer}"
        )
        yield Measurement(
            f"{about}, loss over anjana's",
            # Sums of the same numbers in another order.
            round(ours["loss"] / theirs["loss"], 9),
            most_loss,
            f"{shown(ours)} against {shown(theirs)}",
        )


def command(data: Path, design: Path, search: str) -> tuple[str | Path, ...]:
    """What publishes by one of the searches; local recoding drops no rows."""
    stated = WORK / f"beside-anjana-{search}.toml"
    content = design.read_text(encoding="utf-8").replace(
        "suppression",
        f'search = "{search}"\nsuppression'
        if search == "full-domain"
        else f'search = "{search}"\n# suppression',
        1,
    )
    stated.write_text(content, encoding="utf-8")
    release, ledger = WORK / f"release-anjana-{search}", WORK / f"ledger-anjana-{search}"
    return publishing(data, release, ledger, ("--design", str(stated), "--format", "csv"))


def lost(table: Path, hierarchies: Path) -> dict[str, float]:
    """Losses of a published table, by one yardstick for all."""
    found: dict[str, float] = json.loads(run_for_output(LOSS, table, hierarchies, str(ROWS)))
    return found


def shown(found: dict[str, float]) -> str:
    """A few words."""
    return (
        f"loss {found['loss']:.3f}, {found['classes']} classes of {found['smallest']} rows or more, {found['dropped']} rows dropped, "
        f"discernibility {found['discernibility']:.0f}"
    )


if __name__ == "__main__":
    finish(main())
