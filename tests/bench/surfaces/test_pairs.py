"""Known pairs of text and vector: as many as the attack says, by the client's own encoder, and nothing else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from bench import Corpus, Examples, Key, Release, surfaces
from bench.errors import UsageError
from bench.experiment import rounds
from bench.experiment.cells import Cell, cells
from bench.experiment.setup import CellSetup
from bench.isolation import view
from bench.plugins.registry import Registry

PUBLIC = Corpus(
    [f"public {i}" for i in range(30)], np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32)
)


def found(seed: int = 0) -> CellSetup:
    private = Examples(["one", "two"], np.zeros(2, int), ("a",))
    key = Key(np.arange(2), np.arange(2)[:, None], np.ones((2, 1), np.float32))
    client = surfaces.Client(seed, None, "none", private, Release(np.zeros((2, 4)), private.targets()), key)
    return cast(CellSetup, SimpleNamespace(client=client, public=PUBLIC))


def cell(known: Any = 5, attacker: str = "current") -> Cell:
    attack = SimpleNamespace(name="few", plugin=SimpleNamespace(known=known))
    return cast(Cell, SimpleNamespace(sees=("encodings", "pairs"), attack=attack, attacker=attacker))


def seen(folder: Path, sees: tuple[str, ...], known: int = 5, seed: int = 0) -> view.View:
    folder.mkdir()
    view.write(folder, sees, surfaces.build(sees, rounds.client_of(cell(known), found(seed))))
    return view.View(folder)


def test_an_attack_sees_so_many_pairs_and_the_texts_alone_of_the_rest(tmp_path: Path) -> None:
    opened = seen(tmp_path / "view", ("encodings", "pairs"))
    assert len(opened.pairs.texts) == 5
    rows = [PUBLIC.texts.index(text) for text in opened.pairs.texts]
    assert np.array_equal(opened.pairs.vectors, PUBLIC.vectors[rows])
    assert opened.reading == PUBLIC.texts
    assert opened.used == {"pairs"}
    # No other vector is anywhere in what crosses the wall, and no way to make one.
    files = sorted(path.name for path in (tmp_path / "view").iterdir())
    assert files == ["encodings.npy", "pairs.json", "pairs.npy", "reading.json", "view.json"]
    with pytest.raises(view.NotGranted, match="add 'encoder' to sees"):
        _ = opened.encoder
    assert "encoder" not in (tmp_path / "view" / "view.json").read_text(encoding="utf-8")


def test_which_pairs_are_known_depends_on_the_seed_and_on_how_many(tmp_path: Path) -> None:
    first = seen(tmp_path / "a", ("pairs",)).pairs.texts
    assert seen(tmp_path / "b", ("pairs",)).pairs.texts == first
    assert seen(tmp_path / "c", ("pairs",), seed=1).pairs.texts != first
    with pytest.raises(view.NotGranted, match="add 'pairs' to sees"):
        _ = seen(tmp_path / "d", ("encodings",)).reading


@pytest.mark.parametrize(
    ("of", "line"),
    [
        ({"known": 1}, "known=1: of the 30 public sentences at least 2 are known"),
        ({"known": 31}, "known=31: of the 30 public sentences"),
        ({"known": "all"}, "few sees pairs, and its option known has to be a whole number, not 'all'"),
        ({"attacker": "stale"}, "few holds no encoder of the client's: leave out --attacker stale"),
    ],
)
def test_what_cannot_be_known_is_told_in_one_line(of: dict[str, Any], line: str) -> None:
    with pytest.raises(UsageError, match=line):
        surfaces.build(("pairs",), rounds.client_of(cell(**of), found()))


def test_pairs_are_of_a_public_corpus_and_it_has_to_be_named() -> None:
    axes = {"dataset": ["digits"], "encoder": ["pixels"], "defense": ["none"], "attack": ["invert-few"]}
    with pytest.raises(UsageError, match="works on text"):
        cells(Registry(), axes, {})
    (one,) = cells(Registry(), {"defense": ["none"], "attack": ["invert-few"]}, {"public": "prose"})
    assert one.public is not None
    assert one.public.name == "prose"
