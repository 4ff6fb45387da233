"""xie-hong on a view, as the suite hands it over."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from bench.attacks.xie_hong import XieHong, XieHongBlind
from bench.defenses.mix_only import MixOnly
from bench.defenses.none import NoDefense
from bench.defenses.texthide import TextHide
from bench.isolation import view as views
from bench.toolkit.corpus import Corpus
from bench.types import Release
from tests.helpers.scenarios import surfaces_of

R, DIM, EPOCHS = 16, 64, 40
DEFENSES = {"texthide": TextHide, "mix-only": MixOnly, "none": NoDefense}


def sentences(count, seed):
    """Like an encoder's vectors: a common mean, and a spectrum that decays slowly."""
    world, rng = np.random.default_rng(7), np.random.default_rng([11, seed])
    mean = world.normal(0, 0.5, DIM)
    mean[0] = 6
    basis = world.normal(size=(DIM, DIM)) * (1 / np.sqrt(1 + np.arange(DIM) / 8))[:, None] / np.sqrt(DIM)
    vectors = mean + 1.5 * rng.normal(size=(count, DIM)) @ basis
    vectors[:, 5] = 0.3  # a constant coordinate, as minilm has
    return vectors.astype(np.float32)


PRIVATE = sentences(R, 1)
CORPUS = np.vstack([sentences(500, 2), PRIVATE, sentences(500, 3)])
PUBLIC = sentences(600, 4)


def released(name="texthide", seed=0, epochs=EPOCHS, **options):
    rng = np.random.default_rng(seed)
    labels = np.eye(2, dtype=np.float32)[rng.integers(0, 2, R)]
    release, _ = DEFENSES[name](**options).release(PRIVATE, labels, None, rng, epochs=epochs)
    return release, {"name": name, "options": options}


def attack(folder, release, defense, plugin=None, corpus=CORPUS, stage=None, sees=None):
    plugin = plugin or XieHong(examples=R, rounds=4)
    views.write(
        folder,
        sees or type(plugin).__plugin__.sees,
        surfaces_of(release),
        corpus=Corpus([str(i) for i in range(len(corpus))], corpus),
        public=Corpus([str(i) for i in range(len(PUBLIC))], PUBLIC),
        defense=defense,
    )
    view = views.View(folder, stage=stage, make=lambda kind, facts: DEFENSES[facts["name"]](**facts["options"]))
    return plugin.run(view, np.random.default_rng(5))


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def success(guess, corpus=CORPUS):
    """As the suite scores: matched one to one, and nearest in the whole corpus."""
    found = unit(guess.vectors)
    a, b = linear_sum_assignment(-found @ unit(PRIVATE).T)
    named = corpus[(found[a] @ unit(corpus).T).argmax(axis=1)]
    return (named == PRIVATE[b]).all(axis=1).sum() / R


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("texthide", {"m": 1, "k": 3}),
        ("texthide", {"m": 8, "k": 3}),
        ("texthide", {"m": "inf", "k": 2}),
        ("texthide", {"m": 8, "k": 1}),
        ("mix-only", {"k": 4}),
        ("none", {}),
    ],
)
def test_the_examples_are_recovered(tmp_path, name, options):
    said = []
    guess = attack(tmp_path, *released(name, **options), stage=said.append)
    assert guess.vectors.shape == (R, DIM)
    assert guess.vectors[:, 5] == pytest.approx(0.3, abs=0.01)
    assert success(guess) >= (0.9 if options.get("k", 1) > 1 else 1.0)
    assert "demask" in said


@pytest.mark.parametrize("clusters", ["greedy", "assignment", "kmeans"])
def test_other_clusters_lead_there_too(tmp_path, clusters):
    plugin = XieHong(examples=R, rounds=3, clusters=clusters)
    assert success(attack(tmp_path, *released(m=8, k=2), plugin)) >= 0.8


