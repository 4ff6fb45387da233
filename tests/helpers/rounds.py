"""Cells whose attack sees updates, on a tiny transformer and made-up sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bench import surfaces
from bench.experiment import rounds
from bench.experiment.cells import Cell, cells
from bench.experiment.setup import CellSetup
from bench.isolation import view
from bench.plugins.registry import Registry
from tests.helpers.tiny_models import WORDS, save_tiny


def write_sentences(folder: Path, count: int = 60, seed: int = 0, longest: int = 8) -> str:
    """A data set of different sentences of the tiny tokenizer's words, by its name on the command line."""
    rng = np.random.default_rng(seed)
    plain = [word for word in WORDS if word.isalpha()]
    texts = list(dict.fromkeys(" ".join(rng.choice(plain, rng.integers(3, longest))) for _ in range(count)))
    for name in ("train", "dev"):
        rows = [f"{text},{at % 2}" for at, text in enumerate(texts)]
        (folder / f"{name}.csv").write_text("\n".join(["text,label", *rows]))
    return f"file:{folder / 'train.csv'}"


def round_cell(folder: Path, attack: str = "span", defense: str = "none", family: str = "bert", **sizes: Any) -> Cell:
    model, data = folder / family, folder / "data"
    if not model.exists():
        # Weights as large as those of a trained model: with smaller ones all sentences look alike.
        save_tiny(model, family, initializer_range=0.4)
    data.mkdir(exist_ok=True)
    axes = {"defense": [defense], "attack": [attack], "dataset": [write_sentences(data)], "encoder": [f"hub:{model}"]}
    (cell,) = cells(Registry(), axes, {"batch": 4, "examples": 8, **sizes})
    return cell


def quiet(text: str) -> None:
    """Stages are for people who wait."""


def scene_and_view(cell: Cell, folder: Path) -> tuple[CellSetup, view.View]:
    """The scene of a cell, and what its attack sees of it."""
    found = rounds.scene(cell, device="cpu", progress=quiet)
    folder.mkdir()
    released = surfaces.build(cell.sees, rounds.client_of(cell, found))
    view.write(folder, cell.sees, released, corpus=found.corpus, public=found.public)
    return found, view.View(folder)
