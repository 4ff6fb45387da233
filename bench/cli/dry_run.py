"""`--dry-run`: the plan of a run as a table or as JSON."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from bench.cli import output
from bench.scheduling.estimates import format_duration

if TYPE_CHECKING:
    from bench.scheduling.dry_run import DryRun


def show(found: DryRun, *, as_json: bool) -> int:
    """Exit status 1 if some task cannot even be described."""
    if as_json:
        print(json.dumps(found.to_dict(), indent=1))
    else:
        _print(found)
    for text in found.errors:
        print(f"bench: {text}", file=sys.stderr)
    return 1 if found.errors else 0


def _print(found: DryRun) -> None:
    from bench.api.fitting import fitted
    from bench.board.columns import Column

    names = ("dataset", "encoder", "defense", "attack", "seed", "state", "time", "memory")
    columns: list[Column[Any]] = [
        Column(name, name, "", str, numeric=name in ("seed", "time", "memory")) for name in names
    ]
    rows = []
    for task in found.tasks:
        memory = f"{task.expected_mib} MiB" if task.expected_mib else "unknown"
        said = (task.dataset, task.encoder, task.defense, task.attack or "(training)", str(task.seed), task.state)
        rows.append([*said, format_duration(task.expected_s), memory])
    console = output.console()
    if rows:
        console.print(fitted(columns, rows, console.width, ""))
    for row in found.vectors:
        counts = f"{row.missing:,} of {row.texts:,} texts are yet to be encoded"
        console.print(f"{row.dataset} · {row.encoder}: {counts}", markup=False, soft_wrap=True)
    todo = sum(task.state != "on record" for task in found.tasks)
    incomplete = sum(task.state == "incomplete" for task in found.tasks)
    if incomplete:
        has = "record has" if incomplete == 1 else "records have"
        console.print(f"{incomplete} {has} a result, but not the samples or details that are asked for", markup=False)
    known = found.expected_s is not None
    time = f"about {format_duration(found.expected_s)} by earlier records" if known else "for how long is unknown"
    console.print(f"{len(found.tasks)} in all, {f'{todo} to run, {time}' if todo else 'none to run'}", markup=False)