def test_the_papers_own_pipeline_runs_and_reports_its_network(tmp_path):
    plugin = XieHong(
        examples=R, rounds=1, similarity="mlp", steps=40, clusters="greedy", weights="labels", demask="abs",
        phase=False, moves=False, signs="mean",
    )  # fmt: skip
    guess = attack(tmp_path, *released(m=8, k=2), plugin)
    assert guess.vectors.shape == (R, DIM)
    assert guess.details["similarity"]["mlp_auc"] > 0.7
    assert guess.details["similarity"]["mlp_accuracy"] > 0.6
    assert {"similarity", "clusters", "weights", "reconstruct"} <= set(guess.details["seconds"])


def test_without_a_corpus_the_vectors_are_close_all_the_same(tmp_path):
    release, defense = released(m=8, k=3)
    guess = attack(tmp_path, release, defense, XieHongBlind(examples=R, rounds=4))
    assert not (tmp_path / "corpus.npy").exists()
    assert (unit(guess.vectors) @ unit(PRIVATE).T).max(axis=0).mean() > 0.95


def test_examples_are_counted_where_the_rank_tells(tmp_path):
    guess = attack(tmp_path, *released(m=1, k=3, epochs=30), XieHong(rounds=2))
    assert guess.details["examples"] == R


def same_set(a, b):
    cosine = unit(a) @ unit(b).T
    return cosine.max(axis=1).min()


def test_a_permuted_release_gives_the_same_answer(tmp_path):
    release, defense = released(m=8, k=3)
    order = np.random.default_rng(9).permutation(len(release.encodings))
    mixed = Release(release.encodings[order], release.labels[order])
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = attack(tmp_path / "a", release, defense), attack(tmp_path / "b", mixed, defense)
    np.testing.assert_array_equal(first.vectors, second.vectors)


def test_the_place_of_the_examples_in_the_corpus_does_not_matter(tmp_path):
    release, defense = released(m=8, k=3)
    shuffled = CORPUS[np.random.default_rng(8).permutation(len(CORPUS))]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = attack(tmp_path / "a", release, defense)
    second = attack(tmp_path / "b", release, defense, corpus=shuffled)
    assert same_set(first.vectors, second.vectors) > 0.99


def test_noise_costs_accuracy_step_by_step(tmp_path):
    release, defense = released("mix-only", k=2)
    rng = np.random.default_rng(1)
    cosines = []
    for size in (0.0, 0.3, 30.0):
        noisy = release.encodings + size * rng.normal(size=release.encodings.shape).astype(np.float32)
        folder = tmp_path / str(size)
        folder.mkdir()
        guess = attack(folder, Release(noisy, release.labels), defense, XieHong(examples=R, rounds=2))
        assert np.isfinite(guess.vectors).all()
        cosines.append((unit(guess.vectors - PUBLIC.mean(0)) @ unit(PRIVATE - PUBLIC.mean(0)).T).max(axis=0).mean())
    assert cosines[0] > 0.98
    assert cosines[0] > cosines[1] > cosines[2]


def test_half_precision_and_equal_labels_are_fine(tmp_path):
    release, defense = released(m=1, k=2)
    rough = Release(release.encodings.astype(np.float16), np.ones((len(release.labels), 1)))
    assert success(attack(tmp_path, rough, defense)) >= 0.9


@pytest.mark.parametrize("plugin", [XieHong(examples=R * EPOCHS), XieHong(examples=R * EPOCHS // 2 + 1)])
def test_too_few_encodings_are_refused(tmp_path, plugin):
    with pytest.raises(ValueError, match=r"at least 2 of each; raise --epochs"):
        attack(tmp_path, *released(m=8, k=2), plugin)


def test_broken_encodings_are_refused(tmp_path):
    release, defense = released(m=8, k=2)
    bad = release.encodings.copy()
    bad[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        attack(tmp_path, Release(bad, release.labels), defense)


@pytest.mark.parametrize("options", [{"examples": 1}, {"examples": -3}, {"rounds": 0}])
def test_bad_options_are_refused(options):
    with pytest.raises(ValueError, match=r"must be at least"):
        XieHong(**options)


def test_the_blind_variant_refuses_what_needs_candidates():
    with pytest.raises(ValueError, match="no candidates"):
        XieHongBlind(signs="candidates")
