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
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from mutants import equivalent
from mutants.mutations import Mutation, mutations
from mutants.rooms import ROOMS, ROOT, files_of, own_tests
from mutants.scores import Score, page, report
from mutants.trial import Outcome
from mutants.trying import Bench, BrokenTestsError


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
    files = sorted({each.file for some in tried.values() for each in some})
    tests = {file: tuple(own_tests(Path(file), is_quick=options.quick)) for file in files}
    everything = [each for some in tried.values() for each in some]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        bench = Bench(
            tests, place, options.keep or place / "lines", options.jobs, options.near or options.quick
        )
        try:
            outcomes = dict(zip(everything, bench.outcomes(everything), strict=True))
        except BrokenTestsError as broken:
            print(f"these fail without a mutant; make them pass first: {broken}", file=sys.stderr)
            return 2
    scores = [
        Score(room, Counter(outcomes[each] for each in some), len(drawn[room]) - len(some))
        for room, some in tried.items()
    ]
    survivors = [each for each in everything if outcomes[each] is Outcome.SURVIVED]
    print(report(scores, survivors))
    if options.page is not None:
        same = {
            each: reasons[each.identity]
            for some in drawn.values()
            for each in some
            if each.identity in reasons
        }
        options.page.write_text(
            page(options.seed, scores, survivors, same, left_out=_left_out(options)), encoding="utf-8"
        )
    return int(bool(outdated) or not all(score.is_enough for score in scores))


def _left_out(options: argparse.Namespace) -> str:
    far = "tests that do not run the mutated statement"
    if options.quick:
        return f"{far}, statistics, properties and whatever holds all laws or promises against tiny tables"
    return far if options.near else "no tests"


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
        "--quick",
        action="store_true",
        help="only unit tests and doctests that run the mutated statement: faster, and never a higher score",
    )
    parser.add_argument(
        "--keep",
        type=Path,
        help="folder where the lines that tests run, and what became of mutants, are kept: a stopped run goes on",
    )
    parser.add_argument(
        "--near", action="store_true", help="only tests that run the mutated statement: never a higher score"
    )
    parser.add_argument("--page", type=Path, help="write the result to this page")
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


if __name__ == "__main__":
    sys.exit(main())
