"""The files that `bench leaderboard` makes from records: tables, the page, and a summary in the README.

Generated, never edited by hand: the same records give the same bytes, so that --check can tell.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path

from bench.board import build as board_build
from bench.board import select, trust
from bench.board.record_columns import RecordLine
from bench.board.render import csv, page
from bench.board.render.front_page import front_page, summary
from bench.board.render.markup import latex, markdown
from bench.board.render.suite_page import suite_page
from bench.board.staleness import changed_components
from bench.plugins.registry import Registry
from bench.records.model import AttackRecord, AuditRecord, Record, UtilityRecord
from bench.system.files import atomic_write

START, END = "<!-- board:start -->", "<!-- board:end -->"

README = "../README.md"

Files = dict[str, bytes]

log = logging.getLogger(__name__)


def build(
    records: Sequence[AttackRecord],
    utility: Sequence[UtilityRecord] = (),
    registry: Registry | None = None,
    *,
    audits: Sequence[AuditRecord] = (),
    untrusted: bool = False,
) -> Files:
    """Path below the board's folder → content. The README is ../README.md, its part between the markers only.

    `untrusted`: the code of attacks is not imported.
    """
    board = board_build.build(records, utility, registry, audits=audits, untrusted=untrusted)
    files: dict[str, str | bytes] = {"board.json": board.dump(), "leaderboard.md": markdown(front_page(board))}
    for name in board.suites:
        blocks = suite_page(board, name)
        files[f"boards/{name}.md"] = markdown(blocks)
        files[f"boards/{name}.tex"] = latex(blocks)
    files |= _csv_files(records, utility, audits)
    files |= page.files(board)
    files[README] = markdown(summary(board))
    # Half a surrogate pair, which anybody's text may hold, cannot be encoded; JSON reads it back from its escape.
    encoded = (
        (name, text.encode("utf-8", "backslashreplace") if isinstance(text, str) else text)
        for name, text in files.items()
    )
    return dict(sorted(encoded))


def _csv_files(
    records: Sequence[AttackRecord], utility: Sequence[UtilityRecord], audits: Sequence[AuditRecord]
) -> dict[str, str]:
    records, utility = [*map(trust.judged, records)], [*map(trust.judged, utility)]
    audits = [*map(trust.judged, audits)]
    newest = select.newest_versions([*records, *utility, *audits])
    attacked = select.by_suite(records, select.attack_experiment, newest).boards
    trained = select.by_suite(utility, select.training_experiment, newest).boards
    files = {f"boards/{name}.csv": csv.attacks(_lines(some)) for name, some in attacked.items()}
    for name, some in trained.items():
        files[f"boards/{name}{'.utility' if name in attacked else ''}.csv"] = csv.utility(_lines(some))
    for name, played in select.by_suite(audits, select.audit_experiment, newest).boards.items():
        files[f"boards/{name}.audits.csv"] = csv.audits(played)
    return files


def _lines(records: Sequence[Record]) -> list[RecordLine]:
    return [RecordLine(record, changed_components(record)) for record in records]


def write(folder: Path, files: Files) -> list[Path]:
    wanted = _in_place(folder, files)
    for path, content in wanted.items():
        with atomic_write(path) as part:
            part.write_bytes(content)
    return list(wanted)


def outdated(folder: Path, files: Files) -> dict[Path, str]:
    """What is not as the records have it, and what to do about it."""
    wanted = _in_place(folder, files)
    found = {}
    for path, content in wanted.items():
        if not path.is_file():
            found[path] = "is missing: run bench leaderboard"
        elif path.read_bytes() != content:
            found[path] = "is not what the records say: run bench leaderboard"
    return {**found, **unexpected(folder, files)}


def unexpected(folder: Path, files: Files) -> dict[Path, str]:
    """Files of generated kinds that are not generated any more: all others in folders of generated files."""
    wanted = {folder / name for name in files if name != README}
    generated = {path.parent for path in wanted if folder in path.parent.parents}
    there = [path for place in generated for path in place.glob("*") if path.is_file()]
    there += [path for kind in ("leaderboard.*", "board.*") for path in folder.glob(kind)]
    return dict.fromkeys(sorted(path for path in there if path not in wanted), "is made from no record: delete it")


def _in_place(folder: Path, files: Files) -> dict[Path, bytes]:
    """Where each file goes; the summary into the README beside a `leaderboards` folder, if that has markers."""
    wanted = {folder / name: content for name, content in files.items() if name != README}
    readme = folder.resolve().parent / "README.md"
    if folder.resolve().name == "leaderboards" and readme.is_file():
        text = readme.read_text(encoding="utf-8")
        before, start, rest = text.partition(START)
        _, end, after = rest.partition(END)
        if start and end:
            middle = files[README].decode()
            wanted[Path(os.path.relpath(readme))] = f"{before}{START}\n{middle}{END}{after}".encode()
        else:
            log.warning(
                "%s: no summary: the lines %s and %s that it stands between are missing", readme.name, START, END
            )
    return wanted
