"""`bench cache`: what the cache holds, and a way to make it smaller."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

from bench.errors import UsageError

GIB = 1 << 30


def add(commands: Any) -> None:
    """The `cache` command, beside the others."""
    cache = commands.add_parser(
        "cache",
        help="what the cache holds: vectors, trained models; and how to trim it",
        description="Shows what lies in $BENCH_CACHE_DIR (default: ~/.cache/hideseek). All of it can be made again.",
    )
    cache.add_argument("--trim", type=float, metavar="GIB", help="delete trained models, the longest unused first, "
                       "until they fit into so many GiB; 0 deletes all")  # fmt: skip
    cache.add_argument("--json", action="store_true", help="as JSON")
    cache.set_defaults(call=_cache)


def _cache(args: argparse.Namespace) -> int:
    from bench.system.paths import cache_dir
    from bench.training import checkpoints

    gone: list[Path] = []
    if args.trim is not None:
        if not 0 <= args.trim < float("inf"):
            raise UsageError(f"--trim {args.trim}: a number of GiB from 0 on was expected")
        gone = checkpoints.trim(int(args.trim * GIB))
    models = checkpoints.trained()
    parts = {
        "vectors": sum(_size(path) for path in (cache_dir() / "vectors").glob("*.sqlite")),
        "trained models": sum(size for _, size, _ in models),
    }
    if args.json:
        import json

        print(json.dumps({"folder": str(cache_dir()), "bytes": parts, "models": len(models), "deleted": len(gone)}))
        return 0
    print(f"{cache_dir()} ({_gib(shutil.disk_usage(_existing(cache_dir())).free)} GiB free)")
    for name, size in parts.items():
        count = f", {len(models)} of at most {checkpoints.LIMIT // GIB} GiB" if name == "trained models" else ""
        print(f"  {name:<14}  {_gib(size):>8} GiB{count}")
    if args.trim is not None:
        print(f"deleted {len(gone)} trained model{'' if len(gone) == 1 else 's'}")
    return 0


def _size(path: Path) -> int:
    return path.stat().st_size


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)


def _gib(size: int) -> str:
    return f"{size / GIB:.2f}"
