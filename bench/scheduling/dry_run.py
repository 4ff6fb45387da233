"""`bench run --dry-run`: the cells, what of them is on record, and what the rest may take. Runs and encodes nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from bench.experiment.cells import Cell
from bench.scheduling import prefetch
from bench.scheduling.estimates import Costs, Forecast, spoken
from bench.scheduling.runner import Settings, describe, known


def show(cells: Sequence[Cell], settings: Settings, *, as_json: bool) -> int:
    found = forecast(cells, settings)
    if as_json:
        print(json.dumps(found, indent=1))
    else:
        _print(found)
    for text in found["errors"]:
        print(f"bench: {text}", file=sys.stderr)
    return 1 if found["errors"] else 0


def forecast(cells: Sequence[Cell], settings: Settings) -> dict[str, Any]:
    planned, errors = describe(cells)
    costs = Costs(settings.out)
    rows: list[dict[str, Any]] = []
    todo = []
    for cell, about in planned:
        stored = known(settings, about, cell)
        if stored is None:
            todo.append((cell, about))
        cost = costs.of(about)
        names = {kind: about[kind]["label"] for kind in ("dataset", "encoder", "defense", "attack")}
        expected = {"expected_s": cost and round(cost.seconds, 1), "expected_mib": cost and round(cost.mib)}
        rows.append({"id": about["id"], **names, "seed": about["seed"], "on_record": stored is not None, **expected})
    texts = [
        {
            "dataset": need.task[0].dataset.label,
            "encoder": need.task[0].encoder.label,
            "texts": len(need.texts),
            "missing": len(need.missing()),
        }
        for need in prefetch.needs(todo)
    ]
    seconds = Forecast((about for _, about in todo), costs).seconds(settings.jobs) if todo else 0.0
    return {"cells": rows, "vectors": texts, "expected_s": seconds, "errors": [f"{c.title}: {e}" for c, e in errors]}


def _print(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table()
    for name in ("dataset", "encoder", "defense", "attack", "seed", "on record", "time", "memory"):
        table.add_column(name, justify="right" if name in ("seed", "time", "memory") else "left")
    for row in found["cells"]:
        names = [escape(row[kind]) for kind in ("dataset", "encoder", "defense", "attack")]
        mib = "unknown" if row["expected_mib"] is None else f"{row['expected_mib']} MiB"
        stored = "yes" if row["on_record"] else "no"
        table.add_row(*names, str(row["seed"]), stored, spoken(row["expected_s"]), mib)
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    console.print(table)
    for row in found["vectors"]:
        said = (
            f"{row['dataset']} · {row['encoder']}: {row['missing']:,} of {row['texts']:,} texts are yet to be encoded"
        )
        console.print(said, markup=False)
    todo = sum(not row["on_record"] for row in found["cells"])
    left = f", about {spoken(found['expected_s'])} by earlier records" if found["expected_s"] is not None else ""
    rest = f"{todo} to run{left or ', for how long is unknown'}" if todo else "none to run"
    console.print(f"{len(found['cells'])} cells, {rest}", markup=False)
