"""The board: everything that tables, pages and pictures show of the records, as one structure of plain values.

Numbers have four decimals. docs/leaderboard.md says how to read it, `bench leaderboard` writes it to board.json.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from bench.board import missing, papers, pooling, ranking, select
from bench.board.bootstrap import Bootstrap
from bench.board.papers import Published
from bench.board.pooling import rounded
from bench.board.utility import summarize
from bench.errors import BenchError
from bench.plugins.labels import natural_sort_key
from bench.plugins.registry import Registry
from bench.records.model import Record

SCHEMA = 1
Board = dict[str, Any]


def build(
    records: Sequence[Record],
    utility: Sequence[Record],
    registry: Registry | None = None,
    *,
    strangers: bool = False,
) -> Board:
    """`utility` are the records of what defenses cost. `strangers`: attacks are not trusted, nor imported."""
    if not records and not utility:
        raise BenchError("no records to make tables from: run some cells first")
    registry = registry or Registry()
    newest_version = select.versions([*records, *utility])
    attacks = select.sort(records, select.experiment, newest_version)
    trials = select.sort(utility, select.training, newest_version)
    printed = papers.load(registry)
    prices = _prices(trials, printed)
    bootstrap = Bootstrap(attacks.newest)
    arena = ranking.Arena(bootstrap, [_entry(group) for group in _groups(attacks.newest).values()])
    cells: dict[tuple[str, ...], dict[str, Any]] = {}
    defenses: list[dict[str, Any]] = []
    suites: dict[str, Any] = {}
    for name in _order({*attacks.boards, *trials.boards}):
        mine = [_entry(group) for group in _groups(attacks.boards.get(name, [])).values()]
        for entry in mine:
            key = tuple(entry.cell["ids"])
            shown = cells.setdefault(key, {"suites": [], **entry.cell})
            shown["suites"].append(name)
        rows = ranking.ranked(bootstrap, mine)
        for row, utility_of in zip(rows, _beside(name, rows, prices), strict=True):
            defenses.append({"suite": name, **row, "utility": utility_of})
        stood = attacks.boards.get(name, []), trials.boards.get(name, [])
        if name == select.ADHOC:
            suite = missing.Suite(title="Records that were run for no suite")
        else:
            suite = missing.look(name, *stood, registry, strangers=strangers)
        superseded = attacks.superseded.get(name, 0) + trials.superseded.get(name, 0)
        suites[name] = _about(suite, newest_version.get(name), *stood, superseded)
    for shown in cells.values():
        shown["published"] = [
            p.beside()
            for p in printed
            if p.fits(*(shown[kind] for kind in ("dataset", "encoder", "defense", "attack")))
        ]
        stronger = arena.stronger(shown)
        shown["marks"] = [*shown["marks"], *(["stronger"] if stronger else [])]
        shown["stronger"] = stronger
    ids = {i for row in [*cells.values(), *prices] for i in row["ids"]}
    return {
        "schema": SCHEMA,
        "records": len(ids),
        "suites": suites,
        "cells": list(cells.values()),
        "defenses": defenses,
        "utility": prices,
        "published": [vars(p) for p in printed if p.suite in suites],
    }


def dump(board: Board) -> str:
    return json.dumps(board, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def _entry(records: Sequence[Record]) -> ranking.Entry:
    return ranking.Entry(records, pooling.cell(records))


def _groups(records: Iterable[Record]) -> dict[tuple[str, ...], list[Record]]:
    """Records by experiment, seeds in order."""
    groups: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in records:
        groups[select.experiment(record)].append(record)
    return {key: sorted(groups[key], key=lambda r: r["seed"]) for key in sorted(groups, key=natural_sort_key)}


def _order(names: Iterable[str]) -> list[str]:
    """The board that counts first, what belongs to none last."""
    return sorted(names, key=lambda name: (name == select.ADHOC, name != "main", name))


def _about(
    suite: missing.Suite, version: int | None, attacks: Sequence[Record], utility: Sequence[Record], superseded: int
) -> dict[str, Any]:
    return {
        "version": version,
        "title": suite.title,
        "holes": sum(suite.missing.values()),
        "failed": sum(r["status"] != "ok" for r in attacks),
        "records": len(attacks) + len(utility),
        "superseded": superseded,
        "differs": suite.differs,
        "file_version": suite.version,
        "problem": suite.problem,
        "places": [[*place, suite.missing[place], suite.named[place]] for place in sorted(suite.named)],
    }


def _prices(trials: select.Shelf, printed: Sequence[Published]) -> list[dict[str, Any]]:
    """What defenses cost, by suite and by how the head was trained."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for name in _order(trials.boards):
        by_training: dict[str, list[Record]] = defaultdict(list)
        for record in trials.boards[name]:
            if all(isinstance(value, int | float) for value in record["metrics"].values()):
                by_training[json.dumps(record["training"], sort_keys=True)].append(record)
        for _, some in sorted(by_training.items()):
            for row in _priced(some, printed):
                shown = found.setdefault(tuple(row["ids"]), {"suites": [], **row})
                shown["suites"].append(name)
    return list(found.values())


def _priced(records: Sequence[Record], printed: Sequence[Published]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda r: r["seed"]):
        groups[record["dataset"]["label"], record["encoder"]["label"], record["defense"]["label"]].append(record)
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for line in summarize([r for key in sorted(groups, key=natural_sort_key) for r in groups[key]]):
        key = (line.dataset, line.encoder, line.defense)
        group = groups[key]
        row = rows.setdefault(
            key,
            {
                **dict(zip(("dataset", "encoder", "defense"), key, strict=True)),
                "epochs": group[0]["training"]["epochs"],
                "metrics": {},
                "seeds": [r["seed"] for r in group],
                "ids": [r["id"] for r in group],
                "epsilon": pooling.epsilon(group),
                "published": [p.beside() for p in printed if p.fits(*key, "")],
                "command": pooling.command(group),
            },
        )
        row["metrics"][line.metric] = [rounded(v) for v in (line.mean, line.deviation, line.undefended, line.majority)]
    return list(rows.values())


def _beside(suite: str, rows: Sequence[dict[str, Any]], prices: Sequence[dict[str, Any]]) -> list[Any]:
    """The utility that stands in each row. Rows of one table come from one suite as far as that goes, so that they are
    held against one measurement of the undefended: its own, else the one that knows most of its defenses."""
    same: dict[tuple[str, ...], list[dict[str, Any]]] = {ranking.target(row): [] for row in rows}
    seeds: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for price in prices:
        if ranking.target(price) in same:
            same[ranking.target(price)].append(price)
            for name in price["suites"]:
                seeds[price["dataset"], price["encoder"], name].append(len(price["seeds"]))

    def weight(price: dict[str, Any], name: str) -> tuple[bool, int, int, str]:
        known = seeds[price["dataset"], price["encoder"], name]
        return name == suite, len(known), sum(known), name

    best = (
        max(same[ranking.target(r)], key=lambda p: max(weight(p, s) for s in p["suites"]), default=None) for r in rows
    )
    return [price and price["metrics"] for price in best]
