"""Game (b): canaries in one run (Steinke, Nasr and Jagielski 2023), which any defense can be put to.

Of two sentences one is drawn for each canary; the defense releases all canaries at once, and the auditor guesses which
were drawn, as many as he is surest of. How many to guess, and by which statistic, is settled in rehearsals.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.arrays import Floats, Ints
from bench.auditing import bounds
from bench.auditing.mechanism import Mechanism, Run
from bench.auditing.outcome import Outcome, largest
from bench.auditing.statistics import Comparison

REHEARSALS = 3
# The least number of canaries that are guessed.
FEWEST = 8


def play(
    mechanism: Mechanism,
    vectors: tuple[Floats, Floats],
    labels: Floats,
    *,
    delta: float,
    rng: np.random.Generator,
    stage: Callable[[str], None],
) -> Outcome:
    """Canary i is row i of one or the other of `vectors`; its label is the same."""
    count = len(labels)
    rehearsed = []
    for number in range(REHEARSALS):
        stage(f"rehearsal {number + 1} of {REHEARSALS}")
        rehearsed.append(_run(mechanism, vectors, labels, rng))
    statistics = Comparison.learnt([run for _, run in rehearsed], np.concatenate(vectors))
    amounts = [count >> halved for halved in range(count.bit_length()) if count >> halved >= FEWEST] or [count]

    promised: list[tuple[float, int, Comparison]] = []
    for statistic in statistics:
        scores = [(statistic.scores(run.encodings, *vectors), bits) for bits, run in rehearsed]
        for guesses in amounts:
            reached = [bounds.one_run(count, guesses, _correct(*each, guesses), delta) for each in scores]
            promised.append((float(np.mean(reached)), guesses, statistic))
    _, guesses, statistic = max(promised, key=lambda each: each[:2])
    stage("the run that counts")
    bits, run = _run(mechanism, vectors, labels, rng)
    correct = _correct(statistic.scores(run.encodings, *vectors), bits, guesses)
    return Outcome(
        audited=bounds.one_run(count, guesses, correct, delta),
        ceiling=bounds.one_run(count, count, count, delta),
        notes=largest([run.notes for _, run in rehearsed]),
        details={"statistic": statistic.name, "guesses": guesses, "correct": correct},
    )


def _run(
    mechanism: Mechanism, vectors: tuple[Floats, Floats], labels: Floats, rng: np.random.Generator
) -> tuple[Ints, Run]:
    bits = rng.integers(0, 2, len(labels))
    return bits, mechanism.run(np.where(bits[:, None], vectors[1], vectors[0]), labels, rng)


def _correct(scores: Floats, bits: Ints, guesses: int) -> int:
    """Of so many guesses, on the canaries with the largest scores of either sign."""
    surest = np.argsort(-np.abs(scores), kind="stable")[:guesses]
    return int(((scores[surest] > 0) == (bits[surest] == 1)).sum())
