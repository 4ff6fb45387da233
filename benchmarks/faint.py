"""How large the gradient of each sentence of a batch is after fine-tuning, and which of them `span` names.

    python benchmarks/faint.py [--seed 1] [--defense none]

It trains the top two layers of MiniLM on 10,000 SST-2 sentences, unless that is done already: the longer training of
suite updates-training. With the key in hand, what no attacker has, the top layer's gradient is taken apart into its
sentences' parts. Beside each unnamed one stands how many other candidates explain more of what is left than it does,
all the rest of the batch being known.
"""

from __future__ import annotations

import argparse

import numpy as np

import bench
from bench.attacks.span import SpanAttack, faint
from bench.attacks.span.states import blocks, inner
from bench.surfaces.seen import SeenUpdates

TRAINING = "finetuned:epochs=4,examples=10000,layers=2"
BATCH, UPDATES, CANDIDATES = 32, 2, 10_000


def inputs(seen: SeenUpdates, texts: list[str]) -> np.ndarray:
    """Of the top layer's matrix `down`, in their order; 1 is the length of each."""
    top, (ids, types) = seen.architecture.layers - 1, seen.tokenizer(texts)
    found = np.empty((len(ids), seen.shared[f"layer.{top}.down.weight"][1]), np.float32)
    for some in blocks([len(one) for one in ids]):
        found[some] = inner(seen.weights, seen.architecture, [ids[i] for i in some], [types[i] for i in some], [top])[
            top
        ]
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--defense", default="none")
    args = parser.parse_args()
    scene = bench.scene(
        defense=args.defense,
        attack="span",
        dataset="sst2",
        training=TRAINING,
        batch=BATCH,
        examples=BATCH * UPDATES,
        candidates=CANDIDATES,
        seed=args.seed,
    )
    seen, private = scene.view.updates, scene.private.texts
    guess = SpanAttack().run(scene.view, np.random.default_rng(0))
    own = inputs(seen, private)
    rest = inputs(seen, sorted({*scene.view.corpus.texts} - {*private}))
    ids = seen.tokenizer(private)[0]
    for number, reading in enumerate(guess.readings):
        here = range(BATCH * number, BATCH * (number + 1))
        gradient = seen[number][f"layer.{seen.architecture.layers - 1}.down.weight"].astype(np.float64)
        parts = np.linalg.lstsq(own[here].astype(np.float64).T, gradient.T, rcond=None)[0]
        size = np.linalg.norm(parts, axis=1) / np.linalg.norm(parts, axis=1).max()
        values = np.linalg.svd(gradient, compute_uv=False)
        sigma = float(np.sqrt((values[BATCH:] ** 2).sum() / gradient.size))
        named = {tuple(one) for one in reading.sentences}
        rounding = values[BATCH] / values[0]
        print(f"update {number + 1}: {len(named)} of {BATCH} named; singular values of rounding from {rounding:.1e} on")
        for at in np.argsort(size)[:8]:
            said = "named"
            if tuple(ids[here[at]]) not in named:
                others = np.vstack([np.delete(own[here], at, axis=0), own[here[at]][None], rest])
                gains = faint.gains(gradient, others, list(range(BATCH - 1)), sigma)
                said = f"not named; {(gains > gains[BATCH - 1]).sum():,} of {len(rest):,} others explain more"
            print(f"  gradient {size[at]:.1e} of the largest: {said}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
