"""release-once: its accounting, what it takes from where, its head, and what it refuses."""

from __future__ import annotations

import json
import logging
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import Corpus, UsageError
from bench.auditing import pair
from bench.auditing.mechanism import Mechanism
from bench.defenses.release_once import ReleaseOnce, joint, keep_rate
from bench.defenses.release_once.frame import frame_of
from bench.defenses.release_once.shuffling import amplified, local_budget
from bench.toolkit.privacy import gaussian_epsilon
from tests.helpers.cli import PLUGINS

Run = Callable[..., subprocess.CompletedProcess[str]]
DIM = 20


def draw(count: int, seed: int = 0, dim: int = DIM) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((count, dim)) * np.linspace(2, 0.2, dim) + 1).astype(np.float32)


PUBLIC = Corpus([str(i) for i in range(500)], draw(500, seed=1))


def classes(count: int, among: int = 2) -> Any:
    return np.eye(among, dtype=np.float32)[np.arange(count) % among]


def test_the_budget_is_that_of_its_parts() -> None:
    defense = ReleaseOnce(epsilon=4.0, r=6)
    label, vector = defense.budgets(4.0)
    assert label + vector == pytest.approx(4.0)
    release, _ = defense.release(draw(50), classes(50), PUBLIC, np.random.default_rng(0))
    notes = release.notes
    assert notes["nominal"] == notes["accounted"] == {"epsilon": 4.0, "delta": 1e-5}
    # Replacing one clipped point moves it by at most 2C; labels are pure ε, so the two add up at one δ.
    assert gaussian_epsilon(2 * notes["clip_bound"], notes["noise_scale"], 1e-5) == pytest.approx(vector, rel=1e-3)
    keep = keep_rate(label, 3)
    assert keep / ((1 - keep) / 2) == pytest.approx(np.exp(label))
    assert ReleaseOnce(epsilon=4.0, labels="public").budgets(4.0) == (0.0, 4.0)


def test_every_epoch_releases_the_same_points() -> None:
    defense = ReleaseOnce(epsilon=4.0, r=6)
    release, key = defense.release(draw(40), classes(40), PUBLIC, np.random.default_rng(0), epochs=5)
    assert len(release.encodings) == 200
    for example in range(40):
        mine = key.owner == example
        assert len(np.unique(release.encodings[mine], axis=0)) == 1
        assert len(np.unique(release.labels[mine], axis=0)) == 1


def test_points_lie_in_public_directions_and_noise_has_the_scale_that_is_noted() -> None:
    defense = ReleaseOnce(epsilon=4.0, r=6)
    vectors = draw(4000)
    release, key = defense.release(vectors, classes(4000), PUBLIC, np.random.default_rng(0))
    frame = frame_of(PUBLIC, 6, 1.0)
    off = release.encodings - frame.centre
    assert np.abs(off - off @ frame.axes.T @ frame.axes).max() < 1e-4
    noise = frame.points(release.encodings, clip=False) - frame.points(vectors[key.owner])
    assert noise.std() == pytest.approx(release.notes["noise_scale"], rel=0.02)
    assert np.linalg.norm(frame.points(vectors), axis=1).max() <= frame.bound * (1 + 1e-9)


def test_randomised_response_lies_as_often_as_it_may() -> None:
    defense = ReleaseOnce(epsilon=4.0, label=1.0, r=4)
    release, key = defense.release(draw(20_000), classes(20_000, 3), PUBLIC, np.random.default_rng(0))
    told = (release.labels.argmax(axis=1) == classes(20_000, 3).argmax(axis=1)[key.owner]).mean()
    assert told == pytest.approx(np.e / (np.e + 2), abs=0.01)


