"""`bench utility`: what a defense costs in accuracy."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bench.cli import output


def add(commands: Any) -> None:
    """The `utility` command, beside the others."""
    utility = commands.add_parser(
        "utility",
        help="what a defense costs in accuracy",
        description="Trains the papers' head on released encodings, with --training finetuned the encoder along with "
        "it, and judges the model on dev by the task's own metric. The undefended figure (none) is measured beside it.",
    )
    utility.add_argument("--defense", action="append", metavar="NAME[:OPTIONS]", help="repeat for several")
    utility.add_argument("--dataset", action="append", metavar="NAME[:OPTIONS]", help="default: demo")
    utility.add_argument("--encoder", action="append", metavar="NAME", help="default: minilm")
    output.add_training(utility)
    utility.add_argument("--seed", type=int, nargs="+", action="extend", metavar="N", help="default: 0")
    utility.add_argument("--suite", metavar="FILE", help="trials from a TOML file or a suite of the project")
    utility.add_argument("--train-epochs", type=int, metavar="N", help="default: 20, or as the suite says")
    utility.add_argument("--shared-layer", action="store_true", help="one layer applied three times, as in the code")
    utility.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="default: results")
    utility.add_argument("--device", default="auto", metavar="DEV", help="auto, cpu or cuda (default: auto)")
    output.add_scheduling(utility)
    output.add_options(utility)
    utility.set_defaults(call=_utility)


def _utility(args: argparse.Namespace) -> int:
    from bench.api import experiments
    from bench.api.requests import UtilityRequest

    options = output.options_of(args, UtilityRequest)
    if args.dry_run:
        return output.dry_run(args, UtilityRequest(**options))
    return output.finish(args, lambda: experiments.utility(**options))
