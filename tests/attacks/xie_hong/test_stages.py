"""The stages of xie-hong, each on synthetic mixes whose truth is known."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from bench.attacks.xie_hong import clusters, demask, signs, similarity, weights
from bench.attacks.xie_hong.reconstruct import Problem, flip, reconstruct, respawn, start, synchronise
from bench.defenses.texthide import TextHide

R, DIM, EPOCHS = 12, 64, 30


def sentences(count, rng, dim=DIM):
    """Like an encoder's vectors: a common mean, and a spectrum that decays slowly."""
    world = np.random.default_rng(7)
    mean = world.normal(0, 0.5, dim)
    mean[0] = 6
    basis = world.normal(size=(dim, dim)) * (1 / np.sqrt(1 + np.arange(dim) / 8))[:, None] / np.sqrt(dim)
    return (mean + 1.5 * rng.normal(size=(count, dim)) @ basis).astype(np.float32)


@pytest.fixture(scope="module")
def world():
    def make(k=3, m=1, seed=0, dim=DIM, **options):
        rng = np.random.default_rng(seed)
        vectors = sentences(R, rng, dim)
        labels = np.eye(2, dtype=np.float32)[rng.integers(0, 2, R)]
        release, key = TextHide(m=m, k=k, **options).release(vectors, labels, None, rng, epochs=EPOCHS)
        truth = np.zeros((len(release.encodings), R), dtype=np.float32)
        np.add.at(truth, (np.arange(len(truth))[:, None], key.members), key.weights)
        reference = sentences(2000, rng, dim)
        return SimpleNamespace(
            vectors=vectors, values=release.encodings, labels=release.labels, key=key, truth=truth,
            known=reference, reference=demask.ReferenceStatistics.of(reference),
        )  # fmt: skip

    return make


def cosines(found, truth):
    """For each true vector, its cosine with the nearest found one, both centred on the truth."""
    centre = truth.mean(axis=0)
    a, b = truth - centre, found - centre
    table = (a / np.linalg.norm(a, axis=1, keepdims=True)) @ (b / np.linalg.norm(b, axis=1, keepdims=True)).T
    return table.max(axis=1)


def test_encodings_are_grouped_by_mask(world):
    w = world(k=4, m=5, dim=256)
    group = demask.group_masks(demask.lean(w.values, w.reference, 0.4))
    pure = sum(np.bincount(w.key.mask[group == g]).max() for g in np.unique(group))
    assert pure >= 0.98 * len(group)
    assert len(np.unique(group)) <= 15  # split a little, not shattered


def test_members_of_a_group_vote_together():
    votes = demask.Votes(np.array([0, 1, 0]), 3)
    out = votes(np.array([[2.0], [-1.0], [-0.5]], dtype=np.float32))
    assert out[:, 0] == pytest.approx(np.tanh([1.5, -1.0, 1.5]))


def test_constant_coordinates_are_dropped(world):
    w = world()
    values, known = w.values.copy(), w.known.copy()
    values[:, 3] = known[:, 3] = 0.25
    live = demask.live_coordinates(values, demask.ReferenceStatistics.of(known))
    assert not live[3]
    assert live.sum() == DIM - 1


def test_the_factored_network_equals_a_plain_one_on_materialised_pairs(world):
    feats = similarity.features(world().values, masked=True)[:40]
    rng = np.random.default_rng(0)
    net = similarity.Network(DIM, 0)
    for value in net.parameters.values():
        value.data += 0.1 * value.new_tensor(rng.normal(size=tuple(value.shape)))
    p = {name: value.detach().numpy() for name, value in net.parameters.items()}
    unit = feats / np.linalg.norm(feats, axis=1, keepdims=True) * np.sqrt(DIM)
    stacked = np.concatenate([unit.repeat(40, axis=0), np.tile(unit, (40, 1))], axis=1)  # every pair, built
    hidden = np.maximum(stacked @ np.vstack([p["hidden"]] * 2) + p["bias"], 0) @ p["out"]
    product = ((stacked[:, :DIM] @ p["shared"]) * (stacked[:, DIM:] @ p["shared"])).sum(axis=1)
    plain = hidden + product + stacked @ np.concatenate([p["own"]] * 2) + p["offset"]
    everyone = slice(0, 40)
    scores = net.on(feats).block(everyone, everyone)
    np.testing.assert_allclose(scores, plain.reshape(40, 40), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(scores, scores.T, rtol=1e-4, atol=1e-4)


def test_training_tells_pairs_apart_on_sentences_it_never_saw():
    rng = np.random.default_rng(3)

    def shadow():
        release, key = TextHide(m=9, k=2).release(sentences(R, rng), np.ones((R, 1)), None, rng, epochs=15)
        return similarity.Shadow(similarity.features(release.encodings, True), key.members)

    held, everyone = shadow(), slice(0, 15 * R)
    truth = held.shared(np.arange(15 * R))
    net = similarity.train([shadow() for _ in range(12)], rng, steps=60, batch=128)
    auc, accuracy = similarity.quality(net.on(held.feats).block(everyone, everyone), truth, threshold=0.0)
    cosine, _ = similarity.quality(similarity.Cosine(held.feats).block(everyone, everyone), truth)
    assert auc > 0.75
    assert accuracy > 0.65
    assert auc > cosine - 0.05  # so few sentences teach little beyond the cosine


def test_quality_of_perfect_random_and_one_sided_scores():
    same = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]], dtype=bool)
    assert similarity.quality(same.astype(np.float32), same, 0.5) == (1.0, 1.0)
    assert similarity.quality(np.zeros((4, 4), dtype=np.float32), same, 0.5)[0] == pytest.approx(0.5)
    assert np.isnan(similarity.quality(np.zeros((4, 4), dtype=np.float32), np.ones((4, 4), dtype=bool))[0])


