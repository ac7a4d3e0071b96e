"""Make a release of every method that has none here yet, with the answers it gives.

A folder, once made, is never made again: later versions must open it and answer the same. Run it after adding a method:
``python tests/golden/make.py``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from samples import BASKETS, LONG_SCHEMA, SCHEMA, baskets, people, ratings
from sfumato import RandomizedResponse, Release, publish, read_table
from sfumato.errors import SfumatoError
from sfumato.methods.base import METHODS

FOLDER = Path(__file__).parent / "releases"
QUESTIONS = ("", "job = 'Tech'", "sex = 'Female' AND job = 'Care'", "age < 55 AND region IS MISSING")
ITEM_QUESTIONS = {
    "leite": (
        "",
        "\"café\" = 'yes'",
        "leite = 'yes' AND \"café\" = 'yes'",
        "\"pão\" = 'no' OR unit = 'yes'",
    ),
    "m1": ("", "m1 = '3'", "m2 = '1' OR m3 = 'no'", "m1 != 'no' AND m6 != 'no'"),
}
"""Of releases in long form, by an item of theirs."""


def questions(release: Release) -> tuple[str, ...]:
    """What is asked of a release: of people, of baskets or of ratings."""
    found = (each for item, each in ITEM_QUESTIONS.items() if item in release.schema.names)
    return next(found, QUESTIONS)


def answers(release: Release) -> list[dict[str, object]]:
    """What a release says to each question: estimate, standard error and certainty, or that it refuses."""
    given: list[dict[str, object]] = []
    for question in questions(release):
        try:
            answer = release.query(question)
        except SfumatoError as refusal:
            given.append({"question": question, "refused": type(refusal).__name__})
        else:
            given.append(
                {
                    "question": question,
                    "estimate": answer.estimate,
                    "std_error": answer.std_error,
                    "certainty": answer.certainty.word,
                }
            )
    return given


WITHHELD = "randomized-response-withheld"
"""A release without its law: the one law that no method's example writes."""

ITEMS = {
    "randomized-response-baskets": (baskets, BASKETS),
    "randomized-response-ratings": (ratings, LONG_SCHEMA),
}
"""Releases in long form, whose law is another one."""


def main() -> None:
    """Make what is missing."""
    rows = read_table(people(400), SCHEMA)
    made = {name: (rows, method.example(SCHEMA)) for name, method in METHODS.members.items()}
    made[WITHHELD] = made["randomized-response"]
    for name, (long, schema) in ITEMS.items():
        made[name] = read_table(long(), schema), RandomizedResponse(retention=0.8)
    for name, (table, design) in made.items():
        folder = FOLDER / name
        if folder.exists():
            continue
        release = publish(table, design, folder, format="csv", seed=1, withhold_law=name == WITHHELD)
        (FOLDER / f"{name}.answers.json").write_text(json.dumps(answers(release), indent=1) + "\n")


if __name__ == "__main__":
    main()
