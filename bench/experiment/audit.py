"""One audit from end to end: the data, the game, the verdict (the games are in bench.auditing).

The encoder is frozen. Few sentences are needed, and only those are encoded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bench.arrays import Floats
from bench.auditing import bounds, canaries, pair
from bench.auditing.mechanism import Mechanism, claim
from bench.auditing.outcome import Outcome
from bench.errors import BenchError, UsageError
from bench.experiment import setup
from bench.records.model import AuditSizes
from bench.system.seeds import generator
from bench.types import Examples

if TYPE_CHECKING:
    from bench.experiment.cells import Trial
    from bench.records.model import AuditRecord

# Sentences among which the pair game looks for its pair.
SAMPLE = 400
# The δ of an audit of a defense that claims nothing, unless another is asked for.
DELTA = 1e-5
# What a release notes where labels are no part of the promise.
PUBLIC_LABELS = "declared public"

Stage = Callable[[str], None]


def sizes_of(
    defense: Any,
    game: Literal["pair", "canaries", "updates"],
    examples: int | None = None,
    canaries: int | None = None,
    epochs: int | None = None,
    trials: int | None = None,
    delta: float | None = None,
) -> AuditSizes:
    """The protocol of a game, with defaults where nothing was said.

    The promise is for any data set, and in a small one an example has the fewest others to hide among: by default there
    are as many as the defense mixes.
    """
    if game == "pair":
        examples = examples or max(1, int(getattr(defense, "k", 1)))
        return AuditSizes(game=game, examples=examples, epochs=epochs or 50, trials=trials or 20_000, delta=delta)
    if game == "updates":
        return _of_updates(defense, examples, epochs, trials, delta)
    return AuditSizes(game=game, examples=canaries or 1000, epochs=epochs or 50, delta=delta)


def _of_updates(
    defense: Any, examples: int | None, epochs: int | None, trials: int | None, delta: float | None
) -> AuditSizes:
    """A batch, and rounds in which it is there: those over which the defense accounts."""
    inner = defense
    while hasattr(inner, "inner"):
        inner = inner.inner
    mixed = max(1, int(getattr(inner, "k", 1)))
    clips = hasattr(defense, "altered") and defense.clip
    return AuditSizes(
        game="updates",
        examples=examples or mixed,
        epochs=epochs or int(getattr(defense, "rounds", 1)),
        # Where a batch is mixed anew, every run takes gradients of its own: of the head, or of all that is sent.
        trials=trials or (20_000 if mixed == 1 else 1_000 if clips else 300),
        delta=delta,
    )


def execute(trial: Trial, about: AuditRecord, *, device: str, stage: Stage) -> AuditRecord:
    """`about` describes the audit. A failure is a record with its reason."""
    from bench.experiment import audit_updates  # which takes from here what both kinds of audits need

    began = time.perf_counter()
    try:
        if about.protocol.game == "updates":
            check_sent(trial.defense.plugin)
            found = audit_updates.measure(trial, about.protocol, device=device, stage=stage)
        else:
            found = measure(trial, about.protocol, device=device, stage=stage)
    except OSError:
        raise  # the machine's fault, such as a full disk: the run must stop
    except Exception as error:
        reason = str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
        return about.replace(status="failed", error=reason)
    return about.replace(**found, cost=about.cost.replace(attack_s=round(time.perf_counter() - began, 2)))


def check_sent(defense: Any) -> None:
    """Noise without bounds, or beyond those of the numbers that are sent, would end in no number at all."""
    if not hasattr(defense, "altered"):
        return
    with np.errstate(all="ignore"):
        noise = defense.altered("probe", np.zeros(1000, np.float32), 1, np.random.default_rng(0))
        if not np.isfinite(np.square(noise)).all():
            raise UsageError("what is sent is not finite, and cannot be audited: give smaller options")


def measure(trial: Trial, sizes: AuditSizes, *, device: str, stage: Stage) -> dict[str, Any]:
    """The fields of a record that an audit fills."""
    data, fingerprint = setup.load(trial.dataset.plugin, "train")
    words = ("audit", fingerprint, trial.defense.name, trial.defense.options, sizes.to_dict())
    rng = generator(trial.seed, *words)
    stage("preparing")
    mechanism = Mechanism(trial.defense.plugin, setup.public_corpus(trial, device, stage), sizes.epochs)
    some = data.take(distinct(data, SAMPLE + sizes.examples if sizes.game == "pair" else 2 * sizes.examples, rng))
    vectors, labels = setup.encode(trial, some, device, stage), some.targets()
    probe = mechanism.run(vectors[: sizes.examples], labels[: sizes.examples], rng).notes
    claimed, _, delta = checked_claim(trial.defense.name, probe, sizes.delta)
    outcome: Outcome
    if sizes.game == "pair":
        assert sizes.trials is not None
        private = probe.get("labels", PUBLIC_LABELS) != PUBLIC_LABELS
        outcome = pair.play(
            mechanism,
            pair.neighbours(
                vectors[1 : sizes.examples],
                vectors[sizes.examples :],
                labels[: sizes.examples],
                other_label(labels, some) if private else labels[0],
            ),
            private_labels=private,
            trials=sizes.trials,
            delta=delta,
            rng=rng,
            stage=stage,
        )
    else:
        halves = (vectors[: sizes.examples], vectors[sizes.examples :])
        outcome = canaries.play(mechanism, halves, labels[: sizes.examples], delta=delta, rng=rng, stage=stage)
    return {
        "notes": outcome.notes,
        "claimed_epsilon": claimed,
        "actual_epsilon": claim(outcome.notes)[1],
        "audited": outcome.audited,
        "verdict": bounds.verdict(claimed, outcome.audited, outcome.ceiling),
        "ceiling": outcome.ceiling,
        "delta": delta,
        "details": outcome.details,
    }


def distinct(data: Examples, count: int, rng: np.random.Generator) -> Any:
    """So many rows of different content."""
    _, first = np.unique(np.array(data.texts, dtype=object), return_index=True)
    return rng.choice(np.sort(first), min(count, len(first)), replace=False)


def checked_claim(name: str, notes: dict[str, Any], delta: float | None) -> tuple[float | None, float | None, float]:
    """The ε that is claimed, the one that is accounted, and the δ of the audit: the claim's own."""
    claimed, accounted, own = claim(notes)
    if claimed is None:
        return None, None, DELTA if delta is None else delta
    if not np.isfinite(claimed):
        raise UsageError(f"defense {name!r} claims ε = {claimed}: no experiment can refute that; give it a finite ε")
    if own is None:
        raise UsageError(
            f"defense {name!r} claims ε = {claimed:g} without a δ: its notes need nominal.delta, 0 for pure ε"
        )
    if delta is not None and delta != own:
        raise UsageError(f"--delta {delta:g}: defense {name!r} claims its ε at δ = {own:g}; leave --delta out")
    return claimed, accounted, own


def other_label(labels: Floats, some: Examples) -> Floats:
    """Another label for the first example, as far from its own as there is."""
    if some.classes:
        return np.roll(labels[0], 1)
    ends = labels.min(axis=0), labels.max(axis=0)
    found: Floats = max(ends, key=lambda end: float(np.abs(end - labels[0]).sum()))
    return found