def test_blocks_cover_all_pairs_once(world):
    plain = similarity.Cosine(similarity.features(world().values, True))
    rows = [scores for _, scores in similarity.blocks(plain, rows=100)]
    whole = plain.block(slice(0, len(plain)), slice(0, len(plain)))
    np.testing.assert_allclose(np.concatenate(rows), whole, atol=1e-5)
    assert max(map(len, rows)) == 100


def test_vertices_are_the_purest_encoding_of_each_example(world):
    w = world(k=3)
    rows = clusters.vertices(w.values, R)
    assert len(set(w.truth[rows].argmax(axis=1))) == R
    assert w.truth[rows].max(axis=1).mean() > 0.8


@pytest.mark.parametrize("how", ["greedy", "assignment", "kmeans"])
def test_clusters_overlap_and_hold_the_encodings_of_one_example(world, how):
    w = world(k=2, m=7)
    feats = similarity.features(w.values, True)
    size = 2 * EPOCHS
    table = clusters.kmeans(feats, R, 0) if how == "kmeans" else clusters.greedy(similarity.Cosine(feats), R, size)
    members = (clusters.balanced if how == "assignment" else clusters.largest)(table, size, 2)
    assert members.sum(axis=1).max() == 2
    share = (w.truth > 0).astype(float).T @ members / np.maximum(members.sum(axis=0), 1)  # example × cluster
    assert share.max(axis=0).mean() > 0.6  # 2 / 12 by chance
    assert len(set(share.argmax(axis=0))) >= R - 3


def test_balanced_clusters_are_of_equal_size():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(400, 8)).astype(np.float32) * np.linspace(1, 3, 8, dtype=np.float32)
    members = clusters.balanced(scores, size=100, k=2)
    assert (members.sum(axis=1) == 2).all()
    assert np.abs(members.sum(axis=0) - 100).max() <= 10


def test_weights_on_the_simplex_are_those_of_the_mix(world):
    w = world(k=3)
    centre = w.vectors.mean(axis=0)
    signed = w.values * w.key.pool[0]
    even = np.full(w.truth.shape, 1 / R)
    found = weights.simplex(signed - centre, w.vectors - centre, even, sweeps=60, k=3)
    assert np.abs(found - w.truth).max() < 0.02
    assert ((found > 0).sum(axis=1) <= 3).all()
    assert found.min() >= 0


def test_labels_give_the_weights_where_the_classes_differ():
    rng = np.random.default_rng(0)
    kinds = np.arange(6) % 3
    members = np.array([rng.choice(6, 2, replace=False) for _ in range(300)])
    share = rng.dirichlet([1, 1], 300).astype(np.float32)
    truth = np.zeros((300, 6), dtype=np.float32)
    np.put_along_axis(truth, members, share, axis=1)
    found = weights.from_labels((truth > 0).astype(np.float32), truth @ np.eye(3, dtype=np.float32)[kinds])
    differ = kinds[members[:, 0]] != kinds[members[:, 1]]
    np.testing.assert_allclose(found[differ], truth[differ], atol=1e-6)
    np.testing.assert_allclose(found[~differ].max(axis=1), 0.5, atol=1e-6)


def test_equal_labels_say_nothing_and_all_members_count_alike():
    members = np.array([[1, 1, 0], [0, 1, 1]], dtype=np.float32)
    found = weights.from_labels(members, np.ones((2, 1), dtype=np.float32))
    np.testing.assert_allclose(found, members / 2)


