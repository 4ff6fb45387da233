"""What this machine can do at most: the speed of one plain matrix product, in the sizes that the project multiplies.

    python benchmarks/yardstick.py [--json]

NumPy's BLAS, torch's and oneDNN, which torch carries, on one thread and on all. `make bench` takes it in every repeat
and shows each figure that is made of matrix products as a share of the best of them: what is missing to 1 is what other
code than the product takes.
The share counts operations in float32; the bfloat16 line shows what the processor would do in half the precision.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from measurement import best, clock, parser
from threadpoolctl import threadpool_limits

from bench.toolkit.linear import product

# rows × inner × columns: search in CoLA and SST-2, the layers of MiniLM and MPNet, the pair network.
SIZES = {
    "search": (1000, 384, 8551),
    "attention MiniLM": (512, 384, 1152),
    "wide MiniLM": (512, 384, 1536),
    "wide MPNet": (512, 768, 3072),
}


def products(rows: int, inner: int, columns: int) -> dict[str, Callable[[], Any]]:
    """One product by each library, into memory that is there already."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((rows, inner), dtype=np.float32)
    b = rng.standard_normal((columns, inner), dtype=np.float32).T
    out = np.empty((rows, columns), dtype=np.float32)
    s, t, room = (torch.from_numpy(x) for x in (a, b, out.copy()))
    s16, t16, room16 = (x.bfloat16() for x in (s, t, room))
    found: dict[str, Callable[[], Any]] = {
        "numpy": lambda: np.matmul(a, b, out=out),
        "torch": lambda: torch.mm(s, t, out=room),
        "torch bfloat16": lambda: torch.mm(s16, t16, out=room16),
    }
    if torch.backends.mkldnn.is_available():
        found["onednn"] = lambda: product(s, t.T)
    return found


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        with threadpool_limits(count):
            yield
    finally:
        torch.set_num_threads(before)


def measure() -> dict[str, dict[str, float]]:
    """GFLOP/s by library and threads, and by size."""
    cores = os.cpu_count() or 1
    found: dict[str, dict[str, float]] = {}
    for size, (rows, inner, columns) in SIZES.items():
        for library, call in products(rows, inner, columns).items():
            for count in sorted({1, cores}):
                with threads(count):
                    call()
                    once = clock(count)
                    call()
                    calls = max(1, round(0.02 / max(clock(count) - once, 1e-4)))
                    seconds = best(lambda p=call, n=calls: [p() for _ in range(n)], 5, count) / calls  # type: ignore[misc]
                name = f"{library}, {count} thread{'s' if count > 1 else ''}"
                found.setdefault(name, {})[size] = 2e-9 * rows * inner * columns / seconds
    return found


def main() -> None:
    args = parser(__doc__).parse_args()
    found = measure()
    if args.json:
        print(json.dumps(found))
        return
    print(f"{'GFLOP/s':>28}" + "".join(f"{size:>20}" for size in SIZES))
    for name, speeds in found.items():
        print(f"{name:>28}" + "".join(f"{speeds[size]:20.0f}" for size in SIZES))


if __name__ == "__main__":
    main()
