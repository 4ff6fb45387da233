"""One figure of speed: ours beside a plain baseline, both taken in the same run.

Every script that `make bench` runs has `measure(...) -> list[Measurement]` and ends with `report`: lines for people, or
with `--json` one line of JSON for benchmarks/all.py.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Measurement:
    name: str
    baseline: str
    """what the plain side does"""
    plain: float
    ours: float
    unit: str = "s"
    """"s": the fewer the better; anything else is a rate, the more the better"""
    limit: float | None = None
    """seconds that ours may take at most, where the design says so"""

    @property
    def ratio(self) -> float:
        """How many times as fast as the baseline ours is."""
        return self.plain / self.ours if self.unit == "s" else self.ours / self.plain


def clock() -> float:
    """With one thread, seconds of the processor, so that other jobs on the machine do not count; else of the clock.

    The processor's are this process's own: what a child does is not in them.
    """
    return time.process_time() if os.environ.get("OMP_NUM_THREADS") == "1" else time.perf_counter()


def best(call: Callable[[], object], repeats: int = 3) -> float:
    """Seconds of the fastest of some calls: what other jobs add is not the code's."""
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def parser(about: str | None) -> argparse.ArgumentParser:
    """What the scripts' command lines share."""
    made = argparse.ArgumentParser(description=about.splitlines()[0] if about else None)
    made.add_argument("--json", action="store_true", help="print measurements as JSON, and nothing else")
    return made


def report(found: Sequence[Measurement], as_json: bool) -> None:
    if as_json:
        print(json.dumps([{**asdict(one), "ratio": one.ratio} for one in found]))
        return
    for one in found:
        print(f"{one.name}: {one.ours:,.4g} {one.unit}; {one.baseline}: {one.plain:,.4g} {one.unit};", end=" ")
        print(f"ratio {one.ratio:.3g}")
