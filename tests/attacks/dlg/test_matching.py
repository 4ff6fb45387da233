"""The hand-written distance and its derivative equal autograd's, one attack at a time, in double precision."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bench.attacks.dlg.matching import Matching, Unknown
from tests.worlds import World, pictures, sentences

torch.set_num_threads(1)
CASES = {
    "vanilla": (pictures(d=0, m=0), Unknown()),
    "mask": (pictures(d=6), Unknown(mask=True)),
    "large": (pictures(n=2, d=5, side=32, channels=3), Unknown(mask=True)),
    "odd": (pictures(n=2, d=5, side=12, channels=2), Unknown(mask=True)),
    "mix": (pictures(d=6, k=3), Unknown(dummies=3, mask=True)),
    "one for a mix": (pictures(d=6, k=3), Unknown(mask=True)),
    "no label": (pictures(d=6), Unknown(mask=True, label=True)),
    "text": (sentences(), Unknown()),
    "text, no label": (sentences(), Unknown(label=True)),
}


def by_autograd(
    world: World, targets: dict[str, np.ndarray], unknown: Unknown, problem: Matching, x: torch.Tensor, i: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Twice through the model itself, for one attack."""
    victim = world.victim
    weights = {n: w.requires_grad_() for n, w in victim.tensors(torch.float64).items()}
    x = x.clone().requires_grad_()
    parts = problem.split(x[None])
    if victim.picture:
        c, h, w = victim.picture
        inputs = parts["inputs"].view(unknown.dummies, h, w, c).permute(0, 3, 1, 2)
    else:
        inputs = parts["inputs"].view(unknown.dummies, -1)
    share = torch.softmax(parts["share"][0], 0) if unknown.dummies > 1 else torch.ones(1, dtype=x.dtype)
    u = (share[:, None] * victim.represent(weights, inputs)).sum(0, keepdim=True)
    u = u * parts["mask"] if unknown.mask else u
    label = torch.tensor(world.labels[i : i + 1], dtype=x.dtype)
    label = torch.softmax(parts["label"], 1) if unknown.label else label
    found = torch.autograd.grad(victim.loss(weights, u, label), list(weights.values()), create_graph=True)
    gaps = [g - torch.tensor(targets[n][i], dtype=x.dtype) for n, g in zip(weights, found, strict=True)]
    distance = sum(gap.square().sum() for gap in gaps)
    return distance.detach(), torch.autograd.grad(distance, x)[0]


def doubled(world: World) -> dict[str, np.ndarray]:
    """Gradients in double precision: what float32 rounds away is not the attack's to find."""
    from torch.func import grad, vmap

    source = world.source
    parts = [torch.as_tensor(np.asarray(part), dtype=torch.float64) for part in source._parts(slice(None))]
    each = vmap(grad(source._loss), in_dims=(None, 0, 0, 0, 0, 0))
    return {n: g.numpy() for n, g in each(world.victim.tensors(torch.float64), *parts).items()}


@pytest.mark.parametrize("case", CASES)
def test_distance_and_derivative_are_autograds(case: str) -> None:
    world, unknown = CASES[case]
    targets = doubled(world)
    problem = Matching(world.victim, targets, None if unknown.label else world.labels, unknown, torch.float64)
    size = (problem.items, sum(problem.sizes().values()))
    x = torch.randn(size, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    for rows in (torch.arange(problem.items), torch.tensor([1])):  # all, then one that is left
        loss, gradient = problem(x[rows], rows)
        for place, i in enumerate(rows.tolist()):
            expected, slope = by_autograd(world, targets, unknown, problem, x[i], i)
            assert abs(loss[place] - expected) <= 1e-8 * max(1.0, float(expected))
            assert (gradient[place] - slope).abs().max() <= 1e-8 * max(1.0, float(slope.abs().max()))


def test_at_the_truth_the_distance_is_nothing() -> None:
    world = pictures(d=6, side=16, channels=3)
    problem = Matching(world.victim, doubled(world), world.labels, Unknown(mask=True), torch.float64)
    assert world.images is not None
    assert world.key.pool is not None
    own = torch.tensor(world.images[world.key.owner], dtype=torch.float64).permute(0, 2, 3, 1).flatten(1)
    mask = torch.tensor(world.key.pool[world.key.mask], dtype=torch.float64)
    x = torch.cat([own, mask], 1)
    loss, gradient = problem(x, torch.arange(len(x)))
    assert loss.max() < 1e-20
    assert gradient.abs().max() < 1e-9
    assert np.allclose(problem.inputs(x)[:, 0], world.images[world.key.owner])


def test_gradients_of_more_than_one_example_are_recognised() -> None:
    world = pictures(n=4, d=6)
    mean = {n: (g + np.roll(g, 1, axis=0)) / 2 for n, g in world.gradients().items()}
    with pytest.raises(ValueError, match="needs gradients of batches of 1"):
        Matching(world.victim, mean, world.labels, Unknown(mask=True), torch.float32)
    with pytest.raises(ValueError, match="batches of 8"):
        Matching(replace(world.victim, batch=8), world.gradients(), world.labels, Unknown(), torch.float32)


def test_bad_input_is_explained() -> None:
    world = pictures(d=6)
    found = world.gradients()
    with pytest.raises(ValueError, match="add 'labels' to sees, or learn it"):
        Matching(world.victim, found, None, Unknown(), torch.float32)
    with pytest.raises(ValueError, match="labels of 3 classes for a model with 4 outputs"):
        Matching(world.victim, found, world.labels[:, :3], Unknown(), torch.float32)
    part = {n: g for n, g in found.items() if n != "conv1.weight"}
    with pytest.raises(ValueError, match=r"do not belong together: \['conv1.weight'\]"):
        Matching(world.victim, part, world.labels, Unknown(), torch.float32)
    larger = pictures(d=6, side=16).gradients()
    with pytest.raises(ValueError, match="do not belong together"):
        Matching(world.victim, larger, world.labels, Unknown(), torch.float32)
    with pytest.raises(ValueError, match="only class labels can be learnt"):
        Matching(replace(world.victim, classes=False), found, None, Unknown(label=True), torch.float32)


def test_a_score_instead_of_a_class_is_matched_too() -> None:
    world = sentences()
    world.victim = replace(world.victim, classes=False)
    targets = doubled(world)
    problem = Matching(world.victim, targets, world.labels, Unknown(), torch.float64)
    x = torch.randn(problem.items, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    loss, gradient = problem(x, torch.arange(problem.items))
    expected, slope = by_autograd(world, targets, Unknown(), problem, x[2], 2)
    assert loss[2] == pytest.approx(float(expected), rel=1e-8)
    assert torch.allclose(gradient[2], slope, rtol=1e-8, atol=1e-10)
