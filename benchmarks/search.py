"""Exact search against faiss's flat index, torch and NumPy, at several sizes in one run.

    python benchmarks/search.py [--sizes 1000 8551 67349] [--dim 384] [--queries 1000] [--top 16] [--engines]

Times include normalisation, and for faiss filling the index; sides take turns. Against faiss by name, and against the
fastest of the three. `--engines` shows each engine of bench/toolkit/scorers.py by itself.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import faiss
import numpy as np
import torch
from measurement import Measurement, fastest, parser, report

from bench import search
from bench.toolkit import scorers

Search = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
BLOCK = 64 << 20
"""bytes of scores that torch and NumPy make at a time"""


def with_faiss(queries: np.ndarray, vectors: np.ndarray, top: int) -> np.ndarray:
    q, v = search.unit(queries), search.unit(vectors)
    index = faiss.IndexFlatIP(v.shape[1])
    index.add(v)
    rows: np.ndarray = index.search(q, top)[1]
    return rows


def with_torch(queries: np.ndarray, vectors: np.ndarray, top: int) -> np.ndarray:
    q, v = (torch.from_numpy(search.unit(x)) for x in (queries, vectors))
    return np.concatenate([(some @ v.T).topk(top, dim=1).indices.numpy() for some in q.split(BLOCK // (4 * len(v)))])


def with_numpy(queries: np.ndarray, vectors: np.ndarray, top: int) -> np.ndarray:
    q, v = search.unit(queries), search.unit(vectors)
    found = []
    for at in range(0, len(q), step := max(1, BLOCK // (4 * len(v)))):
        scores = q[at : at + step] @ v.T
        some = np.argpartition(scores, -top, axis=1)[:, -top:] if top > 1 else scores.argmax(axis=1)[:, None]
        order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1)
        found.append(np.take_along_axis(some, order, axis=1))
    return np.concatenate(found)


PEERS: dict[str, Search] = {"faiss flat": with_faiss, "torch": with_torch, "numpy": with_numpy}


def engine(name: str) -> Search:
    def searched(queries: np.ndarray, vectors: np.ndarray, top: int) -> np.ndarray:
        chosen, search.choose = search.choose, lambda *size: name
        try:
            return search.nearest(queries, vectors, top)
        finally:
            search.choose = chosen

    return searched


def drawn(args: argparse.Namespace, size: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    queries, vectors = (rng.standard_normal((n, args.dim), dtype=np.float32) for n in (args.queries, size))
    return queries, vectors


def measure(args: argparse.Namespace) -> list[Measurement]:
    """The engine that bench.search chooses, against each peer."""
    found = []
    for size in args.sizes:
        given = drawn(args, size)
        rows = search.nearest(*given, args.top)
        calls: dict[str, Callable[[], object]] = {"ours": partial(search.nearest, *given, args.top)}
        for name, peer in PEERS.items():
            # Libraries round differently, so answers that are equal to six digits may change places.
            assert (rows == peer(*given, args.top)).mean() > 0.999
            calls[name] = partial(peer, *given, args.top)
        taken = fastest(calls, args.repeats)
        ours = taken.pop("ours")
        best = min(taken, key=lambda name: taken[name])
        what, flops = f"search {args.queries} × {size} × {args.dim}", 2.0 * args.queries * size * args.dim
        found.append(Measurement(what, "faiss flat", taken["faiss flat"], ours, flops=flops))
        found.append(Measurement(f"{what}, the best", f"fastest peer: {best}", taken[best], ours, flops=flops))
    return found


def engines(args: argparse.Namespace) -> None:
    sides = {**{f"our {name}": engine(name) for name in scorers.ENGINES}, **PEERS}
    print(f"{'queries × corpus × dim':>26} " + " ".join(f"{name:>18}" for name in sides))
    for size in args.sizes:
        given = drawn(args, size)
        taken = fastest({name: partial(call, *given, args.top) for name, call in sides.items()}, args.repeats)
        print(f"{f'{args.queries} × {size} × {args.dim}':>26} " + " ".join(f"{taken[name]:17.4f}s" for name in sides))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--sizes", type=int, nargs="+", default=[1000, 8551, 67_349])
    for name, default in (("dim", 384), ("queries", 1000), ("top", 16), ("repeats", 3)):
        options.add_argument(f"--{name}", type=int, default=default)
    options.add_argument("--engines", action="store_true", help="every engine and every peer side by side")
    args = options.parse_args()
    if args.engines:
        engines(args)
    else:
        report(measure(args), args.json)


if __name__ == "__main__":
    main()
