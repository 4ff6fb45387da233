"""Sentences encoded per second: fixed-shape batches against a plain length-sorted loop, in one run.

    python benchmarks/encoding.py [demo|cola|...] [--count 4000] [--sweep]

Fixed shapes make a vector independent of the texts beside it; this shows what that costs. `--sweep` tries other shapes.
"""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measurement import Measurement, best, parser, report

from bench.encoders import batching
from bench.encoders.transformers import MiniLM
from bench.plugins.registry import Registry


@lru_cache
def loaded(folder: Path) -> tuple[Any, Any]:
    """Network and tokenizer, as transformers itself loads them."""
    from transformers import AutoModel, AutoTokenizer

    return AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)


def plain(encoder: MiniLM, texts: list[str], rows: int = 64) -> np.ndarray:
    network, tokenizer = loaded(encoder.folder)
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


def measure(name: str, texts: list[str], repeats: int = 2) -> list[Measurement]:
    encoder = MiniLM()
    np.testing.assert_allclose(encoder.encode(texts[:200]), plain(encoder, texts[:200]), atol=1e-4)
    loop = len(texts) / best(lambda: plain(encoder, texts), repeats)
    fixed = len(texts) / best(lambda: encoder.encode(texts), repeats)
    return [Measurement(f"encoding {name}", "length-sorted batches", loop, fixed, "sentences/s")]


def sweep(name: str, texts: list[str]) -> None:
    """Which rows and steps are best; bench/encoders/batching.py quotes the answer."""
    encoder = MiniLM()
    reference = plain(encoder, texts)
    speeds: dict[str, list[float]] = {"plain": [], **{f"rows={r} step={s}": [] for r in (16, 32, 64) for s in (2, 4)}}
    for _ in range(2):
        for setting, times in speeds.items():
            start = time.perf_counter()
            if setting == "plain":
                vectors = plain(encoder, texts)
            else:
                batching.ROWS, batching.STEP = (int(part.split("=")[1]) for part in setting.split())
                vectors = encoder.encode(texts)
            times.append(len(texts) / (time.perf_counter() - start))
            np.testing.assert_allclose(vectors, reference, atol=1e-4)
    for setting, times in speeds.items():
        ratio = max(times) / max(speeds["plain"])
        print(f"{setting:>16}: {max(times):7.0f} sentences/s on {name} ({ratio:.2f} of plain)")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("dataset", nargs="?", default="demo")
    options.add_argument("--count", type=int, default=4000)
    options.add_argument("--sweep", action="store_true")
    args = options.parse_args()
    texts = Registry().make("dataset", args.dataset).load("train").texts[: args.count]
    if args.sweep:
        sweep(args.dataset, texts)
    else:
        report(measure(args.dataset, texts), args.json)


if __name__ == "__main__":
    main()
