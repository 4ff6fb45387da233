"""Encodings released per second: the fused weighted gather against the row-by-row loop of the authors' style.

    python benchmarks/release.py [--repeats 9]

Both sides mix and mask the same key in one run and must give the same encodings.
"""

from __future__ import annotations

import numpy as np
from measurement import Measurement, best, parser, report

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


def measure(repeats: int = 9) -> list[Measurement]:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((N, DIM)).astype(np.float32)
    members = mixing.draw_members(N, K, EPOCHS, rng, batch=32, distinct=False)
    mask, pool = mixing.draw_masks(len(members), DIM, M, rng)
    key = Key(members[:, 0], members, mixing.draw_weights(len(members), K, "half-normal", rng), mask, pool)
    np.testing.assert_allclose(row_by_row(vectors, key), mixing.apply(vectors, key), atol=1e-5)
    plain = best(lambda: row_by_row(vectors, key), repeats)
    fused = best(lambda: mixing.apply(vectors, key), repeats)
    name = f"release {len(members)} × {DIM}, k={K}, m={M}"
    return [Measurement(name, "row by row", len(members) / plain, len(members) / fused, "encodings/s")]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--repeats", type=int, default=9)
    args = options.parse_args()
    report(measure(args.repeats), args.json)


if __name__ == "__main__":
    main()
