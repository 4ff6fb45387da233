"""`make bench`: every speed that the project quotes, as a ratio to a plain baseline taken in the same run.

    python benchmarks/all.py [--repeats 3] [--only NAME ...] [--save] [--no-fail]

Each script runs in a process of its own with one thread, so that neither settings nor memory leak from one to the
next. Prints one table, writes benchmarks/results/last.json, and compares with the committed benchmarks/reference.json;
`--save` writes that. Exit status: 0, or 1 if a ratio is slower, a limit is passed or a script failed (`--no-fail`: only
said), 2 usage.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from compare import Damaged, Figure, bad, read, table, verdicts, write

HERE = Path(__file__).resolve().parent
# Sizes at which one repeat of all of them ends within minutes on two cores.
SCRIPTS: dict[str, tuple[str, ...]] = {
    "startup": (),
    "release": (),
    "encoding": ("--count", "400"),
    "training": ("--steps", "8"),
    "search": (),
    "pairs": ("--threads", "1", "--encodings", "3000", "--plain", "250"),
    "pursuit": ("--serial", "20"),
    "matching": ("--attacks", "20", "--steps", "8", "--plain", "1"),
    "wall": ("--repeats", "5"),
    "rerun": (),
}
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
PACKAGES = ("numpy", "torch", "faiss-cpu", "scikit-learn", "transformers")
TIMEOUT = 900


def run(name: str) -> list[dict[str, Any]]:
    """The measurements of one script."""
    command = [sys.executable, str(HERE / f"{name}.py"), *SCRIPTS[name], "--json"]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
    # A script may end with 1 because a ratio is too low; its figures are what is wanted here.
    lines = done.stdout.strip().splitlines()
    if not lines:
        why = done.stderr.strip().splitlines() or ["it printed nothing"]
        raise RuntimeError(f"exit status {done.returncode}: {why[-1]}")
    measured: list[dict[str, Any]] = json.loads(lines[-1])
    return measured


def collect(names: Sequence[str], repeats: int) -> tuple[dict[str, Figure], dict[str, str]]:
    """Figures by name, and what failed. All scripts in turn, then again: a busy minute hits no figure thrice."""
    found: dict[str, Figure] = {}
    lists: dict[str, dict[str, list[float]]] = defaultdict(lambda: {"plain": [], "ours": [], "ratios": []})
    failed: dict[str, str] = {}
    for turn in range(repeats):
        for name in names:
            print(f"{turn + 1} of {repeats}: {name}", file=sys.stderr, flush=True)
            try:
                measured = run(name)
            except (RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
                failed[name] = str(error)
                continue
            for one in measured:
                kept = lists[one["name"]]
                for word, value in (("plain", one["plain"]), ("ours", one["ours"]), ("ratios", one["ratio"])):
                    kept[word].append(value)
                found[one["name"]] = Figure(one["baseline"], one["unit"], **kept, limit=one["limit"])
    return found, failed


def facts() -> dict[str, object]:
    machine = {"processor": _processor(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "threads": 1}
    versions = {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
    return {"date": datetime.date.today().isoformat(), "machine": machine, "versions": versions}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=SCRIPTS, metavar="NAME", help=f"some of {', '.join(SCRIPTS)}")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "last.json", metavar="FILE")
    parser.add_argument("--reference", type=Path, default=HERE / "reference.json", metavar="FILE")
    parser.add_argument("--save", action="store_true", help="make these figures the reference, to be committed")
    parser.add_argument("--no-fail", action="store_true", help="exit with 0 also where something is slower")
    args = parser.parse_args()
    if args.repeats < 1:
        parser.error(f"--repeats {args.repeats}: at least 1")
    try:
        before = read(args.reference)
    except Damaged as error:
        if not args.save:
            parser.error(str(error))
        before = None
    now, failed = collect(args.only or list(SCRIPTS), args.repeats)
    said = verdicts(now, before)
    print(table(now, said, before))
    about = facts()
    write(args.out, now, about)
    for name, why in failed.items():
        print(f"{name} failed: {why}", file=sys.stderr)
    if args.save:
        write(args.reference, {**(before or {}), **now}, about)
    elif before is None:
        print(f"nothing to compare with: {args.reference} does not exist; --save writes it", file=sys.stderr)
    elif not args.only and (gone := sorted(set(before) - set(now))):
        print(f"in {args.reference} but not measured: {', '.join(gone)}", file=sys.stderr)
    wrong = bool(failed) or any(bad(verdict) for verdict in said.values())
    return 1 if wrong and not args.no_fail else 0


if __name__ == "__main__":
    raise SystemExit(main())
