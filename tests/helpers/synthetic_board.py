"""Boards made up for tests of the page and the pictures: shaped as board.json, with numbers like real ones."""

from __future__ import annotations

import itertools
import random
from typing import Any

from bench.board.model import Board

ATTACKS = {
    "rss": ["corpus", "encodings"],
    "magnitude-search": ["corpus", "encodings"],
    "unmix": ["corpus", "encodings"],
    "rep-recon": ["corpus", "encodings", "encoder", "oracle"],
    "xie-hong": ["corpus", "defense", "encodings", "labels"],
    "gradient-ratio": ["corpus", "gradients"],
}
DEFENSES = (
    *("none", "mix-only", "texthide:m=1", "texthide:m=16", "texthide", "texthide:m=4096", "texthide:m=inf"),
    *("texthide:k=2", "texthide:k=8", "texthide-inter"),
    *(f"dp-ie-{noise}:epsilon={e}" for noise in ("gaussian", "laplace") for e in ("8.0", "20.0", "100.0", "1000.0")),
)
ACCOUNTED = {"8.0": (19.84, 340.6), "20.0": (80.85, 868.6), "100.0": (994.6, 4060), "1000.0": (76150, 43150)}
NOISY = {"8.0": 0.001, "20.0": 0.02, "100.0": 0.4, "1000.0": 0.93}
WORDS = (
    *("the", "old", "sailor", "whom", "nobody", "believed", "had", "kept", "his", "letters", "in", "a", "tin", "box"),
    *("under", "the", "stairs", "for", "thirty", "years"),
)
METRICS = ("identity", "jaccard", "tfidf", "label", "sbert", "hit", "recall", "success")
# What a stranger may put wherever a record holds text.
HOSTILE_TEXT = "</script><img src=x onerror=alert(1)><!--<script>$\\frac{\x07\ud800"


def synthetic_board(
    datasets: tuple[str, ...] = ("cola", "sst2"), encoders: tuple[str, ...] = ("minilm",), rows: int | None = None
) -> Board:
    """Every attack on every defense; with `rows`, as many made-up data sets as that many cells need."""
    return Board.model_validate(board_fields(datasets, encoders, rows))


