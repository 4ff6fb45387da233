"""A GPU that is not there: tensors made "on cuda" live on the CPU, but mixing them with others fails as on a GPU.

torch's fake tensors hold no values, so code that looks at its own results (L-BFGS, pursuit) cannot run on them; a CPU
build of torch also refuses `device="cuda"` outright. Under this mode the arithmetic is real. What a GPU would refuse is
refused, and a product that runs on the CPU, and so passes the GPU by, is written down in `pinned`.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

GET_DEVICE, GET_IS_CUDA = Tensor.device.__get__, Tensor.is_cuda.__get__  # type: ignore[attr-defined]
GET_IS_CPU, SET_DATA = Tensor.is_cpu.__get__, Tensor.data.__set__  # type: ignore[attr-defined]
# Work that a GPU is for.
PRODUCTS = {
    "matmul",
    "__matmul__",
    "__rmatmul__",
    "mm",
    "bmm",
    "baddbmm",
    "addmm",
    "linear",
    "einsum",
    "conv2d",
    "topk",
}
# torch copies between devices in these.
CROSSING = {"copy_", "to", "cpu", "cuda", "as_tensor", "tensor", "_has_compatible_shallow_copy_type"}


def on_gpu(tensor: Tensor) -> bool:
    """Is this tensor on the pretended GPU?"""
    return getattr(tensor, "is_on_fake_gpu", False)


def tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors(part)


def is_cuda(device: Any) -> bool:
    return str(device).startswith("cuda")


class FakeGpu(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.pinned: list[str] = []
        self.made = 0
        """tensors that went to the GPU: a test that moves none proves nothing"""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if func == GET_DEVICE:
            return torch.device("cuda:0" if on_gpu(args[0]) else "cpu")
        if func in (GET_IS_CUDA, GET_IS_CPU):
            return on_gpu(args[0]) == (func == GET_IS_CUDA)
        if func == SET_DATA:
            func(*args)
            args[0].is_on_fake_gpu = on_gpu(args[1])
            return None
        inputs = [*tensors(args), *tensors(kwargs)]
        remote = any(map(on_gpu, inputs))
        if name in ("numpy", "__array__") and remote:
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()")
        self._check(name, args, inputs)
        if name in PRODUCTS and inputs and not remote:
            self.pinned.append(f"{name} at {_caller()}")
        target, args = self._target(name, args, kwargs, remote)
        if target and (made := kwargs.get("generator")) is not None and made.device.type == "cpu":
            raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
        result = func(*args, **kwargs)
        moved = name in ("to", "cpu", "cuda", "as_tensor")
        if moved and isinstance(result, Tensor) and (target != remote or name == "as_tensor"):
            result = result.clone()  # a copy, as a transfer makes one: the original stays where it is
        if target:
            for tensor in tensors(result):
                tensor.is_on_fake_gpu = True  # type: ignore[attr-defined]
                self.made += 1
        return result

    def _target(self, name: str, args: Any, kwargs: dict[str, Any], remote: bool) -> tuple[bool, Any]:
        """Where the result lies, and the arguments with every mention of the GPU taken out."""
        if name in ("cpu", "cuda"):
            return name == "cuda", args
        target = remote
        if kwargs.get("device") is not None:
            target = is_cuda(kwargs["device"])
            kwargs["device"] = "cpu"
        if name == "to":
            for at, word in enumerate(args[1:], 1):
                if isinstance(word, (str, torch.device)):
                    target = is_cuda(word)
                    args = (*args[:at], "cpu", *args[at + 1 :])
        return target, args

    def _check(self, name: str, args: Any, inputs: list[Tensor]) -> None:
        # A number by itself may come from the CPU; an index too, but not the other way round.
        if name in ("__getitem__", "__setitem__", "index_put_"):
            wrong = not on_gpu(args[0]) and any(on_gpu(t) for t in tensors(args[1:]))
        else:
            local = [t for t in inputs if not on_gpu(t) and t.dim()]
            wrong = bool(local) and len(local) < len(inputs) and any(map(on_gpu, inputs)) and name not in CROSSING
        if wrong:
            raise RuntimeError(f"Expected all tensors to be on the same device, cuda:0 and cpu: {name} at {_caller()}")


def _caller() -> str:
    """The nearest line outside torch and this file."""
    for frame in reversed(traceback.extract_stack()):
        if "site-packages" not in frame.filename and frame.filename != __file__:
            return f"{frame.filename}:{frame.lineno}"
    return "torch"
