"""`bench compare`: which of two attacks finds more, on the same examples, and how surely."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.cli import output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.api.comparing import Comparison


def add(commands: Any) -> None:
    """The `compare` command, beside the others."""
    compare = commands.add_parser(
        "compare",
        help="which of two attacks finds more, on the same examples",
        description="Compares two runs cell by cell, paired by private example, with a 95 %% interval.",
        epilog="bench compare unmix rss; bench compare results-before results-after; bench compare 1a2b3c 4d5e6f. Exit "
        "status: 0, 2 usage.",
    )
    what = "an attack as a run's table names it, a folder of records, or a record's id or file"
    compare.add_argument("first", metavar="A", help=what)
    compare.add_argument("second", metavar="B", help="the same")
    compare.add_argument("--results", type=Path, metavar="DIR", help="where to look for records (default: results)")
    compare.add_argument("--json", action="store_true", help="as JSON")
    compare.set_defaults(call=_compare)


def _compare(args: argparse.Namespace) -> int:
    from bench.api import comparing

    found = comparing.compare(args.first, args.second, args.results)
    if args.json:
        print(json.dumps(comparing.described(found), indent=1))
    else:
        _show(found, args.first, args.second)
    return 0


def _show(found: Sequence[Comparison], first: str, second: str) -> None:
    from bench.api.fitting import fitted
    from bench.board.columns import Column

    columns: list[Column[Comparison]] = [
        Column("dataset", "data set", "", lambda c: c.dataset),
        Column("encoder", "encoder", "", lambda c: c.encoder),
        Column("defense", "defense", "", lambda c: c.defense),
        Column("seed", "seed", "", lambda c: c.seed, numeric=True),
        Column("first", "A", "", lambda c: f"{c.metric} {c.first:.3f}", numeric=True),
        Column("second", "B", "", lambda c: f"{c.metric} {c.second:.3f}", numeric=True),
        Column("difference", "A − B, 95 %", "", lambda c: f"{c.difference:+.3f} [{c.low:+.3f}, {c.high:+.3f}]",
               numeric=True),
        Column("verdict", "verdict", "", lambda c: c.verdict.replace("first", "A").replace("second", "B")),
    ]  # fmt: skip
    console = output.console()
    rows = [[column.text(one) for column in columns] for one in found]
    console.print(fitted(columns, rows, console.width, f"A: {first}, B: {second}", "paired by private example"))
