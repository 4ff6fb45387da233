"""`bench rescore`: metrics computed again from the guesses kept beside records, without running an attack."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.errors import DataError, UsageError

if TYPE_CHECKING:
    from bench.experiment.rescore import Rescored

SHOWN = 5


def add(commands: Any) -> None:
    """The `rescore` command, beside the others."""
    rescore = commands.add_parser(
        "rescore",
        help="compute metrics again from kept guesses",
        description="Sets the scene of each record again, scores the guess that is kept beside it, and writes the "
        "record with the metrics and the code of today's scoring. No attack is run.",
        epilog="Exit status: 0 all were scored again, 1 some could not be, 2 usage.",
    )
    rescore.add_argument(
        "what", nargs="*", metavar="ID|FILE|DIR", help="records (default: all in --results); an id may be shortened"
    )
    rescore.add_argument(
        "--results",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="where ids are looked for (default: results)",
    )
    rescore.add_argument("--dry-run", action="store_true", help="say what would change; write nothing")
    rescore.add_argument("--device", default="auto", metavar="DEV", help="auto, cpu or cuda (default: auto)")
    rescore.add_argument("--plugin", action="append", default=[], metavar="FILE", help="a Python file with plugins")
    rescore.set_defaults(call=_rescore)


def _rescore(args: argparse.Namespace) -> int:
    from bench.experiment.rescore import Rescorer
    from bench.plugins.registry import Registry
    from bench.scheduling.progress import Progress
    from bench.system.device import resolve

    paths = _paths(args.what, args.results)
    rescorer = Rescorer(Registry(tuple(args.plugin)), resolve(args.device))
    counts = {"changed": 0, "same": 0, "skipped": 0}
    with Progress() as progress:
        for path in paths:
            line = progress.start(path.stem)
            try:
                found = rescorer.rescore(path, line.stage)
            except (DataError, UsageError) as error:
                line.close()
                print(f"{path.name}: not scored again: {error}", file=sys.stderr)
                counts["skipped"] += 1
                continue
            line.close()
            if not args.dry_run:
                _save(path, found)
            counts["changed" if found.differences else "same"] += 1
            _show(path, found)
    what = "would be written" if args.dry_run else "written"
    print(
        f"{counts['changed'] + counts['same']} records scored again and {what}: {counts['changed']} with other "
        f"numbers, {counts['same']} with the same; {counts['skipped']} could not be"
    )
    return 1 if counts["skipped"] else 0


def _paths(words: list[str], results: Path) -> list[Path]:
    from bench.records.store import UTILITY

    folders = [Path(word) for word in words if Path(word).is_dir()] if words else [results]
    found = [path for folder in folders for path in sorted(folder.glob("*.json")) if path.parent.name != UTILITY]
    if not words and not results.is_dir():
        raise UsageError(f"{results}: no such folder; name records, or their folder with --results")
    for word in words:
        if Path(word).is_dir():
            continue
        named = [Path(word)] if Path(word).is_file() else sorted(results.glob(f"*.{word}*.json"))
        if not named:
            raise UsageError(f"{word}: no record of this id in {results}, nor a file or folder of this name")
        found += named
    return list(dict.fromkeys(found))


def _save(path: Path, found: Rescored) -> None:
    from bench.records import details
    from bench.records.store import dump
    from bench.system.files import write_text

    if details.path_beside(path).exists():
        details.save(path, found.items)
    write_text(path, dump(found.new))


def _show(path: Path, found: Rescored) -> None:
    differences = found.differences
    if not differences:
        print(f"{path.name}: the same numbers" + (", by other code" if found.recoded else ""))
        return
    print(f"{path.name}: {len(differences)} values changed")
    for difference in differences[:SHOWN]:
        before, after = (str(value)[:60] for value in (difference.before, difference.after))
        print(f"  {difference.where}: {before} → {after}")
    if len(differences) > SHOWN:
        print(f"  and {len(differences) - SHOWN} more")
