"""Sentences encoded per second: ours against a plain length-sorted loop and sentence-transformers, in one run.

    python benchmarks/encoding.py [demo|cola|...] [--count 4000] [--repeats 3] [--sweep]

Tokenising is counted on all sides. Operations are those of the tokens alone, without padding, the last layer for the
first token: what no encoder of these vectors can do without. `--sweep` tries other shapes of batches.
"""

from __future__ import annotations

import time
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measurement import Measurement, fastest, parser, report

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


@lru_cache
def sentence_transformer(folder: Path) -> Any:
    """As its users load it: for the first token, as the encoder here."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    words = Transformer(str(folder), max_seq_length=128)
    pooling = Pooling(words.get_embedding_dimension(), pooling_mode="cls")
    return SentenceTransformer(modules=[words, pooling], device="cpu")


def theirs(encoder: MiniLM, texts: list[str]) -> np.ndarray:
    made: np.ndarray = sentence_transformer(encoder.folder).encode(texts, batch_size=64, show_progress_bar=False)
    return made


def flops(encoder: MiniLM, texts: list[str]) -> float:
    """Operations in the products of all texts: projections, feed-forward, attention."""
    network, tokenizer = loaded(encoder.folder)
    layers, wide, d = network.config.num_hidden_layers, network.config.intermediate_size, encoder.dim
    lengths = np.array([len(ids) for ids in tokenizer(texts, truncation=True, max_length=128)["input_ids"]], float)
    tokens, pairs, count = lengths.sum(), (lengths**2).sum(), len(texts)
    full = tokens * (8 * d * d + 4 * d * wide) + 4 * d * pairs
    last = tokens * 4 * d * d + count * (4 * d * d + 4 * d * wide) + 4 * d * tokens
    return float((layers - 1) * full + last)


def measure(name: str, texts: list[str], repeats: int) -> list[Measurement]:
    encoder, padded = MiniLM(), MiniLM(kernel="transformers")
    for call in (partial(theirs, encoder), encoder.encode, padded.encode):
        np.testing.assert_allclose(call(texts[:200]), plain(encoder, texts[:200]), atol=1e-5)
    sides = {"plain": partial(plain, encoder), "theirs": partial(theirs, encoder)}
    sides |= {"ours": encoder.encode, "padded": padded.encode}
    taken = fastest({side: partial(call, texts) for side, call in sides.items()}, repeats)
    loop, package, ours, other = (len(texts) / taken[side] for side in sides)
    rate, one = "sentences/s", flops(encoder, texts) / len(texts)
    loop_name, package_name = "length-sorted batches", "sentence-transformers"
    return [
        Measurement(f"encoding {name}", loop_name, loop, ours, rate, flops=one),
        Measurement(f"encoding {name}, the package", package_name, package, ours, rate, flops=one),
        Measurement(f"encoding {name}, kernel=transformers", loop_name, loop, other, rate, flops=one),
    ]


def sweep(name: str, texts: list[str]) -> None:
    """Which rows and steps are best; bench/encoders/batching.py quotes the answer."""
    encoder = MiniLM(kernel="transformers")
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
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--sweep", action="store_true")
    args = options.parse_args()
    texts = Registry().make("dataset", args.dataset).load("train").texts[: args.count]
    if args.sweep:
        sweep(args.dataset, texts)
    else:
        report(measure(args.dataset, texts, args.repeats), args.json)


if __name__ == "__main__":
    main()
