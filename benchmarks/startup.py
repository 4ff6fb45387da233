"""How soon the command line answers: help, list and a wrong name, against Python that does nothing.

    python benchmarks/startup.py [--repeats 7]

The design asks for help within 0.2 s and for the answer to a wrong name within 0.5 s. Seconds are the processor's, so
that other jobs on the machine do not count; the commands use one thread and wait for nothing, so on an idle machine
these are seconds.
"""

from __future__ import annotations

import resource
import subprocess
import sys

from measurement import Measurement, parser, report

BENCH = ("-m", "bench")
# What is typed, the exit status that is right, and the seconds allowed.
CASES: dict[str, tuple[tuple[str, ...], int, float | None]] = {
    "bench --help": ((*BENCH, "--help"), 0, 0.2),
    "bench list": ((*BENCH, "list"), 0, None),
    "bench run, wrong name": ((*BENCH, "run", "--defense", "texthyde", "--attack", "rss"), 2, 0.5),
}


def seconds(words: tuple[str, ...], status: int, repeats: int) -> float:
    """Of the fastest call."""
    times = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
        assert done.returncode == status, f"{' '.join(words)}: exit status {done.returncode}: {done.stderr}"
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(times)


def measure(repeats: int) -> list[Measurement]:
    bare = seconds(("-c", "pass"), 0, repeats)
    return [
        Measurement(name, "python -c pass", bare, seconds(words, status, repeats), limit=limit)
        for name, (words, status, limit) in CASES.items()
    ]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--repeats", type=int, default=7)
    args = options.parse_args()
    report(measure(args.repeats), args.json)


if __name__ == "__main__":
    main()
