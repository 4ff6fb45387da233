"""What several workers gain: one suite of cells that work on a core each, run with 1 worker and with more.

On a machine that others use, too, wall time says little: the share of the processors that a run got is printed beside
it, and the speed-up that CPU seconds alone would allow.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

try:
    from benchmarks import faults
except ModuleNotFoundError:  # run as a script
    import faults


def measure(home: Path, cells: int, seconds: float, jobs: int) -> tuple[float, float]:
    """Wall and CPU seconds of a run into an empty folder."""
    words = faults.command(home / f"jobs{jobs}", cells, "--jobs", str(jobs))
    words = [f"{word},seconds={seconds}" if word.startswith("counts:") else word for word in words]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, cwd=home, check=True, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=2.0, help="of work in each attack")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "warm").mkdir()
        measure(home / "warm", args.cells, 0.0, 1)  # fills the cache of vectors
        one, work = measure(home, args.cells, args.seconds, 1)
        many, more = measure(home, args.cells, args.seconds, args.jobs)
        same = faults.records(home / "jobs1") == faults.records(home / f"jobs{args.jobs}")
    cores = len(os.sched_getaffinity(0))
    print(f"{args.cells} cells of {args.seconds:g} s work on {cores} cores, load {os.getloadavg()[0]:.1f}")
    print(f"1 worker:  {one:.1f} s, {work:.1f} CPU s, {work / one:.2f} processors in use")
    print(f"{args.jobs} workers: {many:.1f} s, {more:.1f} CPU s, {more / many:.2f} processors in use")
    print(f"{one / many:.2f} times as fast; records {'the same' if same else 'DIFFER'}")
    print(f"by CPU seconds, each worker on a core of its own: {work / (more / args.jobs):.2f} times as fast")
    extra = [(spent - args.cells * args.seconds) / args.cells for spent in (work, more)]
    print(
        f"CPU beyond the attacks' own work, per cell: {extra[0]:.2f} s with 1 worker, {extra[1]:.2f} s with {args.jobs}"
    )


if __name__ == "__main__":
    main()
