"""`bench show`: how a record was made, for people, and the command that makes it again."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.cli.leaderboard import PUBLISHED, RESULTS
from bench.errors import DataError, UsageError
from bench.system.text import printable

if TYPE_CHECKING:
    from bench.records.model import Record


def add(commands: Any) -> None:
    """The `show` command, beside the others."""
    show = commands.add_parser(
        "show", help="how a record was made, and the command that repeats it", epilog="Exit status: 0, 2 usage."
    )
    show.add_argument("record", metavar="ID", help="its id, the beginning of it, or its file")
    show.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        help=f"where to look (default: {RESULTS}, then {PUBLISHED.as_posix()})",
    )
    show.add_argument("--json", action="store_true", help="the record, its file and the command, as JSON")
    show.set_defaults(call=_show)


def _show(args: argparse.Namespace) -> int:
    path, record = find(args.record, [args.results] if args.results else [RESULTS, PUBLISHED])
    if args.json:
        about = {"file": path.as_posix(), "command": repeat(path, record)}
        print(json.dumps({**record.to_dict(), **about}, indent=1))
    else:
        show(path, record)
    return 0


def find(name: str, folders: Sequence[Path]) -> tuple[Path, Record]:
    """The record in a file, or the one whose id is or begins with `name`."""
    from bench.records import store

    path = Path(name) if name.endswith(".json") or Path(name).is_file() else _by_id(name, folders)
    if not path.is_file():
        raise UsageError(f"{path}: no such file; give the path of a record, or its id")
    try:
        return path, store.parse(path)
    except DataError as error:
        raise UsageError(f"{error}; it cannot be shown") from error


def repeat(path: Path, record: Record) -> str:
    from bench.board.pooling import command

    return command([record], path)


def show(path: Path, record: Record) -> None:
    from rich.console import Console

    from bench.board.pooling import strange

    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    width = max(len(name) for name, _ in _facts(record))
    for name, value in _facts(record):
        if value:
            console.print(f"{name:<{width}}  {printable(value)}", markup=False, soft_wrap=True)
    if record["metrics"]:
        console.print(_table(record))
    console.print(f"file    {path.as_posix()}", markup=False, soft_wrap=True)
    console.print(f"repeat  {repeat(path, record)}", markup=False, soft_wrap=True)
    if foreign := strange(record):
        said = f"FILE is the file that holds {' and '.join(foreign)}; leave --plugin out if an installed package does"
        console.print(f"        {printable(said)}", markup=False, soft_wrap=True)


def _by_id(name: str, folders: Sequence[Path]) -> Path:
    known: dict[str, Path] = {}
    for path in (path for folder in folders for place in (folder, folder / "utility") for path in _files(place)):
        known.setdefault(path.stem.rpartition(".")[2], path)
    if name in known:
        return known[name]
    places = " or ".join(map(str, folders))
    if not known:
        raise UsageError(f"unknown record {name!r}: there are no records in {places}")
    fitting = sorted(i for i in known if name and i.startswith(name))
    if len(fitting) == 1:
        return known[fitting[0]]
    if fitting:
        raise UsageError(f"{name!r} may be {_some(fitting)}: give more of the id")
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.0)
    raise UsageError(f"unknown record {name!r} in {places}: the closest are {_some(close)}")


def _files(folder: Path) -> Iterable[Path]:
    return sorted(folder.glob("*.json"))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _facts(record: Record) -> Iterator[tuple[str, str]]:
    from bench.board.formats import budget
    from bench.board.select import protocol

    yield "record", f"{record['id']}, {record['status']}"
    yield "error", record.get("error") or ""
    for kind in ("dataset", "encoder", "defense", "attack", "public"):
        about = record.get(kind) or {}
        parts = [about.get("label", about.get("name", "")), _pairs(about.get("options", {}))]
        parts += [f"fingerprint {about['fingerprint']}"] if about.get("fingerprint") else []
        parts += [f"sees {', '.join(about['sees'])}"] if "sees" in about else []
        parts += [f"{about['dim']} coordinates"] if "dim" in about else []
        parts += [f"a corpus of {about['candidates']:,} candidates"] if about.get("candidates") else []
        yield kind, "; ".join(part for part in parts if part)
    yield "protocol", f"{protocol(record)}; {_pairs(record['protocol'])}" if "protocol" in record else ""
    yield "training", _pairs(record.get("training", {}))
    yield "seed", str(record.get("seed"))
    yield "sealed", f"salt {record.get('salt')}; tried {record.get('tried')}" if record.get("sealed") else ""
    yield "suites", ", ".join(f"{name} version {n}" for name, n in sorted(record.get("suites", {}).items())) or "none"
    notes = record.get("notes") or {}
    yield "ε", f"{budget(notes)} (claimed → held), δ = {notes['accounted'].get('delta')}" if budget(notes) else ""
    yield "notes", _pairs(_plain(notes))
    yield "held out", _pairs(record.get("held_out") or {})
    yield "details", _pairs(_plain(record.get("details") or {}))
    yield "cost", _pairs(record.get("cost", {}))
    yield "versions", _pairs(record.get("versions", {}))


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items() if value is not None)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """What is one word or number; curves and the like are in the file."""
    return {name: value for name, value in values.items() if isinstance(value, str | int | float)}


def _table(record: Record) -> Any:
    from rich.table import Table

    attacked = "attack" in record
    columns = ("value", "low", "high", "random", "random_low", "random_high") if attacked else ("value", "majority")
    table = Table("metric", *columns)
    for name, metric in record["metrics"].items():
        parts = metric if attacked else {"value": metric, "majority": record.get("majority", {}).get(name)}
        table.add_row(name, *(_number((parts or {}).get(column)) for column in columns))
    return table


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, int | float) else "–"
