"""`bench utility`: what a defense costs in accuracy."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench.errors import UsageError


def add(commands: Any) -> None:
    """The `utility` command, beside the others."""
    utility = commands.add_parser(
        "utility",
        help="what a defense costs in accuracy",
        description="Trains the papers' head on released encodings and judges it on dev by the task's own metric. The "
        "undefended figure (none) is measured beside it.",
    )
    utility.add_argument("--defense", action="append", metavar="NAME[:OPTIONS]", help="repeat for several")
    utility.add_argument("--dataset", action="append", metavar="NAME[:OPTIONS]", help="default: demo")
    utility.add_argument("--encoder", action="append", metavar="NAME", help="default: minilm")
    utility.add_argument("--seed", type=int, nargs="+", action="extend", metavar="N", help="default: 0")
    utility.add_argument("--suite", metavar="FILE", help="trials from a TOML file or a suite of the project")
    utility.add_argument("--train-epochs", type=int, metavar="N", help="default: 20, or as the suite says")
    utility.add_argument("--jobs", type=int, default=1, metavar="N", help="trials at a time (default: 1)")
    utility.add_argument("--shared-layer", action="store_true", help="one layer applied three times, as in the code")
    utility.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="default: results")
    utility.add_argument("--device", default="auto", metavar="DEV", help="auto, cpu or cuda (default: auto)")
    utility.add_argument("--json", action="store_true", help="print the records as JSON, and nothing else")
    utility.add_argument("--plugin", action="append", default=[], metavar="FILE", help="a Python file with plugins")
    utility.set_defaults(call=_utility)


def _utility(args: argparse.Namespace) -> int:
    from bench.experiment import suites
    from bench.experiment.cells import trials as trials_of
    from bench.plugins.registry import Registry

    if args.train_epochs is not None and args.train_epochs < 1:
        raise UsageError(f"--train-epochs {args.train_epochs}: at least 1")
    if args.jobs < 1:
        raise UsageError(f"--jobs {args.jobs}: at least 1")
    registry = Registry(tuple(args.plugin))
    axes = {axis: getattr(args, axis) for axis in ("dataset", "encoder", "defense", "seed")}
    if args.suite:
        given = [name for name, value in axes.items() if value is not None]
        if given:
            raise UsageError(f"--suite names its own trials: leave out --{given[0]}, or the suite")
        trials = suites.trials_from_suite(registry, args.suite)
    else:
        axes["defense"] = list(dict.fromkeys(["none", *(axes["defense"] or [])]))
        trials = [(trial, None) for trial in trials_of(registry, axes)]

    from bench.experiment.training import Training
    from bench.scheduling import utility as training_runs
    from bench.scheduling.progress import Progress
    from bench.system.device import resolve

    planned = [
        (trial, Training(epochs=args.train_epochs or epochs or Training.epochs, shared=args.shared_layer))
        for trial, epochs in trials
    ]
    with Progress() as progress:
        progress.plan(0, len(planned))
        device, files = resolve(args.device), tuple(args.plugin)
        found, errors = training_runs.run(planned, args.out, device, progress, jobs=args.jobs, files=files)
    if args.json:
        print(json.dumps([record.to_dict() for record in found], indent=1))
    elif found:
        from bench.cli.table import show_utility

        show_utility(training_runs.summary(found))
    for error in errors:
        print(f"bench: {error}", file=sys.stderr)
    return errors[0].exit_code if errors else 0
