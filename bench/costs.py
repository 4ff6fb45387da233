"""Measures the utility of trials, taking from the results folder what was measured before."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import records, utility
from .errors import BenchError
from .head import Training
from .plan import Trial
from .progress import Progress
from .records import Record


def run(
    trials: Sequence[tuple[Trial, Training]], out: Path, device: str, progress: Progress
) -> tuple[list[Record], list[BenchError]]:
    """A record for each trial, saved as they come; and the errors of trials that could not be measured."""
    found: list[Record] = []
    errors: list[BenchError] = []
    for trial, training in trials:
        try:
            found.append(of(trial, training, out, device, progress))
        except BenchError as error:
            errors.append(error)
            progress.note(f"{trial.title}: {error}")
    return found, errors


def of(trial: Trial, training: Training, out: Path, device: str, progress: Progress) -> Record:
    about = records.describe_utility(trial, vars(training))
    path = records.path_of(out, about)
    if path.exists() and (known := records.read(path)) is not None and known["id"] == about["id"]:
        return known
    line = progress.start(f"{trial.title} utility")
    measured = utility.measure(trial, training, device=device, progress=line.stage)
    cost = {"train_s": measured.pop("seconds")}
    record = {**about, **measured, "cost": cost, "versions": records.versions(), "error": None}
    stored = records.save(out, record)
    line.done(stored)
    return stored


def summary(found: Sequence[Record]) -> list[dict[str, Any]]:
    """Mean and deviation over seeds for each defense, with the undefended figure of the same data beside it."""
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for record in found:
        key = (record["dataset"]["label"], record["encoder"]["label"], record["defense"]["label"])
        groups.setdefault(key, []).append(record)
    rows: list[dict[str, Any]] = []
    for (dataset, encoder, defense), group in groups.items():
        bare = groups.get((dataset, encoder, "none"), [])
        for metric in group[0]["metrics"]:
            values = [r["metrics"][metric] for r in group]
            rows.append(
                {
                    "dataset": dataset,
                    "encoder": encoder,
                    "defense": defense,
                    "metric": metric,
                    "mean": statistics.fmean(values),
                    "deviation": statistics.stdev(values) if len(values) > 1 else None,
                    "seeds": len(values),
                    "majority": statistics.fmean(r["majority"][metric] for r in group),
                    "undefended": statistics.fmean(r["metrics"][metric] for r in bare) if bare else None,
                    "notes": group[0]["notes"],
                }
            )
    return rows
