"""Run every benchmark, or those named: ``python benchmarks/run.py [name ...]``; ``--page`` writes the figures into the docs.

Every figure is added to ``work/results.jsonl``, the last of each name counts. ``--page`` alone runs nothing: it makes
``docs/performance.md`` from what was measured.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from measuring import FOLDER, RESULTS, WORK
from performance_page import write_page

NOT_BENCHMARKS = {"run", "measuring", "tables", "performance_page"}


def main() -> int:
    """One process for each benchmark; the exit code says whether all ran and stayed within their limits."""
    known = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in NOT_BENCHMARKS)
    arguments = sys.argv[1:]
    names = [each for each in arguments if each != "--page"] or ([] if "--page" in arguments else known)
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"there is no benchmark {unknown[0]!r}; known are {', '.join(known)}.")
        return 2
    WORK.mkdir(exist_ok=True)
    results = Path(os.environ.setdefault(RESULTS, str(WORK / "results.jsonl")))
    failed = 0
    for name in names:
        print(f"== {name}", flush=True)
        failed |= subprocess.run([sys.executable, FOLDER / f"{name}.py"], check=False).returncode
    if "--page" in arguments:
        write_page(results, FOLDER.parent / "docs" / "performance.md")
    return int(failed != 0)


if __name__ == "__main__":
    sys.exit(main())
