"""The rows of time behind the README's tables, measured again and stored.

Run on a machine that does nothing else: python benchmarks/readme_rows.py       (about ten minutes)
                                         python benchmarks/readme_rows.py exact (two minutes)

Every script runs in a process of its own, so that its memory is its own. OR-Library's instance is
measured where ../shared has it; rows of machines with more cores stay as they are. Afterwards the
tables are made anew.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from common import ROOT, shared

from deepsteiner.benchmark import readme
from deepsteiner.benchmark.timings import STORED


def commands() -> dict[str, list[list[str]]]:
    """Return the script calls of each group."""
    exact = ["--rows", str(STORED / "exact.jsonl")]
    scale = ["--threads", "2", "--rows", str(STORED / "scale.jsonl")]
    found = {"exact": [["exact.speed", *exact]], "large": [], "scale": []}
    if shared("orlib_estein.npz") is not None:
        found["large"].append(["exact.large", "10000", *exact])
    for n in ("100000", "1000000"):
        for method in ("local", "neural"):
            for effort in ("fast", "default"):
                what = ["--points", n, "--method", method, "--effort", effort]
                found["scale"].append(["learned.neural_scale", *what, *scale])
    return found


def main() -> int:
    """Run the groups that are named, or all, then make the README's tables."""
    groups = commands()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(groups)}")
    given = parser.parse_args()
    if unknown := set(given.groups) - set(groups):
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    for name in given.groups or groups:
        for script, *arguments in groups[name]:
            print(f"\n{script} {' '.join(arguments)}", flush=True)
            command = [sys.executable, "-m", f"benchmarks.{script}", *arguments]
            subprocess.run(command, check=True, cwd=ROOT)
    return readme.main([])


if __name__ == "__main__":
    sys.exit(main())