@pytest.mark.parametrize("labels", ["private", "public", "joint"])
def test_the_head_learns_through_the_noise(labels: Any) -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 30_000)
    # Classes differ along the second axis and by half as much along the fifth.
    shift = np.zeros((3, DIM), dtype=np.float32)
    shift[:, 1], shift[:, 4] = (-2, 0, 2), (1, -2, 1)
    vectors = draw(30_000, seed=6) + shift[truth]
    defense = ReleaseOnce(epsilon=8.0, r=8, labels=labels)
    release, _ = defense.release(vectors, np.eye(3, dtype=np.float32)[truth], PUBLIC, rng)
    answer = defense.learn(release.encodings, release.labels, PUBLIC, release.notes)
    asked = rng.integers(0, 3, 3000)
    reached = (answer(draw(3000, seed=7) + shift[asked]).argmax(axis=1) == asked).mean()
    assert reached > 0.62  # clean points of the same directions: 0.71


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_products_of_point_and_label_differ_by_twice_the_bound_at_most(classes: int) -> None:
    points = np.random.default_rng(1).standard_normal((300, 4))
    points *= 2.0 / np.linalg.norm(points, axis=1, keepdims=True)
    points = np.concatenate([points, -points])
    corner = joint.corners(classes)
    assert np.allclose(np.linalg.norm(corner, axis=1), 1)
    assert np.allclose(corner.sum(axis=0), 0)
    crowds = joint.Crowds.drawn(600, 1, np.random.default_rng(0))
    rows = joint.products(points, corner[np.arange(600) % classes], 2.0, crowds)
    assert rows.shape == (600, joint.width(4, classes))
    assert np.linalg.norm(rows, axis=1).max() <= 2.0 * (1 + 1e-12)
    # Some are released without their label; which ones does not depend on the data.
    assert crowds.alone.sum() == 60
    assert not rows[crowds.alone, 4:].any()
    assert np.allclose(rows[crowds.alone, :4], points[crowds.alone])


def test_a_joint_release_spends_all_of_epsilon_on_one_product_and_says_no_label() -> None:
    defense = ReleaseOnce(epsilon=4.0, r=4, labels="joint")
    vectors = draw(2000)
    release, key = defense.release(vectors, classes(2000, 3), PUBLIC, np.random.default_rng(0), epochs=2)
    assert gaussian_epsilon(2 * release.notes["clip_bound"], release.notes["noise_scale"], 1e-5) == pytest.approx(4)
    assert "labels" not in release.notes
    assert set(np.unique(release.labels)) == {np.float32(0), np.float32(1 / 3)}
    axes = frame_of(PUBLIC, 10, 1.0).axes
    off = release.encodings - PUBLIC.vectors.mean(axis=0)
    assert np.abs(off - off @ axes.T @ axes).max() < 1e-4
    flipped, _ = defense.release(vectors, np.roll(classes(2000, 3), 1, axis=0), PUBLIC, np.random.default_rng(0))
    once, _ = defense.release(vectors, classes(2000, 3), PUBLIC, np.random.default_rng(0))
    alone = once.labels[:, 0] == 0
    assert np.array_equal(once.encodings[alone], flipped.encodings[alone])
    assert (once.encodings[~alone] != flipped.encodings[~alone]).any(axis=1).all()
    assert len(np.unique(release.encodings[key.owner == 3], axis=0)) == 1
    with pytest.raises(UsageError, match="needs 21 dimensions for r=20 and 2 classes, and vectors have 20: lower r"):
        ReleaseOnce(r=20, labels="joint").release(vectors, classes(2000), PUBLIC, np.random.default_rng(0))


def two_classes_learnt(defense: ReleaseOnce, *, count: int, axis: int, draws: int) -> float:
    """The accuracy on other vectors, of two classes that differ along an axis, over some draws of the noise."""
    rng = np.random.default_rng(5)
    truth, asked = rng.integers(0, 2, count), rng.integers(0, 2, 2000)
    shift = np.zeros((2, DIM), dtype=np.float32)
    shift[:, axis] = -1, 1
    vectors, others = draw(count, seed=6) + shift[truth], draw(2000, seed=7) + shift[asked]
    found = []
    for _ in range(draws):
        release, _ = defense.release(vectors, np.eye(2, dtype=np.float32)[truth], PUBLIC, rng)
        answer = defense.learn(release.encodings, release.labels, PUBLIC, release.notes)
        found.append((answer(others).argmax(axis=1) == asked).mean())
    return float(np.mean(found))


