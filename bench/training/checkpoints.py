"""Trained models on disk: each training has a folder, named by all that it depends on, in the cache.

`trained.json` says how the training went and which snapshots there are, with the hash of their content: one that is
damaged, or was changed, is not used, and the training is run again. The store is bounded: beyond LIMIT the models that
were not used for the longest time are deleted.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.errors import BenchError
from bench.plugins.training import Attacker, Finetuned
from bench.system.files import digest, write_text
from bench.system.paths import cache_dir
from bench.training import state
from bench.training.finetune import Diverged, Finetuning, Job

LOG = logging.getLogger(__name__)
LIMIT = 16 << 30
"""bytes of all trained models together"""
FACTS, DIVERGED = "trained.json", "diverged.txt"
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Trained:
    """A finished training."""

    folder: Path
    steps: int
    """of an epoch"""
    epochs: int
    best: int
    """the epoch that counts"""
    curve: list[dict[str, float]]
    majority: dict[str, float]
    notes: dict[str, Any]
    seconds: float
    metrics: dict[str, dict[str, float]] = field(default_factory=dict)
    """on dev, after some numbers of steps"""
    sha256: dict[str, str] = field(default_factory=dict)
    """of the snapshots, by their numbers of steps"""

    def step(self, options: Finetuned, attacker: Attacker = "current") -> int:
        """The number of steps after which the weights are that the attack faces, or that the attacker holds."""
        if attacker == "initial":
            return 0
        share = options.at
        found = self.best * self.steps if share in (1.0, "each") else look(share, self.steps * self.epochs)
        return max(0, found - self.steps) if attacker == "stale" else found

    def file(self, step: int) -> Path | None:
        """The weights after so many steps; None for those that were downloaded."""
        return state.snapshot_path(self.folder, step) if step else None


def look(share: float | str, total: int) -> int:
    """The step that a share of the training comes to."""
    return max(1, round(float(share) * total))


def folder_of(key: str) -> Path:
    return store() / key


def store() -> Path:
    return cache_dir() / "checkpoints"


def obtain(key: str, options: Finetuned, job: Callable[[], Job], *, device: str, progress: Progress) -> Trained:
    """The trained model of this key: from the store, or trained now. One process trains, others wait for it."""
    folder = folder_of(key)
    with locked(folder, progress):
        if (diverged := folder / DIVERGED).exists():
            raise Diverged(diverged.read_text(encoding="utf-8"))
        found = read(folder)
        if found is None or not _has(found, options):
            try:
                found = _train(folder, options, job(), device, progress)
            except Diverged as error:
                write_text(diverged, str(error))  # or every attack on it would find out again
                raise
            trim(keep=folder)
        (folder / FACTS).touch()  # the time of its last use
        return found


def read(folder: Path) -> Trained | None:
    """A finished training whose snapshots are whole; what is damaged is deleted."""
    path = folder / FACTS
    if not path.exists():
        return None
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        found = Trained(folder, **facts)
        whole = all(digest(state.snapshot_path(folder, int(step))) == sha for step, sha in found.sha256.items())
    except (OSError, ValueError, TypeError):
        whole = False
    if whole:
        return found
    LOG.warning("the trained model %s is damaged: deleted, and trained again", folder.name)
    shutil.rmtree(folder, ignore_errors=True)
    return None


def trim(limit: int = LIMIT, keep: Path | None = None) -> list[Path]:
    """Delete models, the longest unused first, until they fit into `limit` bytes."""
    models = sorted(trained(), key=lambda model: model[2])
    total = sum(size for _, size, _ in models)
    gone = []
    for folder, size, _ in models:
        if total <= limit:
            break
        if folder != keep and _deleted(folder):
            gone.append(folder)
            total -= size
    return gone


def _deleted(folder: Path) -> bool:
    """Whether the model is gone; one that a process is training or reading stays."""
    from filelock import FileLock, Timeout

    lock = FileLock(f"{folder}.lock", thread_local=False, mode=0o666)
    try:
        with lock.acquire(blocking=False):
            shutil.rmtree(folder, ignore_errors=True)
    except Timeout:
        return False
    Path(lock.lock_file).unlink(missing_ok=True)
    return True


def trained() -> list[tuple[Path, int, float]]:
    """Folders of trained models, finished or not, with their bytes and the time of their last use."""
    found = []
    for folder in store().glob("*/") if store().is_dir() else ():
        files = [path.stat() for path in folder.rglob("*") if path.is_file()]
        found.append((folder, sum(file.st_size for file in files), max((f.st_mtime for f in files), default=0.0)))
    return found


def _has(found: Trained, options: Finetuned) -> bool:
    """Whether the snapshots that these options look at were kept."""
    wanted = {*_wanted(options, found.steps), found.step(options), found.step(options, "stale")} - {0}
    judged = str(found.step(options)) in found.metrics
    return judged and all(str(step) in found.sha256 for step in wanted)


def _wanted(options: Finetuned, steps: int) -> set[int]:
    """Steps whose weights are looked at, besides those of the epoch that counts and of the one before it."""
    if options.at == 1.0:
        return set()
    if options.at == "each":
        return {steps * (epoch + 1) for epoch in range(options.epochs)}
    at = look(options.at, steps * options.epochs)
    return {at, max(0, at - steps)} - {0}


def _train(folder: Path, options: Finetuned, job: Job, device: str, progress: Progress) -> Trained:
    progress("preparing the training")
    run = Finetuning(job, device)
    steps = run.trainer.per_epoch
    course = run.run(folder, _wanted(options, steps), progress)
    found = Trained(
        folder, steps, options.epochs, course.best, course.curve, run.majority(), run.notes(), round(course.seconds, 2)
    )
    for step in {found.step(options), found.step(options.run())}:
        snapshot = state.read(state.snapshot_path(folder, step))
        if snapshot is None:
            raise BenchError(f"the snapshot of step {step} in {folder} cannot be read: run it again")
        run.model.restore(snapshot[0])
        found.metrics[str(step)] = run.judged(progress)
    for path in folder.glob("step-*.safetensors"):
        found.sha256[path.stem.removeprefix("step-")] = digest(path)
    facts = {name: value for name, value in asdict(found).items() if name != "folder"}
    write_text(folder / FACTS, json.dumps(facts, indent=1))
    (folder / state.STATE).unlink(missing_ok=True)
    return found


@contextmanager
def locked(folder: Path, progress: Progress) -> Iterator[None]:
    """While a model is trained or looked up, no other process does so, or deletes it."""
    from filelock import FileLock, Timeout

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f"cannot write {folder}: {error.strerror}; set BENCH_CACHE_DIR elsewhere") from error
    lock = FileLock(f"{folder}.lock", thread_local=False, mode=0o666)
    while True:
        try:
            lock.acquire(timeout=1.0)
            break
        except Timeout:
            progress("waiting for another process that trains the same model")
    try:
        yield
    finally:
        lock.release()
