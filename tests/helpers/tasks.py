"""Small attack tasks on the demo data and the toy encoder."""

from __future__ import annotations

from collections.abc import Sequence

from bench.experiment import cells
from bench.plugins.registry import Registry
from bench.scheduling.tasks import AttackTask, TrainingTask
from tests.helpers.cli import PLUGINS

FILES = tuple(str(PLUGINS / name) for name in ("toy.py", "hostile.py", "counting.py"))


def attack_tasks(
    attacks: Sequence[str] = ("rss",), seeds: Sequence[int] = (0,), defenses: Sequence[str] = ("mix-only",)
) -> list[AttackTask]:
    axes = {"encoder": ["toy"], "defense": list(defenses), "attack": list(attacks), "seed": list(seeds)}
    found = cells.cells(Registry(FILES), axes, {"examples": 40, "candidates": 120})
    return [AttackTask(cell) for cell in found]


def training_tasks(defenses: Sequence[str] = ("mix-only",), seeds: Sequence[int] = (0,)) -> list[TrainingTask]:
    axes = {"encoder": ["toy"], "defense": list(defenses), "seed": list(seeds)}
    return [TrainingTask(trial) for trial in cells.trials(Registry(FILES), axes)]
