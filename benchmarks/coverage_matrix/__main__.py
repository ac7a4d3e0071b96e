"""Run what is missing of the matrix and write ``docs/coverage.md``: ``python -m coverage_matrix [--minutes 8] [SETTING ...]``.

It goes on where it was stopped: results of every setting on every table are files of their own. First every setting is
run once; then what covered less than 95 % is run again with fresh seeds, by a rule that was fixed beforehand
(``judging.settled``): after 400, 800, 1,600 and every 1,600 further releases an entry is done when its coverage lies
two standard errors above 93.5 %, or three below, and at the latest when it is known to 0.3 points. Only
what still waits is asked, and tables in which no count of its size comes up are not published. Intervals of consistent
counts hold the unbiased ones, and it is these that are asked again. ``--check`` makes first runs anew whose intervals are
others today: an entry that comes out the same keeps its further runs. ``--anew KIND`` asks one kind of answers anew of the
releases of first runs, for a change that concerns no other. Exits with 1 when an entry fails.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path

from coverage_matrix.entries import Key
from coverage_matrix.page import write_page
from coverage_matrix.questions import CLASSES
from coverage_matrix.results import FOLDER, Part, Results
from coverage_matrix.settings import SETTINGS, Setting
from coverage_matrix.tables import SKEWS
from coverage_matrix.trying import TARGETS, run_trial

RELEASES = 400
"""Of a first run."""


def main() -> int:
    """Run, write, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="settings; all when not given")
    parser.add_argument("--minutes", type=float, default=1e9, help="no new part is begun after so long")
    parser.add_argument(
        "--check", action="store_true", help="results of intervals that are made otherwise today are run anew"
    )
    parser.add_argument(
        "--anew",
        action="append",
        default=[],
        metavar="KIND",
        help="forget this kind of answers, such as contrast, and ask it anew of the releases of the first run",
    )
    parser.add_argument("--page-only", action="store_true", help="write the page from what there is")
    arguments = parser.parse_args()
    known = {each.name: each for each in SETTINGS}
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        parser.error(f"there is no setting {unknown[0]!r}; known are {', '.join(known)}.")
    chosen = [known[name] for name in arguments.names] or list(SETTINGS)
    until = time.monotonic() + 60 * arguments.minutes
    if arguments.check:
        make_anew(chosen, until)
    if arguments.anew:
        ask_anew(chosen, arguments.anew, until)
    elif not arguments.page_only:
        run_missing(chosen, until)
    return int(write_page([Results.of(setting, skew) for setting in SETTINGS for skew in SKEWS]) > 0)


def make_anew(settings: list[Setting], until: float, folder: Path = FOLDER) -> None:
    """First runs that were made with other intervals than those of today, once more with the same seeds."""
    for results in [Results.of(setting, skew, folder) for setting in settings for skew in SKEWS]:
        if results.parts and time.monotonic() < until and results.were_made_otherwise():
            first = results.parts[0]
            trial = run_trial(results.setting, results.skew, releases=first.releases, seed=first.seed)
            others = results.replace_first(trial)
            results.write(folder)
            about = f"{results.setting.name}, {results.skew}: made anew"
            print(f"{about}, {others} of {len(trial.entries)} entries are others", flush=True)


def ask_anew(settings: list[Setting], kinds: list[str], until: float, folder: Path = FOLDER) -> None:
    """Some kinds of answers once more, of the same releases as in the first run; what is known of others stays."""
    keys = frozenset(Key(*each) for each in itertools.product(kinds, TARGETS, CLASSES))
    for results in [Results.of(setting, skew, folder) for setting in settings for skew in SKEWS]:
        if results.parts and time.monotonic() < until:
            first = results.parts[0]
            trial = run_trial(
                results.setting,
                results.skew,
                releases=first.releases,
                seed=first.seed,
                only=keys,
                again=False,
            )
            results.replace_kinds(kinds, trial)
            results.write(folder)
            print(
                f"{results.setting.name}, {results.skew}: {len(trial.entries)} entries anew",
                flush=True,
            )


def run_missing(settings: list[Setting], until: float, folder: Path = FOLDER) -> None:
    """One part after the other, until nothing is missing or time is over."""
    every = [Results.of(setting, skew, folder) for setting in settings for skew in SKEWS]
    for results in every:
        if not results.parts and time.monotonic() < until:
            run_part(results, RELEASES, folder)
    for results in every:
        while results.parts and results.pending() and time.monotonic() < until:
            run_part(results, results.releases_wanted(), folder)


def run_part(results: Results, releases: int, folder: Path = FOLDER) -> None:
    """One run with a seed of its own, put away."""
    only = results.pending() if results.parts else None
    seed = 1 + len(results.parts)
    started = time.monotonic()
    trial = run_trial(results.setting, results.skew, releases=releases, seed=seed, only=only)
    results.parts.append(Part(seed, releases, trial))
    results.write(folder)
    about = f"{results.setting.name}, {results.skew}, run {seed}: {releases} releases"
    print(f"{about}, {len(trial.entries)} entries, {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
