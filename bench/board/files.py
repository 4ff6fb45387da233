"""The files that `bench leaderboard` makes from records: tables, the page, and a summary in the README.

Generated, never edited by hand: the same records give the same bytes, so that --check can tell.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.board import build as board_build
from bench.board import select
from bench.board.render import csv, site
from bench.board.render.front import index, summary
from bench.board.render.markup import latex, markdown
from bench.board.render.tables import page
from bench.plugins.registry import Registry
from bench.records.model import Record
from bench.system.files import atomic_write

START, END = "<!-- board:start -->", "<!-- board:end -->"

README = "../README.md"

Files = dict[str, bytes]


def build(
    records: Sequence[Record],
    utility: Sequence[Record] = (),
    registry: Registry | None = None,
    *,
    strangers: bool = False,
) -> Files:
    """Path below the board's folder → content. The README is ../README.md, its part between the markers only.

    `strangers`: attacks are not trusted, and their code is not imported.
    """
    made = board_build.build(records, utility, registry, strangers=strangers)
    version = select.versions([*records, *utility])
    attacks = select.sort(records, select.experiment, version).boards
    trials = select.sort(utility, select.training, version).boards
    files: dict[str, str | bytes] = {"board.json": board_build.dump(made), "leaderboard.md": markdown(index(made))}
    for name in made["suites"]:
        blocks = page(made, name)
        files[f"boards/{name}.md"] = markdown(blocks)
        files[f"boards/{name}.tex"] = latex(blocks)
        if name in attacks:
            files[f"boards/{name}.csv"] = csv.attacks(attacks[name])
        if name in trials:
            files[f"boards/{name}{'.utility' if name in attacks else ''}.csv"] = csv.utility(trials[name])
    files |= site.files(made)
    files[README] = markdown(summary(made))
    # Half a surrogate pair, which anybody's text may hold, cannot be encoded; JSON reads it back from its escape.
    made_of = (
        (name, text.encode("utf-8", "backslashreplace") if isinstance(text, str) else text)
        for name, text in files.items()
    )
    return dict(sorted(made_of))


def write(folder: Path, files: Files) -> list[Path]:
    wanted = _in_place(folder, files)
    for path, content in wanted.items():
        with atomic_write(path) as part:
            part.write_bytes(content)
    return list(wanted)


def stale(folder: Path, files: Files) -> dict[Path, str]:
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
    """Files of generated kinds that nothing makes any more: all that lies in folders of generated files."""
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
            print(
                f"{readme.name}: no summary, for want of the lines {START} and {END} to put it between", file=sys.stderr
            )
    return wanted
