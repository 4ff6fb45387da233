"""Measures the utility of trials, taking from the results folder what was measured before."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any

from bench.errors import BenchError
from bench.experiment import identity, setup, utility
from bench.experiment.cells import Trial
from bench.experiment.cells import trials as trials_of
from bench.experiment.training import Training
from bench.plugins.registry import Registry
from bench.records import store
from bench.records.model import STAMP, Record
from bench.scheduling.executors import local
from bench.scheduling.progress import Progress


def run(
    trials: Sequence[tuple[Trial, Training]],
    out: Path,
    device: str,
    progress: Progress,
    *,
    jobs: int = 1,
    files: tuple[str, ...] = (),
) -> tuple[list[Record], list[BenchError]]:
    """A record for each trial, saved as they come; and the errors of trials that could not be measured.

    With several `jobs`, processes measure them first (`files` are what --plugin named); what is left then is to read.
    """
    if jobs > 1:
        _ahead(trials, out, device, progress, jobs, files)
    found: list[Record] = []
    errors: list[BenchError] = []
    for trial, training in trials:
        try:
            found.append(of(trial, training, out, device, progress))
        except BenchError as error:
            errors.append(error)
            progress.note(f"{trial.title}: {error}")
    return found, errors


def _ahead(
    trials: Sequence[tuple[Trial, Training]],
    out: Path,
    device: str,
    progress: Progress,
    jobs: int,
    files: tuple[str, ...],
) -> None:
    """Texts are encoded here, once; the processes take vectors from the cache."""
    todo = [(trial, training) for trial, training in trials if not _known(trial, training, out)]
    line = progress.start(f"{len(todo)} trials on {jobs} processes")
    for trial in {(t.dataset.label, t.encoder.label, t.public and t.public.label): t for t, _ in todo}.values():
        with contextlib.suppress(BenchError):  # said, with its trial, when that is measured
            setup.prepare(trial, device, line.stage)
    pool = local(jobs)
    try:
        # Each gets words, and makes its plugins itself.
        waiting = {pool.submit(_elsewhere, files, trial.words(), training, out, device) for trial, training in todo}
        for i, future in enumerate(as_completed(waiting), 1):
            line.stage(f"{i} of {len(todo)}: {future.result()}")
    except BaseException:
        pool.shutdown(wait=False)
        raise
    pool.shutdown()


def _elsewhere(files: tuple[str, ...], words: dict[str, list[Any]], training: Training, out: Path, device: str) -> str:
    (trial,) = trials_of(Registry(files), words)
    try:
        of(trial, training, out, device, Progress(quiet=True))
    except BenchError as error:
        return f"{trial.title}: {error}"
    return trial.title


def _known(trial: Trial, training: Training, out: Path) -> bool:
    try:
        about = identity.describe_utility(trial, vars(training))
    except BenchError:
        return True  # there is nothing to measure; the reason is given when the trials are gone through
    return store.path_of(out, about).exists()


def of(trial: Trial, training: Training, out: Path, device: str, progress: Progress) -> Record:
    about = identity.describe_utility(trial, vars(training))
    path = store.path_of(out, about)
    if path.exists() and (known := store.read(path)) is not None and known["id"] == about["id"]:
        named = store.for_suite(known, trial.suite)
        return known if named == known else store.save(out, named)
    line = progress.start(f"{trial.title} utility")
    measured = utility.measure(trial, training, device=device, progress=line.stage)
    cost = {"train_s": measured.pop("seconds"), "ended": time.strftime(STAMP, time.gmtime())}
    stored = store.save(out, store.for_suite(about.replace(**measured, cost=cost), trial.suite))
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
