"""What InstaHide costs in accuracy, scaled down: table 2 and figure 3 of the paper with a small convolutional net.

    python benchmarks/instahide_utility.py [--dataset cifar10] [--defense instahide:k=4 …] [--input abs signed]

Three blocks of convolutions, SGD with one cycle of the rate, fresh encodings in every epoch; judged on the dev split,
plain or by the mean answer to ten encodings of each picture. `--input abs` hands the net magnitudes: the signs are
noise that it would have to learn to ignore. The paper trains ResNet-18 for 200 epochs on all of CIFAR-10.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import torch
from torch import nn

from bench import Corpus
from bench.encoders.pixels import Pixels
from bench.experiment.cells import choose
from bench.plugins.registry import Registry

WIDTHS = (32, 64, 128)
BATCH, RATE, DECAY = 128, 0.1, 5e-4
# Encodings of each picture whose answers are averaged, as the authors do at inference.
AVERAGED = 10
DEFENSES = ["none", "instahide:k=1", "instahide:k=2", "instahide:k=4", "instahide:k=6"]


def network(channels: int, classes: int) -> nn.Sequential:
    parts: list[nn.Module] = []
    for width in WIDTHS:
        parts += [nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        parts += [nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)]
        channels = width
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


def accuracy(scheme: Any, data: tuple[Any, Any], public: Corpus | None, given: argparse.Namespace, how: str) -> Any:
    """On dev pictures as they are, and by the mean answer to encodings of them."""
    train, dev = data
    torch.manual_seed(given.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(given.seed)
    vectors, asked = Pixels().encode(train.images), Pixels().encode(dev.images)
    net = network(train.shape[0], len(train.classes))
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE, momentum=0.9, weight_decay=DECAY)
    steps = given.epochs * -(-len(train) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)

    def inputs(values: Any) -> torch.Tensor:
        values = np.abs(values) if how == "abs" else values
        return torch.as_tensor(np.asarray(values, np.float32)).reshape(-1, *train.shape)

    def answers(values: Any) -> Any:
        net.eval()
        with torch.inference_mode():
            found = torch.cat([net(part) for part in inputs(values).split(500)])
        net.train()
        return found.softmax(dim=1).numpy()

    for _ in range(given.epochs):
        release, _ = scheme.release(vectors, train.targets(), public, rng)
        x, y = inputs(release.encodings), torch.as_tensor(np.asarray(release.labels, np.float32))
        for rows in range(0, len(x), BATCH):
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(net(x[rows : rows + BATCH]), y[rows : rows + BATCH]).backward()
            optimizer.step()
            schedule.step()
    plain = (answers(asked).argmax(1) == dev.labels).mean()
    votes = np.zeros((len(dev), len(dev.classes)))
    for _ in range(AVERAGED):
        release, key = scheme.release(asked, dev.targets(), public, rng)
        np.add.at(votes, key.owner, answers(release.encodings))
    return float(plain), float((votes.argmax(1) == dev.labels).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="digits")
    parser.add_argument("--defense", nargs="+", default=DEFENSES)
    parser.add_argument("--input", nargs="+", choices=("abs", "signed"), default=["abs"])
    parser.add_argument("--public", default="tiny-imagenet")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    registry = Registry()
    plugin = choose(registry, "dataset", given.dataset).plugin
    data = plugin.load("train"), plugin.load("dev")
    print("| defense | input | accuracy | accuracy, mean of 10 encodings | seconds |")
    print("| --- | --- | --- | --- | --- |")
    for spec in given.defense:
        scheme = choose(registry, "defense", spec).plugin
        public = None
        if getattr(scheme, "public", ""):
            pictures = choose(registry, "dataset", given.public).plugin.load("public")
            public = Corpus(pictures.texts, Pixels().encode(pictures.images))
        for how in given.input:
            start = time.perf_counter()
            plain, averaged = accuracy(scheme, data, public, given, how)
            seconds = time.perf_counter() - start
            print(f"| {spec} | {how} | {plain:.3f} | {averaged:.3f} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
