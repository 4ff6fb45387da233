"""How cost grows: search up to a million vectors, scored pairs, and release; numbers as JSON, figure and page from it.

    python benchmarks/scaling.py --measure search --size 1000000     # one part at a time; each is kept
    python benchmarks/scaling.py --measure pairs release dimension
    python benchmarks/scaling.py --page docs/scaling.md              # tables and figure from what is kept

Vectors are synthetic. `clustered` ones lie around centres, as sentences about the same thing do, and a query lies close
to one of the vectors. `random` ones are independent: in 384 dimensions all are about equally far from each other,
which is the worst case for an approximate index, and nothing like sentences. One thread; processor seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before torch and faiss: processor seconds are seconds only with one thread

import numpy as np
from all import facts
from measurement import best, clock

HERE = Path(__file__).resolve().parent
FIGURES = HERE.parent / "docs" / "figures"
DIM, QUERIES, NEAR, CENTRE = 384, 1000, 0.5, 1000
Row = dict[str, Any]


def vectors(kind: str, count: int, dim: int = DIM) -> tuple[np.ndarray, np.ndarray]:
    """Vectors and queries of length 1. A clustered query is a vector, moved by half its length, anywhere."""
    rng = np.random.default_rng(0)
    found = rng.standard_normal((count, dim), dtype=np.float32)
    if kind == "clustered":
        # A centre for every thousand vectors, at least a hundred; as far from its members as they from it.
        centres = rng.standard_normal((max(100, count // CENTRE), dim), dtype=np.float32)
        at = rng.integers(0, len(centres), count)
        for start in range(0, count, 1 << 16):
            found[start : start + (1 << 16)] += centres[at[start : start + (1 << 16)]]
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    chosen = rng.choice(count, min(QUERIES, count), replace=False)
    moved = rng.standard_normal((len(chosen), dim), dtype=np.float32) * np.float32(NEAR / dim**0.5)
    queries = found[chosen] + moved
    if kind == "random":  # nothing near: independent of the vectors
        queries = rng.standard_normal((len(chosen), dim), dtype=np.float32)
    return found, queries / np.linalg.norm(queries, axis=1, keepdims=True)


def indexes(count: int) -> dict[str, tuple[str, Callable[[Any], None]]]:
    """faiss's recipes, and what is set before searching."""
    lists = int(count**0.5) // 16 * 16

    def probe(index: Any) -> None:
        index.nprobe = 16

    def wide(index: Any) -> None:
        index.hnsw.efSearch = 64

    return {"faiss flat": ("Flat", lambda index: None), "IVF": (f"IVF{lists},Flat", probe), "HNSW": ("HNSW16", wide)}


def search(count: int, kind: str, only: list[str] | None) -> list[Row]:
    import faiss
    import torch  # noqa: F401  (here, so that nearest's own import of it is not timed)

    from bench.toolkit.search import nearest

    corpus, queries = vectors(kind, count)
    rows: list[Row] = []
    start = clock()
    truth = nearest(queries, corpus, 1)[:, 0]
    about = {"kind": kind, "vectors": count, "dim": DIM, "queries": len(queries)}
    exact = {"build_s": 0.0, "query_ms": (clock() - start) / len(queries) * 1e3, "recall": 1.0}
    rows.append({**about, "engine": "bench.search", "recipe": "exact", **exact, "mib": corpus.nbytes / 2**20})
    for name, (recipe, ready) in indexes(count).items():
        if only and name not in only:
            continue
        index = faiss.index_factory(DIM, recipe, faiss.METRIC_INNER_PRODUCT)
        if name == "HNSW":
            index.hnsw.efConstruction = 40
        if name == "IVF":
            index.cp.niter = 10
            index.cp.max_points_per_centroid = 64
        start = clock()
        index.train(corpus)
        index.add(corpus)
        built = clock() - start
        ready(index)
        start = clock()
        answer = index.search(queries, 1)[1][:, 0]
        took = (clock() - start) / len(queries) * 1e3
        size = len(faiss.serialize_index(index)) / 2**20
        measured = {"build_s": built, "query_ms": took, "recall": float((answer == truth).mean()), "mib": size}
        rows.append({**about, "engine": name, "recipe": recipe, **measured})
        print(rows[-1], flush=True)
        del index
    return rows


def dimension() -> list[Row]:
    """Exact search of 20,000 vectors as the dimension grows."""
    from bench.toolkit.search import nearest

    found = []
    for dim in (96, 192, 384, 768, 1536):
        corpus, queries = vectors("random", 20_000, dim)
        seconds = best(lambda q=queries, v=corpus: nearest(q, v, 1))  # type: ignore[misc]
        found.append({"dim": dim, "vectors": 20_000, "query_ms": seconds / len(queries) * 1e3})
    return found


def pairs() -> list[Row]:
    """All pairs of n encodings, scored in blocks by xie-hong's network, as benchmarks/pairs.py does."""
    import torch

    from bench.attacks.xie_hong.similarity import Network, blocks

    torch.set_num_threads(1)
    found = []
    net = Network(DIM, 0)
    net.on(np.ones((64, DIM), dtype=np.float32)).block(slice(0, 64), slice(0, 64))  # warms up
    for count in (500, 1000, 2000, 4000, 8000):
        feats = np.random.default_rng(0).standard_normal((count, DIM), dtype=np.float32)
        start = clock()
        for _, scores in blocks(net.on(feats)):
            assert np.isfinite(scores[0, 0])
        found.append({"encodings": count, "pairs": count**2, "seconds": clock() - start})
    return found


