"""A plugin is added by dropping it into its folder: no list, table or `__init__` elsewhere needs an edit."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.cli import ROOT

ATTACK = '''"""An attack in a package, with a helper beside it."""

from dataclasses import dataclass

from bench import Guess, attack


@attack("dropped-in", sees={"encodings", "corpus"})
@dataclass(frozen=True)
class DroppedIn:
    """Names the nearest sentences."""

    top: int = 2

    def run(self, view, rng):
        from bench.attacks.dropped_in.helper import rank

        return Guess(ranking=rank(view, self.top))
'''
HELPER = "def rank(view, top):\n    return view.corpus.search(view.encodings, top)\n"
DEFENSE = '''"""A defense in one file."""

from dataclasses import dataclass

from bench import Key, Release, defense
from bench.toolkit.mixing import apply, draw_members, draw_weights, mix


@defense("dropped-mix")
@dataclass(frozen=True)
class DroppedMix:
    """Mixes two."""

    def release(self, vectors, labels, public, rng, epochs=1):
        members = draw_members(len(vectors), 2, epochs, rng, batch="all", distinct=False)
        key = Key(members[:, 0], members, draw_weights(len(members), 2, "uniform", rng))
        return Release(apply(vectors, key), mix(labels, members, key.weights)), key
'''


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what a checkout needs to run, with two more plugins in it."""
    ignored = shutil.ignore_patterns("__pycache__", "records", "boards", "pictures", "site")
    for folder in ("bench", "attacks", "defenses", "datasets", "leaderboards"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    package = tmp_path / "attacks" / "dropped_in"
    package.mkdir()
    (package / "__init__.py").write_text(ATTACK)
    (package / "helper.py").write_text(HELPER)
    (tmp_path / "defenses" / "dropped_mix.py").write_text(DEFENSE)
    return tmp_path


# Makes both by name and runs one on the other's release, without the scorers that a whole run loads.
RUN = """
from types import SimpleNamespace
import numpy as np
from bench import Corpus
from bench.plugins.registry import Registry
vectors = np.random.default_rng(0).standard_normal((9, 4)).astype(np.float32)
rng = np.random.default_rng(1)
release, key = Registry().make("defense", "dropped-mix").release(vectors, np.ones((9, 1)), None, rng)
view = SimpleNamespace(encodings=release.encodings, corpus=Corpus([str(i) for i in range(9)], vectors))
print(Registry().make("attack", "dropped-in:top=3").run(view, None).ranking.shape)
"""


def python(checkout: Path, *args: str) -> str:
    # `-m` and `-c` put the copy before this checkout, which an editable installation shows.
    done = subprocess.run([sys.executable, *args], cwd=checkout, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_package_and_a_file_are_listed_and_run(checkout: Path) -> None:
    listed = python(checkout, "-m", "bench", "list")
    assert "dropped-in" in listed
    assert "dropped-mix" in listed
    assert python(checkout, "-c", RUN) == "(9, 3)\n"
