"""What an attacker reads off a release of its own."""

from __future__ import annotations

import math
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench import Corpus
from bench.attacks.common.scheme import Scheme, clipped, learn, public_corpus
from bench.defenses.dp_ie import Gaussian
from bench.defenses.mix_only import MixOnly
from bench.defenses.none import NoDefense
from bench.defenses.texthide import TextHide, TextHideInter
from bench.isolation.view import NotGranted

N, DIM = 64, 8
VECTORS = np.random.default_rng(0).standard_normal((N, DIM)).astype(np.float32)
LABELS = np.zeros((N, 2), np.float32)
PUBLIC = Corpus([f"public {i}" for i in range(30)], VECTORS[:30])


def view(defense: Any) -> Any:
    """As much of a view as this needs."""

    def release(vectors: Any, labels: Any, rng: np.random.Generator) -> Any:
        return defense.release(vectors, labels, PUBLIC, rng)

    return SimpleNamespace(defense=SimpleNamespace(options=asdict(defense), release=release))


def learnt(defense: Any) -> Scheme:
    return learn(view(defense), VECTORS, LABELS, np.random.default_rng(1))


@pytest.mark.parametrize(("m", "masks"), [(0, 0), (1, 1), (5, 5), ("inf", math.inf)])
def test_masks_are_counted_and_fresh_ones_are_told_from_a_pool(m: Any, masks: float) -> None:
    found = learnt(TextHide(m=m, k=3))
    assert (found.k, found.private, found.public, found.masks) == (3, 3, False, masks)
    assert (found.masked, found.pooled, found.signed) == (masks > 0, masks in (1, 5), masks <= 1)
    assert found.noise == 0
    assert 1 / 3 < found.concentration < 1


def test_nothing_mixed_keeps_all_of_the_variance() -> None:
    found = learnt(NoDefense())
    assert (found.k, found.masked, found.concentration, found.spread) == (1, False, 1.0, 1.0)


def test_the_weights_of_one_example_in_two_slots_add_up() -> None:
    apart, together = learnt(MixOnly(k=4, distinct=True)), learnt(MixOnly(k=4, batch=4))
    assert apart.spread == pytest.approx(apart.concentration, abs=1e-6)
    assert together.spread > together.concentration + 1e-3


def test_public_sentences_count_among_k_but_not_among_the_private_ones() -> None:
    found = learnt(TextHideInter(m=3, k=4, public="demo"))
    assert (found.k, found.private, found.public) == (4, 2, True)
    assert found.spread < found.concentration


def test_noise_and_clipping() -> None:
    found = learnt(Gaussian(epsilon=5.0, k=2, norm="l1", clip=0.5))
    assert found.noise > 0
    assert (found.clip, found.norm) == (0.5, 1)


def test_where_the_scheme_cannot_be_run_its_options_say_something() -> None:
    found = Scheme.of_options({"k": 4, "m": 16})
    assert (found.k, found.masked, found.pooled) == (4, True, False)  # which encodings share a mask is not known
    assert not Scheme.of_options({"k": 4}).masked
    assert Scheme.of_options({"epsilon": 1.0}).k == 0


def test_vectors_are_clipped_to_a_multiple_of_their_median_norm() -> None:
    scheme = learnt(Gaussian(clip=0.5))
    norms = np.linalg.norm(clipped(VECTORS, scheme), axis=1)
    assert norms.max() == pytest.approx(0.5 * np.median(np.linalg.norm(VECTORS, axis=1)), rel=1e-6)
    assert clipped(VECTORS, learnt(MixOnly())) is VECTORS


def test_the_public_corpus_is_found_with_the_scheme_or_as_granted_or_not_at_all() -> None:
    class Ungranted:
        defense = SimpleNamespace(public=None)

        @property
        def public(self) -> Corpus:
            raise NotGranted("public")

    assert public_corpus(SimpleNamespace(defense=SimpleNamespace(public=PUBLIC))) is PUBLIC  # type: ignore[arg-type]
    granted: Any = SimpleNamespace(defense=SimpleNamespace(public=None), public=PUBLIC)
    assert public_corpus(granted) is PUBLIC
    assert public_corpus(Ungranted()) is None  # type: ignore[arg-type]
