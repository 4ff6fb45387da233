"""Pairs of encodings scored per second by xie-hong's network: factored first layer against plain batches.

The plain side builds each pair as a row of 2·d numbers, as the paper stacks them, and puts batches of such rows
through the same network; the two must agree. `mlp` is the plain side without the product term: the paper's network,
which is less than what the factored side computes.

    python benchmarks/pairs.py [--encodings 5000] [--dim 384] [--plain 400] [--threads 2]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
import bench  # noqa: E402, F401  (adds the plugin folders to the package)

sys.path.pop(0)  # the root holds a folder called datasets, which would shadow Hugging Face's

import numpy as np  # noqa: E402
import torch  # noqa: E402

from bench.attacks._xie_hong_similarity import HIDDEN, Network, blocks  # noqa: E402
from bench.types import Floats  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encodings", type=int, default=5000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--plain", type=int, default=400, help="encodings whose pairs the plain side scores")
    parser.add_argument("--batch", type=int, default=8192, help="pairs in a batch of the plain side")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    rng = np.random.default_rng(0)
    feats = rng.standard_normal((args.encodings, args.dim), dtype=np.float32)
    net = Network(args.dim, 0)
    for value in net.parameters.values():
        value.data += 0.05 * torch.as_tensor(rng.standard_normal(tuple(value.shape), dtype=np.float32))

    small = slice(0, args.plain)
    fast = net.on(feats)
    agreed = fast.block(small, small)  # also warms up
    began = time.perf_counter()
    for _, scores in blocks(net.on(feats)):
        assert np.isfinite(scores[0, 0])
    factored = args.encodings**2 / (time.perf_counter() - began)

    began = time.perf_counter()
    scores = plain(net, feats[small], args.batch)
    naive = args.plain**2 / (time.perf_counter() - began)
    began = time.perf_counter()
    plain(net, feats[small], args.batch, product=False)
    bare = args.plain**2 / (time.perf_counter() - began)
    worst = float(np.abs(scores - agreed).max() / np.abs(agreed).max())
    print(f"{args.encodings} encodings of {args.dim} dimensions, {HIDDEN} hidden units, {args.threads} threads")
    print(f"factored  {factored / 1e6:8.2f} million pairs/s (all {args.encodings**2 / 1e6:.0f} million, in blocks)")
    print(f"plain     {naive / 1e6:8.2f} million pairs/s ({args.plain**2 / 1e6:.2f} million, materialised)")
    print(f"mlp       {bare / 1e6:8.2f} million pairs/s (the same without the product term)")
    print(f"ratio     {factored / naive:8.1f} to plain (largest relative difference {worst:.1e})")
    print(f"ratio     {factored / bare:8.1f} to mlp")
    return 0 if worst < 1e-3 else 1


def plain(net: Network, feats: Floats, batch: int, *, product: bool = True) -> Floats:
    p = {name: value.detach() for name, value in net.parameters.items()}
    unit = feats / np.linalg.norm(feats, axis=1, keepdims=True) * np.float32(feats.shape[1] ** 0.5)
    x, n = torch.as_tensor(unit), len(feats)
    first = torch.cat([p["hidden"], p["hidden"]])
    own = torch.cat([p["own"], p["own"]])
    out = torch.empty(n * n)
    with torch.no_grad():
        for at in range(0, n * n, batch):
            pair = torch.arange(at, min(at + batch, n * n))
            a, b = x[pair // n], x[pair % n]
            rows = torch.cat([a, b], dim=1)
            scores = (rows @ first + p["bias"]).relu() @ p["out"] + rows @ own + p["offset"]
            if product:
                scores += ((a @ p["shared"]) * (b @ p["shared"])).sum(dim=1)
            out[at : at + batch] = scores
    table: Floats = out.reshape(n, n).numpy()
    return table


if __name__ == "__main__":
    sys.exit(main())
