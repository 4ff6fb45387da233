"""What is encoded before a run begins."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.cli import PLUGINS

RUN = """
import sys, bench
found = bench.run(defense="none", attack="{attack}", encoder="toy", examples=20, candidates={candidates}, seed={seed},
                  plugins=[{toy!r}], out={out!r}, progress=False)
print(found[0].status, "transformers" in sys.modules)
"""


@pytest.mark.slow
def test_another_attack_on_a_small_corpus_does_not_load_the_scorers_network(tmp_path: Path) -> None:
    """Its answers are among the candidates, all of which were embedded before the first attack."""

    def loaded(attack: str, seed: int = 0) -> str:
        code = RUN.format(
            attack=attack, candidates=60, seed=seed, toy=str(PLUGINS / "toy.py"), out=str(tmp_path / "out")
        )
        env = {**os.environ, "BENCH_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert loaded("rss") == "ok True"
    assert loaded("magnitude-search") == "ok False"
    assert loaded("rss", seed=1) == "ok True"  # other candidates