def test_at_a_small_epsilon_a_joint_release_teaches_more_than_a_randomised_label() -> None:
    own, product = (
        two_classes_learnt(ReleaseOnce(epsilon=1.0, r=8, labels=labels), count=8000, axis=1, draws=5)  # type: ignore[arg-type]
        for labels in ("private", "joint")
    )
    assert product > own + 0.05, (own, product)


def test_in_crowds_an_example_moves_a_sum_by_twice_the_bound_and_noise_is_that_of_the_sum() -> None:
    defense = ReleaseOnce(epsilon=2.0, r=4, labels="joint", crowd=30)
    vectors, labels = draw(1000), classes(1000)
    release, key = defense.release(vectors, labels, PUBLIC, np.random.default_rng(0))
    assert release.encodings.shape == (33, DIM)
    # Everybody is in one crowd, and no crowd is smaller than the noise counts on.
    held = [set(row[weight > 0]) for row, weight in zip(key.members, key.weights, strict=True)]
    assert sorted(example for some in held for example in some) == list(range(1000))
    assert min(map(len, held)) >= 30
    assert np.allclose(key.weights.sum(axis=1), 1)
    # The other sign of one example's point moves its crowd's sum by no more than 2C, and no other crowd.
    turned = vectors.copy()
    turned[7] = 2 * PUBLIC.vectors.mean(axis=0) - vectors[7]
    other, _ = defense.release(turned, labels, PUBLIC, np.random.default_rng(0))
    moved = np.linalg.norm(other.encodings - release.encodings, axis=1)
    (crowd,) = np.flatnonzero(moved > 1e-4)
    assert 7 in held[crowd]
    assert moved[crowd] * len(held[crowd]) <= 2 * release.notes["clip_bound"] * (1 + 1e-4)
    # Noise: clean means are those of a release with hardly any.
    quiet, _ = ReleaseOnce(epsilon=1e7, r=4, labels="joint", crowd=30).release(
        vectors, labels, PUBLIC, np.random.default_rng(0)
    )
    axes = frame_of(PUBLIC, 5, 1.0).axes
    noise = (release.encodings - quiet.encodings) @ axes.T * np.array([len(some) for some in held])[:, None]
    assert noise.std() == pytest.approx(release.notes["noise_scale"], rel=0.2)
    doubted = ReleaseOnce(epsilon=2.0, r=4, labels="joint", crowd=30, honest=0.25)
    found, _ = doubted.release(vectors, labels, PUBLIC, np.random.default_rng(0))
    assert found.notes["noise_scale"] == pytest.approx(2 * release.notes["noise_scale"])
    with pytest.raises(UsageError, match="crowd=30 needs as many examples, and there are 20: lower crowd"):
        defense.release(vectors[:20], labels[:20], PUBLIC, np.random.default_rng(0))


def test_what_shuffling_is_worth() -> None:
    # By hand: ε₀ = 2, n = 10,000, δ = 1e-6: 8 √(e² · ln 4e6 / 1e4) + 8 e² / 1e4, times (e² - 1) / (e² + 1).
    spread = 8 * np.sqrt(np.exp(2) * np.log(4e6) / 1e4) + 8 * np.exp(2) / 1e4
    share = (np.exp(2) - 1) / (np.exp(2) + 1)
    assert amplified(2.0, 10_000, 1e-6) == pytest.approx(np.log(1 + share * spread))
    # Beyond what the theorem covers, nothing is gained; nor is anything lost.
    assert amplified(8.0, 10_000, 1e-6) == 8.0
    assert amplified(1.0, 100, 1e-6) == 1.0
    local, rest = local_budget(1.0, 1e-5, 60_000)
    assert 4 < local < 7
    assert amplified(local, 60_000, 5e-6) == pytest.approx(1.0, abs=1e-6)
    assert 5e-6 + (np.e + 1) * (1 + np.exp(-local) / 2) * 60_000 * rest == pytest.approx(1e-5)
    assert local_budget(1.0, 1e-5, 100) == (1.0, 1e-5)
    # At a large ε its δ costs more noise than its ε saves: then the release is the unshuffled one.
    assert local_budget(4.0, 1e-5, 60_000)[0] > 5
    assert ReleaseOnce(epsilon=4.0, shuffled=True).spent(60_000) == (4.0, 1e-5)


