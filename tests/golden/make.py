"""Make a release of every method that has none here yet, with the answers it gives.

A folder, once made, is never made again: later versions must open it and answer the same. Run it after adding a method:
``python tests/golden/make.py``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from samples import SCHEMA, people
from sfumato import Release, publish, read_table
from sfumato.errors import SfumatoError
from sfumato.methods.base import METHODS

FOLDER = Path(__file__).parent / "releases"
QUESTIONS = ("", "job = 'Tech'", "sex = 'Female' AND job = 'Care'", "age < 55 AND region IS MISSING")


def answers(release: Release) -> list[dict[str, object]]:
    """What a release says to each question: estimate, standard error and certainty, or that it refuses."""
    given: list[dict[str, object]] = []
    for question in QUESTIONS:
        try:
            answer = release.query(question)
        except SfumatoError as refusal:
            given.append({"question": question, "refused": type(refusal).__name__})
        else:
            given.append(
                {
                    "question": question,
                    "estimate": answer.estimate,
                    "std_error": answer.standard_error,
                    "certainty": answer.certainty.word,
                }
            )
    return given


WITHHELD = "randomized-response-withheld"
"""A release without its law: the one law that no method's example writes."""


def main() -> None:
    """Make what is missing."""
    methods = {**METHODS.members, WITHHELD: METHODS.members["randomized-response"]}
    for name, method in methods.items():
        folder = FOLDER / name
        if folder.exists():
            continue
        release = publish(
            read_table(people(400), SCHEMA),
            method.example(SCHEMA),
            folder,
            format="csv",
            seed=1,
            withhold_law=name == WITHHELD,
        )
        (FOLDER / f"{name}.answers.json").write_text(json.dumps(answers(release), indent=1) + "\n")


if __name__ == "__main__":
    main()
