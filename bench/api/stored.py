"""Records that are on disk: to load, to show, and to make boards of."""

from __future__ import annotations

import difflib
import html
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench import ROOT
from bench.errors import DataError, UsageError

if TYPE_CHECKING:
    from bench.api.results import Results
    from bench.experiment.provenance import Standing
    from bench.records.model import Record

RESULTS, PUBLISHED = Path("results"), Path("leaderboards") / "records"
PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class StoredRecord:
    """A record with its file and the command that repeats its numbers."""

    record: Record
    path: Path
    command: str

    def __str__(self) -> str:
        return f"{self.path.as_posix()}\n{self.command}\n{self.record.model_dump_json(indent=1, by_alias=True)}"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


@dataclass(frozen=True)
class BoardFiles:
    """What `bench leaderboard` wrote or, with `check`, would have to write."""

    records: Path
    """the folder of the records"""
    written: list[Path]
    outdated: dict[Path, str]
    """files that are not what the records say, and how"""
    unexpected: dict[Path, str]
    """files in the folder that no record asks for"""
    unusable: int
    """records that are damaged, and so missing from the boards"""


def load(folder: PathLike = RESULTS) -> Results[Record]:
    """All records of a folder that `bench.run` or `bench.utility` wrote; damaged ones are left out with a warning."""
    from bench.api.results import Results
    from bench.records import store

    return Results(store.read_all(Path(folder)))


def show(name: str, results: PathLike | None = None) -> StoredRecord:
    """A record by its id, the beginning of its id, or its file; looked for in results/ and in the published ones."""
    from bench.board.commands import repeat_command

    published = PUBLISHED if PUBLISHED.is_dir() else ROOT / PUBLISHED  # a checkout's are found from any folder
    path, record = find(name, [Path(results)] if results is not None else [RESULTS, published])
    return StoredRecord(record, path, repeat_command([record], path))


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


def verify(results: PathLike | None = None, *, plugins: Iterable[PathLike] = ()) -> list[tuple[Record, Standing]]:
    """Every record of a folder (default: the published ones) with its standing: whether today's code made it.

    Current, equivalent, stale or unknown, and which components of the code have changed (docs/records.md).
    """
    from bench.experiment.migration import verify
    from bench.plugins.registry import Registry
    from bench.records import store

    folder = Path(results) if results is not None else (PUBLISHED if PUBLISHED.is_dir() else RESULTS)
    return verify(store.read_all(folder), Registry(tuple(os.fspath(path) for path in plugins)))


def leaderboard(
    results: PathLike | None = None,
    out: PathLike = "leaderboards",
    *,
    plugins: Iterable[PathLike] = (),
    check: bool = False,
) -> BoardFiles:
    """Boards from records, one for each suite that they were run for. `check` compares, and writes nothing."""
    from bench.board import files as board_files
    from bench.board import select
    from bench.plugins.registry import Registry
    from bench.records import store

    folder = Path(results) if results is not None else (PUBLISHED if PUBLISHED.is_dir() else RESULTS)
    attacks, trainings, audits = select.read(folder)
    registry = Registry(tuple(os.fspath(path) for path in plugins))
    files = board_files.build(attacks, trainings, registry, audits=audits)
    target = Path(out)
    there = len(store.files(folder))
    return BoardFiles(
        records=folder,
        written=[] if check else list(board_files.write(target, files)),
        outdated=board_files.outdated(target, files) if check else {},
        unexpected=board_files.unexpected(target, files),
        unusable=there - len(attacks) - len(trainings) - len(audits),
    )


def _by_id(name: str, folders: Sequence[Path]) -> Path:
    known: dict[str, Path] = {}
    from bench.records import store

    for path in (path for folder in folders for path in store.files(folder)):
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


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
