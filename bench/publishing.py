"""`bench leaderboard` and `bench show`: from records to tables, and from a number in a table back to its record."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

RESULTS, PUBLISHED = Path("results"), Path("leaderboards") / "records"


def add(commands: Any) -> None:
    """The two commands, beside the others."""
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

    show = commands.add_parser(
        "show", help="how a record was made, and the command that repeats it", epilog="Exit status: 0, 2 usage."
    )
    show.add_argument("record", metavar="ID", help="its id, the beginning of it, or its file")
    show.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        help=f"where to look (default: {RESULTS}, then {PUBLISHED.as_posix()})",
    )
    show.add_argument("--json", action="store_true", help="the record, its file and the command, as JSON")
    show.set_defaults(call=_show)


def _leaderboard(args: argparse.Namespace) -> int:
    from . import leaderboard, shelf
    from .registry import Registry

    folder = args.results or (PUBLISHED if PUBLISHED.is_dir() else RESULTS)
    records, utility = shelf.read(folder)
    files = leaderboard.build(records, utility, Registry(tuple(args.plugin)))
    if args.check:
        stale = leaderboard.stale(args.out, files)
        for path, said in stale.items():
            print(f"{path} {said}", file=sys.stderr)
        # A record that was damaged is a number that has gone from the tables.
        lost = (
            sum(1 for place in (folder, folder / "utility") for _ in place.glob("*.json")) - len(records) - len(utility)
        )
        if lost:
            print(f"{folder}: {lost} of the records cannot be used: restore them, or delete them", file=sys.stderr)
        return 1 if stale or lost else 0
    for path in leaderboard.write(args.out, files):
        print(path)
    # Not deleted here: the folder may be anybody's.
    for path, said in leaderboard.unexpected(args.out, files).items():
        print(f"{path} {said}", file=sys.stderr)
    return 0


def _show(args: argparse.Namespace) -> int:
    from . import showing

    path, record = showing.find(args.record, [args.results] if args.results else [RESULTS, PUBLISHED])
    if args.json:
        about = {"file": path.as_posix(), "command": showing.repeat(path, record)}
        print(json.dumps({**record, **about}, indent=1))
    else:
        showing.show(path, record)
    return 0
