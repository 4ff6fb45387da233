"""`bench plugin new` and `bench plugin check`: the commands for people who write plugins."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bench.api.requests import LONGEST_S
from bench.errors import UsageError


def add(commands: Any) -> None:
    """The `plugin` command, beside the others."""
    plugin = commands.add_parser("plugin", help="write a plugin of your own, and check it")
    actions = plugin.add_subparsers(dest="action", required=True, metavar="ACTION")

    new = actions.add_parser("new", help="write a plugin that works, to be changed")
    new.add_argument("name", help="what it will be called, such as nearest or my-attack")
    new.add_argument("--kind", choices=("attack", "defense", "dataset"), default="attack", help="default: attack")
    new.add_argument("--single-file", action="store_true", help="one .py for --plugin, instead of a package")
    new.add_argument("--out", type=Path, default=Path(), metavar="DIR", help="where to put it (default: here)")
    new.set_defaults(call=_new)

    check = actions.add_parser(
        "check",
        help="the conformance suite, as a checklist",
        description="Checks a plugin and prints a checklist that can be pasted into a pull request.",
        epilog="Exit status: 0 everything holds, 1 something does not, 2 usage.",
    )
    check.add_argument("plugin", metavar="NAME|FILE|PACKAGE", help="a plugin, a .py file or an installed package")
    check.add_argument("--budget", type=float, default=60, metavar="S", help="seconds for each step (default: 60)")
    check.add_argument(
        "--defense",
        action="append",
        default=[],
        metavar="NAME[:OPTIONS]",
        help="what an attack is run on (default: every defense of the project)",
    )
    check.add_argument("--plugin", dest="files", action="append", default=[], metavar="FILE", help="more plugins")
    check.set_defaults(call=_check)


def _new(args: argparse.Namespace) -> int:
    from bench.plugins import scaffold

    for path in scaffold.write(args.name, args.kind, args.out, single=args.single_file):
        print(path)
    print(scaffold.next_steps(args.name, args.kind, args.out, single=args.single_file))
    return 0


def _check(args: argparse.Namespace) -> int:
    from bench.conformance import checks

    if not 0 < args.budget <= LONGEST_S:
        raise UsageError(f"--budget {args.budget:g}: seconds above 0 and up to {LONGEST_S:,} were expected")
    found = checks.targets(args.plugin, args.files)
    for spec in args.defense:
        found[0].registry.make("defense", spec)
    settings = checks.CheckSettings(args.budget, tuple(args.defense))
    failed = False
    for target in found:
        seen: list[checks.CheckResult] = []
        for line in checks.run_checks(target, settings):
            if not seen:
                print(checks.heading(target.title))
            print(line, flush=True)  # as it is found: an attack may take a minute
            seen.append(line)
        print(checks.summary(seen))
        failed |= any(line.mark == checks.FAILED for line in seen)
    return 1 if failed else 0
