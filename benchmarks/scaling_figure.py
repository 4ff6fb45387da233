"""docs/figures/scaling.svg from the numbers of benchmarks/scaling.py: four log-log panels, readable without colour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Row = dict[str, Any]
MARKS = {"bench.search": "o", "faiss flat": "s", "IVF": "^", "HNSW": "D"}
LINES = {"clustered": "-", "random": ":"}


def draw(data: dict[str, list[Row]], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "hideseek"  # the same figure, the same bytes
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(2, 2, figsize=(9, 6.6))
    (candidates, examples), (dimension, mixed) = axes
    for kind, line in LINES.items():
        for engine, mark in MARKS.items():
            rows = sorted(
                (r["vectors"], r["query_ms"]) for r in data["search"] if (r["engine"], r["kind"]) == (engine, kind)
            )
            # Exact engines take the same time whatever the vectors.
            if rows and not (kind == "random" and engine in ("bench.search", "faiss flat")):
                exact = engine in ("bench.search", "faiss flat")
                label = engine if exact else f"{engine}, {kind}"
                _line(candidates, rows, mark, line, label)
    candidates.set(title="search, one query", xlabel="candidates", ylabel="ms")
    pairs = [(r["encodings"], r["seconds"]) for r in data["pairs"]]
    _line(examples, pairs, "x", "--", "all pairs scored")
    released = [(r["examples"], r["seconds"]) for r in data["release"] if r["k"] == 4]
    _line(examples, released, "o", "-", "release, k = 4")
    examples.set(title="pairs and release", xlabel="encodings, examples", ylabel="seconds")
    _line(
        dimension, [(r["dim"], r["query_ms"]) for r in data["dimension"]], "o", "-", "bench.search, 20,000 candidates"
    )
    dimension.set(title="search, one query", xlabel="dimension", ylabel="ms")
    by_k = sorted((r["k"], r["seconds"]) for r in data["release"] if r["examples"] == 10_000)
    _line(mixed, by_k, "o", "-", "release of 10,000 examples")
    mixed.set(title="release", xlabel="sentences in a mix, k", ylabel="seconds")
    for axis in axes.flat:
        axis.set(xscale="log", yscale="log")
        axis.legend(frameon=False, fontsize=7)
    fig.tight_layout()
    fig.savefig(path, metadata={"Date": None})
    plt.close(fig)


def _line(axis: Any, points: list[tuple[float, float]], mark: str, line: str, label: str) -> None:
    axis.plot(*zip(*points, strict=True), marker=mark, ls=line, color="black", lw=0.8, ms=5, mfc="white", label=label)
