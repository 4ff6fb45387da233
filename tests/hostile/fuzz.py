"""`python -m tests.hostile.fuzz --count 100000 --seed 21`: hostile inputs of every kind, until one is a bug.

The nightly workflow runs it with the date as seed. What it finds is printed with the seed, so that it can be had again.
"""

from __future__ import annotations

import argparse
import time
import traceback

import hypothesis

from tests.hostile.targets import KINDS, workplace

BATCH = 500


def fuzz(kind: str, count: int, seed: int, end: float) -> tuple[int, list[str]]:
    """So many inputs of a kind: how many it were, and the bugs they found."""
    strategy, target, _ = KINDS[kind]
    done, bugs = 0, []
    settings = hypothesis.settings(
        max_examples=BATCH,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        suppress_health_check=list(hypothesis.HealthCheck),
    )

    def counted(payload: object) -> None:
        nonlocal done
        done += 1
        target(payload)

    batch = 0
    while done < count and time.monotonic() < end and batch < 4 * count // BATCH + 4:
        test = hypothesis.seed(seed + batch)(settings(hypothesis.given(strategy)(counted)))
        try:
            with workplace():
                test()
        except Exception:
            bugs.append(f"{kind}, seed {seed + batch}:\n{traceback.format_exc()[-3000:]}")
        batch += 1
    return done, bugs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="inputs of all kinds together")
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--seconds", type=float, default=3600.0, help="at most")
    parser.add_argument("--kind", choices=sorted(KINDS), action="append", help="default: all")
    args = parser.parse_args()
    total, found = 0, []
    wanted = args.kind or list(KINDS)
    whole = sum(KINDS[kind].share for kind in wanted)
    for kind in wanted:
        began, share = time.monotonic(), KINDS[kind].share / whole
        done, bugs = fuzz(kind, round(args.count * share), args.seed, began + args.seconds * share)
        print(f"{kind}: {done:,} inputs in {time.monotonic() - began:.0f} s, {len(bugs)} bugs", flush=True)
        total, found = total + done, found + bugs
    for bug in found[:20]:
        print(bug)
    print(f"{total:,} inputs, seed {args.seed}: {len(found)} bugs")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
