"""What commands that run experiments have in common: their options on output, what they print, how they exit."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bench.errors import Interrupted

if TYPE_CHECKING:
    from rich.console import Console

    from bench.api.requests import Request
    from bench.api.results import Results
    from bench.records.model import Record


def add_options(parser: Any) -> None:
    parser.add_argument("--json", action="store_true", help="print the records as JSON, and nothing else")
    parser.add_argument("--no-progress", dest="progress", action="store_false", help="say nothing until the end")
    plugin = "a Python file with plugins"
    parser.add_argument("--plugin", dest="plugins", action="append", default=[], metavar="FILE", help=plugin)


def add_training(parser: Any) -> None:
    parser.add_argument(
        "--training",
        action="append",
        metavar="HOW[:OPTIONS]",
        help="frozen (default): the encoder as downloaded; finetuned: trained through the defense, for example "
        "finetuned:epochs=3,layers=2,examples=10000 (bench list finetuned explains them)",
    )


def add_scheduling(parser: Any) -> None:
    parser.add_argument("--jobs", type=int, metavar="N", help="processes of this machine to run on (default: 1)")
    parser.add_argument(
        "--executor",
        metavar="URL",
        help="local://N (as --jobs N), or dask://HOST:PORT or dask+tls://HOST:PORT for a cluster",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what there is to do and may take; run nothing")
    parser.add_argument("--force", action="store_true", help="run again what is on record")


def options_of(args: argparse.Namespace, request: type[Request]) -> dict[str, Any]:
    """The arguments that make a request; what a command does not offer keeps its default."""
    names = [field.name for field in dataclasses.fields(request)]
    return {name: getattr(args, name) for name in names if hasattr(args, name)}


def finish(args: argparse.Namespace, experiment: Callable[[], Results[Record]]) -> int:
    """Run an experiment, print what it found, and say by the exit status how it ended."""
    try:
        results = experiment()
    except Interrupted as stop:
        from bench.api.results import Results

        show(args, Results(stop.done))
        saved = f"{len(stop.done)} of {stop.total} records are saved in {args.out}"
        say(f"interrupted: {saved}; the same command goes on from there")
        return 130
    show(args, results)
    for error in results.errors:
        say(str(error))
    return 0 if results.ok else 1


def dry_run(args: argparse.Namespace, request: Request) -> int:
    tasks, settings = request.tasks(), request.settings()
    from bench.cli.dry_run import show
    from bench.scheduling import own_data
    from bench.scheduling.dry_run import plan

    for said in own_data.described(tasks):
        say(said)
    return show(plan(tasks, settings), as_json=args.json)


def show(args: argparse.Namespace, results: Results[Record]) -> None:
    if args.json:
        print(json.dumps([record.to_dict() for record in results], indent=1))
    elif results:
        results.table(getattr(args, "metrics", "leak")).print(console())


def console() -> Console:
    """As wide as the terminal, or as COLUMNS says; files and pipes that say nothing get long lines."""
    from rich.console import Console

    from bench.api.tables import NARROWEST, WIDTH

    told = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    found = Console(width=None if told else WIDTH, highlight=False)
    return found if found.width >= NARROWEST else Console(width=NARROWEST, highlight=False)


def say(text: str) -> None:
    """A line on standard error, where it does not mix with results."""
    print(f"bench: {text}", file=sys.stderr, flush=True)
