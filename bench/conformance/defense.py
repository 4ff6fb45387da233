"""Conformance of defenses: what attacks, scores, training and the accounting of ε rely on in a release and its key."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.arrays import Floats
from bench.conformance.checks import (
    CheckResult,
    CheckSettings,
    CheckTarget,
    describe_error,
    failed,
    noted,
    verdict,
)
from bench.errors import UsageError
from bench.experiment.cells import Chosen
from bench.plugins import options
from bench.system.seeds import generator
from bench.toolkit import mixing
from bench.toolkit.corpus import Corpus
from bench.types import Key, Release

EXAMPLES, DIM, CLASSES, EPOCHS, PUBLIC = 64, 24, 3, 3, 50
# float32 sums in another order.
CLOSE = 1e-4


@dataclass(frozen=True)
class SyntheticClient:
    """Holds random vectors that are like an encoder's in that their mean is far from zero, and releases them."""

    plugin: Any

    @property
    def vectors(self) -> Floats:
        return _draw("vectors", EXAMPLES)

    @property
    def labels(self) -> Floats:
        rows: Floats = np.eye(CLASSES, dtype=np.float32)[np.arange(EXAMPLES) % CLASSES]
        return rows

    @property
    def public(self) -> Corpus | None:
        if not getattr(self.plugin, "public", ""):
            return None
        return Corpus([f"public {i}" for i in range(PUBLIC)], _draw("public", PUBLIC))

    def release(self, seed: int, epochs: int = EPOCHS, vectors: Any = None, labels: Any = None) -> tuple[Release, Key]:
        vectors = self.vectors if vectors is None else vectors
        labels = self.labels if labels is None else labels
        found: tuple[Release, Key] = self.plugin.release(vectors, labels, self.public, _rng(seed), epochs=epochs)
        return found


def run_checks(chosen: Chosen, target: CheckTarget, settings: CheckSettings) -> Iterator[CheckResult]:
    client = SyntheticClient(chosen.plugin)
    start = time.monotonic()
    try:
        release, key = client.release(0)
    except Exception as error:
        yield failed("releases", f"{EXAMPLES} examples, {EPOCHS} epochs: {describe_error(error)}")
        return
    wrong = _malformed(release, key)
    yield verdict("releases", not wrong, f"{EPOCHS * EXAMPLES} items of {EXAMPLES} examples in {EPOCHS} epochs", wrong)
    if wrong:
        return
    for what, check in CHECKS.items():
        try:
            yield from check(what, client, release, key)
        except Exception as error:
            yield failed(what, describe_error(error))
    took = time.monotonic() - start
    over = f"the release and its checks took {took:.1f} s: make it faster, or raise --budget if it has to be"
    yield verdict("time", took <= settings.budget, f"{took:.1f} s of {settings.budget:g}", over)


def _malformed(release: Release, key: Key) -> str:
    """Shapes and ranges, which everything else counts on."""
    items = EXAMPLES * EPOCHS
    for name, array, shape in (
        ("release.encodings", release.encodings, (items, DIM)),
        ("release.labels", release.labels, (items, CLASSES)),
        ("key.owner", key.owner, (items,)),
        ("key.weights", key.weights, np.shape(key.members)),
    ):
        if np.shape(array) != shape:
            return f"{name} has shape {np.shape(array)}; expected {shape}"
        if not np.isfinite(np.asarray(array)).all():
            return f"{name} holds NaN or infinite values"
    members, owner = np.asarray(key.members), np.asarray(key.owner)
    if members.ndim != 2 or len(members) != items:
        return f"key.members has shape {members.shape}; expected ({items}, k)"
    if not (np.issubdtype(members.dtype, np.integer) and np.issubdtype(owner.dtype, np.integer)):
        return f"key.owner and key.members hold {owner.dtype} and {members.dtype}; expected row numbers of the examples"
    if members.max() >= EXAMPLES or members.min() < -1 or owner.max() >= EXAMPLES or owner.min() < 0:
        return f"the key names examples outside 0 … {EXAMPLES - 1}"
    if not (members == owner[:, None]).any(axis=1).all():
        return "some item is owned by an example that key.members does not mix into it"
    return ""


