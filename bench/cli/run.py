"""`bench run`: attacks on defenses, and with --replay a record's run once more."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.errors import BenchError, UsageError

if TYPE_CHECKING:
    from bench.experiment.cells import Cell
    from bench.plugins.registry import Registry
    from bench.scheduling.progress import Progress
    from bench.scheduling.runner import Settings


def add(commands: Any) -> None:
    """The `run` command, beside the others."""
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
    run.add_argument("--plugin", action="append", default=[], metavar="FILE", help="a Python file with plugins")
    run.set_defaults(call=_run)


def _run(args: argparse.Namespace) -> int:
    from bench.experiment import suites
    from bench.experiment.cells import AXES, SIZES
    from bench.experiment.cells import cells as cells_of
    from bench.plugins.registry import Registry

    if args.jobs < 1:
        raise UsageError(f"--jobs {args.jobs}: at least 1")
    if args.executor and args.jobs != 1:
        raise UsageError("--executor has workers of its own: leave out --jobs")
    if args.timeout <= 0 or args.memory < 0:
        raise UsageError("--timeout must be above 0 and --memory not below it")
    registry = Registry(tuple(args.plugin))
    axes = {axis: getattr(args, axis) for axis in AXES}
    sizes = {size: getattr(args, size) for size in SIZES}
    given = [name for name, value in {**axes, **sizes}.items() if value is not None]
    if args.replay:
        if given or args.suite or args.sealed:
            raise UsageError("--replay takes everything from its record: leave out the rest")
        return _replay(args, registry)
    if args.sealed:
        from bench.isolation.sandbox import require

        require()
    if args.suite:
        if given:
            raise UsageError(f"--suite names its own cells: leave out --{given[0]}, or the suite")
        cells = suites.from_suite(registry, args.suite, sealed=args.sealed)
    else:
        cells = cells_of(registry, axes, sizes, sealed=args.sealed)

    settings = _settings(args)
    if args.dry_run:
        from bench.scheduling.dry_run import show

        return show(cells, settings, as_json=args.json)

    from bench.scheduling import runner
    from bench.scheduling.progress import Progress

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
    from bench.isolation.process import Limits
    from bench.scheduling.executors import address
    from bench.scheduling.runner import Settings
    from bench.system.device import resolve
    from bench.system.threads import threads

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
    from bench.experiment import identity, replay
    from bench.scheduling.progress import Progress

    old = replay.open_record(args.replay)
    cell = identity.cell_of(registry, old)
    settings = _settings(args)
    with Progress() as progress:
        new, differences = repeat(cell, old, settings, progress)
    _print([new], args.json)
    for text in differences:
        print(f"bench: {text}", file=sys.stderr)
    print(f"bench: {old['id']}: {'other numbers' if differences else 'the same numbers'}", file=sys.stderr)
    return 1 if differences else 0


def repeat(cell: Cell, old: dict[str, Any], settings: Settings, progress: Progress) -> tuple[dict[str, Any], list[str]]:
    """The record of a repetition, and every number in which it differs from the old one, with a word on the way."""
    from bench.experiment import replay

    progress.plan(0, 1)
    line = progress.start(cell.title)
    new, differences = replay.run(cell, old, settings.device, settings.limits, line.stage, progress.note)
    line.done(new)
    return new, differences


def _print(records: list[Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps([record.to_dict() for record in records], indent=1))
    elif records:
        from bench.cli.table import show

        show(records)
