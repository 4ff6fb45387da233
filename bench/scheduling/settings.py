"""How a run is run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bench.isolation.process import Limits
from bench.scheduling import executors


@dataclass(frozen=True)
class RunSettings:
    """How to run; none of it changes a number."""

    out: Path = Path("results")
    device: str = "cpu"
    limits: Limits = field(default_factory=Limits)
    """for each attack; the executor sets the number of threads"""
    executor: str = executors.DEFAULT
    """URL of bench.scheduling.executors"""
    files: tuple[str, ...] = ()
    """plugin files that --plugin named"""
    force: bool = False
    details: bool = False
    utility: bool = False
    """also measure the utility of every attacked defense"""
