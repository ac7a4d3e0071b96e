"""``python -m fuzz TARGET --seed 1 --number 250``: runs inputs in a folder of its own, and says which made trouble."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from fuzz.running import quiet_environment, run_apart, run_here, trouble_with
from fuzz.targets import TARGETS, prepare

MOST_SHOWN = 12

EVERY = 1_000
"""One input in so many is given to a process of its own besides, as a user would."""


def main() -> int:
    """Run, and give the exit code: 1 when an input made trouble."""
    parser = argparse.ArgumentParser(prog="fuzz")
    parser.add_argument("target", choices=list(TARGETS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=250)
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first input, to go on where a run ended"
    )
    parser.add_argument("--only", type=int, help="number of one input to run again")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        quiet_environment(folder)
        prepare(folder)
        found = []
        began = time.process_time()
        numbers = range(given.first, given.first + given.number)
        for number in numbers if given.only is None else [given.only]:
            # Each input has a generator of its own, so that it can be made again alone.
            chance = random.Random(f"{given.seed} {given.target} {number}")
            before = set(folder.iterdir())
            for arguments in TARGETS[given.target](chance, folder):
                ways = (run_here, run_apart) if number % EVERY == EVERY - 1 else (run_here,)
                found += filter(None, [trouble_with(number, arguments, way) for way in ways])
            for new in set(folder.iterdir()) - before:
                if new.name.startswith(("out-", "report-", "guess-")):
                    shutil.rmtree(new) if new.is_dir() else new.unlink()
        seconds = time.process_time() - began
    for each in found[:MOST_SHOWN]:
        print(each)  # noqa: T201 - what it is for
    about = f"seed {given.seed}, inputs {given.first} to {given.first + given.number - 1}"
    print(f"{given.target}: {about}, {len(found)} made trouble, {seconds:.0f} s of processor")  # noqa: T201
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
