from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench import Corpus
from bench.attacks.rss import RSS
from bench.attacks.template import Template
from bench.defenses.dp_ie import Gaussian
from bench.defenses.release_once import ReleaseOnce
from bench.defenses.texthide import TextHide

DIM = 24


def sentences(count: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((count, DIM)) * np.linspace(2, 0.5, DIM) + 1).astype(np.float32)


PUBLIC = Corpus([str(i) for i in range(300)], sentences(300, seed=1))


def attacked(defense: Any, *, columns: int = 2, attack: Any = None, seed: int = 2) -> float:
    """How often the first answer is right, of 100 examples among 200 candidates."""
    corpus = sentences(200, seed)
    rng = np.random.default_rng(seed)
    labels = np.eye(2, dtype=np.float32)[rng.integers(0, 2, 100)]
    if columns == 1:
        labels = rng.uniform(0, 5, (100, 1)).astype(np.float32)
    release, key = defense.release(corpus[50:150], labels, PUBLIC, rng)
    view: Any = SimpleNamespace(
        encodings=release.encodings,
        labels=release.labels,
        corpus=Corpus([""] * 200, corpus),
        stage=lambda text: None,
        defense=SimpleNamespace(release=lambda v, y, r: defense.release(v, y, PUBLIC, r)),
    )
    guess = (attack or Template()).run(view, np.random.default_rng(0))
    assert guess.ranking.shape == (len(release.encodings), 16) or attack is not None
    return float((guess.ranking[:, 0] == key.owner + 50).mean())


def test_a_label_that_is_multiplied_in_does_not_help_against_it() -> None:
    """Half of the points are turned round: the nearest vector is wrong for these, the nearest template is not."""
    weak = ReleaseOnce(epsilon=3000.0, r=8, clip=2.0, labels="joint")
    found, by_nearness = attacked(weak), attacked(weak, attack=RSS(top=1))
    assert found > 0.9
    assert by_nearness < 0.6


def test_it_sees_through_clipping_and_noise_that_is_too_small() -> None:
    assert attacked(Gaussian(epsilon=3000.0, k=1)) > 0.9


def test_scores_are_tried_at_both_ends() -> None:
    weak = ReleaseOnce(epsilon=3000.0, r=8, clip=2.0, labels="joint", low=0.0, high=5.0)
    assert attacked(weak, columns=1) > 0.3


def test_enough_noise_and_fresh_masks_leave_it_at_chance() -> None:
    assert np.mean([attacked(ReleaseOnce(epsilon=1.0, r=8, labels="joint"), seed=seed) for seed in (2, 3, 4)]) < 0.03
    assert np.mean([attacked(TextHide(m="inf"), seed=seed) for seed in (2, 3, 4)]) < 0.04


@pytest.mark.parametrize("options", [{"runs": 0}, {"top": 0}])
def test_options_that_mean_nothing(options: Any) -> None:
    with pytest.raises(ValueError):
        Template(**options)
