"""`bench.rescore`: metrics computed again from the guesses kept beside records, without running an attack."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.api.stored import RESULTS, PathLike
from bench.errors import DataError, UsageError

if TYPE_CHECKING:
    from bench.experiment.rescore import Rescored


@dataclass(frozen=True)
class RescoredFile:
    """What became of one record: scored again, or the reason why it could not be."""

    path: Path
    found: Rescored | None
    error: str = ""


def rescore(
    *what: PathLike,
    results: PathLike = RESULTS,
    dry_run: bool = False,
    device: str = "auto",
    plugins: Iterable[PathLike] = (),
    progress: bool = True,
) -> list[RescoredFile]:
    """Score the kept guesses of records (ids, files or folders; all in `results` by default) by the code of today.

    The records are written with the new metrics and the hash of today's scoring, unless it is a `dry_run`.
    """
    from bench.experiment.rescore import Rescorer
    from bench.plugins.registry import Registry
    from bench.scheduling.progress import Progress
    from bench.system.device import resolve

    paths = _paths([os.fspath(word) for word in what], Path(results))
    rescorer = Rescorer(Registry(tuple(os.fspath(path) for path in plugins)), resolve(device))
    done: list[RescoredFile] = []
    with Progress(quiet=not progress) as shown:
        for path in paths:
            line = shown.start(path.stem)
            try:
                found = rescorer.rescore(path, line.stage)
            except (DataError, UsageError) as error:
                done.append(RescoredFile(path, None, str(error)))
            else:
                if not dry_run:
                    _save(path, found)
                done.append(RescoredFile(path, found))
            finally:
                line.close()
    return done


def _paths(words: Sequence[str], results: Path) -> list[Path]:
    from bench.records.store import FOLDERS

    folders = [Path(word) for word in words if Path(word).is_dir()] if words else [results]
    found = [path for folder in folders for path in sorted(folder.glob("*.json")) if path.parent.name not in FOLDERS]
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
