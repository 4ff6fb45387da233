"""`bench list`: what there is to run."""

from __future__ import annotations

import argparse
import json
from typing import Any

LISTS = ("attacks", "defenses", "datasets", "encoders", "suites")


def add(commands: Any) -> None:
    """The `list` command, beside the others."""
    listing = commands.add_parser("list", help="what there is to run")
    listing.add_argument("what", nargs="?", choices=LISTS, help="only these")
    listing.add_argument("--json", action="store_true", help="as JSON")
    listing.add_argument("--plugin", action="append", default=[], metavar="FILE", help="a Python file with plugins")
    listing.set_defaults(call=_list)


def _list(args: argparse.Namespace) -> int:
    from bench.experiment.suites import suites
    from bench.plugins.registry import Registry

    registry = Registry(tuple(args.plugin))
    found: dict[str, list[dict[str, Any]]] = {}
    for what in [args.what] if args.what else LISTS:
        if what == "suites":
            found[what] = [{"name": name, "summary": title} for name, title in suites().items()]
            continue
        found[what] = [
            {
                "name": entry.name,
                "summary": f"BROKEN: {entry.broken}" if entry.broken else entry.summary,
                "options": entry.options,
                "where": entry.where,
            }
            for entry in registry.of(what[:-1]).values()
        ]
    if args.json:
        print(json.dumps(found, indent=1))
        return 0
    width = max((len(row["name"]) for rows in found.values() for row in rows), default=0)
    for what, rows in found.items():
        print(what if rows else f"{what}: none")
        for row in rows:
            print(f"  {row['name']:<{width}}  {row['summary']}")
            if row.get("options"):
                print(f"  {'':<{width}}  " + ", ".join(f"{k}={v}" for k, v in row["options"].items()))
    return 0