def release() -> list[Row]:
    """TextHide's mix and masks, for more examples and for more sentences in a mix."""
    from bench.defenses.texthide import TextHide

    found = []
    for count, k in [(1000, 4), (10_000, 4), (100_000, 4), (10_000, 1), (10_000, 2), (10_000, 8), (10_000, 16)]:
        values = np.random.default_rng(0).standard_normal((count, DIM), dtype=np.float32)
        labels = np.eye(2, dtype=np.float32)[np.zeros(count, dtype=int)]
        call = lambda v=values, y=labels, k=k: TextHide(m=256, k=k).release(v, y, None, np.random.default_rng(0))  # noqa: E731
        found.append({"examples": count, "k": k, "seconds": best(call)})
    return found


def keep(path: Path, part: str, rows: list[Row], key: tuple[str, ...]) -> None:
    """New rows take the place of those with the same key."""
    data = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    fresh = {tuple(row[word] for word in key): row for row in (*data.get(part, []), *rows)}
    data[part] = [fresh[name] for name in sorted(fresh)]
    data["about"] = facts()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def tables(data: dict[str, list[Row]]) -> str:
    """What docs/scaling.md shows, from the JSON alone."""
    lines = ["| vectors | kind | engine | build, s | query, ms | recall@1 | memory, MiB |", "| --- " * 7 + "|"]
    lines += [
        f"| {r['vectors']:,} | {r['kind']} | {r['engine']} ({r['recipe']}) | {r['build_s']:.1f} | "
        f"{r['query_ms']:.3f} | {r['recall']:.3f} | {r['mib']:,.0f} |"
        for r in sorted(data["search"], key=lambda r: (r["vectors"], r["kind"]))
    ]
    lines += ["", "| encodings | pairs | seconds | million pairs a second |", "| --- " * 4 + "|"]
    lines += [
        f"| {r['encodings']:,} | {r['pairs']:,} | {r['seconds']:.2f} | {r['pairs'] / r['seconds'] / 1e6:.1f} |"
        for r in data["pairs"]
    ]
    lines += ["", "| examples released | k | seconds |", "| --- " * 3 + "|"]
    lines += [f"| {r['examples']:,} | {r['k']} | {r['seconds']:.4f} |" for r in data["release"]]
    return "\n".join(lines)


def million(data: dict[str, list[Row]], reference: Path = HERE / "reference.json") -> str:
    """What a million sentences would take, from the largest size of each that was measured."""
    count, largest = 1e6, max(data["pairs"], key=lambda r: r["encodings"])
    machines = json.loads(reference.read_text(encoding="utf-8"))["machines"]
    here = machines[data["about"]["machine"]["processor"]]  # type: ignore[call-overload]
    speed = here["figures"]["encoding demo"]["ours"]
    rows = [("encoding", "sentences", count / median(speed), f"{median(speed):.0f} a second")]
    found = [r for r in data["search"] if r["kind"] == "clustered"]
    most = max(r["vectors"] for r in found)
    for row in sorted((r for r in found if r["vectors"] == most), key=lambda r: r["engine"]):
        seconds = row["build_s"] + row["query_ms"] / 1e3 * count
        rows.append((f"search, {row['engine']}", "queries", seconds, f"{row['queries']:,} queries of {most:,} vectors"))
    pair = largest["seconds"] * (count / largest["encodings"]) ** 2
    rows.append(("all pairs scored", "encodings", pair, f"{largest['encodings']:,} encodings"))
    given = max((r for r in data["release"] if r["k"] == 4), key=lambda r: r["examples"])
    rows.append(
        ("release, k = 4", "examples", given["seconds"] * count / given["examples"], f"{given['examples']:,} examples")
    )
    lines = ["| work | for a million | hours, one core | extrapolated from |", "| --- " * 4 + "|"]
    lines += [f"| {what} | {of} | {seconds / 3600:,.4g} | {source} |" for what, of, seconds, source in rows]
    return "\n".join(lines)


def page(path: Path, data: dict[str, list[Row]]) -> str:
    """The page with its tables made anew, between the markers that stand there."""
    text = path.read_text(encoding="utf-8")
    for mark, made in (("million", million(data)), ("scaling", tables(data))):
        text = re.sub(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", rf"\g<1>{made}\n\g<2>", text, flags=re.S)
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--measure", nargs="+", default=[], choices=("search", "pairs", "release", "dimension"))
    parser.add_argument("--size", type=int, nargs="+", default=[10_000, 100_000], help="vectors searched")
    parser.add_argument("--kind", nargs="+", default=["clustered", "random"], choices=("clustered", "random"))
    parser.add_argument("--engine", nargs="+", choices=("faiss flat", "IVF", "HNSW"), help="default: all")
    parser.add_argument("--json", type=Path, default=FIGURES / "scaling.json", metavar="FILE")
    parser.add_argument("--page", type=Path, metavar="FILE", help="make the page's tables and the figure anew")
    parser.add_argument("--check", action="store_true", help="with --page: write nothing; exit 1 if it is out of date")
    args = parser.parse_args()
    if "search" in args.measure:
        for count in args.size:
            for kind in args.kind:
                keep(args.json, "search", search(count, kind, args.engine), ("kind", "vectors", "engine"))
    if "pairs" in args.measure:
        keep(args.json, "pairs", pairs(), ("encodings",))
    if "release" in args.measure:
        keep(args.json, "release", release(), ("examples", "k"))
    if "dimension" in args.measure:
        keep(args.json, "dimension", dimension(), ("dim",))
    if args.page:
        data = json.loads(args.json.read_text(encoding="utf-8"))
        made = page(args.page, data)
        if args.check:
            return 0 if made == args.page.read_text(encoding="utf-8") else 1
        from scaling_figure import draw

        args.page.write_text(made, encoding="utf-8")
        draw(data, FIGURES / "scaling.svg")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
