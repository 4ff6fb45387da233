"""Folders of thousands of records: times to plan, to run again what is finished, and to make the tables.

The records are made, not run: each is what its cell would leave, with numbers of no meaning.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.experiment import identity, provenance, suites
from bench.plugins.registry import Registry
from bench.records import store

DEFENSES = ("none", "mix-only", "mix-only:k=2", "texthide", "texthide:m=4")
ATTACKS = ("rss", "rss:top=2", "braverman", "magnitude-search", "xie-hong")
METRIC = {"value": 0.5, "low": 0.4, "high": 0.6, "random": 0.1, "random_low": 0.0, "random_high": 0.2}


def suite(path: Path, count: int) -> Path:
    """A suite of 5 defenses and 5 attacks on as many seeds as that takes."""
    seeds = list(range(count // (len(DEFENSES) * len(ATTACKS))))
    path.write_text(f"defense = {list(DEFENSES)}\nattack = {list(ATTACKS)}\nseed = {seeds}\nexamples = 100\n")
    return path


def fill(out: Path, file: Path) -> int:
    """A record for each of its cells."""
    cells = suites.from_suite(Registry(), str(file))
    for cell in cells:
        measured = {"metrics": {"identity": METRIC, "recall": METRIC}, "cost": {"attack_s": 1.0}}
        record = identity.describe(cell).replace(**measured)
        record = record.replace(code={**record.code, **provenance.scoring_code(record)})
        store.save(out, store.for_suite(record, cell.suite))
    return len(cells)


def timed(*words: str) -> float:
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "bench", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", type=int, nargs="*", default=[1000, 10_000])
    print("records   run again   again, --json   dry run   leaderboard")
    for count in parser.parse_args().counts:
        with tempfile.TemporaryDirectory() as name:
            home = Path(name)
            out, file = home / "results", suite(home / "many.toml", count)
            made = fill(out, file)
            run = ("run", "--suite", str(file), "--out", str(out))
            times = [timed(*run), timed(*run, "--json"), timed(*run, "--dry-run", "--json")]
            times.append(timed("leaderboard", "--results", str(out), "--out", str(home / "board")))
        print(f"{made:7}   {times[0]:7.1f} s   {times[1]:11.1f} s   {times[2]:5.1f} s   {times[3]:9.1f} s", flush=True)


if __name__ == "__main__":
    main()
