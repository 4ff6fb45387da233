"""`bench completion`: a script that makes a shell complete commands, options and the names of plugins and suites."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bench.cli.arguments import actions
from bench.cli.list import ANY

SHELLS = ("bash", "zsh", "tcsh")
# Options whose values `bench list` knows: asked when the user types, so that new plugins are among them.
NAMES = {
    "defense": "defenses",
    "attack": "attacks",
    "dataset": "datasets",
    "encoder": "encoders",
    "training": "trainings",
    "suite": "suites",
}
# Arguments that take any name.
ALL = (ANY, "NAME|FILE|PACKAGE")


def add(commands: Any) -> None:
    """The `completion` command, beside the others."""
    completion = commands.add_parser(
        "completion",
        help="shell completion",
        description="Prints a completion script.",
        epilog='bash: eval "$(bench completion bash)" in ~/.bashrc. zsh: bench completion zsh > _bench, in a folder of '
        "$fpath. tcsh: bench completion tcsh > ~/.bench.tcsh, and source it.",
    )
    completion.add_argument("shell", choices=SHELLS)
    completion.set_defaults(call=_completion)


def _completion(args: argparse.Namespace) -> int:
    import shtab

    from bench.cli.main import parser

    whole = parser()
    for action in actions(whole):
        if action.dest in NAMES:
            action.complete = shtab.cmd(f"bench list {NAMES[action.dest]} --names 2>/dev/null")  # type: ignore[attr-defined]
        elif action.metavar in ALL:
            action.complete = shtab.cmd("bench list --names 2>/dev/null")  # type: ignore[attr-defined]
        elif action.metavar == "DIR":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif action.metavar in ("FILE", "RECORD") or action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(whole, args.shell))
    return 0