def _encodings(what: str, client: SyntheticClient, release: Release, key: Key) -> Iterator[CheckResult]:
    dtype = np.asarray(release.encodings).dtype
    yield verdict(what, dtype == np.float32, f"{EPOCHS * EXAMPLES} × {DIM} float32", f"they are {dtype}, not float32")


def _explains(what: str, client: SyntheticClient, release: Release, key: Key) -> Iterator[CheckResult]:
    again = mixing.apply(client.vectors, key, client.public)
    gap = float(np.abs(again - release.encodings).max() / max(float(np.abs(release.encodings).max()), 1e-30))
    yield verdict(
        what,
        gap <= CLOSE,
        "bench.mixing.apply(vectors, key) gives the encodings",
        f"bench.mixing.apply(vectors, key) is off by {gap:.1g} of the largest value: put every draw into the key; what "
        "mix, scale and mask cannot say goes into key.noise",
    )


def _labels(what: str, client: SyntheticClient, release: Release, key: Key) -> Iterator[CheckResult]:
    labels = np.asarray(release.labels)
    total = labels.sum(axis=1)
    # Public examples have no labels, so that the weights of the private ones may sum to less.
    short = 1 - float(total.min()) if key.public is None else 0.0
    off = max(float(total.max()) - 1, short)
    yield verdict(
        what,
        off <= CLOSE and labels.min() >= -CLOSE,
        "each row sums to 1" if key.public is None else "each row sums to 1 at most",
        f"a row is off 1 by {off:.3g} or holds {labels.min():.2g}: mix labels with weights that sum to 1",
    )
    try:
        scores, _ = client.release(0, labels=np.linspace(0, 5, EXAMPLES, dtype=np.float32)[:, None])
    except UsageError as error:
        yield noted("scores", f"refused as it is: {error}")
        return
    good = np.shape(scores.labels) == (EPOCHS * EXAMPLES, 1) and bool(np.isfinite(np.asarray(scores.labels)).all())
    yield verdict("scores", good, "one column of them is mixed like classes", "a column of scores comes back malformed")


def _repeats(what: str, client: SyntheticClient, release: Release, key: Key) -> Iterator[CheckResult]:
    again, _ = client.release(0)
    other, _ = client.release(1)
    yield verdict(
        what,
        np.array_equal(np.asarray(again.encodings), np.asarray(release.encodings)),
        "the same rng gives the same release",
        "the same rng gives another release: draw all randomness from rng",
    )
    what = "fresh randomness"
    if release.notes.get("drawn") == "once":
        yield noted(what, "every example is released once, and the same in every epoch")
        return
    if np.allclose(_sorted(release.encodings), _sorted(other.encodings)):
        yield noted(what, "nothing but the order depends on rng: two clients release the same encodings")
        return
    order = np.argsort(np.asarray(key.owner), kind="stable")
    owner, encodings = np.asarray(key.owner)[order], np.asarray(release.encodings)[order]
    same = (encodings[1:] == encodings[:-1]).all(axis=1)[owner[1:] == owner[:-1]]
    yield verdict(
        what,
        bool(same.mean() < 0.5),
        "an example is encoded otherwise in every epoch, and for every rng",
        "most examples have the same encoding in every epoch: draw anew for each item",
    )


def _order(what: str, client: SyntheticClient, release: Release, key: Key) -> Iterator[CheckResult]:
    owner = np.asarray(key.owner)
    _, other = client.release(1)
    fixed = np.array_equal(owner, np.asarray(other.owner))
    by_epoch = len(np.unique(owner[:EXAMPLES])) == EXAMPLES
    reason = "items stand in the same order for every rng" if fixed else "the first items are the first epoch's"
    yield verdict(
        what, not (fixed or by_epoch), "shuffled over examples and epochs", f"{reason}: shuffle all items together"
    )


