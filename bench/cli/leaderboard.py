"""`bench leaderboard`: from records to tables."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

RESULTS, PUBLISHED = Path("results"), Path("leaderboards") / "records"


def add(commands: Any) -> None:
    """The `leaderboard` command, beside the others."""
    board = commands.add_parser(
        "leaderboard",
        help="tables from records",
        description="Makes one board for each suite that records were run for, as Markdown, CSV and LaTeX, the page, "
        "and the summary in the README beside a folder called leaderboards.",
        epilog="Exit status: 0, or with --check 1 if a file is not what the records say or a record cannot be used; "
        "2 usage.",
    )
    board.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        help=f"records (default: {PUBLISHED.as_posix()} if there is one, else {RESULTS})",
    )
    board.add_argument("--out", type=Path, default=Path("leaderboards"), metavar="DIR", help="default: leaderboards")
    board.add_argument("--check", action="store_true", help="write nothing; exit 1 if the tables are out of date")
    board.add_argument("--plugin", action="append", default=[], metavar="FILE", help="plugins that suites name")
    board.set_defaults(call=_leaderboard)


def _leaderboard(args: argparse.Namespace) -> int:
    from bench.board import files as board_files
    from bench.board import select
    from bench.plugins.registry import Registry

    folder = args.results or (PUBLISHED if PUBLISHED.is_dir() else RESULTS)
    records, utility = select.read(folder)
    files = board_files.build(records, utility, Registry(tuple(args.plugin)))
    if args.check:
        stale = board_files.outdated(args.out, files)
        for path, said in stale.items():
            print(f"{path} {said}", file=sys.stderr)
        # A record that was damaged is a number that has gone from the tables.
        lost = (
            sum(1 for place in (folder, folder / "utility") for _ in place.glob("*.json")) - len(records) - len(utility)
        )
        if lost:
            print(f"{folder}: {lost} of the records cannot be used: restore them, or delete them", file=sys.stderr)
        return 1 if stale or lost else 0
    for path in board_files.write(args.out, files):
        print(path)
    # Not deleted here: the folder may be anybody's.
    for path, said in board_files.unexpected(args.out, files).items():
        print(f"{path} {said}", file=sys.stderr)
    return 0
