"""What the process wall and the sandbox cost per cell, for an attack that does nothing.

    python benchmarks/wall.py [--repeats 15]

The wall stands beside a bare process that imports NumPy, without which no attack could run at all; the sandbox beside
the wall. 1,000 encodings, 8,551 candidates.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measurement import Measurement, parser, report

from bench import Corpus
from bench.isolation import process, sandbox, view
from bench.surfaces.encodings import Encodings

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


def measure(repeats: int) -> list[Measurement]:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((8551, 384), dtype=np.float32)
    with tempfile.TemporaryDirectory() as home:
        plugin = Path(home) / "idle.py"
        plugin.write_text(PLUGIN)
        attack = {"kind": "attack", "name": "idle", "module": str(plugin), "cls": "Idle", "options": {}}
        times: dict[str, list[float]] = {"bare": [], "wall": [], "sandbox": []}
        try:
            sandbox.require()
            kinds: dict[str, process.Seal | None] = {"wall": None, "sandbox": process.Seal((plugin,))}
        except Exception as error:
            print(error, file=sys.stderr)
            kinds = {"wall": None}
        for _ in range(repeats):  # turn and turn about, so that a busy moment hits both
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", "import numpy"], check=True)
            times["bare"].append(time.perf_counter() - start)
            for kind, seal in kinds.items():
                start = time.perf_counter()
                with process.workspace() as folder:
                    corpus = Corpus([str(i) for i in range(len(vectors))], vectors)
                    view.write(folder, ("corpus", "encodings"), {"encodings": Encodings(vectors[:1000])}, corpus=corpus)
                    done = process.run(
                        *(folder, attack, 0),
                        limits=process.Limits(60, 2048, 1),
                        oracle=None,
                        stage=lambda text: None,
                        seal=seal,
                    )
                assert done.guess is not None, done.reason
                times[kind].append(time.perf_counter() - start)
    middle = {kind: statistics.median(some) for kind, some in times.items() if some}
    found = [Measurement("wall, a cell", "a process that imports NumPy", middle["bare"], middle["wall"])]
    if "sandbox" in middle:
        found.append(Measurement("sandbox, a cell", "the wall", middle["wall"], middle["sandbox"]))
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--repeats", type=int, default=15)
    args = options.parse_args()
    report(measure(args.repeats), args.json)


if __name__ == "__main__":
    main()
