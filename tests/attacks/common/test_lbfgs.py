"""One problem in the batched L-BFGS goes exactly where torch.optim.LBFGS takes it, whatever runs beside it."""

from __future__ import annotations

import pytest
import torch

from bench.attacks.common.lbfgs import Ended, LBFGSSettings, minimise
from bench.attacks.dlg.matching import GradientMatching, Unknown
from tests.helpers.scenarios import image_scenario

torch.set_num_threads(1)
LINES = {"none": None, "strong-wolfe": "strong_wolfe"}


def matching(n: int = 4) -> tuple[GradientMatching, torch.Tensor]:
    scenario = image_scenario(n=n, d=6, seed=3)
    problem = GradientMatching(
        scenario.victim, scenario.gradients(), scenario.labels, Unknown(mask=True), torch.float64
    )
    random = torch.Generator().manual_seed(1)
    start = torch.randn(n, sum(problem.sizes().values()), generator=random, dtype=torch.float64)
    return problem, start


def ours(objective, start: torch.Tensor, settings: LBFGSSettings) -> dict[int, list[torch.Tensor]]:
    path: dict[int, list[torch.Tensor]] = {}

    def watch(iteration: int, number: torch.Tensor, x: torch.Tensor, loss: torch.Tensor) -> None:
        for row, point in zip(number.tolist(), x, strict=True):
            path.setdefault(row, []).append(point.clone())

    minimise(objective, start, settings, watch)
    return path


def torchs(objective, start: torch.Tensor, row: int, settings: LBFGSSettings) -> list[torch.Tensor]:
    """The points after each iteration, taken where torch moves its parameters."""
    x = start[row].clone().requires_grad_()
    optimizer = torch.optim.LBFGS(
        *([x], settings.rate, settings.inner), history_size=settings.history, line_search_fn=LINES[settings.line_search]
    )
    path: list[torch.Tensor] = []
    # torch has no public name for the place where it moves its parameters.
    move, look = optimizer._add_grad, optimizer._directional_evaluate  # noqa: SLF001

    def moved(t: float, d: torch.Tensor) -> None:
        move(t, d)
        path.append(x.detach().clone())

    def looked(*args: object) -> object:
        kept = len(path)
        found = look(*args)
        del path[kept:]  # a trial of the line search is not a move
        return found

    optimizer._add_grad, optimizer._directional_evaluate = moved, looked  # noqa: SLF001

    def closure() -> torch.Tensor:
        loss, gradient = objective(x.detach()[None], torch.tensor([row]))
        x.grad = gradient[0]
        return loss[0]

    for _ in range(settings.steps):
        optimizer.step(closure)
    return path


@pytest.mark.parametrize("history", [100, 8])
@pytest.mark.parametrize("line", LINES)
def test_the_first_fifty_steps_are_torchs(line: str, history: int) -> None:
    problem, start = matching()
    # Five iterations a step: the seams between torch's steps lie inside the stretch that is compared.
    settings = LBFGSSettings(steps=10, inner=5, history=history, line_search=line)  # type: ignore[arg-type]
    path = ours(problem, start, settings)
    for row in range(len(start)):
        theirs = torchs(problem, start, row, settings)
        assert min(len(theirs), len(path[row])) >= min(50, len(theirs)) > 5
        for mine, other in zip(path[row], theirs[:50], strict=False):
            assert (mine - other).abs().max() <= 1e-6 * max(1.0, float(other.abs().max()))


@pytest.mark.parametrize("line", LINES)
def test_company_changes_nothing(line: str) -> None:
    problem, start = matching(6)
    settings = LBFGSSettings(steps=1, inner=25, line_search=line)  # type: ignore[arg-type]
    together = ours(problem, start, settings)
    for row in (0, 4):
        alone = ours(lambda x, number, row=row: problem(x, number + row), start[row : row + 1], settings)[0]
        assert len(alone) == len(together[row])
        for mine, other in zip(together[row], alone, strict=True):
            assert torch.allclose(mine, other, rtol=1e-6, atol=1e-6)


def bowls(x: torch.Tensor, number: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Problem 0 is a bowl, 1 is flat, 2 turns to NaN after a step, 3 never comes to rest."""
    loss, gradient = 0.5 * x.square().sum(1), x.clone()
    loss = torch.where(number == 1, torch.ones_like(loss), loss)
    gradient[number == 1] = 0.0
    moved = x.abs().sum(1) < 3.99
    loss = torch.where((number == 2) & moved, torch.nan, loss)
    wild = 3 + torch.sin(50 * x).sum(1)
    loss = torch.where(number == 3, wild, loss)
    gradient[number == 3] = 50 * torch.cos(50 * x[number == 3])
    return loss, gradient


def test_each_problem_ends_for_its_own_reason_and_keeps_its_best_point() -> None:
    found = minimise(bowls, torch.ones(4, 4, dtype=torch.float64), LBFGSSettings(steps=2, inner=5))
    assert [Ended(int(why)) for why in found.ended] == [Ended.FLAT, Ended.FLAT, Ended.BROKEN, Ended.BUDGET]
    assert found.best[0].abs().max() < 1e-6
    assert torch.equal(found.best[2], torch.ones(4, dtype=torch.float64))
    assert torch.isfinite(found.loss).all()
    assert found.iterations.tolist()[1:] == [0, 1, 10]


def test_those_that_ended_are_not_evaluated_again() -> None:
    asked: list[list[int]] = []

    def objective(x: torch.Tensor, number: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        asked.append(number.tolist())
        return bowls(x, number)

    found = minimise(objective, torch.ones(4, 4, dtype=torch.float64), LBFGSSettings(steps=2, inner=5))
    assert asked[0] == [0, 1, 2, 3]
    assert 1 not in asked[1]
    assert asked[-1] == [3]
    assert found.evaluations == sum(map(len, asked))
