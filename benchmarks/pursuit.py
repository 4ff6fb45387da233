"""Batched pursuit against scikit-learn's, one encoding at a time: the same supports, and how much sooner.

    python benchmarks/pursuit.py [--candidates 8551] [--dim 384] [--encodings 1000] [--k 4] [--serial 100]

Synthetic plain mixes of vectors that imitate an encoder's. scikit-learn gets the whitened, normalised dictionary, which
is what the batched pursuit works in; preparing it is not timed for either. It is timed on `--serial` encodings and
scaled up, since it takes the same time for each.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

# A script's own folder comes first on the path; the checkout must not, or it would shadow Hugging Face's datasets.
sys.path.append(str(Path(__file__).resolve().parent.parent))

import numpy as np
from measurement import Measurement, clock, counted, parser, report
from sklearn.linear_model import OrthogonalMatchingPursuit

from bench.attacks.unmix.dictionary import Dictionary
from bench.attacks.unmix.pursuit import greedy


def vectors(count: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    axes = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    spread = np.exp(-np.arange(dim) / (dim / 6)) + 0.01
    mean = 2 * rng.standard_normal(dim) * np.sqrt(spread.mean())
    return ((rng.standard_normal((count, dim)) * np.sqrt(spread)) @ axes.T + mean).astype(np.float32)


def measure(args: argparse.Namespace) -> tuple[list[Measurement], float, float]:
    """The speeds, and how often the supports are scikit-learn's and the right ones."""
    rng = np.random.default_rng(0)
    corpus = vectors(args.candidates, args.dim, rng)
    members = np.argsort(rng.random((args.encodings, args.candidates)), axis=1)[:, : args.k]
    # Weights well apart from 0, so that k greedy steps find every one and both methods have one right answer.
    weights = rng.uniform(0.5, 1.5, members.shape)
    weights /= weights.sum(axis=1, keepdims=True)
    mixes = np.einsum("nk,nkd->nd", weights, corpus[members]).astype(np.float32)

    dictionary = Dictionary(corpus, corpus.std(0), np.ones(args.dim, dtype=bool), "cpu")
    loaded = dictionary.load(mixes)
    greedy(dictionary, loaded[:8], args.k)  # the first call also starts the thread pool
    at = clock()
    batched = greedy(dictionary, loaded, args.k).numpy()
    ours = clock() - at

    whitener = dictionary.axes / dictionary.spread.sqrt()
    atoms = (dictionary.atoms / dictionary.spread.sqrt()).numpy().astype(np.float64)
    atoms = np.asfortranarray((atoms / np.linalg.norm(atoms, axis=1, keepdims=True)).T)
    targets = ((loaded - dictionary.mean) @ whitener).numpy().astype(np.float64)
    serial = min(args.serial, args.encodings)
    pursuit = OrthogonalMatchingPursuit(n_nonzero_coefs=args.k, fit_intercept=False)
    supports = []
    at = clock()
    for target in targets[:serial]:
        supports.append(set(np.flatnonzero(pursuit.fit(atoms, target).coef_).tolist()))
    theirs = (clock() - at) * args.encodings / serial

    same = np.mean([set(row.tolist()) == support for row, support in zip(batched, supports, strict=False)])
    right = np.mean([set(row) == set(truth) for row, truth in zip(batched.tolist(), members.tolist(), strict=True)])
    name = f"pursuit {args.encodings} of {args.candidates} × {args.dim}, k={args.k}"
    flops = counted(lambda: greedy(dictionary, loaded, args.k))
    return [Measurement(name, "scikit-learn, one by one", theirs, ours, flops=flops)], float(same), float(right)


def main() -> int:
    options = parser(__doc__)
    for name, default in (("candidates", 8551), ("dim", 384), ("encodings", 1000), ("k", 4), ("serial", 100)):
        options.add_argument(f"--{name}", type=int, default=default)
    args = options.parse_args()
    found, same, right = measure(args)
    report(found, args.json)
    if not args.json:
        print(f"right supports {right:.3f}; the same as scikit-learn's {same:.3f}")
    return 0 if same >= 0.99 and found[0].ratio >= 10 else 1


if __name__ == "__main__":
    raise SystemExit(main())
