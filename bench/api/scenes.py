"""`bench.scene`: what an attack would see, beside what it would not, for analysis in a notebook. Not a result.

Whoever holds the key can compute any number. Nothing that is found this way is recorded or may stand on a board; an
idea that works here becomes an attack, which `bench.evaluate` runs behind the wall.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.api.requests import AttackRequest, Name, Names, PathLike, listed
from bench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench import Corpus, Examples, Floats, Key, Release, View
    from bench.experiment import setup
    from bench.experiment.cells import Cell
    from bench.scoring.truth import Truth
    from bench.surfaces import Surface

ONLOOKER = Path(__file__).with_name("onlooker.py")


@dataclass(frozen=True)
class Scene:
    """The very release that the cell's attack is run on, with the view of it and the key to it. Not a result."""

    title: str
    private: Examples
    """the examples that the attack is to find"""
    vectors: Floats
    """their vectors, before the defense"""
    release: Release
    key: Key
    view: View
    """what the attack sees of it; touching what it does not declare raises an error, as in a run"""
    corpus: Corpus
    public: Corpus | None
    oracle: Callable[[Floats], Floats]
    """chosen vectors, released by the victim under the victim's masks"""
    truth: Truth = field(repr=False)
    """what a guess is scored against"""
    _folder: tempfile.TemporaryDirectory[str] = field(repr=False)  # of the view; deleted with the scene

    def __repr__(self) -> str:
        return f"<Scene of {self.title}: {len(self.key.owner)} released items. For analysis; not a result>"


def scene(
    *,
    defense: Name,
    attack: Name | None = None,
    dataset: Name | None = None,
    encoder: Name | None = None,
    training: str | None = None,
    attacker: str | None = None,
    seed: int = 0,
    examples: int | None = None,
    epochs: int | None = None,
    candidates: int | None = None,
    coverage: float | None = None,
    split: str | None = None,
    batch: int | None = None,
    update: str | None = None,
    public: str | None = None,
    device: str = "auto",
    plugins: Names = (),
    out: PathLike = "results",
    progress: bool = True,
) -> Scene:
    """Release, view and key of one cell. Not a result: nothing is scored or recorded.

    With an attack, the protocol and the view are that attack's; without, the view holds what every release has. The
    arguments are those of `bench.run`; `out` is where the code of plugin objects of a notebook goes.
    """
    files: Iterable[Any] = listed(plugins) or []
    request = AttackRequest(
        defense=defense,
        attack=attack if attack is not None else "onlooker",
        dataset=dataset,
        encoder=encoder,
        training=training,
        attacker=attacker,
        seed=seed,
        examples=examples,
        epochs=epochs,
        candidates=candidates,
        coverage=coverage,
        split=split,
        batch=batch,
        update=update,
        public=public,
        device=device,
        plugins=[*files, *([ONLOOKER] if attack is None else [])],
        out=out,
        progress=progress,
    )
    cells = request.cells()
    if len(cells) != 1:
        raise UsageError(f"bench.scene is of one cell, and these arguments name {len(cells)}: give one of each")
    return build(cells[0], request)


def build(cell: Cell, request: AttackRequest) -> Scene:
    from bench import surfaces
    from bench.experiment import identity, rounds, trained
    from bench.isolation.process import PREFIX
    from bench.scheduling.progress import Progress
    from bench.system.device import resolve

    device = resolve(request.device)
    with Progress(quiet=not request.progress) as progress:
        line = progress.start(cell.title)
        model = None
        if cell.training:
            model = trained.obtain(cell, identity.describe(cell), device=device, progress=line.stage)
        found = rounds.scene(cell, device=device, progress=line.stage, model=model)
        released = surfaces.build(cell.sees, rounds.client_of(cell, found))
        line.close()
    cell = trained.facing(cell, model, cell.attacker) if model else cell
    # Should this process be killed, the next run deletes the folder (bench.isolation.process.workspace).
    folder = tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-")
    return Scene(
        title=cell.title,
        private=found.truth.private,
        vectors=found.truth.vectors,
        release=found.release,
        key=found.truth.key,
        view=_view(cell, found, released, Path(folder.name), device),
        corpus=found.corpus,
        public=found.public,
        oracle=found.oracle,
        truth=found.truth,
        _folder=folder,
    )


def _view(cell: Cell, found: setup.CellSetup, released: dict[str, Surface], folder: Path, device: str) -> View:
    """As the attack's process opens it, but for plugins, which are here already."""
    from bench.isolation import view

    view.write(
        folder,
        cell.sees,
        released,
        device=device,
        corpus=found.corpus,
        public=found.public,
        defense=cell.defense.reference(),
        encoder=cell.encoder.reference(),
    )
    plugins = {"defense": cell.defense.plugin, "encoder": cell.encoder.plugin}
    return view.View(folder, oracle=found.oracle, make=lambda kind, reference: plugins[kind])