@pytest.mark.parametrize("labels", ["private", "joint"])
def test_a_shuffled_release_spends_what_the_others_hide(labels: Any) -> None:
    defense = ReleaseOnce(epsilon=1.0, r=4, labels=labels, shuffled=True)
    vectors, told = draw(30_000), classes(30_000)
    release, key = defense.release(vectors, told, PUBLIC, np.random.default_rng(0))
    notes = release.notes
    assert notes["accounted"] == {"epsilon": 1.0, "delta": 1e-5}
    assert notes["local"]["epsilon"] > 3
    assert (
        notes["noise_scale"]
        < ReleaseOnce(epsilon=1.0, r=4, labels=labels)
        .release(vectors, told, PUBLIC, np.random.default_rng(0))[0]
        .notes["noise_scale"]
    )
    # In an order that nothing tells, and everybody once.
    assert np.array_equal(np.sort(key.owner), np.arange(30_000))
    assert abs(np.corrcoef(key.owner, np.arange(30_000))[0, 1]) < 0.05
    answer = defense.learn(release.encodings, release.labels, PUBLIC, notes)
    assert np.isfinite(answer(vectors[:10])).all()
    if labels == "private":
        # The label is its own example's.
        assert (release.labels.argmax(axis=1) == told.argmax(axis=1)[key.owner]).mean() > 0.6


def test_crowds_teach_more_at_the_same_epsilon() -> None:
    reached = [
        two_classes_learnt(ReleaseOnce(epsilon=0.5, r=8, labels="joint", crowd=crowd), count=5000, axis=6, draws=1)
        for crowd in (1, 100)
    ]
    assert reached[1] > reached[0] + 0.1, reached


@pytest.mark.parametrize("labels", ["private", "joint"])
def test_scores_are_learnt_within_their_bounds(labels: Any) -> None:
    rng = np.random.default_rng(5)
    vectors = draw(20_000, seed=6)
    scores = np.clip(vectors[:, 1:2] + 1.5, 0, 5)
    defense = ReleaseOnce(epsilon=8.0, r=8, low=0.0, high=5.0, labels=labels)
    release, _ = defense.release(vectors, scores, PUBLIC, rng)
    answer = defense.learn(release.encodings, release.labels, PUBLIC, release.notes)
    asked = draw(2000, seed=8)
    assert np.corrcoef(answer(asked)[:, 0], asked[:, 1])[0, 1] > 0.8
    with pytest.raises(UsageError, match="give low= and high="):
        ReleaseOnce(labels=labels).release(vectors[:10], scores[:10], PUBLIC, rng)


def test_private_sentences_in_the_public_corpus_are_said_with_their_share(caplog: Any) -> None:
    vectors = draw(30)
    both = Corpus(["x"] * 510, np.concatenate([PUBLIC.vectors, vectors[:10]]))
    with caplog.at_level(logging.WARNING, logger="bench.defenses.release_once"):
        ReleaseOnce(r=4).release(vectors, classes(30), both, np.random.default_rng(0))
    assert "33.3 % of the private examples are in the public corpus" in caplog.text


