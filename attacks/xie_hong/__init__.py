"""Reconstruction from many encodings (Xie and Hong 2021): demask, find pairs, cluster, weigh, reconstruct, answer.

The stages live beside this file, one function each; this one holds the options and the chain. docs/attacks/
xie-hong.md says what the paper leaves open, what was changed, and what each choice is worth.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bench import Corpus, Floats, Guess, Ints, Protocol, View, attack
from bench.attacks.xie_hong import clusters, demask, signs, similarity
from bench.attacks.xie_hong.reconstruct import Fit, Problem, reconstruct, start
from bench.attacks.xie_hong.weights import from_labels

PAPER = "Xie and Hong 2021, sections 4 and 5, table 1"
EPOCHS = 50
"""encodings of each example in the paper: what an attacker assumes who cannot count the examples"""
SHADOWS = 40
"""shadow clients that the similarity network learns from: many, because what generalises is sentences, not mixes"""
KEPT = 500
"""encodings kept of each of them"""


@attack(
    "xie-hong",
    sees={"encodings", "labels", "corpus", "public", "defense"},
    paper=PAPER,
    protocol=Protocol(examples=100, epochs=EPOCHS),
)
@dataclass(frozen=True)
class XieHong:
    """The private vectors that explain all encodings of a release at once."""

    examples: int = 0
    """private examples to look for; 0: counted where the scheme allows it, else one for each 50 encodings"""
    demask: Literal["pool", "abs"] = "pool"
    """use what the mask pool gives away, or only absolute values, as the paper"""
    similarity: Literal["cosine", "mlp"] = "cosine"
    """how clusters tell that two encodings share an example; mlp is trained on shadow encodings, as the paper"""
    steps: int = 400
    """training steps of the mlp"""
    clusters: Literal["auto", "vertices", "greedy", "assignment", "kmeans"] = "auto"
    """corners of the simplex (needs no pairs), greedy growth (the paper), growth then b-matching, or k-means;
    auto: vertices, but greedy where noise or public sentences are mixed in, among which the farthest mean nothing"""
    weights: Literal["simplex", "labels"] = "simplex"
    """fitted, or read off the mixed labels once, as the paper"""
    rounds: int = 8
    """rounds of reconstruction, at most"""
    phase: bool = True
    """solve the signs of a coordinate over all examples at once between rounds"""
    moves: bool = True
    """move vectors that explain nothing to what is unexplained between rounds"""
    signs: Literal["candidates", "covariance", "mean"] = "candidates"
    """what settles the last sign of each coordinate: nearest candidates, the reference's covariance, or its mean"""
    snap: bool = False
    """start two more rounds from the nearest candidates: an attacker that trusts the corpus to hold the examples"""

    def __post_init__(self) -> None:
        if self.examples < 0 or self.examples == 1:
            raise ValueError("examples must be at least 2, or 0 to have it counted")
        if self.rounds < 1 or self.steps < 1:
            raise ValueError("rounds and steps must be at least 1")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        corpus: Corpus | None = view.corpus
        return _Run(self, view, corpus, rng).answer()


