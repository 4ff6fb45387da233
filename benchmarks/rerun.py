"""A finished suite again, from its records, against running it.

    python benchmarks/rerun.py [--suite FILE]

Both sides are whole commands, start-up and table included. Vectors are in a cache of its own before either is timed.
The default suite has four small cells; the more a suite computes, the larger the ratio.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measurement import Measurement, parser, report

SUITE = """
title = "four small cells"
version = 1
dataset = "demo"
encoder = "minilm"
examples = 50
candidates = 200
attack = ["rss"]
defense = ["none", "texthide"]
seed = [0, 1]
"""


def seconds(suite: str, home: str, *more: str) -> float:
    command = [sys.executable, "-m", "bench", "run", "--suite", suite, "--out", f"{home}/results", *more]
    environment = {**os.environ, "BENCH_CACHE_DIR": f"{home}/cache"}
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: exit status {done.returncode}: {done.stderr}"
    return time.perf_counter() - start


def measure(suite: str | None) -> list[Measurement]:
    with tempfile.TemporaryDirectory() as home:
        name = suite or "of four cells"
        if not suite:
            suite = f"{home}/four.toml"
            Path(suite).write_text(SUITE, encoding="utf-8")
        seconds(suite, home)
        plain = seconds(suite, home, "--force")
        again = seconds(suite, home)
    return [Measurement(f"suite {name} again", "running it", plain, again)]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--suite", help="a name or a file (default: four small cells)")
    args = options.parse_args()
    report(measure(args.suite), args.json)


if __name__ == "__main__":
    main()
