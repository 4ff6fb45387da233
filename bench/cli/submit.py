"""`bench submit`: what a submission of an attack goes through, on CI and, with --dry-run, on anybody's machine.

Check in the sandbox, run the public suite sealed, refuse what tried to cheat, run one random cell again and compare,
and only then add the records and rebuild the tables.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.cli import output
from bench.errors import BenchError, UsageError

if TYPE_CHECKING:
    from bench.plugins.packages import Package
    from bench.plugins.registry import Entry, Registry
    from bench.records.model import AttackRecord

CHECK_SECONDS = 1800


def add(commands: Any) -> None:
    """The `submit` command, beside the others."""
    submit = commands.add_parser(
        "submit",
        help="what a pull request with an attack goes through",
        description="Checks an attack, runs the public suite sealed, runs one cell again, and adds the records to the "
        "board. With --dry-run the board stays as it is.",
        epilog="Exit status: 0 accepted, 1 refused, with the reason, 2 usage.",
    )
    submit.add_argument("attack", nargs="*", help="attacks to submit (default: what differs from --base)")
    submit.add_argument("--base", default="origin/main", metavar="REF", help="default: origin/main")
    submit.add_argument("--install", action="store_true", help="install what plugins.toml names and is missing")
    submit.add_argument("--suite", default="submission", metavar="FILE", help="default: submission")
    submit.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="default: results")
    submit.add_argument("--board", type=Path, default=Path("leaderboards"), metavar="DIR", help="default: leaderboards")
    submit.add_argument("--dry-run", action="store_true", help="all of it, but leave the board as it is")
    submit.add_argument("--plugin", action="append", default=[], metavar="FILE", help="a Python file with plugins")
    submit.set_defaults(call=run)


def run(args: argparse.Namespace) -> int:
    from bench.api.replays import repeat
    from bench.experiment import identity, suites
    from bench.isolation import sandbox
    from bench.plugins.registry import Registry
    from bench.scheduling import runner
    from bench.scheduling.progress import Progress
    from bench.scheduling.settings import RunSettings
    from bench.scheduling.tasks import AttackTask
    from bench.system.device import resolve

    sandbox.require()
    registry = Registry(tuple(args.plugin))
    folder = (args.out / "packages").resolve()
    names = args.attack or changed(args.base, args.board / "plugins.toml", install=args.install, folder=folder)
    if not names:
        raise UsageError(f"nothing to submit: no attack differs from {args.base}; name one, or choose another --base")
    for name in names:
        registry.get("attack", name.partition(":")[0])
    for name in names:
        _say(f"1/4 checking {name}")
        _check(registry, name, args.plugin, folder)

    cells = suites.from_suite(registry, args.suite, sealed=True, attacks=names)
    _say(f"2/4 running {len(cells)} cells, sealed")
    # Forced: a record that lies there already may be anybody's.
    settings = RunSettings(out=args.out, device=resolve("auto"), force=True)
    with Progress() as progress:
        found, errors = runner.run([AttackTask(cell) for cell in cells], settings, progress)
        if errors:
            raise BenchError(f"refused: {errors[0]}")
        refuse_cheating(found)
        again = secrets.choice([record for record in found if record.status == "ok"])
        _say(f"3/4 running {again.id} again: {again.defense.label} × {again.attack.label}")
        cell = identity.cell_of(registry, again)
        _, differences = repeat(cell, again, settings, progress)
    if differences:
        raise BenchError(f"refused: a cell that is run again gives other numbers: {differences[0]}")

    _say("4/4 tables")
    return _publish(found, args.board, registry, dry=args.dry_run)


def changed(base: str, packages: Path, *, install: bool, folder: Path) -> list[str]:
    """Names of the attacks that a pull request adds or changes: files in attacks/, lines in plugins.toml."""
    from bench.plugins.packages import see_to
    from bench.plugins.registry import Registry

    sys.path.append(str(folder))  # at the end: a submission must not stand in for a library
    files = _git("diff", "--name-only", "--diff-filter=AM", base, "--", "attacks/*.py").split()
    paths = [Path(name).resolve() for name in files]
    fresh = _new_packages(base, packages)
    for _, package in sorted(fresh.items()):
        see_to(package, folder, install=install)
    entries = Registry().of("attack").values()
    return [e.name for e in entries if is_touched(e, paths) or _alike(e.package) in map(_alike, fresh)]


def is_touched(entry: Entry, files: Sequence[Path]) -> bool:
    """Whether one of these files is the plugin's own: its file or, for a package, any file of the package."""
    path = Path(entry.where)
    if path.name == "__init__.py":
        return any(path.parent in file.parents for file in files)
    return path in files


