"""Linear layers by oneDNN: the numbers and gradients of torch's own, and the choice between the two."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from bench.toolkit import linear as module
from bench.toolkit.linear import linear


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "onednn", lambda: True)


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("rows", [1, 3, 64])
@pytest.mark.parametrize("biased", [True, False])
def test_numbers_and_gradients_are_those_of_torch(fast: None, rows: int, biased: bool) -> None:
    x, weight, bias = drawn(rows, 48), drawn(33, 48), drawn(33) if biased else None
    pull = drawn(rows, 33)
    found: list[list[torch.Tensor]] = []
    for function, precision in ((linear, torch.float32), (F.linear, torch.float64)):
        some = [t.to(precision).requires_grad_() for t in (x, weight, bias) if t is not None]
        out = function(*some)
        grads = torch.autograd.grad((out * pull.to(precision)).sum(), some)
        found.append([out.detach(), *grads])
    for ours, exact in zip(*found, strict=True):
        torch.testing.assert_close(ours.double(), exact, rtol=1e-5, atol=1e-5)


def test_only_what_is_asked_for_gets_a_gradient(fast: None) -> None:
    x, weight, bias = drawn(4, 8), drawn(6, 8).requires_grad_(), drawn(6)
    linear(x, weight, bias).sum().backward()
    assert weight.grad is not None
    assert x.grad is None
    assert bias.grad is None
    assert not linear(x, weight.detach(), bias).requires_grad
    with torch.no_grad():
        assert not linear(x, weight, bias).requires_grad


def test_what_onednn_is_not_used_for_is_torch_s_own_bit_for_bit(fast: None) -> None:
    for x, weight in (
        (drawn(4, 8).double(), drawn(6, 8).double()),
        (drawn(4, 8).bfloat16(), drawn(6, 8).bfloat16()),
        (drawn(2, 4, 8), drawn(6, 8)),
    ):
        assert torch.equal(linear(x, weight), F.linear(x, weight))


def test_who_follows_the_weights_sees_one_call(fast: None) -> None:
    seen: list[Any] = []

    class Watch(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x, weight = drawn(4, 8), drawn(6, 8)
    with Watch():
        out = linear(x, weight)
    assert seen == [linear]
    assert torch.equal(out, linear(x, weight))
