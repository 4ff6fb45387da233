"""Cells and trials on data of a few sentences (tests/plugins/small.py)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from bench.experiment import cells
from bench.experiment.cells import Cell, Trial
from bench.plugins.registry import Registry
from tests.helpers.cli import PLUGINS

SMALL = Registry(tuple(str(PLUGINS / name) for name in ("toy.py", "small.py")))
CHOICE = {"dataset": "small", "encoder": "toy:dim=8", "defense": "small-plain", "attack": "small-names"}


def small_cell(sizes: Mapping[str, Any] | None = None, *, seed: int = 0, sealed: bool = False, **names: str) -> Cell:
    """One cell; `names` replace parts of CHOICE, `sizes` parts of the attack's protocol."""
    axes = {kind: [spec] for kind, spec in {**CHOICE, **names}.items()} | {"seed": [seed]}
    (cell,) = cells.cells(SMALL, axes, sizes or {})
    # What `sealed=True` reads in the sandbox, in a process of its own, is known here.
    return dataclasses.replace(cell, sealed=sealed)


def small_trial(*, seed: int = 0, public: str = "", **names: str) -> Trial:
    chosen = {kind: [spec] for kind, spec in {**CHOICE, **names}.items() if kind != "attack"}
    (trial,) = cells.trials(SMALL, {**chosen, "seed": [seed]}, public=public)
    return trial