def _new_packages(base: str, listed: Path) -> dict[str, Package]:
    from bench.plugins import packages

    if not listed.is_file():
        return {}
    now = packages.read(listed.read_text(encoding="utf-8"), str(listed))
    before = subprocess.run(["git", "show", f"{base}:./{listed}"], capture_output=True, text=True).stdout
    known = packages.read(before, f"{listed} of {base}")
    return {name: package for name, package in now.items() if known.get(name) != package}


def _check(registry: Any, name: str, files: Sequence[str], packages: Path) -> None:
    """`bench plugin check`, in the sandbox: checking a plugin runs it.

    A plugin that knows it is being checked can fake this: it serves authors and reviewers, the wall needs none of it.
    """
    from bench.isolation import process, sandbox
    from bench.isolation.untrusted import MEMORY_MIB, run_logged
    from bench.system.text import printable

    entry = registry.get("attack", name.partition(":")[0])
    needed = [*sandbox.files_of(entry.module), *(Path(file).resolve() for file in files), packages]
    own = [word for file in files for word in ("--plugin", os.path.abspath(file))]
    with process.workspace() as folder:
        inner = ["bench.isolation.untrusted", "check", name, *own]
        command = sandbox.command(folder, needed, sandbox.environment(None), inner, MEMORY_MIB, blind=False)
        status, said = run_logged(command, folder / "output.txt", CHECK_SECONDS)
    for line in said.splitlines():
        _say(printable(line))
    if status is None:
        raise BenchError(f"refused: the checks of {name} took longer than {CHECK_SECONDS} s")
    if status:
        raise BenchError(f"refused: {name} does not pass its checks")


def refuse_cheating(found: Sequence[AttackRecord]) -> None:
    """A cell may fail, and is shown as failed; an attack that cheats, or fails in every cell, is refused."""
    for record in found:
        what = list(record.tried.attempts) if record.tried else []
        if record.tried and record.tried.left_behind:
            what.append("left processes behind")
        if record.error and record.error.startswith("its process"):
            what.append(record.error)  # the attack's process died, and with it the log of what it tried
        if what:
            raise BenchError(
                f"refused: {record.attack.label} did what an attack has no need to do ({'; '.join(what)}): "
                "see docs/wall.md"
            )
    if all(record.status != "ok" for record in found):
        raise BenchError(f"refused: not one cell came to an end; the first says: {found[0].error}")


def _publish(found: Sequence[AttackRecord], board: Path, registry: Registry, *, dry: bool) -> int:
    from bench.board import files as board_files
    from bench.board import select
    from bench.records import store

    folder = board / "records"
    known, utility, _ = select.read(folder) if folder.is_dir() else ([], [], [])
    tables = board_files.build([*known, *found], utility, registry, untrusted=True)
    stale = [str(path) for path in board_files.outdated(board, tables)]
    failed = sum(record.status != "ok" for record in found)
    _show(found)
    print(f"accepted: {len(found)} records ({failed} failed), {', '.join(stale) or 'no table'} to change")
    if dry:
        print("dry run: the board was left as it is")
        return 0
    for record in found:
        store.save(folder, record)
    board_files.write(board, tables)
    return 0


def _show(found: Sequence[AttackRecord]) -> None:
    """The numbers, as a run of them would have shown them."""
    from bench.api.results import Results

    Results(found).table().print(output.console())


def _say(text: str) -> None:
    print(text, flush=True)


def _alike(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _git(*words: str) -> str:
    if shutil.which("git") is None:
        raise UsageError("git is not here: name the attacks to submit")
    done = subprocess.run(["git", *words], capture_output=True, text=True)
    if done.returncode:
        raise UsageError(f"git {' '.join(words[:2])} failed ({done.stderr.strip()[:200]}): name the attacks to submit")
    return done.stdout
