"""Runs cells: what is on record is taken from there, the rest is run, and every result is saved as it comes."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import answer, outcomes, records, sandbox, scene, view, wall
from .errors import BenchError, UsageError
from .plan import Cell
from .progress import Progress
from .records import Record
from .seeds import for_attack, for_score
from .types import Guess, Truth

if TYPE_CHECKING:
    from .score import Scores
    from .similarity import Similarity


@dataclass(frozen=True)
class Settings:
    """How to run, none of which changes a number."""

    out: Path = Path("results")
    device: str = "cpu"
    limits: wall.Limits = field(default_factory=wall.Limits)
    jobs: int = 1
    force: bool = False
    details: bool = False
    utility: bool = False


class Interrupted(KeyboardInterrupt):
    """Carries what was finished before Ctrl-C."""

    def __init__(self, done: list[Record]):
        super().__init__()
        self.done = done


# Encoding and scoring use all cores by themselves, and share models that are not made for threads.
_turn = threading.Lock()


def run(cells: Sequence[Cell], settings: Settings, progress: Progress) -> tuple[list[Record], list[BenchError]]:
    """The records of all cells, in order, and the errors of cells that could not even be described."""
    _check_writable(settings.out)
    planned: list[tuple[Cell, Record]] = []
    errors: list[BenchError] = []
    for cell in cells:
        try:
            planned.append((cell, records.describe(cell)))
        except BenchError as error:
            errors.append(error)
            progress.note(f"{cell.title}: {error}")
    done: dict[str, Record] = {}
    todo: dict[str, tuple[Cell, Record]] = {}
    for cell, about in planned:
        known = None if settings.force else _known(settings.out, about, cell, settings.details)
        if known is not None:
            done[about["id"]] = known
        else:
            todo[about["id"]] = (cell, about)
    progress.plan(len(done), len(todo))
    try:
        _run_all(list(todo.values()), settings, progress, done)
        if settings.utility:
            for cell, about in planned:
                done[about["id"]] = _with_utility(cell, done[about["id"]], settings, progress)
    except KeyboardInterrupt:
        raise Interrupted([done[about["id"]] for _, about in planned if about["id"] in done]) from None
    return [done[about["id"]] for _, about in planned], errors


def _run_all(todo: list[tuple[Cell, Record]], settings: Settings, progress: Progress, done: dict[str, Record]) -> None:
    if settings.jobs == 1:
        for cell, about in todo:
            done[about["id"]] = _finish(cell, about, settings, progress, None)
        return
    stop = threading.Event()
    pool = ThreadPoolExecutor(settings.jobs)
    # Attacks run in processes of their own, so threads are enough to look after several at once.
    futures: list[Future[Record]] = [pool.submit(_finish, c, a, settings, progress, stop) for c, a in todo]
    try:
        wait(futures, return_when=FIRST_EXCEPTION)
    except BaseException:
        stop.set()
        wall.end_all()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        # Only now: a cell may have been saved in the very moment of an interruption.
        for future in futures:
            if not future.cancelled() and future.exception() is None:
                done[future.result()["id"]] = future.result()
    for future in futures:
        future.result()  # an error that is not a cell's own, such as a full disk


def _finish(cell: Cell, about: Record, settings: Settings, progress: Progress, stop: threading.Event | None) -> Record:
    """Run a cell and save its record, whatever became of it."""
    line = progress.start(cell.title)
    record, items = execute(cell, about, settings, line.stage)
    record["cost"]["ended"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if stop is not None and stop.is_set():
        raise KeyboardInterrupt  # the attack was ended by us: that is no result
    if items is not None and settings.details:
        _save_details(settings.out, record, items)
    record = records.save(settings.out, records.tagged(record, cell))
    line.done(record)
    for what, times in record.get("tried", {}).get("attempts", {}).items():
        progress.note(f"{cell.attack.name} {what} ({times} times)" if times > 1 else f"{cell.attack.name} {what}")
    return record


def execute(
    cell: Cell, about: Record, settings: Settings, stage: Any, salt: str | None = None
) -> tuple[Record, dict[str, Any] | None]:
    """One cell from end to end: scene, attack behind the wall, score. `salt` draws a sealed cell's key again."""
    salt = salt or (secrets.token_hex(32) if cell.sealed else None)
    record: Record = {
        **about,
        "metrics": {},
        "utility": None,
        "details": {},
        "cost": {},
        "versions": records.versions(),
        "salt": None,
        "error": None,
    }
    try:
        with _turn:
            stage("preparing")
            setting = scene.build(cell, device=settings.device, progress=stage, salt=salt)
            if "gradients" in cell.sees:
                from .gradients import surface

                released = surface(cell, setting.release, setting.truth.key, setting.truth.private)
                setting = replace(setting, release=released)
    except UsageError as error:
        return {**record, "status": "failed", "error": str(error)}, None
    except Exception as error:
        return {**record, "status": "failed", "error": f"before the attack: {_said(error)}"}, None
    truth = setting.truth
    record["dataset"]["candidates"] = len(truth.corpus.texts)
    record["encoder"]["dim"] = int(truth.vectors.shape[1])
    record["notes"] = setting.release.notes
    record["cost"] = {"release_s": round(setting.release_s, 4)}
    try:
        outcome = _attack(cell, setting, settings, stage)
    except OSError:
        raise  # the machine's fault, such as a full disk: the run must stop
    except Exception as error:  # nothing that an attack sends may end more than its cell
        return {**record, "salt": salt, "status": "failed", "error": f"around the attack: {_said(error)}"}, None
    record["cost"] |= {"attack_s": round(outcome.seconds, 3), "peak_mib": round(outcome.peak_mib, 1)}
    record["cost"]["threads"] = settings.limits.threads  # the last bits of a sum may depend on it
    if cell.sealed:  # told only now that the attack has ended
        record |= {"salt": salt, "tried": {"attempts": outcome.attempts, "left_behind": outcome.left_behind}}
    if outcome.guess is None:
        return {**record, "status": outcome.status, "error": outcome.reason}, None
    guess = outcome.guess
    picture = () if truth.private.images is None else truth.private.images.shape[1:]
    items, width = truth.key.members.shape
    wrong = answer.check(guess, items, len(truth.corpus.texts), truth.vectors.shape[1], picture, width)
    if wrong:
        return {**record, "status": "failed", "error": wrong}, None
    with _turn:
        stage("scoring")
        start = time.perf_counter()
        try:
            scores = _score(cell, guess, truth, settings.device)
        except Exception as error:
            return {**record, "status": "failed", "error": f"while scoring: {_said(error)}"}, None
        record["cost"]["score_s"] = round(time.perf_counter() - start, 3)
    record |= {"metrics": scores.metrics, "details": {**guess.details, **scores.facts}}
    record["outcomes"] = outcomes.of(guess, truth, scores)
    if cell.samples:
        record["samples"] = outcomes.samples(cell, scores)
    return record, scores.items


