"""Where xie-hong loses what: each stage measured against the key, which the attack itself never sees.

Prints one line per seed and setting: AUC of the similarity, purity of the clusters and of the first vectors, error of
the weights, share of right signs and success, scored as the suite does; then the mean over seeds.

    python benchmarks/xie_hong_analysis.py --vectors V.npy --texts T.json --public P.npy --m 256 --k 4 \
        --seeds 100 101 102 [--attack clusters=greedy,similarity=mlp] [--blind]

V.npy holds the corpus's vectors (n × d), T.json its texts, P.npy the vectors of public sentences.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
import bench  # noqa: E402, F401

sys.path.pop(0)  # the root holds a folder called datasets, which would shadow Hugging Face's

import numpy as np  # noqa: E402
from scipy.optimize import linear_sum_assignment  # noqa: E402

from bench.attacks import xie_hong  # noqa: E402
from bench.attacks.xie_hong.clusters import balanced, greedy, largest  # noqa: E402
from bench.attacks.xie_hong.similarity import Cosine, Shadow, features, quality  # noqa: E402
from bench.defenses.texthide import TextHide  # noqa: E402
from bench.isolation import view as views  # noqa: E402
from bench.plugins import options  # noqa: E402
from bench.toolkit.corpus import Corpus  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--texts", required=True)
    parser.add_argument("--public", required=True)
    parser.add_argument("--m", nargs="+", default=["256"])
    parser.add_argument("--k", nargs="+", type=int, default=[4])
    parser.add_argument("--seeds", nargs="+", type=int, default=[100])
    parser.add_argument("--attack", nargs="+", default=[""])
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--blind", action="store_true")
    parser.add_argument("--similarity", action="store_true", help="measure pairs and clusters too (slower)")
    args = parser.parse_args()
    corpus = Corpus(json.loads(Path(args.texts).read_text(encoding="utf-8")), np.load(args.vectors))
    shared = np.load(args.public)
    public = Corpus([str(i) for i in range(len(shared))], shared)
    for spec in args.attack:
        for m in args.m:
            for k in args.k:
                lines = [one(args, corpus, public, spec, m, k, seed) for seed in args.seeds]
                mean = {key: float(np.mean([line[key] for line in lines])) for key in lines[0]}
                print(f"MEAN m={m} k={k} {spec or 'default'}: {show(mean)}", flush=True)


def one(args: Any, corpus: Corpus, public: Corpus, spec: str, m: str, k: int, seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    _, first = np.unique(corpus.texts, return_index=True)
    private = rng.choice(np.sort(first), args.examples, replace=False)
    chosen = {"m": "inf" if m == "inf" else int(m), "k": k}
    labels = np.eye(2, dtype=np.float32)[rng.integers(0, 2, len(private))]
    release, key = TextHide(**chosen).release(corpus.vectors[private], labels, None, rng, epochs=args.epochs)
    cls = xie_hong.XieHongBlind if args.blind else xie_hong.XieHong
    plugin = options.build(cls, options.split(f"x:{spec}" if spec else "x")[1], "attack")
    fits: list[Any] = []
    kept = xie_hong.reconstruct

    def watch(*given: Any, **named: Any) -> Any:
        fits.append(kept(*given, **named))
        return fits[-1]

    xie_hong.reconstruct = watch
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        defense = {"name": "texthide", "options": chosen}
        views.write(Path(folder), cls.__plugin__.sees, release, corpus=corpus, public=public, defense=defense)
        view = views.View(Path(folder), make=lambda kind, facts: TextHide(**facts["options"]))
        guess = plugin.run(view, np.random.default_rng(seed))
    xie_hong.reconstruct = kept
    line = score(guess.vectors, corpus, private) | {"seconds": time.perf_counter() - began}
    order = np.lexsort(release.encodings.T[::-1])
    if fits:
        line |= stages(fits[-1], key, order, args.examples)
    line |= guess.details.get("similarity", {})
    if args.similarity:
        line |= pairs(release.encodings[order], key.members[order], k, args.examples, masked=chosen["m"] not in (0, 1))
    print(f"m={m} k={k} seed={seed} {spec or 'default'}: {show(line)}", flush=True)
    return line


def score(vectors: Any, corpus: Corpus, private: Any) -> dict[str, float]:
    """As the suite: matched one to one by cosine; recovered if the nearest sentence of the corpus is the example."""
    found, known = unit(vectors), unit(corpus.vectors)
    cosine = found @ known[private].T
    a, b = linear_sum_assignment(-cosine)
    named = (found[a] @ known.T).argmax(axis=1)
    right = [corpus.texts[i] == corpus.texts[j] for i, j in zip(named, private[b], strict=True)]
    truth = corpus.vectors[private[b]]
    error = np.linalg.norm(vectors[a] - truth, axis=1) / np.linalg.norm(truth, axis=1)
    return {
        "success": sum(right) / len(private),
        "cosine": float(cosine[a, b].mean()),
        "relative_error": float(np.median(error)),
    }


def stages(fit: Any, key: Any, order: Any, r: int) -> dict[str, float]:
    """Error of the weights after matching, and the share of signs that agree up to one per coordinate."""
    truth = np.zeros((len(order), r), dtype=np.float32)
    np.add.at(truth, (np.arange(len(order))[:, None], key.members), key.weights)
    truth = truth[order]
    a, b = linear_sum_assignment(-(fit.weights.T @ truth))
    return {"weight_error": float(np.abs(fit.weights[:, a] - truth[:, b]).sum(axis=1).mean() / 2)}


def pairs(values: Any, members: Any, k: int, r: int, *, masked: bool) -> dict[str, float]:
    feats = features(values, masked)
    rows = np.random.default_rng(0).choice(len(feats), min(1500, len(feats)), replace=False)
    shadow, everyone = Shadow(feats, members), slice(0, len(rows))
    auc, _ = quality(Cosine(feats[rows]).block(everyone, everyone), shadow.shared(rows))
    inside = np.zeros((len(feats), r))
    np.put_along_axis(inside, members, 1, axis=1)
    size = round(k * len(feats) / r)
    table = greedy(Cosine(feats), r, size)
    out = {"cosine_auc_on_target": auc}
    for name, pick in (("greedy", largest), ("assignment", balanced)):
        cluster = pick(table, size, k)
        share = inside.T @ cluster / np.maximum(cluster.sum(axis=0), 1)
        out[f"purity_{name}"] = float(share.max(axis=0).mean())
        out[f"distinct_{name}"] = float(len(set(share.argmax(axis=0))))
    return out


def unit(rows: Any) -> Any:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def show(line: dict[str, float]) -> str:
    return "  ".join(f"{key} {value:.4g}" for key, value in line.items())


if __name__ == "__main__":
    main()
