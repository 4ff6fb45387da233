"""Sentences encoded per second: fixed-shape batches against a plain length-sorted loop, in one run.

    python benchmarks/encoding.py [demo|cola|...]

Fixed shapes make a vector independent of the texts beside it; this shows what that costs.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import torch

from bench import encoders
from bench.encoders import MiniLM
from bench.registry import Registry

COUNT = 4000


def plain(encoder: MiniLM, texts: list[str], rows: int = 64) -> np.ndarray:
    network, tokenizer = encoder._loaded
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    out = np.empty((len(texts), encoder.dim), dtype=np.float32)
    with torch.inference_mode():
        for at in range(0, len(order), rows):
            some = order[at : at + rows]
            batch = tokenizer(
                [texts[i] for i in some], padding=True, truncation=True, max_length=128, return_tensors="pt"
            )
            out[some] = network(**batch).last_hidden_state[:, 0].numpy()
    return out


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "demo"
    texts = Registry().make("dataset", name).load("train").texts[:COUNT]
    encoder = MiniLM()
    encoder.encode(texts[:200])
    speeds: dict[str, list[float]] = {"plain": [], **{f"rows={r} step={s}": [] for r in (16, 32, 64) for s in (2, 4)}}
    reference = plain(encoder, texts)
    for _ in range(2):
        for setting, times in speeds.items():
            start = time.perf_counter()
            if setting == "plain":
                vectors = plain(encoder, texts)
            else:
                encoders.ROWS, encoders.STEP = (int(part.split("=")[1]) for part in setting.split())
                vectors = encoder.encode(texts)
            times.append(len(texts) / (time.perf_counter() - start))
            np.testing.assert_allclose(vectors, reference, atol=1e-4)
    for setting, times in speeds.items():
        ratio = max(times) / max(speeds["plain"])
        print(f"{setting:>16}: {max(times):7.0f} sentences/s on {name} ({ratio:.2f} of plain)")


if __name__ == "__main__":
    main()
