"""`make bench`: every speed that the project quotes, as a ratio to a plain baseline taken in the same run.

    python benchmarks/all.py [--repeats 3] [--only NAME ...] [--save] [--no-fail]

Each script runs in a process of its own with one thread, so that neither settings nor memory leak from one to the
next. Every repeat also takes the machine's own speed, one plain matrix product (benchmarks/yardstick.py), and figures
that are made of such products are shown as a share of it. Prints one table, writes benchmarks/results/last.json, and
compares with what the committed benchmarks/reference.json holds for this model of processor; `--save` writes that.
Exit status: 0, or 1 if a ratio is slower, a limit is passed or a script failed (`--no-fail`: only said), 2 usage. On a
model without a reference nothing can be slower or too late: that is said, and only a script that failed gives 1.
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
from statistics import median
from typing import Any

from compare import Damaged, Figure, Machine, bad, read, table, verdicts, write

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
Speeds = dict[str, dict[str, float]]
"""GFLOP/s by library and threads, and by size"""


def run(name: str, threads: int = 1) -> Any:
    """What one script measured."""
    command = [sys.executable, str(HERE / f"{name}.py"), *SCRIPTS.get(name, ()), "--json"]
    environment = {**os.environ, **dict.fromkeys(THREADS, str(threads))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
    # A script may end with 1 because a ratio is too low; its figures are what is wanted here.
    lines = done.stdout.strip().splitlines()
    if not lines:
        why = done.stderr.strip().splitlines() or ["it printed nothing"]
        raise RuntimeError(f"exit status {done.returncode}: {why[-1]}")
    return json.loads(lines[-1])


def collect(names: Sequence[str], repeats: int) -> tuple[dict[str, Figure], list[Speeds], dict[str, str]]:
    """Figures by name, the machine's speed in each repeat, and what failed. All scripts in turn, then again: a busy
    minute hits no figure thrice."""
    found: dict[str, Figure] = {}
    lists: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    speeds: list[Speeds] = []
    failed: dict[str, str] = {}
    for turn in range(repeats):
        print(f"{turn + 1} of {repeats}: yardstick", file=sys.stderr, flush=True)
        speeds.append(run("yardstick", os.cpu_count() or 1))
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
                if one["gflops"] is not None:
                    kept["shares"].append(one["gflops"] / limit(speeds[-1]))
                found[one["name"]] = Figure(one["baseline"], one["unit"], **kept, limit=one["limit"])
    return found, speeds, failed


def limit(speeds: Speeds, threads: int = 1) -> float:
    """GFLOP/s in float32 of the best library at its best size, with so many threads."""
    word = f", {threads} thread"
    return max(max(sizes.values()) for name, sizes in speeds.items() if word in name and "bfloat16" not in name)


def middle(speeds: Sequence[Speeds]) -> Speeds:
    """The median of the repeats."""
    return {
        name: {size: round(median(one[name][size] for one in speeds), 1) for size in sizes}
        for name, sizes in speeds[0].items()
    }


def facts() -> dict[str, object]:
    machine = {"processor": processor(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "threads": 1}
    versions = {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
    return {"date": datetime.date.today().isoformat(), "machine": machine, "versions": versions}


def processor() -> str:
    """The model, with its numbers: virtual machines often give a family's name alone."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    found: dict[str, str] = {}
    for line in lines:
        word, _, value = line.partition(":")
        found.setdefault(word.strip(), value.strip())
    name = found.get("model name", platform.machine())
    numbers = [f"{word} {found[key]}" for word, key in (("family", "cpu family"), ("model", "model")) if key in found]
    return ", ".join([name, *numbers])


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
        machines = read(args.reference)
    except Damaged as error:
        if not args.save:
            parser.error(str(error))
        machines = {}
    model = processor()
    before = machines[model].figures if model in machines else None
    now, speeds, failed = collect(args.only or list(SCRIPTS), args.repeats)
    said = verdicts(now, before)
    print(table(now, said, before))
    for name, sizes in middle(speeds).items():
        print(f"one plain product, {name}, GFLOP/s: {', '.join(f'{size} {v:.0f}' for size, v in sizes.items())}")
    here = Machine({**facts(), "yardstick": middle(speeds)}, now)
    write(args.out, {model: here})
    for name, why in failed.items():
        print(f"{name} failed: {why}", file=sys.stderr)
    if args.save:
        write(args.reference, {**machines, model: Machine(here.about, {**(before or {}), **now})})
    elif before is None:
        known = "; ".join(machines) or "none"
        print(f"nothing to compare with: {args.reference} knows {known}, and this is {model}", file=sys.stderr)
        print("ratios of other machines say nothing here; --save adds this one", file=sys.stderr)
    elif not args.only and (gone := sorted(set(before) - set(now))):
        print(f"in {args.reference} but not measured: {', '.join(gone)}", file=sys.stderr)
    judged = before is not None and any(bad(verdict) for verdict in said.values())
    return 1 if (failed or judged) and not args.no_fail else 0


if __name__ == "__main__":
    raise SystemExit(main())
