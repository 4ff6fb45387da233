"""`bench records replay` and `stamp`: whose word a record's numbers are."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.errors import UsageError
from bench.system.text import printable

if TYPE_CHECKING:
    from bench.experiment.integrity import Problem
    from bench.experiment.reproduction import Verdict
    from bench.records.model import Record

SHOWN = 20


def add(actions: Any) -> tuple[Any, Any]:
    """The two actions, below `bench records`."""
    replay = actions.add_parser(
        "replay",
        help="run a sample of the records again and compare",
        description="Runs a sample again, drawn at random from every kind of record, and compares everything that a "
        "board shows: bit for bit on the processor that made the record, within its intervals on another.",
        epilog="Exit status: 0 none differs, 1 some do, 2 usage.",
    )
    replay.add_argument("--seed", type=int, default=0, metavar="N", help="of the draw (default: 0)")
    replay.add_argument(
        "--changed-since", metavar="REV", help="of the records that differ from this revision of the repository"
    )
    replay.add_argument(
        "--mark",
        action="store_true",
        help="write into each record what came of it: replayed, or not reproduced, which takes it off the ranking",
    )
    replay.add_argument("--json", action="store_true", help="one entry for each record that was drawn")
    replay.set_defaults(call=_replay)
    stamp = actions.add_parser(
        "stamp",
        help="say that records were made by a workflow",
        description="Writes into the records that a workflow has just made that it did. For workflows: an origin in a "
        "pull request is refused.",
        epilog="Exit status: 0, 2 usage.",
    )
    stamp.add_argument("--changed-since", metavar="REV", default="HEAD", help="of those that differ (default: HEAD)")
    stamp.add_argument("--made-since", metavar="TIME", default="", help="and ended after it: 2026-01-31T12:00:00Z")
    stamp.add_argument("--reference", required=True, metavar="URL", help="the run whose attestation covers the files")
    stamp.set_defaults(call=_stamp)
    return replay, stamp


def _replay(args: argparse.Namespace) -> int:
    from bench.cli.records import read_files, runner
    from bench.experiment import integrity, reproduction
    from bench.experiment.provenance import standing
    from bench.records import store

    if args.seed < 0:
        raise UsageError(f"--seed {args.seed}: a whole number from 0 on was expected")
    files, registry, _ = read_files(args)
    if args.changed_since is not None:
        files = reproduction.changed_since(args.changed_since, args.results, files)
    # What contradicts itself need not be run; what is stale is run again by its suite, and may come out differently.
    wrong = integrity.check_folder(args.results, files)
    records = [r for r in integrity.usable(files, wrong) if standing(r, registry).status != "stale"]
    drawn = reproduction.sample(records, args.sample, args.seed)
    found: list[Verdict] = []
    with runner(args, registry, len(drawn)) as again:
        for verdict in reproduction.verdicts(drawn, again):
            found.append(verdict)
            if args.mark and verdict.origin != verdict.record.origin:
                store.save(args.results, verdict.record.replace(origin=verdict.origin))
    if args.json:
        print(json.dumps([_entry(verdict) for verdict in found], indent=1))
    else:
        _show(found, len(files), wrong)
    return 1 if wrong or any(verdict.outcome == "not reproduced" for verdict in found) else 0


def _entry(verdict: Verdict) -> dict[str, Any]:
    return {
        "id": verdict.record.id,
        "outcome": verdict.outcome,
        "said": verdict.said,
        "differences": verdict.differences,
    }


def _show(found: list[Verdict], files: int, wrong: list[Problem]) -> None:
    for verdict in found:
        print(f"{verdict.record.id}: {verdict.outcome}: {printable(verdict.said)}")
        for text in verdict.differences[:SHOWN]:
            print(f"  {printable(text)}")
        if len(verdict.differences) > SHOWN:
            print(f"  and {len(verdict.differences) - SHOWN} more")
    for problem in wrong[:SHOWN]:
        print(f"wrong: {printable(problem)}")
    counts = Counter(verdict.outcome for verdict in found)
    said = ", ".join(f"{counts[outcome]} {outcome}" for outcome in ("reproduced", "not reproduced", "not run"))
    print(f"{len(found)} of {files} drawn: {said}; {len(wrong)} wrong in themselves")


def claimed(args: argparse.Namespace, files: dict[Path, Record]) -> list[Problem]:
    """Records that are new or changed and say that somebody has vouched for them."""
    from bench.experiment.integrity import Problem
    from bench.experiment.reproduction import changed_since

    return [
        Problem(path, f"origin {record.origin.kind}: for whoever merges it to say, not for who brings it")
        for path, record in changed_since(args.changed_since, args.results, files).items()
        if record.origin is not None
    ]


def _stamp(args: argparse.Namespace) -> int:
    from bench.cli.records import counted, read_files
    from bench.experiment.reproduction import changed_since
    from bench.records import store
    from bench.records.origin import Origin

    if not args.reference.startswith("https://") or len(args.reference) > 500:
        raise UsageError(f"--reference {args.reference[:80]}: the https:// address of a workflow's run was expected")
    files, _, _ = read_files(args)
    changed = changed_since(args.changed_since, args.results, files).values()
    # Not those that only joined another suite, nor those that a replay has judged.
    made = [r for r in changed if r.origin is None and r.cost.ended >= args.made_since]
    for record in made:
        store.save(args.results, record.replace(origin=Origin(kind="ci", reference=args.reference)))
    print(f"{counted(len(made))} stamped")
    return 0
