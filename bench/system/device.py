"""What `--device auto|cpu|cuda` resolves to."""

from __future__ import annotations

import os
import re

from bench.errors import UsageError


def resolve(asked: str) -> str:
    """The device to use. `auto` takes a GPU where the driver shows one, without importing torch to find out."""
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", asked):
        raise UsageError(f"--device {asked}: expected auto, cpu, cuda or cuda:N")
    if asked == "auto":
        return "cuda" if os.path.exists("/dev/nvidiactl") and _cuda() else "cpu"
    if asked != "cpu" and not _cuda():
        raise UsageError(f"--device {asked}: torch sees no GPU here; use --device cpu or auto")
    return asked


def _cuda() -> bool:
    import torch

    return bool(torch.cuda.is_available())