def _gradients(what: str, client: SyntheticClient, release: Release, key: Key) -> Iterator[CheckResult]:
    import torch

    try:
        getattr(client.plugin, "check_training", lambda: None)()
    except ValueError as error:
        yield noted(what, f"not trained through: {error}")
        return
    vectors = torch.tensor(client.vectors, requires_grad=True)
    labels = torch.tensor(client.labels)
    found, _ = client.release(0, vectors=vectors, labels=labels)
    if not isinstance(found.encodings, torch.Tensor) or not found.encodings.requires_grad:
        yield failed(what, "torch vectors come back without a gradient: compute with bench.mixing.apply and mix")
        return
    found.encodings.square().sum().backward()  # type: ignore[no-untyped-call]
    slope = vectors.grad
    flows = slope is not None and bool(torch.isfinite(slope).all()) and bool((slope.abs().sum(1) > 0).all())
    same = np.allclose(found.encodings.detach().numpy(), release.encodings, atol=1e-3, rtol=1e-3)
    yield verdict(what, flows, "from every vector through the encodings", "they are zero or not finite for some vector")
    yield verdict("torch and NumPy", same, "give the same encodings", "the same rng gives other encodings for tensors")


def _untouched(what: str, client: SyntheticClient, release: Release, key: Key) -> Iterator[CheckResult]:
    vectors, labels = client.vectors, client.labels
    client.release(0, vectors=vectors, labels=labels)
    same = np.array_equal(vectors, client.vectors) and np.array_equal(labels, client.labels)
    yield verdict(
        what, same, "vectors and labels are as they were", "release() writes into what it was given: copy first"
    )


def _metadata(what: str, client: SyntheticClient, release: Release, key: Key) -> Iterator[CheckResult]:
    """What attacks may see of the scheme: options that another process can be told, and a release of their own."""
    plugin = client.plugin
    plain = json.loads(json.dumps(dataclasses.asdict(plugin)))
    same = options.restore(type(plugin), plain) == plugin
    yield verdict(what, same, "options survive the way to the attack", "options change on the way through JSON")
    json.dumps(release.notes)
    # As an attack with `oracle` or `defense` asks: vectors of its own, labels that say nothing.
    own, _ = client.release(2, 1, labels=np.zeros((EXAMPLES, CLASSES), dtype=np.float32))
    good = np.shape(own.encodings) == (EXAMPLES, DIM)
    yield verdict("attackers' own releases", good, "one epoch, labels unknown", f"has shape {np.shape(own.encodings)}")


def _accounting(what: str, client: SyntheticClient, release: Release, key: Key) -> Iterator[CheckResult]:
    if not hasattr(client.plugin, "epsilon"):
        yield noted(what, "claims no ε")
        return
    found = {word: release.notes.get(word, {}).get("epsilon") for word in ("nominal", "accounted")}
    absent = [word for word, value in found.items() if not isinstance(value, int | float) or math.isnan(value)]
    yield verdict(
        what,
        not absent,
        f"ε {found['nominal']} claimed, {found['accounted']} accounted",
        f"it has an option epsilon, but notes lack {' and '.join(absent)}: "
        "Release(..., notes={'nominal': {'epsilon': …, 'delta': …}, 'accounted': {…}})",
    )


CHECKS = {
    "encodings": _encodings,
    "key explains release": _explains,
    "labels": _labels,
    "same rng": _repeats,
    "order of the release": _order,
    "gradients flow": _gradients,
    "inputs": _untouched,
    "what attackers may know": _metadata,
    "accounting": _accounting,
}


def _draw(word: str, count: int) -> Floats:
    rng = generator(0, "conformance", word)
    return (2 + rng.standard_normal((count, DIM))).astype(np.float32)


def _rng(seed: int) -> np.random.Generator:
    return generator(seed, "conformance release")


def _sorted(encodings: Any) -> Floats:
    array: Floats = np.asarray(encodings)
    return array[np.lexsort(array.T)]
