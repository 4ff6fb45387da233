"""Exact search: NumPy's and torch's matrix product against faiss's flat index, at several sizes in one run.

    python benchmarks/search.py [--engines]

Times include normalisation. `--engines` shows each engine by itself, which decides the choice in
bench/toolkit/search.py, and what importing torch takes.
"""

from __future__ import annotations

import subprocess
import sys
import time

import faiss
import numpy as np
from measurement import Measurement, best, parser, report

from bench import search

SIZES = [(1000, 8_551, 384), (1000, 67_349, 384), (1000, 67_349, 768), (5000, 8_551, 384)]
TOP = 16


def flat(queries: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    q, v = search.unit(queries), search.unit(vectors)
    index = faiss.IndexFlatIP(v.shape[1])
    index.add(v)
    rows: np.ndarray = index.search(q, TOP)[1]
    return rows


def measure(sizes: list[tuple[int, int, int]]) -> list[Measurement]:
    """The engine that bench.search chooses, against faiss."""
    rng = np.random.default_rng(0)
    found = []
    for n, rows, dim in sizes:
        queries, vectors = (rng.standard_normal((size, dim), dtype=np.float32) for size in (n, rows))
        # Engines round differently, so answers that are equal to six digits may change places.
        assert (search.nearest(queries, vectors, TOP) == flat(queries, vectors)).mean() > 0.999
        theirs = best(lambda q=queries, v=vectors: flat(q, v))  # type: ignore[misc]
        ours = best(lambda q=queries, v=vectors: search.nearest(q, v, TOP))  # type: ignore[misc]
        flops = 2.0 * n * rows * dim
        found.append(Measurement(f"search {n} × {rows} × {dim}", "faiss flat", theirs, ours, flops=flops))
    return found


def engines() -> None:
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    print(f"importing torch: {time.perf_counter() - start:.2f} s")
    print(f"{'queries × corpus × dim':>26} {'numpy':>9} {'torch':>9} {'faiss':>9}   faiss / best")
    for n, rows, dim in SIZES:
        queries, vectors = (rng.standard_normal((size, dim), dtype=np.float32) for size in (n, rows))
        times = {}
        for name, small in (("numpy", 1e30), ("torch", 0.0)):
            search.SMALL = small
            times[name] = best(lambda q=queries, v=vectors: search.nearest(q, v, TOP))  # type: ignore[misc]
        times["faiss"] = best(lambda q=queries, v=vectors: flat(q, v))  # type: ignore[misc]
        print(f"{f'{n} × {rows} × {dim}':>26} " + " ".join(f"{t:8.3f}s" for t in times.values()), end="")
        print(f"   {times['faiss'] / min(times['numpy'], times['torch']):.1f}")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--engines", action="store_true", help="NumPy, torch and faiss side by side")
    args = options.parse_args()
    if args.engines:
        engines()
    else:
        report(measure(SIZES[:2]), args.json)


if __name__ == "__main__":
    main()
