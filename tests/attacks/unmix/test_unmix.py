"""unmix on synthetic vectors that imitate an encoder's: a strong mean, and a spectrum that falls off."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from bench import Corpus, Guess, Key, Release
from bench.attacks.unmix import Unmix
from bench.attacks.unmix.dictionary import Dictionary, distinct
from bench.attacks.unmix.signs import recover
from bench.attacks.unmix.solve import fill, owners_first
from bench.defenses.mix_only import MixOnly
from bench.defenses.none import NoDefense
from bench.defenses.texthide import TextHide
from bench.isolation import view as views
from bench.toolkit.mixing import apply, draw_masks, draw_weights
from tests.helpers.scenarios import surfaces_of


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def sentences(count: int, dim: int, seed: int, mean: float = 2.0, decay: float = 10.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    spread = np.exp(-np.arange(dim) / decay) + 0.01
    centre = rng.standard_normal(dim) * mean * np.sqrt(spread.mean())
    return ((rng.standard_normal((count, dim)) * np.sqrt(spread)) @ axes.T + centre).astype(np.float32)


class Case:
    """A release of the first `private` sentences of a corpus, and what only the scorer knows."""

    def __init__(
        self, defense: Any, vectors: np.ndarray, private: int = 120, texts: list[str] | None = None, seed: int = 7
    ):
        self.vectors = vectors
        self.texts = texts or [f"sentence {i}" for i in range(len(vectors))]
        self.release, self.key = defense.release(
            vectors[:private], np.zeros((private, 1), np.float32), None, np.random.default_rng(seed)
        )
        self.defense = defense
        self.lost: set[str] = set()

    def without(self, rows: range) -> Case:
        """The same release, seen by an attacker whose corpus lacks these sentences."""
        self.lost = {self.texts[row] for row in rows}
        return self

    def view(self, **more: Any) -> Any:
        rows = [row for row, text in enumerate(self.texts) if text not in self.lost]
        corpus = Corpus([self.texts[row] for row in rows], self.vectors[rows])
        known = SimpleNamespace(
            name="scheme",
            options={"k": self.key.members.shape[1]},
            release=lambda vectors, labels, rng, epochs=1: self.defense.release(
                vectors, labels, None, rng, epochs=epochs
            ),
        )
        facts = {"encodings": self.release.encodings, "corpus": corpus, "defense": known}
        return SimpleNamespace(**{**facts, "device": "cpu", "stage": lambda text: None, **more})

    def run(self, attack: Unmix | None = None, **more: Any) -> Guess:
        self.seen = self.view(**more)
        guess = (attack or Unmix()).run(self.seen, np.random.default_rng(1))
        n = len(self.seen.encodings)
        assert guess.ranking is not None
        assert guess.confidence is not None
        assert guess.ranking.shape[0] == n
        assert guess.confidence.shape == (n,)
        assert np.isfinite(guess.confidence).all()
        assert ((guess.confidence >= 0) & (guess.confidence <= 1)).all()
        assert ((guess.ranking >= 0) & (guess.ranking < len(self.seen.corpus.texts))).all()
        return guess

    def truth(self) -> list[set[str]]:
        return [{self.texts[row] for row in members if row >= 0} for members in self.key.members]

    def named(self, guess: Guess) -> list[set[str]]:
        assert guess.ranking is not None
        k = self.key.members.shape[1]
        return [{self.seen.corpus.texts[row] for row in rows[:k]} for rows in guess.ranking]

    def recall(self, guess: Guess) -> float:
        pairs = [(truth - self.lost, named) for truth, named in zip(self.truth(), self.named(guess), strict=True)]
        return sum(len(truth & named) for truth, named in pairs) / max(1, sum(len(truth) for truth, _ in pairs))

    def right(self, guess: Guess) -> np.ndarray:
        return np.array([truth <= named for truth, named in zip(self.truth(), self.named(guess), strict=True)])


class Noisy:
    """Any scheme, with Gaussian noise on top."""

    def __init__(self, inner: Any, deviation: float):
        self.inner, self.deviation = inner, deviation

    def release(self, vectors: Any, labels: Any, public: Any, rng: Any, epochs: int = 1) -> tuple[Release, Key]:
        release, key = self.inner.release(vectors, labels, public, rng, epochs=epochs)
        noise = (rng.standard_normal(release.encodings.shape) * self.deviation).astype(np.float32)
        return Release(release.encodings + noise, release.labels), replace(key, noise=noise)


class Inter:
    """Two private sentences and two public ones under a fresh mask."""

    def __init__(self, public: Corpus):
        self.public = public

    def release(self, vectors: Any, labels: Any, public: Any, rng: Any, epochs: int = 1) -> tuple[Release, Key]:
        n = len(vectors)
        own = np.stack([np.arange(n), rng.permutation(n)], axis=1)
        members = np.concatenate([own, np.full((n, 2), -1)], axis=1)
        shared = np.concatenate([np.full((n, 2), -1), rng.integers(0, len(self.public.texts), (n, 2))], axis=1)
        mask, pool = draw_masks(n, vectors.shape[1], "inf", rng)
        key = Key(members[:, 0], members, draw_weights(n, 4, "half-normal", rng), mask, pool, public=shared)
        return Release(apply(vectors, key, self.public), labels), key


def auc(right: np.ndarray, confidence: Any) -> float:
    ahead = confidence[right][:, None] - confidence[~right][None, :]
    return float(((ahead > 0) + 0.5 * (ahead == 0)).mean())


CORPUS = sentences(600, 64, seed=0)


@pytest.mark.parametrize("defense", [MixOnly(), TextHide(m=1), TextHide(m=16), TextHide(m="inf")])
def test_a_mix_of_four_is_read_whatever_the_masks(defense: Any) -> None:
    case = Case(defense, CORPUS)
    guess = case.run()
    assert case.recall(guess) >= 0.99
    assert np.median(guess.confidence) > 0.95  # type: ignore[arg-type]


@pytest.mark.parametrize(("k", "dim"), [(1, 64), (2, 64), (8, 128)])
def test_other_sizes_of_mix(k: int, dim: int) -> None:
    case = Case(TextHide(m="inf", k=k), sentences(600, dim, seed=1, decay=dim / 6))
    assert case.recall(case.run()) >= 0.97


def test_no_defense() -> None:
    case = Case(NoDefense(), CORPUS)
    assert case.recall(case.run()) == 1.0


def test_vectors_without_a_mean_fall_too() -> None:
    """Sign recovery has nothing to start from here; the start from magnitudes does it."""
    case = Case(TextHide(m="inf"), sentences(400, 128, seed=2, mean=0.0, decay=1e9))
    assert case.recall(case.run()) >= 0.9


def test_k_is_found_by_the_residual() -> None:
    case = Case(TextHide(m="inf", k=3), CORPUS)
    guess = case.run(Unmix(k="residual"))
    assert guess.details["k"] == 3
    assert case.recall(guess) >= 0.99


def test_k_can_be_given() -> None:
    guess = Case(TextHide(m="inf", k=3), CORPUS).run(Unmix(k=5))
    assert guess.ranking is not None
    assert guess.ranking.shape[1] == 5


@pytest.mark.parametrize("lost", [30, 60])
def test_a_corpus_that_lacks_sentences(lost: int) -> None:
    """Of 120 private sentences a quarter or half are unknown: the known ones are found, the rest is not claimed."""
    case = Case(TextHide(m="inf"), CORPUS).without(range(lost))
    guess = case.run()
    right = case.right(guess)
    assert case.recall(guess) >= 0.7
    assert auc(right, guess.confidence) >= 0.95
    assert guess.confidence is not None
    lacking = np.array([bool(truth & case.lost) for truth in case.truth()])
    assert guess.confidence[lacking].max() < 0.5
    assert np.median(guess.confidence[~lacking]) > 0.9


def test_duplicate_sentences_count_once() -> None:
    """Every private sentence stands in the corpus twice: half under the same text, half in capitals.

    Those in capitals cannot be told apart, and the confidence says so.
    """
    vectors = np.concatenate([CORPUS, CORPUS[:60], CORPUS[60:120]])
    texts = [f"sentence {i}" for i in range(600)]
    texts += texts[:60] + [text.upper() for text in texts[60:120]]
    case = Case(TextHide(m="inf"), vectors, texts=texts)
    guess = case.run()
    assert guess.details["candidates"] == 600
    assert case.recall(guess) >= 0.99
    assert guess.confidence is not None
    capitals = np.array([sum(row >= 60 for row in set(members)) for members in case.key.members.tolist()])
    assert np.allclose(guess.confidence, 0.5**capitals, atol=0.05)


def test_constant_coordinates_are_dropped() -> None:
    rest = np.repeat(np.array([[0.0, 7.0]], np.float32), len(CORPUS), axis=0)
    case = Case(TextHide(m="inf"), np.concatenate([CORPUS, rest], axis=1))
    assert case.recall(case.run()) >= 0.99


def test_a_single_encoding() -> None:
    case = Case(TextHide(m="inf"), CORPUS)
    case.key = replace(case.key, members=case.key.members[:1])
    guess = case.run(encodings=case.release.encodings[:1])
    assert case.recall(guess) == 1.0


def test_encodings_of_nothing_get_no_confidence() -> None:
    case = Case(TextHide(m="inf"), CORPUS)
    encodings = case.release.encodings.copy()
    encodings[0], encodings[1] = 0, np.nan
    guess = case.run(encodings=encodings)
    assert guess.confidence is not None
    assert guess.confidence[:2].max() == 0.0
    assert case.recall(guess) >= 0.97


@pytest.mark.parametrize("vectors", [np.zeros((20, 16), np.float32), np.ones((20, 16), np.float32)])
def test_a_corpus_of_equal_vectors(vectors: np.ndarray) -> None:
    guess = Case(TextHide(m="inf"), vectors, private=20).run()
    assert guess.confidence is not None
    assert guess.confidence.max() == 0.0


def test_a_corpus_smaller_than_a_mix() -> None:
    case = Case(TextHide(m="inf"), CORPUS[:40], private=40).without(range(37))
    assert case.run().ranking.shape == (40, 3)  # type: ignore[union-attr]


def test_noise_degrades_and_is_admitted() -> None:
    recall = []
    for deviation in (0.003, 0.1, 0.5):
        case = Case(Noisy(TextHide(m="inf"), deviation), CORPUS)
        guess = case.run()
        recall.append(case.recall(guess))
    assert recall[0] > 0.9
    assert recall[0] > recall[1] > recall[2]
    assert guess.confidence is not None
    assert guess.confidence.max() < 0.5


def test_a_shared_mask_helps_under_noise() -> None:
    case = Case(Noisy(TextHide(m=1), 0.25), CORPUS, private=300)
    alone, pooled = case.run(Unmix(pool=False)), case.run()
    assert case.recall(pooled) > case.recall(alone) + 0.05


def test_sentences_found_elsewhere_help_under_noise() -> None:
    case = Case(Noisy(MixOnly(), 0.05), sentences(3000, 64, seed=3), private=100)
    alone, pooled = case.run(Unmix(pool=False)), case.run()
    assert case.recall(pooled) > case.recall(alone) + 0.02


def test_public_sentences_join_the_dictionary_where_they_are_known() -> None:
    everything = sentences(800, 64, seed=0)
    public = Corpus([f"public {i}" for i in range(200)], everything[600:])
    case = Case(Inter(public), everything[:600])
    granted = case.run(public=public)
    assert case.recall(granted) >= 0.99

    class Closed(SimpleNamespace):
        @property
        def public(self) -> Corpus:
            raise views.NotGranted("public")

    case.seen = Closed(**vars(case.view()))
    kept = Unmix().run(case.seen, np.random.default_rng(1))
    assert kept.confidence is not None
    assert kept.confidence.max() < 0.5


def test_on_a_real_view(tmp_path: Path) -> None:
    """The view grants what the attack declares and the attack touches no more; twice the same answer."""
    case = Case(TextHide(m=16), CORPUS)
    sees = Unmix.__plugin__.sees  # type: ignore[attr-defined]
    facts = {"name": "texthide", "options": {"m": 16, "k": 4}}
    views.write(tmp_path, sees, surfaces_of(case.release), corpus=Corpus(case.texts, CORPUS), defense=facts)
    stages: list[str] = []
    seen = views.View(tmp_path, stage=stages.append, make=lambda kind, facts: TextHide(**facts["options"]))
    guess = Unmix().run(seen, np.random.default_rng(1))
    case.seen = seen
    assert case.recall(guess) >= 0.99
    assert seen.used <= set(sees)
    assert any("round" in stage for stage in stages)
    assert np.array_equal(guess.ranking, Unmix().run(seen, np.random.default_rng(1)).ranking)  # type: ignore[arg-type]


def test_signs_are_recovered_without_any_candidate() -> None:
    """Mean and covariance of other sentences of the same kind are enough: none of the mixed ones is known."""
    everything = sentences(3120, 128, seed=4, mean=1.0, decay=20)
    case = Case(TextHide(m="inf"), everything)
    dictionary = Dictionary(everything[120:], everything.std(0), np.ones(128, dtype=bool), "cpu")
    assert case.key.pool is not None
    mixes = dictionary.load(case.release.encodings * case.key.pool)
    belief = recover(
        dictionary, mixes.abs(), torch.zeros_like(mixes), torch.full((120, 1), 0.4), torch.zeros(128), None, 20
    )
    estimate = dictionary.mean + belief.target @ dictionary.axes.T
    energy = mixes.square()
    wrong = (energy * (estimate.sign() != mixes.sign())).sum() / energy.sum()
    naive = (energy * (dictionary.mean.sign() != mixes.sign())).sum() / energy.sum()
    assert wrong < 0.2 * naive


@pytest.mark.parametrize("bad", [{"k": -1}, {"cycles": -1}])
def test_bad_options_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Unmix(**bad)


def test_distinct_joins_equal_texts_and_equal_vectors() -> None:
    vectors = np.array([[1, 2], [3, 4], [1, 2], [5, 6], [3, 4.00001]], np.float32)
    assert distinct(["a", "b", "c", "a", "d"], vectors).tolist() == [0, 1, 0, 0, 1]


def test_every_sentence_is_named_first_once_where_that_is_possible() -> None:
    ranked = np.array([[5, 1], [5, 2], [5, 1], [-1, -1]])
    result = owners_first(ranked, np.ones(ranked.shape, dtype=bool))
    assert sorted(result[:3, 0].tolist()) == [1, 2, 5]
    assert np.array_equal(np.sort(result, axis=1), np.sort(ranked, axis=1))
    assert np.array_equal(owners_first(ranked, np.zeros(ranked.shape, dtype=bool)), ranked)
    case = Case(TextHide(m="inf"), CORPUS)
    guess = case.run()
    assert guess.ranking is not None
    assert len(np.unique(guess.ranking[:, 0])) == 120


def test_fill_names_no_row_twice() -> None:
    rows = np.array([[3, -1, -1], [0, 1, 2], [-1, -1, -1]])
    assert fill(rows, np.arange(6)).tolist() == [[3, 0, 1], [0, 1, 2], [0, 1, 2]]
