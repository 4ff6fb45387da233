"""The hand-written distance and its derivative equal autograd's, one attack at a time, in double precision."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bench.attacks.dlg.matching import GradientMatching, Unknown
from tests.helpers.scenarios import GradientScenario, image_scenario, text_scenario

torch.set_num_threads(1)
CASES = {
    "vanilla": (image_scenario(d=0, m=0), Unknown()),
    "mask": (image_scenario(d=6), Unknown(mask=True)),
    "large": (image_scenario(n=2, d=5, side=32, channels=3), Unknown(mask=True)),
    "odd": (image_scenario(n=2, d=5, side=12, channels=2), Unknown(mask=True)),
    "mix": (image_scenario(d=6, k=3), Unknown(dummies=3, mask=True)),
    "one for a mix": (image_scenario(d=6, k=3), Unknown(mask=True)),
    "no label": (image_scenario(d=6), Unknown(mask=True, label=True)),
    "text": (text_scenario(), Unknown()),
    "text, no label": (text_scenario(), Unknown(label=True)),
}


def by_autograd(
    scenario: GradientScenario,
    targets: dict[str, np.ndarray],
    unknown: Unknown,
    problem: GradientMatching,
    x: torch.Tensor,
    i: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Twice through the model itself, for one attack."""
    victim = scenario.victim
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
    label = torch.tensor(scenario.labels[i : i + 1], dtype=x.dtype)
    label = torch.softmax(parts["label"], 1) if unknown.label else label
    found = torch.autograd.grad(victim.loss(weights, u, label), list(weights.values()), create_graph=True)
    gaps = [g - torch.tensor(targets[n][i], dtype=x.dtype) for n, g in zip(weights, found, strict=True)]
    distance = sum(gap.square().sum() for gap in gaps)
    return distance.detach(), torch.autograd.grad(distance, x)[0]


@pytest.mark.parametrize("case", CASES)
def test_distance_and_derivative_are_autograds(case: str) -> None:
    scenario, unknown = CASES[case]
    targets = scenario.exact_gradients()  # what float32 rounds away is not the attack's to find
    problem = GradientMatching(
        scenario.victim, targets, None if unknown.label else scenario.labels, unknown, torch.float64
    )
    size = (problem.items, sum(problem.sizes().values()))
    x = torch.randn(size, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    for rows in (torch.arange(problem.items), torch.tensor([1])):  # all, then one that is left
        loss, gradient = problem(x[rows], rows)
        for place, i in enumerate(rows.tolist()):
            expected, slope = by_autograd(scenario, targets, unknown, problem, x[i], i)
            assert abs(loss[place] - expected) <= 1e-8 * max(1.0, float(expected))
            assert (gradient[place] - slope).abs().max() <= 1e-8 * max(1.0, float(slope.abs().max()))


def test_at_the_truth_the_distance_is_nothing() -> None:
    scenario = image_scenario(d=6, side=16, channels=3)
    problem = GradientMatching(
        scenario.victim, scenario.exact_gradients(), scenario.labels, Unknown(mask=True), torch.float64
    )
    assert scenario.images is not None
    assert scenario.key.pool is not None
    own = torch.tensor(scenario.images[scenario.key.owner], dtype=torch.float64).permute(0, 2, 3, 1).flatten(1)
    mask = torch.tensor(scenario.key.pool[scenario.key.mask], dtype=torch.float64)
    x = torch.cat([own, mask], 1)
    loss, gradient = problem(x, torch.arange(len(x)))
    assert loss.max() < 1e-20
    assert gradient.abs().max() < 1e-9
    assert np.allclose(problem.inputs(x)[:, 0], scenario.images[scenario.key.owner])


def test_gradients_of_more_than_one_example_are_recognised() -> None:
    scenario = image_scenario(n=4, d=6)
    mean = {n: (g + np.roll(g, 1, axis=0)) / 2 for n, g in scenario.gradients().items()}
    with pytest.raises(ValueError, match="needs gradients of batches of 1"):
        GradientMatching(scenario.victim, mean, scenario.labels, Unknown(mask=True), torch.float32)
    with pytest.raises(ValueError, match="batches of 8"):
        GradientMatching(
            replace(scenario.victim, batch=8), scenario.gradients(), scenario.labels, Unknown(), torch.float32
        )


def test_bad_input_is_explained() -> None:
    scenario = image_scenario(d=6)
    found = scenario.gradients()
    with pytest.raises(ValueError, match="add 'labels' to sees, or learn it"):
        GradientMatching(scenario.victim, found, None, Unknown(), torch.float32)
    with pytest.raises(ValueError, match="labels of 3 classes for a model with 4 outputs"):
        GradientMatching(scenario.victim, found, scenario.labels[:, :3], Unknown(), torch.float32)
    part = {n: g for n, g in found.items() if n != "conv1.weight"}
    with pytest.raises(ValueError, match=r"do not belong together: \['conv1.weight'\]"):
        GradientMatching(scenario.victim, part, scenario.labels, Unknown(), torch.float32)
    larger = image_scenario(d=6, side=16).gradients()
    with pytest.raises(ValueError, match="do not belong together"):
        GradientMatching(scenario.victim, larger, scenario.labels, Unknown(), torch.float32)
    with pytest.raises(ValueError, match="only class labels can be learnt"):
        GradientMatching(replace(scenario.victim, classes=False), found, None, Unknown(label=True), torch.float32)


def test_a_score_instead_of_a_class_is_matched_too() -> None:
    scenario = text_scenario()
    scenario.victim = replace(scenario.victim, classes=False)
    targets = scenario.exact_gradients()  # what float32 rounds away is not the attack's to find
    problem = GradientMatching(scenario.victim, targets, scenario.labels, Unknown(), torch.float64)
    x = torch.randn(problem.items, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    loss, gradient = problem(x, torch.arange(problem.items))
    expected, slope = by_autograd(scenario, targets, Unknown(), problem, x[2], 2)
    assert loss[2] == pytest.approx(float(expected), rel=1e-8)
    assert torch.allclose(gradient[2], slope, rtol=1e-8, atol=1e-10)
