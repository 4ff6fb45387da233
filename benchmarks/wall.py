"""What the process wall and the sandbox cost per cell: an attack that does nothing, run plainly, walled and sealed."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from bench import Corpus, Release, sandbox, view, wall

PLUGIN = '''
from dataclasses import dataclass

import numpy as np
from bench import Guess, attack


@attack("idle", sees={"encodings", "corpus"})
@dataclass(frozen=True)
class Idle:
    """Names the first sentence."""

    def run(self, view, rng):
        return Guess(ranking=np.zeros((len(view.encodings), 1), dtype=int))
'''


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((8551, 384), dtype=np.float32)
    with tempfile.TemporaryDirectory() as home:
        plugin = Path(home) / "idle.py"
        plugin.write_text(PLUGIN)
        attack = {"kind": "attack", "name": "idle", "module": str(plugin), "cls": "Idle", "options": {}}
        times: dict[str, list[float]] = {"wall": [], "sandbox": []}
        try:
            sandbox.require()
            kinds: dict[str, wall.Seal | None] = {"wall": None, "sandbox": wall.Seal((plugin,))}
        except Exception as error:
            print(error)
            kinds = {"wall": None}
        for _ in range(repeats):  # turn and turn about, so that a busy moment hits both
            for kind, seal in kinds.items():
                start = time.perf_counter()
                with wall.workspace() as folder:
                    corpus = Corpus([str(i) for i in range(len(vectors))], vectors)
                    view.write(folder, ("corpus", "encodings"), Release(vectors[:1000], None), corpus=corpus)
                    done = wall.run(
                        *(folder, attack, 0),
                        limits=wall.Limits(60, 2048, 1),
                        oracle=None,
                        stage=lambda text: None,
                        seal=seal,
                    )
                assert done.guess is not None, done.reason
                times[kind].append(time.perf_counter() - start)
    for kind in kinds:
        some = sorted(times[kind])
        print(f"{kind:8} median {statistics.median(some):.3f} s   range {some[0]:.3f} to {some[-1]:.3f} s")
    if times["sandbox"]:
        extra = statistics.median(times["sandbox"]) - statistics.median(times["wall"])
        ratio = statistics.median(times["sandbox"]) / statistics.median(times["wall"])
        print(
            f"the sandbox adds {extra:.3f} s (ratio {ratio:.2f}); 1,000 encodings, 8,551 candidates, {repeats} repeats"
        )


if __name__ == "__main__":
    main()
