"""The stages of `xie-hong`: read the view, demask, find pairs, cluster, weigh, reconstruct, settle the signs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bench import Corpus, Floats, Guess, Ints, View
from bench.attacks.common.scheme import learn
from bench.attacks.xie_hong import EPOCHS, XieHong, clusters, demask, flattened, signs, similarity
from bench.attacks.xie_hong.reconstruct import Fit, Problem, reconstruct, start
from bench.attacks.xie_hong.weights import from_labels
from bench.toolkit.search import nearest

SHADOWS = 40
"""shadow clients that the similarity network learns from: many, because what generalises is sentences, not mixes"""
KEPT = 500
"""encodings kept of each of them"""


@dataclass
class Chain:
    """One attack: what was read from the view, and what the stages found out."""

    options: XieHong
    view: View
    corpus: Corpus | None
    rng: np.random.Generator
    details: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def guess(self) -> Guess:
        with self._stage("demask"):
            self._read()
        # The products here are many and small: a second thread gains little, and loses twentyfold to waiting as soon
        # as another process wants its core.
        with threadpool_limits(limits=1):
            vectors = self._distinct() if self.scheme.private == 1 and self.exact else self._chain()
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
        self.reference = demask.ReferenceStatistics.of(known)
        count = self.options.examples or max(2, round(len(encodings) / EPOCHS))
        self.scheme = learn(self.view, *self._own_examples(np.arange(min(count, len(self.public)))), self.rng)
        self.exact = not self.scheme.noise and not self.scheme.public
        if self.options.demask == "abs" and self.scheme.masked:
            self.scheme = replace(self.scheme, masks=np.inf)
        self.live = demask.live_coordinates(self.encodings, self.reference)
        if not self.live.any():
            raise ValueError("every coordinate of the encodings is constant: there is nothing to reconstruct from")
        self.values: Floats = np.ascontiguousarray(self.encodings[:, self.live])
        self.near = demask.ReferenceStatistics(
            self.reference.mean[self.live], self.reference.var[self.live], self.reference.radius
        )
        self.known: Floats = known[:, self.live]
        self.examples = self.options.examples or self._count(count)

    def _count(self, fallback: int) -> int:
        """Mixes of r vectors lie in r - 1 dimensions; under one mask or none, that many singular values stand out."""
        if not (self.scheme.signed and self.exact) or self.scheme.private == 1:
            return fallback
        centred = (self.values - self.values.mean(axis=0)).astype(np.float64)
        power = np.linalg.eigvalsh(centred.T @ centred)[::-1]
        rank = int((power > 1e-8 * power[0]).sum())
        return rank + 1 if 1 <= rank < min(self.values.shape[1], len(self.values) - 1) else fallback

    def _own_examples(self, rows: Ints) -> tuple[Floats, Floats]:
        """Public sentences with random labels, for releases of the attacker's own."""
        classes = self.labels.shape[1]
        labels: Floats = np.eye(classes, dtype=np.float32)[self.rng.integers(0, classes, len(rows))]
        return self.public[rows], labels

    def _distinct(self) -> Floats:
        """k = 1: an encoding is a vector under a mask, so the examples are the distinct ones."""
        with self._stage("distinct encodings"):
            seen = self.values if self.scheme.signed else np.abs(self.values)
            step = 1e-4 * np.sqrt(self.near.var)
            _, first, count = np.unique(np.round(seen / step), axis=0, return_index=True, return_counts=True)
            # Two examples with one vector are encoded twice as often as the others.
            times = np.maximum(1, np.round(count / np.median(count)).astype(np.int64))
            vectors = seen[first].repeat(times, axis=0)
            if not self.scheme.masked:
                return vectors
            if not self.scheme.signed and self.corpus is not None:
                return signs.by_magnitude(vectors, self.known)
            return vectors * self._gauge(vectors)

    def _chain(self) -> Floats:
        n, r, k = len(self.values), self.examples, self.scheme.private
        if n < 2 * r:
            raise ValueError(
                f"{n} encodings of {r} examples: xie-hong needs at least 2 of each; raise --epochs, "
                "or say how many examples there are with examples=N"
            )
        masked = not self.scheme.signed
        if self._flattened():
            return self._flat(masked)
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

    def _flattened(self) -> bool:
        """Take the way for flattened encoders: by the known vectors' spectrum, and not against any option's word.

        It rests on mixes that are exact and lie in a plane of far fewer dimensions than there are coordinates.
        """
        options = self.options
        usual = (options.demask, options.clusters, options.weights, options.snap) == ("pool", "auto", "simplex", False)
        fits = self.exact and self.examples <= self.values.shape[1] // 2
        return usual and options.similarity == "cosine" and fits and flattened.flattened(self.known)

    def _flat(self, masked: bool) -> Floats:
        with self._stage("reconstruct"):
            fit = flattened.explain(
                self.values,
                self.known,
                masked=masked,
                spread=self.scheme.spread,
                examples=self.examples,
                k=self.scheme.private,
                rounds=self.options.rounds,
                phase=self.options.phase,
                moves=self.options.moves,
                progress=self.view.stage,
            )
        self.details |= {"flattened": True, "unexplained": fit.error}
        with self._stage("signs"):
            # Under many masks the signs are the reference's already, by all coordinates together and not one by one.
            first = np.ones(fit.vectors.shape[1], dtype=np.float32) if masked else None
            return fit.vectors * self._gauge(fit.vectors, first)

    def _clusters(self, points: Floats, masked: bool, r: int, k: int) -> tuple[Ints, npt.NDArray[np.bool_] | None]:
        """The encodings that stand for the examples first, and the clusters where there are any."""
        size = max(1, round(k * len(self.values) / r))
        feats = similarity.features(self.values, masked)
        chosen: str = self.options.clusters
        if chosen == "auto":
            chosen = "vertices" if self.exact else "greedy"
        scores: similarity.PairScores | None = None
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

    def _similarity(self, feats: Floats, masked: bool, r: int) -> similarity.PairScores:
        """Cosine or network; either is measured on a held-out shadow client."""
        learnt = self.options.similarity == "mlp"
        epochs = max(2, round(len(self.values) / r))
        mixed = self.rng.permutation(len(self.public))
        apart = max(len(mixed) // 5, min(r, len(mixed) // 2))

        def shadow(pool: Ints, keep: int) -> similarity.Shadow:
            # As many epochs as the victim, because noise may be calibrated to them; most encodings are then dropped.
            own = self._own_examples(self.rng.choice(pool, min(r, len(pool)), replace=False))
            release, key = self.view.defense.release(*own, self.rng, epochs=epochs)
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

    def _gauge(self, vectors: Floats, first: Floats | None = None) -> Floats:
        if not self.scheme.masked:
            return np.ones(vectors.shape[1], dtype=np.float32)
        first = signs.from_mean(vectors, self.near.mean) if first is None else first
        if self.options.signs == "mean":
            return first
        if self.options.signs == "candidates":
            assert self.corpus is not None
            return signs.from_candidates(vectors, self.known, first)
        return signs.from_covariance(vectors, self.known, first)

    def _snap(self, problem: Problem, fit: Fit, gauge: Floats) -> Fit:
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