def _attack(cell: Cell, setting: scene.Scene, settings: Settings, stage: Any) -> wall.Outcome:
    attack = cell.attack
    with wall.workspace() as folder:
        view.write(
            folder,
            cell.sees,
            setting.release,
            device=settings.device,
            corpus=setting.truth.corpus,
            public=setting.public,
            defense=cell.defense.reference(),
            encoder=sandbox.encoder(cell) if cell.sealed else cell.encoder.reference(),
        )
        rng = for_attack(cell.seed, attack.name, attack.options)
        seal = wall.Seal(sandbox.needed(cell)) if cell.sealed else None
        oracle = setting.oracle if "oracle" in attack.info.sees else None
        return wall.run(folder, attack.reference(), rng, limits=settings.limits, oracle=oracle, stage=stage, seal=seal)


def _score(cell: Cell, guess: Guess, truth: Truth, device: str) -> Scores:
    rng = for_score(cell.seed, cell.dataset.name)
    if truth.private.images is not None:
        from . import picture_score

        return picture_score.score(guess, truth, rng)
    from .score import score  # scikit-learn: a second that runs from stored records need not spend

    return score(
        guess,
        truth,
        _similarity(tuple(truth.corpus.texts), device),
        rng,
        named="corpus" in cell.sees,
    )


@lru_cache(maxsize=2)
def _similarity(corpus: tuple[str, ...], device: str) -> Similarity:
    from .encoders import SentenceBert, cached
    from .similarity import Similarity

    sbert = SentenceBert()
    return Similarity(corpus, lambda texts: cached(sbert, texts, device=device))


def _with_utility(cell: Cell, record: Record, settings: Settings, progress: Progress) -> Record:
    """The record with what its defense costs, measured once for all attacks on it."""
    from . import costs
    from .head import Training

    try:
        found = costs.of(cell, Training(), settings.out, settings.device, progress)
    except BenchError as error:
        progress.note(f"{cell.title}: no utility: {error}")
        return record
    if record["utility"] is not None and record["utility"]["id"] == found["id"]:
        return record
    return records.save(settings.out, {**record, "utility": {"metrics": found["metrics"], "id": found["id"]}})


def _known(out: Path, about: Record, cell: Cell, details: bool) -> Record | None:
    """The stored record, if the cell came to a good end. Failures are tried again: the limit may have been raised."""
    path = records.path_of(out, about)
    if not path.exists() or (details and not path.with_suffix(".parquet").exists()):
        return None
    found = records.read(path)
    if found is None or found["status"] != "ok" or found["id"] != about["id"]:
        return None
    if cell.samples and "samples" not in found:
        return None  # run before a suite asked for them
    named = records.tagged(found, cell)
    return found if named == found else records.save(out, named)


def _save_details(out: Path, record: Record, items: dict[str, Any]) -> None:
    import pandas as pd

    from .files import replacing

    with replacing(records.path_of(out, record).with_suffix(".parquet")) as part:
        pd.DataFrame(items).to_parquet(part, index=False)


def _check_writable(out: Path) -> None:
    from .files import write_text

    probe = out / ".writable"
    write_text(probe, "")
    probe.unlink(missing_ok=True)


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
