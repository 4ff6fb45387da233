"""Folders set by environment variables, and files of the installation."""

from __future__ import annotations

import os
from pathlib import Path

from bench import IN_CHECKOUT, ROOT


def cache_dir() -> Path:
    """`$BENCH_CACHE_DIR`, else a folder in the user's own cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("BENCH_CACHE_DIR") or Path(base) / "hideseek")


def data_dir() -> Path | None:
    """`$BENCH_DATA_DIR`: data sets that are already on this machine."""
    given = os.environ.get("BENCH_DATA_DIR")
    return Path(given) if given else None


def models_dir() -> Path | None:
    """`$BENCH_MODELS_DIR`: encoders that are already on this machine."""
    given = os.environ.get("BENCH_MODELS_DIR")
    return Path(given) if given else None


def suites_dir() -> Path:
    return ROOT / "leaderboards" / "suites" if IN_CHECKOUT else Path(__file__).parent.parent / "suites"


def ledger_file() -> Path:
    """Which versions of code compute the same numbers (bench.records.ledger)."""
    return _leaderboards() / "equivalent.toml"


def board_file() -> Path:
    """The published board."""
    return _leaderboards() / "board.json"


def _leaderboards() -> Path:
    return ROOT / "leaderboards" if IN_CHECKOUT else Path(__file__).parent.parent / "leaderboards"
