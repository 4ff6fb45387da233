"""Pairs of encodings scored per second by xie-hong's network: factored first layer against plain batches.

The plain side builds each pair as a row of 2·d numbers, as the paper stacks them, and puts batches of such rows
through the same network; the two must agree. `mlp` is the plain side without the product term: the paper's network,
which is less than what the factored side computes.

    python benchmarks/pairs.py [--encodings 5000] [--dim 384] [--plain 400] [--threads 2]
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
import bench  # noqa: E402, F401  (adds the plugin folders to the package)

sys.path.pop(0)  # the root holds a folder called datasets, which would shadow Hugging Face's

import numpy as np  # noqa: E402
import torch  # noqa: E402
from measurement import Measurement, clock, parser, report  # noqa: E402

from bench.arrays import Floats  # noqa: E402
from bench.attacks.xie_hong.similarity import HIDDEN, Network, blocks  # noqa: E402


def measure(args: argparse.Namespace) -> tuple[list[Measurement], float]:
    """Speeds against both baselines, and the largest relative difference between the two sides' scores."""
    torch.set_num_threads(args.threads)
    os.environ["OMP_NUM_THREADS"] = str(args.threads)  # which clock is right depends on it
    rng = np.random.default_rng(0)
    feats = rng.standard_normal((args.encodings, args.dim), dtype=np.float32)
    net = Network(args.dim, 0)
    for value in net.parameters.values():
        value.data += 0.05 * torch.as_tensor(rng.standard_normal(tuple(value.shape), dtype=np.float32))

    small = slice(0, args.plain)
    fast = net.on(feats)
    agreed = fast.block(small, small)  # also warms up
    began = clock()
    for _, scores in blocks(net.on(feats)):
        assert np.isfinite(scores[0, 0])
    factored = args.encodings**2 / (clock() - began)

    began = clock()
    scores = plain(net, feats[small], args.batch)
    naive = args.plain**2 / (clock() - began)
    began = clock()
    plain(net, feats[small], args.batch, product=False)
    bare = args.plain**2 / (clock() - began)
    worst = float(np.abs(scores - agreed).max() / np.abs(agreed).max())
    name = f"pairs of {args.encodings} × {args.dim}"
    return [
        Measurement(name, "materialised pairs", naive, factored, "pairs/s"),
        Measurement(f"{name}, no product", "the paper's network", bare, factored, "pairs/s"),
    ], worst


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--encodings", type=int, default=5000)
    options.add_argument("--dim", type=int, default=384)
    options.add_argument("--plain", type=int, default=400, help="encodings whose pairs the plain side scores")
    options.add_argument("--batch", type=int, default=8192, help="pairs in a batch of the plain side")
    options.add_argument("--threads", type=int, default=2)
    args = options.parse_args()
    found, worst = measure(args)
    report(found, args.json)
    if not args.json:
        print(f"{HIDDEN} hidden units, {args.threads} threads; largest relative difference {worst:.1e}")
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
