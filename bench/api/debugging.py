"""`bench run --debug`: an attack in this very process, with its prints, its whole traceback and a debugger. No result.

There is no wall between the attack and the key here, no limit of time or memory, and nothing is recorded.
"""

from __future__ import annotations

import pdb
import sys
import time
import traceback
from typing import TYPE_CHECKING

from bench.api import scenes
from bench.api.requests import AttackRequest
from bench.errors import UsageError

if TYPE_CHECKING:
    from bench.experiment.cells import Cell


def debug(request: AttackRequest, *, open_pdb: bool = False) -> bool:
    """Run every cell in turn; False if one failed. `breakpoint()` in an attack works."""
    if request.sealed:
        raise UsageError("--debug runs an attack in this process, --sealed behind a wall: leave one of them out")
    went_well = [_one(cell, request, open_pdb) for cell in request.cells()]
    return all(went_well)


def _one(cell: Cell, request: AttackRequest, open_pdb: bool) -> bool:
    import numpy as np

    from bench.experiment import execute
    from bench.isolation import guess as guesses
    from bench.scoring.kinds import Expected
    from bench.system.device import resolve
    from bench.system.seeds import for_attack
    from bench.types import Guess

    scene = scenes.build(cell, request)
    _say(f"{cell.title}: in this process, for debugging; no result, nothing is recorded")
    rng = np.random.default_rng(for_attack(cell.seed, cell.attack.name, cell.attack.options))
    start = time.perf_counter()
    try:
        guess = cell.attack.plugin.run(scene.view, rng)
        seconds = time.perf_counter() - start
        if not isinstance(guess, Guess):
            raise TypeError(f"run() returned {type(guess).__name__}, not a Guess")
    except Exception as error:
        traceback.print_exception(error)
        if open_pdb:
            pdb.post_mortem(error.__traceback__)
        return False
    if wrong := guesses.check(guess, Expected.of(scene.truth)):
        _say(f"{cell.title}: {wrong}")
        return False
    unused = sorted(set(cell.attack.info.sees) - scene.view.used)
    # Before the guess is scored, which may take a good deal longer.
    _say(f"it took {seconds:.2f} s" + (f"; declared, and not used: {', '.join(unused)}" if unused else ""))
    found = execute.score(cell, guess, scene.truth, resolve(request.device)).metrics
    for name, metric in found.items():
        guessed = metric.get("random")
        print(f"{name:>10} {metric['value']:.3f}" + ("" if guessed is None else f"  (random {guessed:.3f})"))
    return True


def _say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)
