"""Release, view and key of a cell, for analysis."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bench
from bench import mixing
from bench.isolation.view import NotGranted
from tests.helpers.cli import PLUGINS

TINY: dict[str, Any] = {"examples": 20, "candidates": 60, "encoder": "toy", "plugins": [str(PLUGINS / "toy.py")]}


def test_the_key_explains_the_release(tmp_path: Path) -> None:
    found = bench.scene(defense="texthide:k=2", out=tmp_path, **TINY)
    assert len(found.private) == len(found.vectors) == 20
    assert np.allclose(mixing.apply(found.vectors, found.key), found.release.encodings, atol=1e-5)
    assert np.array_equal(found.view.encodings, found.release.encodings)
    assert set(found.private.texts) <= set(found.corpus.texts) == set(found.view.corpus.texts)
    assert found.oracle(found.vectors).shape == found.view.oracle(found.vectors).shape == (20, 32)
    assert found.view.defense.name == "texthide"
    assert found.view.encoder.encode(["one"]).shape == (1, 32)
    assert "not a result" in repr(found)
    assert not list(tmp_path.iterdir()), "nothing is recorded"


def test_with_an_attack_the_view_is_that_attacks(tmp_path: Path) -> None:
    found = bench.scene(defense="none", attack="rss", out=tmp_path, **TINY)
    assert found.view.encodings.shape == (20, 32)
    with pytest.raises(NotGranted, match="add 'labels' to sees"):
        _ = found.view.labels


def test_gradients_are_in_the_view_of_an_attack_that_sees_them(tmp_path: Path) -> None:
    found = bench.scene(defense="texthide:k=2", attack="gradient-ratio", out=tmp_path, **TINY)
    assert all(len(part) == len(found.key.owner) for part in found.view.gradients.values())
    assert found.view.model.weights.keys() == found.view.gradients.keys()


def test_it_is_the_release_that_a_run_attacks(tmp_path: Path) -> None:
    """An attack that prints what it sees, against the scene of the same cell."""
    (tmp_path / "prints.py").write_text(
        "from dataclasses import dataclass\nfrom bench import Guess, attack\n"
        "@attack('prints', sees={'encodings', 'corpus'})\n@dataclass(frozen=True)\nclass Prints:\n"
        "    def run(self, view, rng):\n"
        "        details = {'sum': float(view.encodings.astype('f8').sum())}\n"
        "        return Guess(ranking=view.corpus.search(view.encodings, 1), details=details)\n"
    )
    options = {**TINY, "plugins": [*TINY["plugins"], tmp_path / "prints.py"], "out": tmp_path}
    (record,) = bench.run(defense="texthide", attack="prints", seed=3, progress=False, **options)
    seen = json.loads(json.dumps(record.to_dict()))["details"]["sum"]
    found = bench.scene(defense="texthide", attack="prints", seed=3, **options)
    assert seen == pytest.approx(float(found.release.encodings.astype("f8").sum()), abs=1e-6)


def test_the_folder_of_the_view_goes_with_the_scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    found = bench.scene(defense="none", out=tmp_path, **TINY)
    assert len(list(temporary.iterdir())) == 1
    del found
    assert not list(temporary.iterdir())


def test_one_cell_at_a_time() -> None:
    with pytest.raises(bench.UsageError, match="of one cell, and these arguments name 2"):
        bench.scene(defense=["none", "mix-only"], **TINY)
    with pytest.raises(bench.UsageError, match="did you mean 'texthide'"):
        bench.scene(defense="texthid", **TINY)
