"""Encodings released per second: the fused weighted gather against the row-by-row loop of the authors' style.

    python benchmarks/release.py

Both sides mix and mask the same key in one run and must give the same encodings.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from bench import Key, mixing

N, DIM, K, M, EPOCHS = 100, 768, 4, 256, 50


def row_by_row(vectors: np.ndarray, key: Key) -> np.ndarray:
    assert key.pool is not None
    assert key.mask is not None
    out = []
    for i in range(len(key.members)):
        mixed = np.zeros(vectors.shape[1], dtype=np.float32)
        for j in range(key.members.shape[1]):
            mixed += key.weights[i, j] * vectors[key.members[i, j]]
        out.append(mixed * key.pool[key.mask[i]])
    return np.stack(out)


def seconds(call: Callable[[], np.ndarray], repeats: int = 9) -> list[float]:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def main() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((N, DIM)).astype(np.float32)
    members = mixing.draw_members(N, K, EPOCHS, rng, batch=32, distinct=False)
    mask, pool = mixing.draw_masks(len(members), DIM, M, rng)
    key = Key(members[:, 0], members, mixing.draw_weights(len(members), K, "half-normal", rng), mask, pool)
    np.testing.assert_allclose(row_by_row(vectors, key), mixing.apply(vectors, key), atol=1e-5)
    plain, fused = seconds(lambda: row_by_row(vectors, key)), seconds(lambda: mixing.apply(vectors, key))
    for name, times in (("row by row", plain), ("fused", fused)):
        best, spread = min(times) * 1e3, statistics.pstdev(times) * 1e3
        print(f"{name:>12}: {len(members) / best * 1e3:12,.0f} encodings/s   ({best:.1f} ms, spread {spread:.1f} ms)")
    print(f"{len(members)} × {DIM}, k={K}, m={M}: {min(plain) / min(fused):.1f} times")


if __name__ == "__main__":
    main()