def test_words_of_the_public_corpus_give_a_direction() -> None:
    rng = np.random.default_rng(3)
    told = rng.integers(0, 2, 500)
    vectors = draw(500, seed=1)
    vectors[:, 9] += 4 * told
    corpus = Corpus([("a good one", "a bad one")[i] for i in told], vectors)
    defense = ReleaseOnce(epsilon=2.0, words="good+great/bad")
    frame = defense.frame(corpus)
    assert frame.axes.shape == (1, DIM)
    assert abs(frame.axes[0, 9]) > 0.9
    wide = ReleaseOnce(words="good/bad", r=5).frame(corpus)
    assert np.allclose(wide.axes @ wide.axes.T, np.eye(5), atol=1e-6)
    with pytest.raises(UsageError, match="0 public sentences hold 'dull'"):
        ReleaseOnce(words="good/dull").release(vectors, classes(500), corpus, rng)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"r": 21}, "r=21 is above the 20 dimensions of the vectors: lower r"),
        ({"r": 8}, "cannot be learnt from 5 public sentences"),
    ],
)
def test_directions_that_there_are_not(options: Any, said: str) -> None:
    few = PUBLIC if options["r"] > 20 else Corpus(["x"] * 5, PUBLIC.vectors[:5])
    with pytest.raises(UsageError, match=said):
        ReleaseOnce(**options).release(draw(10), classes(10), few, np.random.default_rng(0))


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": 0},
        {"delta": 0},
        {"r": 0},
        {"label": 5.0},
        {"low": 1.0},
        {"low": 2.0, "high": 1.0},
        {"public": ""},
        {"words": "good"},
        {"crowd": 0, "labels": "joint"},
        {"crowd": 5},
        {"crowd": 5, "labels": "joint", "shuffled": True},
        {"honest": 0.0},
        {"honest": 0.5},
    ],
)
def test_options_that_mean_nothing(options: Any) -> None:
    with pytest.raises(ValueError):
        ReleaseOnce(**options)


@pytest.mark.parametrize("hidden", ["private", "joint"])
def test_an_audit_does_not_refute_it(hidden: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "REHEARSE", 80)
    defense = ReleaseOnce(epsilon=2.0, delta=0.05, r=4, labels=hidden)
    sample, labels = draw(60), classes(1)
    other = labels[0, ::-1] if hidden == "private" else labels[0]
    found = pair.play(
        Mechanism(defense, PUBLIC, 3),
        [each for each in pair.neighbours(sample[:0], sample, labels, other) if each.name == "principal"],
        private_labels=hidden == "private",
        trials=600,
        delta=0.05,
        rng=np.random.default_rng(0),
        stage=lambda text: None,
    )
    assert 0.5 < found.audited <= 2
    assert found.details["statistic"] == "likelihood ratio (gaussian)"


def test_an_audit_of_a_crowd_finds_its_noise_and_does_not_refute_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "REHEARSE", 80)
    defense = ReleaseOnce(epsilon=2.0, delta=0.05, r=4, labels="joint", crowd=10)
    sample, labels = draw(60), classes(10)
    found = pair.play(
        Mechanism(defense, PUBLIC, 1),
        [each for each in pair.neighbours(draw(9), sample, labels, labels[0]) if each.name == "principal"],
        private_labels=False,
        trials=600,
        delta=0.05,
        rng=np.random.default_rng(0),
        stage=lambda text: None,
    )
    assert found.details["statistic"] == "likelihood ratio (gaussian)"
    assert 0.5 < found.audited <= 2


def test_utility_is_measured_with_its_own_head(bench: Run, tmp_path: Path) -> None:
    for split, start in (("train", 0), ("dev", 1000)):
        rows = [f"{('good', 'bad')[i % 2]} thing number {start + i},{i % 2 + 1}" for i in range(600)]
        (tmp_path / f"{split}.csv").write_text("text,label\n" + "\n".join(rows))
    toy = ("--encoder", "toy:dim=64", "--plugin", str(PLUGINS / "toy.py"))
    data = ("--dataset", f"file:{tmp_path / 'train.csv'}")
    args = ("utility", "--defense", "release-once:epsilon=200,r=32,public=demo", *data, *toy, "--train-epochs", "2")
    done = bench(*args, "--json")
    assert done.returncode == 0, done.stderr
    bare, once = json.loads(done.stdout)
    assert bare["training"]["layers"] == 3
    assert once["training"] == {"head": "the defense's own", "epochs": 1}
    assert once["metrics"]["accuracy"] > 0.7
    assert "2 records: 2 current" in bench("records", "verify", "--results", "results", *toy[2:]).stdout
    finetuned = bench("utility", "--defense", "release-once:public=demo", *data, "--training", "finetuned")
    assert "take --training frozen" in finetuned.stderr + finetuned.stdout