def fitted(w, k, *, masked, **options):
    votes = demask.Votes(None, len(w.values))
    problem = Problem(w.values, w.reference, votes, masked, k)
    soft = np.tanh(demask.lean(w.values, w.reference, 0.4)) if masked else None
    rows = clusters.vertices(w.values if soft is None else w.values * soft, R)
    given = w.values if soft is None else w.values * soft
    return reconstruct(problem, start(problem, given[rows], soft), **options)


def test_under_one_mask_the_vectors_come_out_exactly(world):
    w = world(k=3)
    fit = fitted(w, 3, masked=False)
    assert fit.error < 1e-3
    assert cosines(fit.vectors * w.key.pool[0], w.vectors).min() > 0.99


def test_fresh_masks_leave_one_sign_per_coordinate_open(world):
    w = world(k=3, m="inf")
    fit = fitted(w, 3, masked=True, rounds=5)
    # The right gauge, from the truth: the stage cannot know it.
    shape, true = np.abs(fit.vectors), np.abs(w.vectors)
    match = cosines_index(shape, true)
    gauge = np.sign((fit.vectors[match] * w.vectors).sum(axis=0))
    assert np.median(cosines(fit.vectors * gauge, w.vectors)) > 0.95


def cosines_index(found, truth):
    a, b = truth - truth.mean(axis=0), found - truth.mean(axis=0)
    table = (a / np.linalg.norm(a, axis=1, keepdims=True)) @ (b / np.linalg.norm(b, axis=1, keepdims=True)).T
    return table.argmax(axis=1)


def scrambled(w, share, seed=1):
    """A fit with the true weights and magnitudes, and some signs wrong."""
    rng = np.random.default_rng(seed)
    problem = Problem(w.values, w.reference, demask.Votes(None, len(w.values)), True, 3)
    wrong = np.where(rng.random(w.vectors.shape) < share, -w.vectors, w.vectors)
    fit = start(problem, wrong, np.ones_like(w.values), w.truth)
    return problem, fit


def agreement(fit, w):
    same = np.sign(fit.vectors) == np.sign(w.vectors)
    return np.maximum(same.mean(axis=0), 1 - same.mean(axis=0)).mean()  # up to one sign per coordinate


def test_synchronising_finds_signs_from_nothing(world):
    w = world(k=3, m="inf")
    problem, fit = scrambled(w, 0.5)
    before = agreement(fit, w)
    assert synchronise(problem, fit) > 0
    assert before < 0.75
    assert agreement(fit, w) > 0.93


def test_flipping_mends_single_signs(world):
    w = world(k=3, m="inf")
    problem, fit = scrambled(w, 0.03)
    assert flip(problem, fit) > 0
    assert agreement(fit, w) > 0.995


def test_a_vector_without_use_moves_to_the_example_that_is_missing(world):
    w = world(k=3)
    problem = Problem(w.values, w.reference, demask.Votes(None, len(w.values)), False, 3)
    vectors, shares = w.vectors * w.key.pool[0], w.truth.copy()
    vectors[4], shares[:, 4] = vectors[5], 0
    fit = start(problem, vectors, None, shares)
    assert respawn(problem, fit) == 1
    moved = (np.abs(w.values - fit.vectors[4]).sum(axis=1)).argmin()
    assert w.truth[moved].argmax() == 4
    assert (fit.vectors[5] == vectors[5]).all()


def test_candidates_settle_the_signs(world):
    w = world()
    corpus = np.vstack([w.known, w.vectors])
    gauge = np.sign(np.random.default_rng(2).normal(size=DIM)).astype(np.float32)
    first = signs.from_mean(w.vectors * gauge, w.known.mean(axis=0))
    assert (first * gauge == 1).mean() > 0.6
    assert (signs.from_candidates(w.vectors * gauge, corpus, first) * gauge == 1).all()


def test_covariance_settles_more_signs_than_the_mean(world):
    w = world()
    rng = np.random.default_rng(4)
    vectors = sentences(60, rng)
    gauge = np.sign(rng.normal(size=DIM)).astype(np.float32)
    first = signs.from_mean(vectors * gauge, w.known.mean(axis=0))
    better = signs.from_covariance(vectors * gauge, w.known, first)
    right = [(s * gauge == 1).mean() for s in (first, better)]
    assert right[1] >= right[0]
    assert right[1] > 0.9


def test_magnitudes_name_the_candidate_where_nothing_is_mixed(world):
    w = world()
    corpus = np.vstack([w.known, w.vectors])
    np.testing.assert_array_equal(signs.by_magnitude(np.abs(w.vectors), corpus), w.vectors)
