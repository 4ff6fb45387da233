"""Strikes runs at random moments, over and over: signals 9, TERM, INT and STOP to the process that was started, to one
of its workers, to an attack, and to a run that fine-tunes an encoder.

Prints how many strikes of which kind there were, and how many finished records were lost, doubled or other than those
of a run that was left in peace. Processes that outlive a struck run are counted, too.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.helpers.processes import heed_ctrl_c
from tests.helpers.tiny_models import save_tiny

ROOT = Path(__file__).resolve().parent.parent
PLUGINS = ROOT / "tests" / "plugins"
# Small cells: no transformer beyond the scoring of a few sentences.
SIZES = ("--examples", "40", "--candidates", "120", "--encoder", "toy")
FILES = tuple(word for name in ("toy.py", "counting.py") for word in ("--plugin", str(PLUGINS / name)))
DEFENSES = ("none", "mix-only", "mix-only:k=2", "texthide", "texthide:m=4")
# A training of some seconds.
TRAINING = "finetuned:epochs=12,batch=8,layers=2,rate=0.002,examples=200"
# What the command line of a victim says; the run itself, training or not, is the process that was started.
VICTIMS = {"run": None, "worker": b"spawn_main", "attack": b"bench.isolation.child", "trainer": None}
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSTOP)
# A process is ours if its environment says so.
MARK = "HIDESEEK_FAULTS"
# Seconds in which what belonged to a killed process must be gone, and in which one that was asked to end has ended.
GRACE_S, END_S = 5.0, 60.0
# Runs that may end before their moment comes, or whose victim does, until it is another's turn.
TRIES = 10


@dataclass
class Tally:
    runs: int = 0
    strikes: Counter[tuple[str, str]] = field(default_factory=Counter)
    lost: int = 0
    different: int = 0
    orphans: int = 0
    stuck: int = 0


def command(out: Path, cells: int, *more: str) -> list[str]:
    """A run of so many cells, of 5 defenses and 3 attacks on as many seeds as that takes."""
    seeds = [str(seed) for seed in range(-(-cells // 15))]
    words = [word for name in DEFENSES for word in ("--defense", name)]
    words += [word for top in (1, 2, 3) for word in ("--attack", f"counts:top={top}")]
    return [sys.executable, "-m", "bench", "run", *words, "--seed", *seeds, *SIZES, *FILES, "--out", str(out), *more]


def training(out: Path, model: Path) -> list[str]:
    """A run of three cells behind three trainings."""
    words = ["--defense", "none", "--defense", "mix-only:k=2", "--defense", "texthide:m=4", "--attack", "counts"]
    words += ["--examples", "40", "--candidates", "120", "--training", TRAINING]
    words += ["--encoder", str(model), *FILES[2:]]
    return [sys.executable, "-m", "bench", "run", *words, "--out", str(out)]


def records(folder: Path) -> dict[str, dict[str, Any]]:
    """By file name, without what may differ between equal runs; a file that is not whole raises."""
    found = {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}
    for record in found.values():
        record.pop("cost")
    return found


def start(words: Sequence[str], mark: str, home: Path, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """In a session of its own, with a mark that all its processes inherit."""
    return subprocess.Popen(
        words,
        cwd=home,
        env={**env, MARK: mark},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
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


def alive(mark: str, victim: str) -> list[int]:
    """Those of them that play this part."""
    found, says = [], VICTIMS[victim]
    for pid in marked(mark):
        with contextlib.suppress(OSError):
            if says is not None and says in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def outlived(mark: str) -> int:
    end = time.monotonic() + GRACE_S
    while marked(mark) and time.monotonic() < end:
        time.sleep(0.1)
    return len(marked(mark))


@dataclass
class Scene:
    """One command, run in peace for what is wanted, then struck; each side has a cache of its own."""

    home: Path
    words: Callable[[Path], list[str]]
    victims: Sequence[str]
    wanted: dict[str, dict[str, Any]] = field(default_factory=dict)

    def peaceful(self, side: str) -> dict[str, dict[str, Any]]:
        done = subprocess.run(self.command(side), env=self.env(side), cwd=self.home, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return records(self.home / side)

    def command(self, side: str) -> list[str]:
        return self.words(self.home / side)

    def env(self, side: str) -> dict[str, str]:
        return {**os.environ, "BENCH_CACHE_DIR": str(self.home / f"cache-{side}")}

    def clear(self) -> None:
        """From the start again; what was trained, too."""
        for path in (self.home / "rough").glob("*.json"):
            path.unlink()
        if "trainer" in self.victims:
            shutil.rmtree(self.home / "cache-rough", ignore_errors=True)


def loop(
    home: Path, kills: int, cells: int, jobs: int, seed: int = 0, victims: Sequence[str] = tuple(VICTIMS)
) -> Tally:
    """So many strikes, then a run in peace; compared with one that was never struck."""
    tally, moments = Tally(), random.Random(seed)
    scenes = []
    if plain := [victim for victim in victims if victim != "trainer"]:
        scenes.append(Scene(home / "plain", lambda out: command(out, cells, "--jobs", str(jobs)), plain))
    if "trainer" in victims:
        model = save_tiny(home / "bert")
        scenes.append(Scene(home / "training", lambda out: training(out, model), ["trainer"]))
    for scene in scenes:
        scene.home.mkdir()
        scene.wanted = scene.peaceful("calm")
    turns = itertools.cycle(itertools.product(SIGNALS, [(s, victim) for s in scenes for victim in s.victims]))
    while tally.strikes.total() < kills:
        sign, (scene, victim) = next(turns)
        for _ in range(TRIES):
            if _strike(scene, victim, sign, f"{os.getpid()}-{tally.runs}", moments, tally):
                print(f"{tally.strikes.total()} of {kills}: {sign.name} to {victim}", file=sys.stderr, flush=True)
                break
    for scene in scenes:
        found = scene.peaceful("rough")
        tally.runs += 1
        tally.lost += len(scene.wanted.keys() - found.keys())
        tally.different += sum(found[name] != scene.wanted[name] for name in scene.wanted.keys() & found.keys())
        tally.different += len(found.keys() - scene.wanted.keys())
    return tally


def _strike(scene: Scene, victim: str, sign: signal.Signals, mark: str, moments: random.Random, tally: Tally) -> bool:
    """One run, one signal; then it is killed, unless the signal ended it. False if there was nobody to be struck."""
    out = scene.home / "rough"
    process = start(scene.command("rough"), mark, scene.home, scene.env("rough"))
    tally.runs += 1
    try:
        if not _worked(process, out, moments.uniform(0, 6)):
            scene.clear()  # it was finished before its moment came
            return False
        before, some = _ok(records(out)), [] if VICTIMS[victim] else [process.pid]
        while not some and process.poll() is None:
            some = alive(mark, victim)  # it may still be starting
        struck = False
        with contextlib.suppress(ProcessLookupError, IndexError):
            pid = moments.choice(some)
            os.kill(pid, sign)
            tally.strikes[victim, sign.name] += 1
            struck = True
            if sign == signal.SIGSTOP:
                time.sleep(moments.uniform(0.2, 3))
                os.kill(pid, signal.SIGCONT)
        if not struck:
            return False
        if pid != process.pid or sign == signal.SIGSTOP:
            _worked(process, out, moments.uniform(3, 6))
        elif sign in (signal.SIGTERM, signal.SIGINT):
            tally.stuck += not _ended(process)
    finally:
        process.kill()
        process.wait()
    tally.orphans += outlived(mark)
    now = records(out)
    tally.lost += len(before.keys() - now.keys())
    tally.different += sum(now[name] != record for name, record in before.items() if name in now)
    if len(_ok(now)) > 0.8 * len(scene.wanted):
        scene.clear()
    return True


def _ok(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Failed cells are run again: an attack that was killed has failed."""
    return {name: record for name, record in found.items() if record["status"] == "ok"}


def _ended(process: subprocess.Popen[bytes]) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(END_S)
    return process.poll() is not None


def _worked(process: subprocess.Popen[bytes], out: Path, seconds: float) -> bool:
    """Whether it is still at work, some seconds on: from its first new record, or from its start, as it happens."""
    count, end = len(list(out.glob("*.json"))), time.monotonic() + 60
    while seconds > 2 and len(list(out.glob("*.json"))) == count and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    return process.poll() is None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--cells", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--victim", choices=sorted(VICTIMS), action="append", help="default: all")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        tally = loop(Path(home), args.kills, args.cells, args.jobs, args.seed, args.victim or tuple(VICTIMS))
    print(f"{tally.runs} runs, {tally.strikes.total()} strikes:")
    for victim in args.victim or VICTIMS:
        print(f"  {victim}: " + ", ".join(f"{tally.strikes[victim, sign.name]} {sign.name}" for sign in SIGNALS))
    print(
        f"records lost: {tally.lost}, different: {tally.different}; processes left behind: {tally.orphans}, "
        f"not ended within {END_S:.0f} s when asked: {tally.stuck}"
    )
    if tally.lost or tally.different or tally.orphans or tally.stuck:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
