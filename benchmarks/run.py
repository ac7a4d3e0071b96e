"""Run every benchmark, or those named: ``python benchmarks/run.py [name ...]``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NOT_BENCHMARKS = {"run", "measuring"}


def main() -> int:
    """One process for each benchmark; the exit code says whether all ran and stayed within their limits."""
    folder = Path(__file__).parent
    known = sorted(path.stem for path in folder.glob("*.py") if path.stem not in NOT_BENCHMARKS)
    names = sys.argv[1:] or known
    failed = 0
    for name in names:
        if name not in known:
            print(f"there is no benchmark {name!r}; known are {', '.join(known)}.")
            return 2
        print(f"== {name}", flush=True)
        failed |= not run(folder / f"{name}.py")
    return int(failed)


def run(script: Path) -> bool:
    """Run one benchmark; whether it ran to its end with every figure within its limit."""
    within = True
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            within &= ", OVER)" not in line
    return within and process.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
