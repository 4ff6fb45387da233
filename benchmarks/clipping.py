"""A step of DP-SGD, its items' gradients clipped in one backward pass, against one backward pass for each item.

    python benchmarks/clipping.py [demo|sst2|...] [--batch 256] [--layers 2]

Both sides take the same batch through the top layers of MiniLM on one thread and cut the same gradients; the largest
difference between what they send is printed beside.
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from measurement import Measurement, best, parser, report

from bench.encoders.transformers import MiniLM
from bench.plugins.registry import Registry
from bench.plugins.training import Finetuned
from bench.training.finetune import Finetuning, Job
from bench.training.guarded import GuardedTrainer
from bench.training.judging import metrics_for


def trainer(dataset: str, layers: int, batch: int) -> GuardedTrainer:
    data = Registry().make("dataset", dataset)
    train, dev = data.load("train"), data.load("dev")
    train = train.take(np.random.default_rng(0).permutation(len(train))[: 2 * batch])
    options = Finetuned(epochs=1, layers=layers, dropout=0.0, batch=batch)
    defense = Registry().make("defense", "dp-sgd:noise=1")
    names = metrics_for(("accuracy",), train, dev)
    found = Finetuning(Job(options, MiniLM(), train, dev, names, defense, "dp-sgd", None, 0, ("benchmark",)), "cpu")
    assert isinstance(found.trainer, GuardedTrainer)
    return found.trainer


def measure(dataset: str, layers: int, batch: int) -> Measurement:
    ours, plain = trainer(dataset, layers, batch), trainer(dataset, layers, batch)
    plain.one_by_one()
    sent, seconds = [], []
    for side in (plain, ours):
        rows = {client: part[0] for client, part in enumerate(side.batches(0))}

        def gradient(side: GuardedTrainer = side, rows: dict[int, np.ndarray] = rows) -> dict[str, torch.Tensor]:
            return side.gradient(side.loss(rows, 0, reduction="none"))

        sent.append(gradient())  # the lower layers' output is kept from here on
        seconds.append(best(gradient, 2 if side is plain else 3))
    apart = max(float((value - sent[1][name]).abs().max()) for name, value in sent[0].items())
    print(f"largest difference of what is sent: {apart:.1e}", file=sys.stderr)
    return Measurement(f"clipping {batch} items, top {layers} of 6 layers", "one backward pass each", *seconds)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("dataset", nargs="?", default="demo")
    options.add_argument("--batch", type=int, default=256)
    options.add_argument("--layers", type=int, default=2)
    args = options.parse_args()
    torch.set_num_threads(1)
    report([measure(args.dataset, args.layers, args.batch)], args.json)


if __name__ == "__main__":
    main()
