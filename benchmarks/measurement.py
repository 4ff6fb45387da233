"""One figure of speed: ours beside a plain baseline, both taken in the same run.

Every script that `make bench` runs has `measure(...) -> list[Measurement]` and ends with `report`: lines for people, or
with `--json` one line of JSON for benchmarks/all.py.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
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
    flops: float | None = None
    """operations in the matrix products that the work cannot do without: in all, or of one item where `unit` is a
    rate; None where the work is not made of them"""

    @property
    def ratio(self) -> float:
        """How many times as fast as the baseline ours is."""
        return self.plain / self.ours if self.unit == "s" else self.ours / self.plain

    @property
    def gflops(self) -> float | None:
        """Such operations a second, in thousands of millions: to be held against benchmarks/yardstick.py."""
        if self.flops is None:
            return None
        return 1e-9 * (self.flops / self.ours if self.unit == "s" else self.flops * self.ours)


def clock(threads: int | None = None) -> float:
    """With one thread, seconds of the processor, so that other jobs on the machine do not count; else of the clock.

    The processor's are this process's own: what a child does is not in them. Without `threads` the environment says.
    """
    one = os.environ.get("OMP_NUM_THREADS") == "1" if threads is None else threads == 1
    return time.process_time() if one else time.perf_counter()


def best(call: Callable[[], object], repeats: int = 3, threads: int | None = None) -> float:
    """Seconds of the fastest of some calls: what other jobs add is not the code's."""
    return fastest({"": call}, repeats, threads)[""]


def fastest(
    calls: Mapping[str, Callable[[], object]], repeats: int = 3, threads: int | None = None
) -> dict[str, float]:
    """Seconds of the fastest of some calls of each, taken in turn, so that a busy second hits no side alone."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start = clock(threads)
            call()
            times[name].append(clock(threads) - start)
    return {name: min(taken) for name, taken in times.items()}


def counted(call: Callable[[], object]) -> float:
    """Operations of the matrix products and convolutions that torch does in one call."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        call()
    return float(counter.get_total_flops())


def parser(about: str | None) -> argparse.ArgumentParser:
    """What the scripts' command lines share."""
    made = argparse.ArgumentParser(description=about.splitlines()[0] if about else None)
    made.add_argument("--json", action="store_true", help="print measurements as JSON, and nothing else")
    return made


def report(found: Sequence[Measurement], as_json: bool) -> None:
    if as_json:
        print(json.dumps([{**asdict(one), "ratio": one.ratio, "gflops": one.gflops} for one in found]))
        return
    for one in found:
        print(f"{one.name}: {one.ours:,.4g} {one.unit}; {one.baseline}: {one.plain:,.4g} {one.unit};", end=" ")
        print(f"ratio {one.ratio:.3g}", end="\n" if one.gflops is None else f"; {one.gflops:.0f} GFLOP/s\n")
