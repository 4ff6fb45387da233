"""Gradient matching, many attacks at once, against the plain loop: evaluations per second of both, in one run.

    python benchmarks/matching.py [--attacks 50] [--d 0] [--steps 15] [--plain 2] [--processes 2]

The plain loop is the published code's: one attack after another, torch.optim.LBFGS (rate 1, history 100, 20 iterations
a step), autograd twice. It runs in one process with one thread. The batched form runs in `--processes` processes of one
thread each, the attacks dealt among them, as `bench run --jobs 2` does. An evaluation is one gradient distance with its
derivative, the optimiser's own work included. Steps past the fifth are timed, when the history is full, in seconds of
the processor, so that other jobs on the machine do not count; on an idle machine these are seconds. Pictures are
random: the arithmetic does not depend on them. Attacks that end early leave, so the batch shrinks a little on the way.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

# Before torch is imported: one thread a process, or the two sides would not compare.
os.environ["OMP_NUM_THREADS"] = "1"
# A script's own folder comes first on the path; the checkout must not, or it would shadow Hugging Face's datasets.
sys.path.append(str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from measurement import Measurement, counted, parser, report

from bench.attacks.common.lbfgs import LBFGSSettings, minimise
from bench.attacks.dlg.matching import GradientMatching, Unknown
from bench.surfaces.gradients import Gradients
from bench.toolkit.mixing import draw_masks
from bench.toolkit.networks import CHANNELS, Victim, body_weights, layer
from bench.types import Examples, Key

PICTURE, CLASSES, FULL = (3, 32, 32), 10, 5


def problem(attacks: int, d: int) -> tuple[Victim, dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    weights = body_weights(PICTURE, d, rng)
    dim = d or CHANNELS * 8 * 8
    victim = Victim({**weights, **layer("head1", (CLASSES, dim), rng)}, PICTURE)
    rows = np.arange(attacks)[:, None]
    mask, pool = draw_masks(attacks, dim, 1 if d else 0, rng)
    key = Key(rows[:, 0], rows, np.ones((attacks, 1), np.float32), mask, pool)
    drawn = rng.integers(0, CLASSES, attacks)
    labels = np.eye(CLASSES, dtype=np.float32)[drawn]
    images = rng.random((attacks, *PICTURE), dtype=np.float32)
    private = Examples([""] * attacks, drawn, [str(label) for label in range(CLASSES)], images)
    source = Gradients(victim, labels, np.zeros((attacks, dim), np.float32), private, key)
    parts = [found for _, found in source.blocks()]
    return victim, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, labels


def plain(attacks: int, d: int, steps: int) -> tuple[int, float]:
    """Evaluations and seconds of the published loop, after its history has filled."""
    torch.set_num_threads(1)
    victim, gradients, labels = problem(attacks, d)
    found = [_plain(victim, {n: g[i] for n, g in gradients.items()}, labels[i], d, steps) for i in range(attacks)]
    return sum(count for count, _ in found), sum(seconds for _, seconds in found)


def _plain(victim: Victim, target: dict[str, np.ndarray], label: np.ndarray, d: int, steps: int) -> tuple[int, float]:
    weights = {name: value.requires_grad_() for name, value in victim.tensors().items()}
    wanted = [torch.tensor(target[name]) for name in weights]
    truth = torch.tensor(label[None])
    unknown = [torch.randn(1, *PICTURE, requires_grad=True), *([torch.randn(1, d, requires_grad=True)] if d else [])]
    optimizer = torch.optim.LBFGS(unknown, lr=1, max_iter=20, history_size=100)
    count = 0

    def closure() -> torch.Tensor:
        nonlocal count
        count += 1
        optimizer.zero_grad()
        u = victim.represent(weights, unknown[0])
        loss = victim.loss(weights, u * unknown[1] if d else u, truth)
        found = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        distance = torch.stack([(a - b).square().sum() for a, b in zip(found, wanted, strict=True)]).sum()
        distance.backward(inputs=unknown)
        return distance

    for _ in range(FULL):
        optimizer.step(closure)
    before, start = count, time.process_time()
    for _ in range(steps - FULL):
        optimizer.step(closure)
    return count - before, time.process_time() - start


def batched(attacks: int, d: int, steps: int, out: Any) -> None:
    """Evaluations and seconds of one process, and the memory it took."""
    torch.set_num_threads(1)
    victim, gradients, labels = problem(attacks, d)
    matching = GradientMatching(victim, gradients, labels, Unknown(mask=bool(d)), torch.float32)
    start = torch.randn(attacks, sum(matching.sizes().values()), generator=torch.Generator().manual_seed(0))
    clock: list[tuple[int, float]] = []
    seen = 0

    def watch(iteration: int, number: torch.Tensor, x: torch.Tensor, loss: torch.Tensor) -> None:
        nonlocal seen
        seen += len(number)
        if iteration >= FULL * 20:
            clock.append((seen, time.process_time()))

    minimise(matching, start, LBFGSSettings(steps=steps), watch)
    (first, began), (last, ended) = clock[0], clock[-1]
    out.put((last - first, ended - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def evaluation_flops(d: int) -> float:
    """Operations of one gradient distance with its derivative."""
    victim, gradients, labels = problem(1, d)
    matching = GradientMatching(victim, gradients, labels, Unknown(mask=bool(d)), torch.float32)
    start = torch.randn(1, sum(matching.sizes().values()), generator=torch.Generator().manual_seed(0))
    return counted(lambda: matching(start, torch.arange(1)))


def measure(args: argparse.Namespace) -> tuple[list[Measurement], str]:
    """The speeds, and a word on the processes."""
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    count, seconds = plain(args.plain, args.d, args.steps)
    slow = count / seconds
    shares = [len(part) for part in np.array_split(np.arange(args.attacks), args.processes)]
    workers = [context.Process(target=batched, args=(share, args.d, args.steps, out)) for share in shares]
    for worker in workers:
        worker.start()
    found = [out.get() for _ in workers]
    for worker in workers:
        worker.join()
    fast = sum(n / s for n, s, _ in found)
    name = f"matching {args.attacks} attacks, {f'd={args.d}, mask learnt' if args.d else 'no mask'}"
    said = f"{args.processes} processes of {shares[0]} attacks, {max(mib for _, _, mib in found):.0f} MiB each"
    # A core's share: the limit is one thread's, and each process has one.
    flops = evaluation_flops(args.d) / args.processes
    return [Measurement(name, "one attack at a time", slow, fast, "evaluations/s", flops=flops)], said


def main() -> int:
    options = parser(__doc__)
    for name, default in (("attacks", 50), ("d", 0), ("steps", 15), ("plain", 2), ("processes", 2)):
        options.add_argument(f"--{name}", type=int, default=default)
    args = options.parse_args()
    found, said = measure(args)
    report(found, args.json)
    if not args.json:
        print(said)
    return 0 if found[0].ratio >= 6 else 1


if __name__ == "__main__":
    raise SystemExit(main())
