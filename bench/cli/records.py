"""`bench records`: whether today's code stands behind the published records, and carrying them over a change of it."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.api.stored import PUBLISHED, RESULTS
from bench.cli import origins
from bench.errors import UsageError
from bench.system.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench.experiment.migration import Replayed
    from bench.experiment.provenance import Standing
    from bench.plugins.registry import Registry
    from bench.records.model import Record

SHOWN = 20


def add(commands: Any) -> None:
    parser = commands.add_parser("records", help="whether today's code stands behind records")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    verify = actions.add_parser(
        "verify",
        help="whether records agree with themselves, and with the code of today",
        description="Checks every record by itself: its file and its id with what was asked, its metrics with the "
        "outcomes of its examples, its time, its suites, its salt. Then compares the code that made it with the code "
        "of today, component by component. Equivalent: the code has changed, and cells that were run again gave the "
        "same numbers.",
        epilog="Exit status: 0, or 1 if a record is wrong, stale or cannot be read; 2 usage.",
    )
    verify.add_argument("--json", action="store_true", help="one entry for each record")
    verify.set_defaults(call=_verify)
    verify.add_argument(
        "--changed-since",
        metavar="REV",
        help="records that differ from this revision of the repository may claim no origin: that is not for who "
        "brings them to say",
    )
    replay, stamp = origins.add(actions)
    migrate = actions.add_parser(
        "migrate",
        help="carry stale records over a change of code that changed no number",
        description="Runs a stratified sample of the stale records again, at least one for every change, and joins "
        "old and new code in leaderboards/equivalent.toml where all numbers agree.",
        epilog="Exit status: 0 all carried over, 1 some not, 2 usage, 130 interrupted, with what had agreed by then.",
    )
    migrate.add_argument(
        "--baseline",
        type=Path,
        metavar="DIR",
        help="records of the same cells that the old code made on this machine: compare with these, bit for bit",
    )
    migrate.add_argument("--reason", required=True, metavar="TEXT", help="what was changed, for the ledger")
    migrate.set_defaults(call=_migrate)
    definitions = actions.add_parser(
        "definitions", help="the functions, classes and constants that a record's hashes cover"
    )
    definitions.add_argument("record", metavar="ID", help="a record's id, or the beginning of it")
    definitions.set_defaults(call=_definitions)
    for action in (replay, migrate):
        action.add_argument("--sample", type=int, default=20, metavar="N", help="records to run again (default: 20)")
        action.add_argument("--device", default="cpu", metavar="DEV", help="default: cpu")
    for action in (verify, replay, stamp, migrate, definitions):
        where = f"default: {PUBLISHED.as_posix()} if there is one, else {RESULTS}"
        action.add_argument("--results", type=Path, metavar="DIR", help=where)
        action.add_argument("--plugin", action="append", default=[], metavar="FILE", help="a Python file with plugins")


def _verify(args: argparse.Namespace) -> int:
    from bench.experiment import integrity
    from bench.experiment.migration import verify

    files, registry, lost = read_files(args)
    problems = integrity.check_folder(args.results, files)
    if args.changed_since is not None:
        problems += origins.claimed(args, files)
    found = verify(files.values(), registry)
    if args.json:
        said: dict[Path, list[str]] = {}
        for problem in problems:
            said.setdefault(problem.path, []).append(problem.said)
        rows = [
            {"id": r.id, "status": s.status, "changed": list(s.changed), "problems": said.get(path, [])}
            for path, (r, s) in zip(files, found, strict=True)
        ]
        print(json.dumps(rows, indent=1))
    else:
        _summary(found)
        for line in integrity.summary(problems, SHOWN):
            print(f"  wrong: {printable(line)}")
    return 1 if lost or problems or any(s.status == "stale" for _, s in found) else 0


def _migrate(args: argparse.Namespace) -> int:
    from bench.experiment.migration import migrate, verify
    from bench.records import ledger, store
    from bench.system.paths import ledger_file

    records, registry, _ = read(args)
    stale = [record for record, found in verify(records, registry) if found.status == "stale"]
    if not stale:
        print(f"{counted(len(records))}: none is stale")
        return 0
    baseline = {record.id: record for record in store.read_all(args.baseline)} if args.baseline else None
    with runner(args, registry, args.sample) as again:
        result = migrate(stale, registry, args.sample, again, args.reason, baseline)
    _show_replays(result.replayed)
    if result.accepted:
        path = ledger_file()
        ledger.write(path, [*ledger.read(path).entries, *result.accepted])
        print(f"{path}: {len(result.accepted)} entries added")
    for change in result.refused:
        print(f"not carried over: {change.component} {change.before} → {change.after}")
    if result.interrupted:
        print(f"interrupted after {counted(len(result.replayed))}: what they agree on is written down")
        return 130
    return 1 if result.refused else 0


def _definitions(args: argparse.Namespace) -> int:
    from bench.experiment.provenance import definitions_of

    records, registry, _ = read(args)
    found = [record for record in records if record.id.startswith(args.record)]
    if len(found) != 1:
        raise UsageError(f"{counted(len(found))} in {args.results} have an id that begins with {args.record!r}")
    for component, names in sorted(definitions_of(found[0], registry.get).items()):
        print(f"{component}: {len(names)} definitions, hash {found[0].code.get(component, 'none')} on record")
        for name in names:
            print(f"  {name}")
    return 0


def read(args: argparse.Namespace) -> tuple[list[Record], Registry, int]:
    files, registry, lost = read_files(args)
    return list(files.values()), registry, lost


def read_files(args: argparse.Namespace) -> tuple[dict[Path, Record], Registry, int]:
    """Records by file, and how many files hold none."""
    from bench.plugins.registry import Registry
    from bench.records import store

    if getattr(args, "sample", 1) < 1:
        raise UsageError(f"--sample {args.sample}: at least 1")
    if args.results is None:
        args.results = PUBLISHED if PUBLISHED.is_dir() else RESULTS
    records: dict[Path, Record] = dict(store.read_files(args.results))
    files = sum(1 for _ in args.results.rglob("*.json"))
    return records, Registry(tuple(args.plugin)), files - len(records)


@contextlib.contextmanager
def runner(args: argparse.Namespace, registry: Registry, total: int) -> Iterator[Callable[[Record], Record]]:
    """Runs records again, one after the other, and shows how far it is."""
    from bench.experiment.replay import repeat
    from bench.scheduling.progress import Progress

    with Progress() as progress:
        progress.plan(0, total)

        def again(record: Record) -> Record:
            line = progress.start(f"{record.id} {record.dataset.label} {record.defense.label}")
            found = repeat(record, registry, args.device, line.stage)
            line.done(found)
            return found

        yield again


def _summary(found: Sequence[tuple[Record, Standing]]) -> None:
    counts = Counter(standing.status for _, standing in found)
    said = ", ".join(f"{counts[status]} {status}" for status in ("current", "equivalent", "stale", "unknown"))
    print(f"{counted(len(found))}: {said}")
    for status, word in (("stale", "changed"), ("unknown", "not found here")):
        groups = Counter(", ".join(s.changed) for _, s in found if s.status == status)
        for components, count in groups.most_common(SHOWN):
            example = next(r.id for r, s in found if s.status == status and ", ".join(s.changed) == components)
            print(f"  {status}: {counted(count)}, {word}: {components} (such as {example})")


def counted(records: int) -> str:
    return f"{records} record{'' if records == 1 else 's'}"


def _show_replays(replayed: Sequence[Replayed]) -> None:
    for run in replayed:
        print(f"{run.record.id}: {run.agreement if run.agrees else 'other numbers'}")
        if not run.agrees:
            for difference in run.differences[:SHOWN]:
                print(f"  {difference}")
    exact = sum(not run.differences for run in replayed)
    print(f"{len(replayed)} run again: {exact} bit for bit, {sum(run.agrees for run in replayed)} agree")
