"""The state of a training on disk: enough to go on from the last finished epoch as if nothing had happened.

Snapshots hold all that learns after some number of steps. A snapshot or state is written under a temporary name and
renamed, so that a kill leaves the one before.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.errors import BenchError
from bench.system.files import atomic_write

if TYPE_CHECKING:
    from bench.training.finetune import Course
    from bench.training.model import Model
    from bench.training.rounds import Trainer

STATE = "state.safetensors"
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def snapshot_path(folder: Path, step: int) -> Path:
    return folder / f"step-{step}.safetensors"


def save_snapshot(folder: Path, step: int, model: Model) -> None:
    write(snapshot_path(folder, step), model.snapshot())


def save(folder: Path, course: Course, trainer: Trainer, wanted: set[int]) -> None:
    """The state after an epoch. Snapshots that nobody will ask for are deleted."""
    import torch

    steps = trainer.per_epoch
    save_snapshot(folder, course.epoch * steps, trainer.model)
    tensors = {f"model.{name}": value for name, value in trainer.model.snapshot().items()}
    names = list(trainer.model.parameters())
    for index, moments in trainer.optimizer.state_dict()["state"].items():
        for name, value in moments.items():
            tensors[f"optimizer.{names[index]}.{name}"] = torch.as_tensor(value).cpu()
    exposure = trainer.side.exposure
    tensors |= {"total": torch.as_tensor(exposure.total), "squares": torch.as_tensor(exposure.squares)}
    tensors |= _company(trainer)
    write(folder / STATE, tensors, {"course": asdict(course), "notes": trainer.notes})
    # The epoch that counts, the one before it, and the last one, which the next may be the better sequel of.
    kept = {course.best * steps, (course.best - 1) * steps, course.epoch * steps, *wanted}
    for path in folder.glob("step-*.safetensors"):
        if int(path.stem.removeprefix("step-")) not in kept:
            path.unlink(missing_ok=True)


def resume(folder: Path, trainer: Trainer) -> Course | None:
    """The course of an earlier run in this folder, with model and optimiser as it left them; None if there is none."""
    from bench.training.finetune import Course

    found = read(folder / STATE)
    if found is None:
        return None
    tensors, facts = found
    names = list(trainer.model.parameters())
    if any(f"model.{name}" not in tensors for name in names):
        return None
    trainer.model.restore({name: tensors[f"model.{name}"] for name in names})
    content = trainer.optimizer.state_dict()
    content["state"] = {
        index: {part: tensors[key] for part in _MOMENTS if (key := f"optimizer.{name}.{part}") in tensors}
        for index, name in enumerate(names)
        if f"optimizer.{name}.step" in tensors
    }
    trainer.optimizer.load_state_dict(content)
    trainer.side.exposure.total[:] = tensors["total"].numpy()
    trainer.side.exposure.squares[:] = tensors["squares"].numpy()
    trainer.notes = facts["notes"]
    _meet_again(trainer, tensors)
    course = Course(**facts["course"])
    course.reached = tuple(course.reached)
    return course


def _company(trainer: Trainer) -> dict[str, Any]:
    """Which texts went through the lower layers together: what is kept of them is computed again after a resume, and
    its last bits depend on that."""
    import torch

    groups = [(tokens is trainer.side.public, rows) for tokens, rows in trainer.model.computed]
    if not groups:
        return {}
    return {
        "lower.public": torch.tensor([public for public, _ in groups]),
        "lower.size": torch.tensor([len(rows) for _, rows in groups]),
        "lower.rows": torch.cat([torch.as_tensor(rows) for _, rows in groups]),
    }


def _meet_again(trainer: Trainer, tensors: dict[str, Any]) -> None:
    if "lower.rows" not in tensors:
        return
    side, rows = trainer.side, tensors["lower.rows"].split(tensors["lower.size"].tolist())
    for public, some in zip(tensors["lower.public"].tolist(), rows, strict=True):
        tokens = side.public if public else side.tokens
        assert tokens is not None  # there was one when the state was saved, and the state is of this very training
        trainer.model.compute(tokens, some.numpy())


def write(path: Path, tensors: dict[str, Any], facts: dict[str, Any] | None = None) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    with atomic_write(path) as part:
        try:
            save_file({name: value.contiguous() for name, value in tensors.items()}, part, {"facts": json.dumps(facts)})
        except SafetensorError as error:
            raise BenchError(
                f"cannot write {path}: {error}; free some space, or set BENCH_CACHE_DIR elsewhere"
            ) from error


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Tensors and facts of a file; None if it is missing or damaged."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            facts = json.loads((file.metadata() or {}).get("facts", "null"))
            return {name: file.get_tensor(name) for name in file.keys()}, facts or {}  # noqa: SIM118
    except (OSError, SafetensorError, ValueError):
        return None
