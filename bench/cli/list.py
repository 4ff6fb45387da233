"""`bench list`: what there is to run."""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
from typing import Any

# What suites are of, as bench.experiment.suites names it, and the command that runs them.
SUITES = {
    "suites": ("attacks", "run"),
    "training-suites": ("training", "utility"),
    "audit-suites": ("audits", "audit"),
}
LISTS = ("attacks", "defenses", "datasets", "encoders", "trainings", *SUITES)
ANY = "|".join((*LISTS, "NAME"))
HEADINGS = {name: f"{name} (bench {command} --suite NAME)" for name, (_, command) in SUITES.items()}
Row = dict[str, Any]


def add(commands: Any) -> None:
    """The `list` command, beside the others."""
    listing = commands.add_parser("list", help="what there is to run")
    listing.add_argument("what", nargs="?", metavar=ANY, help="only these, or this one")
    how = listing.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="as JSON")
    how.add_argument("--names", action="store_true", help="names alone, one per line")
    listing.add_argument("--plugin", action="append", default=[], metavar="FILE", help="a Python file with plugins")
    listing.set_defaults(call=_list)


def _list(args: argparse.Namespace) -> int:
    found = _found(args.what, tuple(args.plugin))
    if args.json:
        print(json.dumps(found, indent=1))
    elif args.names:
        for rows in found.values():
            print("\n".join(row["name"] for row in rows))
    else:
        _print(found, explain=args.what is not None and args.what not in LISTS)
    return 0


def _found(what: str | None, files: tuple[str, ...]) -> dict[str, list[Row]]:
    """What there is of one kind, of one name, or at all."""
    from bench.errors import unknown
    from bench.plugins.registry import Registry

    registry = Registry(files)
    found = {kind: _rows(registry, kind) for kind in ([what] if what in LISTS else LISTS)}
    if what is None or what in LISTS:
        return found
    named = {kind: [row for row in rows if row["name"] == what] for kind, rows in found.items()}
    named = {kind: rows for kind, rows in named.items() if rows}
    if not named:
        raise unknown("name", what, [*LISTS, *(row["name"] for rows in found.values() for row in rows)])
    return named


def _rows(registry: Any, kind: str) -> list[Row]:
    if kind == "trainings":
        from bench.plugins.training import described

        return described()
    if kind in SUITES:
        from bench.experiment.suites import suites

        found = suites(**{what: kind == name for name, (what, _) in SUITES.items()})
        return [{"name": name, "summary": title} for name, title in found.items()]
    return [
        {
            "name": entry.name,
            "summary": f"BROKEN: {entry.broken}" if entry.broken else entry.summary,
            "options": entry.options,
            "explained": entry.explained,
            "sees": list(entry.sees),
            "paper": entry.paper,
            "where": entry.where,
        }
        for entry in registry.of(kind[:-1]).values()
    ]


def _print(found: dict[str, list[Row]], *, explain: bool) -> None:
    width = max((len(row["name"]) for rows in found.values() for row in rows), default=0)
    room = max(60, shutil.get_terminal_size((120, 24)).columns)
    for kind, rows in found.items():
        print(HEADINGS.get(kind, kind) if rows else f"{kind}: none")
        for row in rows:
            _wrapped(f"  {row['name']:<{width}}  ", row["summary"], room)
            options = row.get("options") or {}
            if explain:
                for title, said in (("sees", ", ".join(row.get("sees", []))), ("paper", row.get("paper", ""))):
                    if said:
                        _wrapped("    ", f"{title}: {said}", room)
                for name, value in options.items():
                    said = row["explained"].get(name, "")
                    _wrapped("    ", f"{name}={value}" + (f": {said}" if said else ""), room)
            elif options:
                _wrapped(" " * (width + 4), ", ".join(f"{name}={value}" for name, value in options.items()), room)


def _wrapped(head: str, text: str, room: int) -> None:
    """With a hanging indent; a word that is longer than a line stays whole."""
    indent = " " * (len(head) if head.strip() else len(head) + 2)
    lines = textwrap.wrap(
        text, room, initial_indent=head, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    print("\n".join(lines) or head.rstrip())
