"""Results in files, one for each setting and table, so that a run can be stopped and goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from coverage_matrix.entries import Entry, Key, combined
from coverage_matrix.judging import waits
from coverage_matrix.settings import Setting
from coverage_matrix.tables import Skew
from coverage_matrix.trying import RELEASES_OF_WIDTHS, Trial, run_trial

FOLDER = Path(__file__).parent / "results"

FEWEST_IN_A_PART = 400
MOST_IN_A_PART = 1_600
"""Releases of a further run, after which it is looked at and can be stopped."""


@dataclass
class Part:
    """One run with one seed."""

    seed: int
    releases: int
    trial: Trial

    def to_dict(self) -> dict[str, Any]:
        """For a file."""
        return {
            "seed": self.seed,
            "releases": self.releases,
            "unpublished": self.trial.unpublished,
            "reason": self.trial.reason,
            "refusals": self.trial.refusals,
            "widths": {kind: round(width, 4) for kind, width in self.trial.widths.items()},
            "entries": [{**key._asdict(), **each.to_dict()} for key, each in self.trial.entries.items()],
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Part:
        """As read from a file."""
        entries = {}
        for each in plain["entries"]:
            key = Key(each.pop("kind"), each.pop("target"), each.pop("size"))
            entries[key] = Entry.from_dict(each)
        trial = Trial(
            entries, plain["unpublished"], plain["reason"], plain["refusals"], plain.get("widths", {})
        )
        return cls(plain["seed"], plain["releases"], trial)


@dataclass
class Results:
    """What is known of one setting on one table: a first run, and further ones of what covered too little in it."""

    setting: Setting
    skew: Skew
    parts: list[Part] = field(default_factory=list)

    @classmethod
    def of(cls, setting: Setting, skew: Skew, folder: Path = FOLDER) -> Results:
        """As far as it was run."""
        results = cls(setting, skew)
        path = results.path(folder)
        if path.exists():
            stored = json.loads(path.read_text(encoding="utf-8"))
            results.parts = [Part.from_dict(each) for each in stored["runs"]]
        return results

    def path(self, folder: Path = FOLDER) -> Path:
        """The file."""
        return folder / f"{self.setting.name}--{self.skew.replace(' ', '-')}.json"

    def write(self, folder: Path = FOLDER) -> None:
        """Put it away."""
        folder.mkdir(parents=True, exist_ok=True)
        plain = {
            "method": self.setting.method,
            "parameters": dict(self.setting.parameters),
            "table": self.skew,
            "runs": [each.to_dict() for each in self.parts],
        }
        self.path(folder).write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")

    @property
    def first(self) -> dict[Key, Entry]:
        """Entries of the first run."""
        return self.parts[0].trial.entries if self.parts else {}

    def were_made_otherwise(self) -> bool:
        """Whether the law's intervals are others today than when the first run was made, by those of its first releases."""
        first = self.parts[0]
        today = run_trial(self.setting, self.skew, releases=RELEASES_OF_WIDTHS, seed=first.seed).widths
        known = first.trial.widths
        return known.keys() != today.keys() or any(
            abs(today[kind] - width) > 1e-4 * max(width, 1) for kind, width in known.items()
        )

    def replace_first(self, trial: Trial) -> int:
        """Put a first run anew in the place of the first; how many entries are others.

        Further runs of these are forgotten. An entry that is the same to its last digit over hundreds of releases was
        made by the same intervals, and what further runs found of it stands.
        """
        same = {
            key
            for key, entry in trial.entries.items()
            if key in self.first and self.first[key].to_dict() == entry.to_dict()
        }
        self.parts[0].trial = trial
        for part in self.parts[1:]:
            kept = {key: entry for key, entry in part.trial.entries.items() if key in same}
            part.trial = replace(part.trial, entries=kept)
        if not any(part.trial.entries for part in self.parts[1:]):
            # Else their seeds are taken.
            del self.parts[1:]
        return len(trial.entries) - len(same)

    def replace_kinds(self, kinds: Collection[str], trial: Trial) -> None:
        """Put what a first run says anew of some kinds of answers in the place of all that was known of them."""
        for part in self.parts:
            part.trial = _without(part.trial, kinds)
        first = self.parts[0].trial
        self.parts[0].trial = replace(
            first,
            entries=first.entries | trial.entries,
            refusals=first.refusals | trial.refusals,
            widths=first.widths | trial.widths,
        )

    def again(self, key: Key) -> Entry | None:
        """An entry over all further runs."""
        found = [part.trial.entries[key] for part in self.parts[1:] if key in part.trial.entries]
        return combined(found) if found else None

    def pending(self) -> frozenset[Key]:
        """Entries that are wanting in the first run and not settled yet by further ones."""
        return frozenset(
            key for key, entry in self.first.items() if waits(self.setting, key, entry, self.again(key))
        )

    def releases_wanted(self) -> int:
        """Releases of the next further run: as many as all before it, within limits."""
        made = sum(part.releases for part in self.parts[1:])
        return min(max(made, FEWEST_IN_A_PART), MOST_IN_A_PART)


def _without(trial: Trial, kinds: Collection[str]) -> Trial:
    """A trial that says nothing of some kinds of answers; widths and refusals are known by kind and target."""

    def others(by_kind: dict[str, Any]) -> dict[str, Any]:
        return {name: each for name, each in by_kind.items() if name.rsplit(", ", 1)[0] not in kinds}

    entries = {key: each for key, each in trial.entries.items() if key.kind not in kinds}
    return replace(trial, entries=entries, refusals=others(trial.refusals), widths=others(trial.widths))