def board_fields(datasets: tuple[str, ...], encoders: tuple[str, ...] = ("minilm",), rows: int | None = None) -> Any:
    """The same as plain values, to be changed before a board is made of them."""
    if rows:
        per = len(DEFENSES) * len(ATTACKS) * len(encoders)
        datasets = tuple(f"data{i:02d}" for i in range(-(-rows // per)))
    draw = random.Random(0)
    places = itertools.product(datasets, encoders, DEFENSES, ATTACKS)
    cells = [_cell(draw, *place) for place in places][:rows]
    found = [(d, e, f) for d, e, f in itertools.product(datasets, encoders, DEFENSES)]
    defenses = [_defense(draw, place, cells) for place in found]
    suites = {
        "main": {"version": 3, "title": "Every attack on every defense, on real sentences", "missing": 2, "failed": 3},
        "smoke": {"version": 1, "title": "A few cells, in minutes", "missing": 0, "failed": 0},
    }
    ranked = sorted((d for d in defenses if d["worst"]), key=lambda d: d["worst"]["value"])
    for i, entry in enumerate(ranked):
        entry["tier"] = 1 + i * 5 // len(ranked)
    return {
        "schema": 2,
        "records": sum(len(c["ids"]) for c in cells),
        "suites": suites,
        "cells": cells,
        "defenses": [d for d in defenses if d["worst"]],
    }


def hostile_board() -> Board:
    """A board on which every text comes from someone who means harm."""
    made = board_fields(("cola",))
    for cell in made["cells"][:12]:
        cell |= {"defense": f"evil:x={HOSTILE_TEXT}", "protocol": HOSTILE_TEXT, "command": f"bench run {HOSTILE_TEXT}"}
        cell["failed"] = [{"id": HOSTILE_TEXT, "seed": 0, "status": "failed", "error": HOSTILE_TEXT}]
        cell["samples"] = [
            {"example": HOSTILE_TEXT, "answer": HOSTILE_TEXT, "right": True, "jaccard": 1.0, "sbert": 1.0}
        ]
        cell["published"] = [{"metric": "recall", "value": 0.5, "source": HOSTILE_TEXT}]
        cell["suites"] = ["main", HOSTILE_TEXT]
    # And one attack that is judged by something that is not a share.
    made["cells"][-1] |= {
        "metric": "error",
        "value": 1.7,
        "low": 1.6,
        "high": 1.8,
        "metrics": {"error": [1.7, 1.6, 1.8, 2]},
    }
    made["suites"][HOSTILE_TEXT] = {"version": 1, "title": HOSTILE_TEXT, "missing": 0, "failed": 0}
    return Board.model_validate(made)


def _leak(defense: str, attack: str) -> float:
    name, _, rest = defense.partition(":")
    if name == "none":
        return 1.0
    if name.startswith("dp-ie"):
        most = NOISY[rest.removeprefix("epsilon=")] * (1.1 if "laplace" in name else 0.9)
        share = {"unmix": 1.0, "magnitude-search": 0.35, "rss": 0.4}
        return min(most * share.get(attack, 0.02), 1.0)
    if attack == "unmix":
        return 0.998
    if attack == "magnitude-search":
        return {"k=2": 0.537, "k=8": 0.222}.get(rest, 0.338)
    if attack == "xie-hong":
        return {"m=1": 0.92, "m=16": 0.81}.get(rest, 0.12)
    return 0.25 if name == "mix-only" else 0.001


def _cell(draw: random.Random, dataset: str, encoder: str, defense: str, attack: str) -> dict[str, Any]:
    mean = min(max(_leak(defense, attack) + draw.gauss(0, 0.003), 0.0), 1.0)
    if dataset != "cola":
        mean *= 0.97
    metrics = {}
    for name in METRICS:
        value = mean if name == "recall" else mean * draw.uniform(0.3, 1)
        metrics[name] = [
            value,
            max(value - 0.02 * draw.random(), 0),
            min(value + 0.02, 1.0),
            0.000117 + (name == "label") / 2,
        ]
    value, low, high, chance = metrics["recall"]
    ids = [f"{draw.getrandbits(64):016x}" for _ in range(3)]
    lost = attack == "rep-recon" and defense in ("texthide:m=inf", "none")
    failed = [
        {"id": ids[i], "seed": i, "status": "timeout", "error": "took more than 3600 s: raise --timeout"}
        for i in range(3 if lost else 0)
    ]
    noise = defense.startswith("dp-ie") and defense.partition("epsilon=")[2]
    marks = ["failed"] * bool(failed) + ["random"] * (not lost and low <= 0.002)
    marks += ["stronger"] * (attack != "unmix" and not lost and _leak(defense, "unmix") > mean + 0.05)
    asked = f"bench run --dataset {dataset} --encoder {encoder} --defense {defense} --attack {attack} --seed 0 1 2"
    return {
        "suites": ["main", "smoke"] if attack == "rss" and defense == "none" else ["main"],
        "dataset": dataset,
        "encoder": encoder,
        "defense": defense,
        "attack": attack,
        "sees": ATTACKS[attack],
        "protocol": "1000 × 1",
        "metric": "recall",
        "value": None if lost else value,
        "low": None if lost else low,
        "high": None if lost else high,
        "random": chance,
        "random_low": 0.0,
        "random_high": 0.0005,
        "metrics": {} if lost else metrics,
        "seeds": [0, 1, 2],
        "ids": ids,
        "failed": failed,
        "cost": {"attack_s": round(draw.uniform(0.1, 900), 1), "peak_mib": draw.randrange(300, 6000)},
        "epsilon": {"nominal": float(noise), "accounted": ACCOUNTED[noise]["laplace" in defense]} if noise else None,
        "published": [{"metric": "identity", "value": 0.993, "source": "TextHide table 3"}]
        if (attack, defense) == ("rss", "none")
        else [],
        "marks": marks,
        "samples": _samples(draw, mean) if dataset == "cola" and not lost else [],
        "command": asked,
    }


def _samples(draw: random.Random, leak: float) -> list[dict[str, Any]]:
    found = []
    for _ in range(3):
        example = " ".join(draw.sample(WORDS, 11)).capitalize() + "."
        right = draw.random() < leak
        near = 1.0 if right else round(draw.uniform(0, 0.2), 3)
        found.append(
            {"example": example, "answer": example if right else None, "right": right, "jaccard": near, "sbert": near}
        )
    return found


def _defense(draw: random.Random, place: tuple[str, str, str], cells: list[dict[str, Any]]) -> dict[str, Any]:
    here = [c for c in cells if (c["dataset"], c["encoder"], c["defense"]) == place and c["value"] is not None]
    top = max(here, key=lambda c: c["value"]) if here else None
    worst = {n: top[n] for n in ("attack", "metric", "value", "low", "high", "protocol")} if top else None
    dataset, encoder, defense = place
    keeps = {"none": 1.0, "mix-only": 0.98}.get(defense, 0.1 if "8.0" in defense else draw.uniform(0.2, 0.7))
    mean = round(0.51 + 0.25 * keeps, 3)
    measured = dataset != "cola" or defense in ("none", "texthide")
    return {
        "suite": "main",
        "dataset": dataset,
        "encoder": encoder,
        "defense": defense,
        "worst": worst,
        "tier": 1,
        "epsilon": top["epsilon"] if top else None,
        "utility": {"accuracy": [mean, 0.006, 0.759, 0.509]} if measured else None,
    }
