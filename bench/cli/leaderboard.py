"""`bench leaderboard`: from records to tables."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from bench.api.stored import PUBLISHED, RESULTS


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
    from bench.api import stored

    found = stored.leaderboard(args.results, args.out, plugins=args.plugin, check=args.check)
    if args.check:
        for path, said in found.outdated.items():
            print(f"{path} {said}", file=sys.stderr)
        if found.unusable:  # a number that has gone from the tables
            said = f"{found.unusable} of the records cannot be used: restore them, or delete them"
            print(f"{found.records}: {said}", file=sys.stderr)
        return 1 if found.outdated or found.unusable else 0
    for path in found.written:
        print(path)
    # Not deleted here: the folder may be anybody's.
    for path, said in found.unexpected.items():
        print(f"{path} {said}", file=sys.stderr)
    return 0
