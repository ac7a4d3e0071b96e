"""Attacking a release beside anonymeter: the same release, people inside and outside, and known columns, in whole processes.

``python benchmarks/beside_anonymeter.py``. The peer is installed from PyPI into an environment of its own, made once and kept in ``work``. Its inference attack takes the published row that is most like a person and
guesses that row's value, for as many people as are told; it is made for synthetic data and knows of no law. `sfumato audit` runs every attacker that fits the law on all people, tests what the release says
of itself, and states intervals; so its processor time is for more work, and the better attack is the one that is right more often. The release keeps an occupation in 70 of 100 rows.
Limits were set before the first run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from measuring import (
    COMMAND,
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
    run_python,
    sfumato,
)

ROWS, ROUNDS = 4_000, 3
KNOWN, SECRET = ("sex", "education", "marital", "race"), "occupation"

PREPARE = """
import csv, sys
from pathlib import Path
from sfumato import Schema
from sfumato.datasets import make_dataset
private, control, schema, number, secret, *known = sys.argv[1:]
number = int(number)
made = Path(private).with_name("beside-anonymeter-all.csv")
for old in (made, made.with_suffix(".schema.toml")):
    old.unlink(missing_ok=True)
make_dataset("census", 2 * number, 1, made)
with made.open(encoding="utf-8", newline="") as file:
    rows = [{name: row[name] for name in (*known, secret)} for row in csv.DictReader(file)]
for path, part in ((private, rows[:number]), (control, rows[number:])):
    with open(path, "w", encoding="utf-8", newline="") as file:
        lines = csv.DictWriter(file, part[0])
        lines.writeheader()
        lines.writerows(part)
declared = Schema.read(made.with_suffix(".schema.toml"))
told = {
    name: {"role": "sensitive" if name == secret else "quasi-identifier", "categories": list(declared[name].labels)}
    for name in (*known, secret)
}
Path(schema).write_text(Schema.from_dict({"attributes": told}).to_toml(), encoding="utf-8")
"""


def main() -> Iterator[Measurement]:
    """How often each is right about people in the table, and processor times."""
    WORK.mkdir(exist_ok=True)
    private, control, schema = (
        WORK / f"beside-anonymeter{suffix}" for suffix in (".csv", "-control.csv", ".schema.toml")
    )
    if not schema.exists():
        run_for_output(PREPARE, private, control, schema, str(ROWS), SECRET, *KNOWN)
    release, ledger = WORK / "release-anonymeter", WORK / "ledger-anonymeter"
    method = ("--method", "randomized-response", "--set", "retention=0.7", "--seed", "1", "--format", "csv")
    sfumato(*publishing(private, release, ledger, method, schema))
    audit = ("audit", release, "--against", private, "--schema", schema, "--control", control, "--json")
    peer = [
        environment("anonymeter"),
        FOLDER / "peers" / "anonymeter_guesses.py",
        *(private, release / "rows.csv", control, SECRET, str(ROWS), *KNOWN),
    ]
    runs: dict[str, list[Run]] = {"ours": [], "theirs": []}
    for _ in range(ROUNDS):
        runs["ours"].append(run_python(COMMAND, *audit))
        told, run = measured(peer)
        runs["theirs"].append(run)
    own, other = median(runs["ours"]), median(runs["theirs"])
    theirs = json.loads(told)
    ours = learned(run_for_output("from sfumato.cli import main; main()", *audit))
    yield Measurement(
        f"right guesses of anonymeter about people in the table over those of audit, {ROWS:,} people",
        theirs["inside"] / ours["with"],
        1.0,
        f"{theirs['inside']:.3f} inside and {theirs['outside']:.3f} outside, {theirs['random']:.3f} at random, against "
        f"{ours['with']:.3f} inside and {ours['without']:.3f} outside ({ours['best with']})",
    )
    yield Measurement(
        "CPU of audit over that of anonymeter", own.cpu / other.cpu, 2.0, f"{own} against {other}"
    )


def learned(said: str) -> dict[str, float | str]:
    """The line of an audit that says how often the top guess is right."""
    (attribute,) = json.loads(said)["attributes"]
    table = next(each for each in attribute["tables"] if each["title"].startswith("What is learned"))
    line: dict[str, float | str] = next(
        row for row in table["rows"] if row["score"] == "right by the top guess"
    )
    return line


if __name__ == "__main__":
    finish(main())
