"""Run seeded mutations of the formulas against their own tests: ``make mutants``.

A mutant is a module with one slip in it (a sign, a bound, a dropped term). A slip that its tests do not see is
a formula that nobody checks. See ``python -m mutants --help``.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from mutants import equivalent
from mutants.mutations import Mutation, mutations
from mutants.rooms import ROOMS, ROOT, files_of, own_tests
from mutants.scores import Score, report, shown
from mutants.trial import SECONDS_AT_LEAST, TIMES_THE_BASELINE, Outcome, Trial, run, warm_up

PROGRESS_EVERY = 25


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, run and score; 0 when the score is enough, 1 when it is not, 2 when the tests fail without mutants."""
    options = _options(arguments)
    # Formulas on small tables are slower, not faster, on several threads.
    os.environ["OMP_NUM_THREADS"] = "1"
    pools = {room: _pool(files_of(room), options.files) for room in options.rooms}
    reasons = equivalent.reasons()
    outdated = equivalent.outdated(reasons, [each for pool in pools.values() for each in pool])
    for each in outdated:
        print(f"listed as equivalent but no longer there: {each}")
    drawn = {room: draw(pool, options.number, f"{options.seed} {room}") for room, pool in pools.items()}
    sizes = ", ".join(f"{len(drawn[room])} of {len(pools[room])} in {room}" for room in drawn)
    print(f"seed {options.seed}: {sizes}", flush=True)
    tried = {room: [each for each in some if each.identity not in reasons] for room, some in drawn.items()}
    files = {each.file for some in tried.values() for each in some}
    tests = {file: tuple(own_tests(Path(file), is_quick=options.quick)) for file in sorted(files)}
    limits = _limits(tests, options.jobs)
    if limits is None:
        return 2
    scores, survivors = [], []
    for room, some in tried.items():
        outcomes = _outcomes(some, limits, options.jobs)
        survivors += [
            each for each, outcome in zip(some, outcomes, strict=True) if outcome is Outcome.SURVIVED
        ]
        scores.append(Score(room, Counter(outcomes), len(drawn[room]) - len(some)))
    print(report(scores, survivors))
    return int(bool(outdated) or not all(score.is_enough for score in scores))


def draw(pool: Sequence[Mutation], number: int, seed: str) -> list[Mutation]:
    """So many mutants of a room, uniformly without repetition; the same ones for the same seed."""
    return random.Random(seed).sample(pool, min(number, len(pool)))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seed", type=int, default=secrets.randbelow(10**6), help="default: a new one, printed"
    )
    parser.add_argument("--number", type=int, default=120, help="mutants drawn in each room")
    parser.add_argument("--rooms", type=_rooms, default=list(ROOMS), help=f"some of {','.join(ROOMS)}")
    parser.add_argument("--files", default="", help="only files whose path holds this text")
    parser.add_argument(
        "--quick", action="store_true", help="unit tests and doctests only: faster, and never a higher score"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    return parser.parse_args(arguments)


def _rooms(text: str) -> list[str]:
    rooms = text.split(",")
    unknown = [room for room in rooms if room not in ROOMS]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no room {unknown[0]!r}; rooms are {', '.join(ROOMS)}")
    return rooms


def _pool(files: Sequence[Path], part: str) -> list[Mutation]:
    chosen = [file for file in files if part in str(file)]
    return [
        each for file in chosen for each in mutations((ROOT / file).read_text(encoding="utf-8"), str(file))
    ]


def _limits(tests: dict[str, tuple[Path, ...]], jobs: int) -> dict[str, Trial] | None:
    """For each file its tests with the seconds a mutant may use; nothing when they fail without a mutant.

    Files of one folder share their tests but for doctests, so these are run once, with all their doctests.
    """
    warm_up()
    sharing: dict[frozenset[Path], list[str]] = {}
    for file, (*shared, _) in tests.items():
        sharing.setdefault(frozenset(shared), []).append(file)
    baselines = {shared: Trial((*sorted(shared), *map(Path, some))) for shared, some in sharing.items()}
    limits = {}
    for shared, outcome, seconds in run(baselines, jobs):
        if outcome is not Outcome.SURVIVED:
            print(
                "these fail without a mutant; make them pass first:",
                *baselines[shared].tests,
                file=sys.stderr,
            )
            return None
        for file in sharing[shared]:
            limits[file] = Trial(tests[file], seconds=SECONDS_AT_LEAST + TIMES_THE_BASELINE * seconds)
    return limits


def _outcomes(some: Sequence[Mutation], limits: dict[str, Trial], jobs: int) -> list[Outcome]:
    trials = {
        number: Trial(limits[each.file].tests, each, limits[each.file].seconds)
        for number, each in enumerate(some)
    }
    found = {}
    for number, outcome, _ in run(trials, jobs):
        found[number] = outcome
        if not len(found) % PROGRESS_EVERY:
            print(f"{len(found)} of {len(some)}", file=sys.stderr, flush=True)
        if outcome is Outcome.SURVIVED:
            print(f"survivor {len(found)}/{len(some)}: {shown(some[number])}", file=sys.stderr, flush=True)
    return [found[number] for number in range(len(some))]


if __name__ == "__main__":
    sys.exit(main())
