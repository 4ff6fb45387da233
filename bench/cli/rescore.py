"""`bench rescore`: metrics computed again from the guesses kept beside records, without running an attack."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    from bench.api.rescoring import rescore

    done = rescore(*args.what, results=args.results, dry_run=args.dry_run, device=args.device, plugins=args.plugin)
    for file in done:
        if file.found is None:
            print(f"{file.path.name}: not scored again: {file.error}", file=sys.stderr)
        else:
            _show(file.path, file.found)
    scored = [file.found for file in done if file.found is not None]
    changed = sum(bool(found.differences) for found in scored)
    what = "would be written" if args.dry_run else "written"
    print(
        f"{len(scored)} records scored again and {what}: {changed} with other numbers, {len(scored) - changed} with "
        f"the same; {len(done) - len(scored)} could not be"
    )
    return 1 if len(scored) < len(done) else 0


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
