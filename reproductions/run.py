"""Computes the reproductions anew and holds every number against the stored evidence.

``python reproductions/run.py [NAME ...]`` recomputes all or some and exits with 1 when anything has drifted; nothing is written.
``--quick`` recomputes a sample from scratch, as the tests do. ``--renew`` writes the evidence anew: only when every number could be computed.
``--part PART`` takes one part of a reproduction, ``--data FOLDER`` keeps fetched data and holds what you bring. A part that rests on a file which
nobody may pass on is left out without it, and named; asked for by name it fails, as everything does whose data are out of reach.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from evidence import MissingDataError, check, compute, load, names, renew


def main(arguments: list[str]) -> int:
    """Exit code: 0 when nothing has drifted, 1 otherwise or when data are out of reach."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(names())}")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--renew", action="store_true")
    parser.add_argument("--part", action="append", default=[])
    parser.add_argument("--data", type=Path)
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.names) - set(names()))
    if unknown:
        parser.error(f"there is no reproduction {unknown[0]!r}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.data or Path(temporary)
        left_out: list[str] = []
        failed = [name for name in chosen.names or names() if not _run(name, chosen, folder, left_out)]
    if left_out:
        print(f"not run, for lack of data that cannot be had for you: {', '.join(left_out)}", file=sys.stderr)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _run(name: str, chosen: argparse.Namespace, folder: Path, left_out: list[str]) -> bool:
    """One reproduction; whether its evidence stands. What had to be left out is added to the list."""
    reproduction = load(name)
    start = time.process_time()
    # Evidence is written whole, so that then nothing is left out.
    is_partial = not (chosen.part or chosen.quick or chosen.renew)
    lacking = reproduction.without_data(folder) if is_partial else []
    left_out += [f"{name} > {part} ({reproduction.brought[part]})" for part in lacking]
    parts = chosen.part or [part for part in reproduction.parts if part not in lacking]
    try:
        if chosen.quick:
            fresh = reproduction.quick(reproduction.claims, folder)
        else:
            fresh = compute(reproduction, folder, parts)
    except MissingDataError as error:
        print(f"{name}: data are missing, so nothing was checked or written. {error}", file=sys.stderr)
        return False
    if chosen.renew and not chosen.quick:
        renew(reproduction, fresh)
        print(f"{name}: written")
    faults = check(reproduction, fresh, is_complete=not chosen.quick)
    for each in faults:
        print(f"{name}: {each}", file=sys.stderr)
    seconds = time.process_time() - start
    differing = len(reproduction.differs)
    total = len(reproduction.stored["verdicts"])
    print(
        f"{name}: {len(faults)} drifted, {total - differing} of {total} claims matched, {seconds:.0f} s of processor"
    )
    return not faults


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
