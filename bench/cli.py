"""The command line. Nothing heavy is imported until every name has been checked."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import __version__, authoring, publishing, submission
from .errors import BenchError, UsageError

if TYPE_CHECKING:
    from .registry import Registry
    from .runner import Settings

LISTS = ("attacks", "defenses", "datasets", "encoders", "suites")

EPILOG = """examples:
  bench list
  bench run --defense none --defense texthide --attack rss
  bench run --defense texthide:m=16,k=2 --attack rss --dataset cola --seed 0 1 2
  bench run --defense texthide --attack rss --dataset file:mine.csv,text=review,label=stars
  bench leaderboard --results results --out board
"""


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    try:
        status: int = args.call(args)
        return status
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        if args.command != "list":
            raise
        sys.stderr.close()  # `bench list | head` has seen enough
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench",
        description="hideseek: who hides, who seeks, who wins. Runs attacks on schemes that hide text.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"hideseek {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    listing = commands.add_parser("list", help="what there is to run")
    listing.add_argument("what", nargs="?", choices=LISTS, help="only these")
    listing.add_argument("--json", action="store_true", help="as JSON")
    _plugin_option(listing)
    listing.set_defaults(call=_list)

    run = commands.add_parser(
        "run",
        help="run attacks on defenses and score them",
        description="Runs every defense against every attack; finished cells are taken from --out.",
        epilog="A plugin's options follow its name: texthide:m=256,k=4. Exit status: 0 all cells ok, 1 some failed, "
        "2 usage, 130 interrupted.",
    )
    run.add_argument("--defense", action="append", metavar="NAME[:OPTIONS]", help="repeat for several")
    run.add_argument("--attack", action="append", metavar="NAME[:OPTIONS]", help="repeat for several")
    run.add_argument(
        "--dataset", action="append", metavar="NAME[:OPTIONS]", help="default: demo; file:PATH for your own"
    )
    run.add_argument("--encoder", action="append", metavar="NAME", help="default: minilm; also a hub id or a folder")
    run.add_argument("--seed", type=int, nargs="+", action="extend", metavar="N", help="default: 0; several allowed")
    run.add_argument("--suite", metavar="FILE", help="cells from a TOML file or a suite of the project")
    size = run.add_argument_group("protocol (default: the attack's own paper's)")
    size.add_argument("--examples", type=int, metavar="N", help="private examples")
    size.add_argument("--epochs", type=int, metavar="N", help="encodings of each example")
    size.add_argument("--candidates", type=int, metavar="N", help="sentences in the attacker's corpus")
    size.add_argument("--split", choices=("train", "dev"), help="where private examples come from")
    size.add_argument("--public", metavar="NAME", help="public corpus, where one is wanted (default: the data set's)")
    size.add_argument("--coverage", type=float, metavar="F", help="share of the private examples in that corpus")
    run.add_argument("--utility", action="store_true", help="also train on the releases: what the defense costs")
    how = run.add_argument_group("how to run")
    how.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="records (default: results)")
    how.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that run cells (default: 1)")
    how.add_argument("--executor", metavar="dask://HOST:PORT", help="run cells on a Dask cluster instead")
    how.add_argument("--dry-run", action="store_true", help="list the cells and what they may take; run nothing")
    how.add_argument("--timeout", type=float, default=3600, metavar="S", help="per attack (default: 3600)")
    how.add_argument("--memory", type=int, default=8192, metavar="MIB", help="per attack (default: 8192; 0: no limit)")
    how.add_argument("--device", default="auto", metavar="DEV", help="auto, cpu or cuda (default: auto)")
    how.add_argument("--force", action="store_true", help="run again what is on record")
    how.add_argument("--sealed", action="store_true", help="for attacks you do not trust: sandbox, and a secret salt")
    how.add_argument("--replay", type=Path, metavar="RECORD", help="repeat a record's run and compare, bit for bit")
    how.add_argument("--details", action="store_true", help="keep every query and answer (parquet beside the record)")
    how.add_argument("--json", action="store_true", help="print the records as JSON, and nothing else")
    _plugin_option(run)
    run.set_defaults(call=_run)

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
    _plugin_option(utility)
    utility.set_defaults(call=_utility)

    authoring.add(commands)
    submission.add(commands)
    publishing.add(commands)
    return parser


def _plugin_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plugin", action="append", default=[], metavar="FILE", help="a Python file with plugins")


def _list(args: argparse.Namespace) -> int:
    from .plan import suites
    from .registry import Registry

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


def _run(args: argparse.Namespace) -> int:
    from . import plan
    from .registry import Registry

    if args.jobs < 1:
        raise UsageError(f"--jobs {args.jobs}: at least 1")
    if args.executor and args.jobs != 1:
        raise UsageError("--executor has workers of its own: leave out --jobs")
    if args.timeout <= 0 or args.memory < 0:
        raise UsageError("--timeout must be above 0 and --memory not below it")
    registry = Registry(tuple(args.plugin))
    axes = {axis: getattr(args, axis) for axis in plan.AXES}
    sizes = {size: getattr(args, size) for size in plan.SIZES}
    given = [name for name, value in {**axes, **sizes}.items() if value is not None]
    if args.replay:
        if given or args.suite or args.sealed:
            raise UsageError("--replay takes everything from its record: leave out the rest")
        return _replay(args, registry)
    if args.sealed:
        from .sandbox import require

        require()
    if args.suite:
        if given:
            raise UsageError(f"--suite names its own cells: leave out --{given[0]}, or the suite")
        cells = plan.from_suite(registry, args.suite, sealed=args.sealed)
    else:
        cells = plan.cells(registry, axes, sizes, sealed=args.sealed)

    settings = _settings(args)
    if args.dry_run:
        from .forecast import show

        return show(cells, settings, as_json=args.json)

    from . import runner
    from .progress import Progress

    errors: list[BenchError] = []
    interrupted = False
    with Progress() as progress:
        try:
            records, errors = runner.run(cells, settings, progress)
        except runner.Interrupted as stop:
            records, interrupted = stop.done, True
    _print(records, args.json)
    if interrupted:
        said = f"{len(records)} of {len(cells)} cells are saved in {args.out}; the same command goes on from there"
        print(f"bench: interrupted: {said}", file=sys.stderr)
        return 130
    for error in errors:
        print(f"bench: {error}", file=sys.stderr)
    if errors and not records:
        return errors[0].exit_code
    return 0 if not errors and all(record["status"] == "ok" for record in records) else 1


def _settings(args: argparse.Namespace) -> Settings:
    from .device import resolve
    from .executors import address, threads
    from .runner import Settings
    from .wall import Limits

    return Settings(
        out=args.out,
        device=resolve(args.device),
        limits=Limits(args.timeout, args.memory, threads(args.jobs)),
        jobs=args.jobs,
        cluster=address(args.executor) if args.executor else None,
        files=tuple(args.plugin),
        force=args.force,
        details=args.details,
        utility=args.utility,
    )


def _replay(args: argparse.Namespace, registry: Registry) -> int:
    from . import records, replay
    from .progress import Progress

    old = replay.open_record(args.replay)
    cell = records.cell_of(registry, old)
    settings = _settings(args)
    with Progress() as progress:
        new, differences = replay.run(cell, old, settings.device, settings.limits, progress)
    _print([new], args.json)
    for text in differences:
        print(f"bench: {text}", file=sys.stderr)
    print(f"bench: {old['id']}: {'other numbers' if differences else 'the same numbers'}", file=sys.stderr)
    return 1 if differences else 0


def _utility(args: argparse.Namespace) -> int:
    from . import plan
    from .registry import Registry

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
        trials = plan.trials_from_suite(registry, args.suite)
    else:
        axes["defense"] = list(dict.fromkeys(["none", *(axes["defense"] or [])]))
        trials = [(trial, None) for trial in plan.trials(registry, axes)]

    from . import costs
    from .device import resolve
    from .head import Training
    from .progress import Progress

    planned = [
        (trial, Training(epochs=args.train_epochs or epochs or Training.epochs, shared=args.shared_layer))
        for trial, epochs in trials
    ]
    with Progress() as progress:
        progress.plan(0, len(planned))
        device, files = resolve(args.device), tuple(args.plugin)
        found, errors = costs.run(planned, args.out, device, progress, jobs=args.jobs, files=files)
    if args.json:
        print(json.dumps(found, indent=1))
    elif found:
        from .table import show_utility

        show_utility(costs.summary(found))
    for error in errors:
        print(f"bench: {error}", file=sys.stderr)
    return errors[0].exit_code if errors else 0


def _print(records: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(records, indent=1))
    elif records:
        from .table import show

        show(records)
