"""What `--device auto|cpu|cuda` resolves to."""

from __future__ import annotations

import os

from bench.errors import UsageError


def resolve(asked: str) -> str:
    """The device to use. `auto` takes a GPU where the driver shows one, without importing torch to find out."""
    if asked == "auto":
        return "cuda" if os.path.exists("/dev/nvidiactl") and _cuda() else "cpu"
    if asked.startswith("cuda") and not _cuda():
        raise UsageError("--device cuda: torch sees no GPU here; use --device cpu or auto")
    return asked


def _cuda() -> bool:
    import torch

    return bool(torch.cuda.is_available())
