"""Run every benchmark, or those named: ``python benchmarks/run.py [name ...]``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NOT_BENCHMARKS = {"run", "measuring"}


def main() -> int:
    """One process for each benchmark; the exit code says whether all of them ran."""
    folder = Path(__file__).parent
    known = sorted(path.stem for path in folder.glob("*.py") if path.stem not in NOT_BENCHMARKS)
    names = sys.argv[1:] or known
    failed = 0
    for name in names:
        if name not in known:
            print(f"there is no benchmark {name!r}; known are {', '.join(known)}.")
            return 2
        print(f"== {name}", flush=True)
        failed |= subprocess.run([sys.executable, folder / f"{name}.py"], check=False).returncode != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
