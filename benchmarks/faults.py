"""Kills runs: kill -9 to the process that was started, or to one of its workers, at random moments, over and over.

Prints how many runs and kills there were, and how many finished records were lost, doubled or other than those of a run
that was left in peace. Processes that outlive a killed run are counted, too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PLUGINS = ROOT / "tests" / "plugins"
# Small cells: no transformer beyond the scoring of a few sentences.
SIZES = ("--examples", "40", "--candidates", "120", "--encoder", "toy")
FILES = tuple(word for name in ("toy.py", "counting.py") for word in ("--plugin", str(PLUGINS / name)))
DEFENSES = ("none", "mix-only", "mix-only:k=2", "texthide", "texthide:m=4")
# A process is ours if its environment says so.
MARK = "HIDESEEK_FAULTS"
# Seconds in which what belonged to a killed process must be gone.
GRACE_S = 5.0


@dataclass
class Tally:
    runs: int = 0
    kills: dict[str, int] = field(default_factory=lambda: {"run": 0, "worker": 0})
    lost: int = 0
    different: int = 0
    orphans: int = 0


def command(out: Path, cells: int, *more: str) -> list[str]:
    """A run of so many cells, of 5 defenses and 3 attacks on as many seeds as that takes."""
    seeds = [str(seed) for seed in range(-(-cells // 15))]
    words = [word for name in DEFENSES for word in ("--defense", name)]
    words += [word for top in (1, 2, 3) for word in ("--attack", f"counts:top={top}")]
    return [sys.executable, "-m", "bench", "run", *words, "--seed", *seeds, *SIZES, *FILES, "--out", str(out), *more]


def records(folder: Path) -> dict[str, dict[str, Any]]:
    """By file name, without what may differ between equal runs; a file that is not whole raises."""
    found = {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}
    for record in found.values():
        record.pop("cost")
    return found


def start(words: Sequence[str], mark: str, home: Path) -> subprocess.Popen[bytes]:
    """In a session of its own, with a mark that all its processes inherit."""
    return subprocess.Popen(
        words,
        cwd=home,
        env={**os.environ, MARK: mark},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def marked(mark: str) -> list[int]:
    """The processes with a mark that are alive."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and f"{MARK}={mark}".encode() in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
    return found


def workers(mark: str) -> list[int]:
    """Those of them that were spawned to run cells."""
    found = []
    for pid in marked(mark):
        with contextlib.suppress(OSError):
            if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def outlived(mark: str) -> int:
    end = time.monotonic() + GRACE_S
    while marked(mark) and time.monotonic() < end:
        time.sleep(0.1)
    return len(marked(mark))


def loop(home: Path, kills: int, cells: int, jobs: int, seed: int = 0) -> Tally:
    """So many kills, then a run in peace; compared with one that was never killed."""
    calm, rough, tally = home / "calm", home / "rough", Tally()
    subprocess.run(command(calm, cells, "--jobs", str(jobs)), check=True, cwd=home, capture_output=True)
    wanted, moments = records(calm), random.Random(seed)
    while sum(tally.kills.values()) < kills:
        mark = f"{os.getpid()}-{tally.runs}"
        process = start(command(rough, cells, "--jobs", str(jobs)), mark, home)
        tally.runs += 1
        victim = ("worker", "run")[sum(tally.kills.values()) % 2]
        if not _worked(process, rough, moments.uniform(0, 6)):
            _clear(rough)  # it was finished before its moment came
            continue
        while victim == "worker" and not workers(mark) and process.poll() is None:
            time.sleep(0.05)  # it is still starting
        before = set(records(rough))
        tally.kills[victim] += 1
        if victim == "worker" and (some := workers(mark)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(moments.choice(some), signal.SIGKILL)
            _worked(process, rough, moments.uniform(3, 6))
        process.kill()
        process.wait()
        tally.orphans += outlived(mark)
        tally.lost += len(before - set(records(rough)))
        if len(records(rough)) > 0.8 * len(wanted):
            _clear(rough)
    subprocess.run(command(rough, cells, "--jobs", str(jobs)), check=True, cwd=home, capture_output=True)
    tally.runs += 1
    found = records(rough)
    tally.lost += len(wanted.keys() - found.keys())
    tally.different += sum(found[name] != wanted[name] for name in wanted.keys() & found.keys())
    tally.different += len(found.keys() - wanted.keys())
    return tally


def _worked(process: subprocess.Popen[bytes], out: Path, seconds: float) -> bool:
    """Whether it is still at work, some seconds on: from its first new record, or from its start, as it happens."""
    count, end = len(list(out.glob("*.json"))), time.monotonic() + 60
    while seconds > 2 and len(list(out.glob("*.json"))) == count and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    return process.poll() is None


def _clear(folder: Path) -> None:
    for path in folder.glob("*.json"):
        path.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--cells", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        tally = loop(Path(home), args.kills, args.cells, args.jobs, args.seed)
    print(
        f"{tally.runs} runs of {args.cells} cells; killed: {tally.kills['run']} runs, {tally.kills['worker']} workers"
    )
    print(f"records lost: {tally.lost}, different: {tally.different}; processes left behind: {tally.orphans}")


if __name__ == "__main__":
    main()