@attack(
    "xie-hong-blind",
    sees={"encodings", "labels", "public", "defense"},
    paper=PAPER,
    protocol=Protocol(examples=100, epochs=EPOCHS),
)
@dataclass(frozen=True)
class XieHongBlind(XieHong):
    """xie-hong without a corpus of candidates: vectors alone, their signs settled by public sentences."""

    signs: Literal["candidates", "covariance", "mean"] = "covariance"
    """what settles the last sign of each coordinate: the public corpus's covariance, or its mean"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.signs == "candidates" or self.snap:
            raise ValueError("xie-hong-blind has no candidates: use signs=covariance or signs=mean, without snap")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        return _Run(self, view, None, rng).answer()


@dataclass
class _Run:
    """One attack: what was read from the view, and what the stages found out."""

    options: XieHong
    view: View
    corpus: Corpus | None
    rng: np.random.Generator
    details: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def answer(self) -> Guess:
        with self._stage("demask"):
            self._read()
        # The products here are many and small: a second thread gains little, and loses twentyfold to waiting as soon
        # as another process wants its core.
        with threadpool_limits(limits=1):
            vectors = self._distinct() if self.scheme.k == 1 and self.exact else self._chain()
        full = np.copysign(np.abs(self.encodings).mean(axis=0), self.reference.mean)[None].repeat(len(vectors), axis=0)
        full[:, self.live] = vectors
        self.details |= {"examples": len(full), "seconds": {k: round(v, 2) for k, v in self.seconds.items()}}
        return Guess(vectors=full.astype(np.float32), details=self.details)

    def _read(self) -> None:
        encodings = np.asarray(self.view.encodings, dtype=np.float32)
        if encodings.ndim != 2 or not encodings.size:
            raise ValueError(f"xie-hong needs a matrix of encodings, not one of shape {encodings.shape}")
        if not np.isfinite(encodings).all():
            raise ValueError("the encodings contain NaN or infinite values")
        # In an order of their own, so that the answer does not depend on the order of the release.
        order = np.lexsort(encodings.T[::-1])
        self.encodings: Floats = encodings[order]
        labels = np.asarray(self.view.labels, dtype=np.float32)[order]
        self.labels: Floats = labels.reshape(len(labels), -1)
        self.public: Floats = np.asarray(self.view.public.vectors, dtype=np.float32)
        known = self.public if self.corpus is None else np.asarray(self.corpus.vectors, dtype=np.float32)
        self.reference = demask.Reference.of(known)
        count = self.options.examples or max(2, round(len(encodings) / EPOCHS))
        key = self._shadow(np.arange(min(count, len(self.public))), 1)[1]
        self.scheme = demask.scheme_of(key)
        self.exact = key.noise is None and not self.scheme.public
        if self.options.demask == "abs" and self.scheme.masks:
            self.scheme = replace(self.scheme, masks=np.inf)
        self.live = demask.live_coordinates(self.encodings, self.reference)
        if not self.live.any():
            raise ValueError("every coordinate of the encodings is constant: there is nothing to reconstruct from")
        self.values: Floats = np.ascontiguousarray(self.encodings[:, self.live])
        self.near = demask.Reference(
            self.reference.mean[self.live], self.reference.var[self.live], self.reference.radius
        )
        self.known: Floats = known[:, self.live]
        self.examples = self.options.examples or self._count(count)

    def _count(self, fallback: int) -> int:
        """Mixes of r vectors lie in r - 1 dimensions; under one mask or none, that many singular values stand out."""
        if not (self.scheme.signed and self.exact) or self.scheme.k == 1:
            return fallback
        centred = (self.values - self.values.mean(axis=0)).astype(np.float64)
        power = np.linalg.eigvalsh(centred.T @ centred)[::-1]
        rank = int((power > 1e-8 * power[0]).sum())
        return rank + 1 if 1 <= rank < min(self.values.shape[1], len(self.values) - 1) else fallback

    def _shadow(self, rows: Ints, epochs: int) -> tuple[Any, Any]:
        """A release of the attacker's own from public sentences, with its key."""
        classes = self.labels.shape[1]
        labels = np.eye(classes, dtype=np.float32)[self.rng.integers(0, classes, len(rows))]
        return self.view.defense.release(self.public[rows], labels, self.rng, epochs=epochs)

    def _distinct(self) -> Floats:
        """k = 1: an encoding is a vector under a mask, so the examples are the distinct ones."""
        with self._stage("distinct encodings"):
            seen = self.values if self.scheme.signed else np.abs(self.values)
            step = 1e-4 * np.sqrt(self.near.var)
            _, first, count = np.unique(np.round(seen / step), axis=0, return_index=True, return_counts=True)
            # Two examples with one vector are encoded twice as often as the others.
            times = np.maximum(1, np.round(count / np.median(count)).astype(np.int64))
            vectors = seen[first].repeat(times, axis=0)
            if self.scheme.masks == 0:
                return vectors
            if not self.scheme.signed and self.corpus is not None:
                return signs.by_magnitude(vectors, self.known)
            return vectors * self._gauge(vectors)

    def _chain(self) -> Floats:
        n, r, k = len(self.values), self.examples, self.scheme.k
        if n < 2 * r:
            raise ValueError(
                f"{n} encodings of {r} examples: xie-hong needs at least 2 of each; raise --epochs, "
                "or say how many examples there are with examples=N"
            )
        masked = not self.scheme.signed
        soft: Floats | None = None
        votes = demask.Votes(None, n)
        points = self.values
        if masked:
            with self._stage("demask"):
                evidence = demask.lean(self.values, self.near, self.scheme.spread)
                points = self.values * np.tanh(evidence)
                if n >= demask.MIN_GROUP * self.scheme.masks:
                    votes = demask.Votes(demask.group_masks(evidence), n)
                    assert votes.group is not None
                    self.details["mask_groups"] = int(votes.group.max()) + 1
                soft = votes(evidence)
        rows, members = self._clusters((points / np.sqrt(self.near.var)).astype(np.float32), masked, r, k)
        problem = Problem(
            self.values,
            self.near,
            votes,
            masked,
            k,
            total=0.0 if self.scheme.public else 1.0,
            fixed_weights=self.options.weights == "labels",
        )
        shares: Floats | None = None
        if self.options.weights == "labels":
            with self._stage("weights"):
                assert members is not None
                shares = from_labels(members.astype(np.float32), self.labels)
        with self._stage("reconstruct"):
            given = self.values if soft is None else self.values * soft
            fit = reconstruct(
                problem,
                start(problem, given[rows], soft, shares),
                rounds=self.options.rounds,
                phase=self.options.phase,
                moves=self.options.moves and shares is None,
                progress=self.view.stage,
            )
        with self._stage("signs"):
            gauge = self._gauge(fit.vectors)
        if self.options.snap:
            with self._stage("snap"):
                fit = self._snap(problem, fit, gauge)
                gauge = self._gauge(fit.vectors)
        self.details["unexplained"] = fit.error
        return fit.vectors * gauge

    def _clusters(self, points: Floats, masked: bool, r: int, k: int) -> tuple[Ints, npt.NDArray[np.bool_] | None]:
        """The encodings that stand for the examples first, and the clusters where there are any."""
        size = max(1, round(k * len(self.values) / r))
        feats = similarity.features(self.values, masked)
        chosen: str = self.options.clusters
        if chosen == "auto":
            chosen = "vertices" if self.exact else "greedy"
        scores: similarity.Similarity | None = None
        if self.options.similarity == "mlp" or chosen in ("greedy", "assignment"):
            with self._stage("similarity"):
                scores = self._similarity(feats, masked, r)
        with self._stage("clusters"):
            if chosen == "vertices":
                rows = clusters.vertices(points, r)
                if self.options.weights != "labels":
                    return rows, None
                spread = feats @ feats[rows].T / np.linalg.norm(feats[rows], axis=1)
                return rows, clusters.balanced(spread, size, k)
            if chosen == "kmeans":
                table = clusters.kmeans(feats, r, int(self.rng.integers(1 << 31)))
            else:
                assert scores is not None
                table = clusters.greedy(scores, r, size)
            pick = clusters.balanced if chosen == "assignment" else clusters.largest
            members = pick(table, size, k)
            return clusters.purest(points - points.mean(axis=0), members), members

    def _similarity(self, feats: Floats, masked: bool, r: int) -> similarity.Similarity:
        """Cosine or network; either is measured on a held-out shadow client."""
        learnt = self.options.similarity == "mlp"
        epochs = max(2, round(len(self.values) / r))
        mixed = self.rng.permutation(len(self.public))
        apart = max(len(mixed) // 5, min(r, len(mixed) // 2))

        def shadow(pool: Ints, keep: int) -> similarity.Shadow:
            # As many epochs as the victim, because noise may be calibrated to them; most encodings are then dropped.
            release, key = self._shadow(self.rng.choice(pool, min(r, len(pool)), replace=False), epochs)
            feats = similarity.features(np.asarray(release.encodings, np.float32)[:, self.live], masked)
            rows = self.rng.choice(len(feats), min(keep, len(feats)), replace=False)
            return similarity.Shadow(feats[rows], key.members[rows])

        held = shadow(mixed[:apart], 1000)
        everyone = slice(0, len(held.feats))
        truth = held.shared(np.arange(len(held.feats)))
        auc, accuracy = similarity.quality(similarity.Cosine(held.feats).block(everyone, everyone), truth)
        self.details["similarity"] = {"cosine_auc": auc, "cosine_accuracy": accuracy}
        if not learnt:
            return similarity.Cosine(feats)
        shadows = [shadow(mixed[apart:], KEPT) for _ in range(SHADOWS)]
        net = similarity.train(shadows, self.rng, steps=self.options.steps, device=self.view.device)
        auc, accuracy = similarity.quality(net.on(held.feats).block(everyone, everyone), truth, threshold=0.0)
        self.details["similarity"] |= {"mlp_auc": auc, "mlp_accuracy": accuracy}
        return net.on(feats)

    def _gauge(self, vectors: Floats) -> Floats:
        if self.scheme.masks == 0:
            return np.ones(vectors.shape[1], dtype=np.float32)
        first = signs.from_mean(vectors, self.near.mean)
        if self.options.signs == "mean":
            return first
        if self.options.signs == "candidates":
            assert self.corpus is not None
            return signs.from_candidates(vectors, self.known, first)
        return signs.from_covariance(vectors, self.known, first)

    def _snap(self, problem: Problem, fit: Fit, gauge: Floats) -> Fit:
        from bench.toolkit.search import nearest

        named = nearest(fit.vectors * gauge, self.known)[:, 0]
        again = start(problem, self.known[named] * gauge, fit.signs, fit.weights)
        again.noise = fit.noise
        found = reconstruct(problem, again, rounds=2, phase=self.options.phase, moves=self.options.moves)
        return found if found.error < fit.error else fit

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        self.view.stage(name)
        began = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began
