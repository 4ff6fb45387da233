"""Writes tables from the board: docs/choosing.md (which defense at which audited ε, what it costs, what leaks), in
docs/release-once.md what was asked of that defense beside what it reaches, and in docs/updates.md under how much noise
attacks end.

`python benchmarks/choosing.py` after `bench leaderboard`; `--check` says whether the tables are what the board has.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from bench.errors import BenchError
from bench.plugins.labels import natural_sort_key
from bench.plugins.options import split
from bench.plugins.registry import Registry

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BOARD = ROOT / "leaderboards" / "board.json"
START, END = "<!-- table:start -->", "<!-- table:end -->"
TRAININGS = {"what-holds-utility", "updates-utility"}
SUITES = {"what-holds", "audit", *TRAININGS}
HEAD = (
    "defense",
    "model",
    "ε claimed",
    "ε actual",
    "ε audited",
    "noise on",
    "utility (undefended)",
    "strongest attack",
)
# Points that release-once may lose on SST-2 at a total ε.
ASKED = {2.0: 10, 4.0: 6, 8.0: 4}
# A longer value of an option is told below the table.
LONGEST = 24

Row = dict[str, str]


class Notes:
    """What is too long for a table: a letter there, and the whole below it."""

    def __init__(self) -> None:
        self.letters: dict[str, str] = {}

    def short(self, text: str) -> str:
        if len(text) <= LONGEST:
            return text
        return f"({self.letters.setdefault(text, ascii_lowercase[len(self.letters)])})"

    def defense(self, label: str) -> str:
        name, pairs = split(label)
        said = ",".join(f"{option}={self.short(str(value))}" for option, value in pairs)
        return f"{name}:{said}" if said else name

    def lines(self) -> Iterator[str]:
        yield from (f"({letter}) `{text}`  " for text, letter in self.letters.items())


def tables(board: dict[str, Any]) -> str:
    """A table for each data set of the suites on what holds, a row for each defense in each training."""
    rows, notes, parts = _rows(board), Notes(), []
    for dataset in sorted({key[0] for key in rows}):
        parts += [f"**{dataset}**", "", _line(HEAD), _line(("---",) * len(HEAD))]
        some = {key: row for key, row in rows.items() if key[0] == dataset}
        for (_, label, model), row in sorted(some.items(), key=lambda item: natural_sort_key(item[0][1:])):
            encoder, _, training = model.partition(" ")
            shown = f"{encoder} {notes.short(training)}" if training else encoder
            parts.append(_line((notes.defense(label), shown, *(row.get(name, "–") for name in HEAD[2:]))))
        parts.append("")
    return "\n".join([*parts, *notes.lines()]).rstrip()


def asked(board: dict[str, Any]) -> str:
    """release-once on SST-2 beside what was asked of it."""
    notes = Notes()
    lines = [_line(("defense", "ε", "accuracy", "undefended", "points lost", "asked: at most")), _line(("---",) * 6)]
    rows = [u for u in board["utility"] if "what-holds-utility" in u["suites"] and u["dataset"] == "sst2"]
    for found in sorted(rows, key=lambda u: natural_sort_key([u["defense"]])):
        mean, deviation, undefended, _ = found["metrics"]["accuracy"]
        epsilon = (found["epsilon"] or {}).get("accounted")
        if not found["defense"].startswith("release-once") or epsilon not in ASKED:
            continue
        cells = (
            f"{epsilon:g}",
            f"{mean:.3f} ± {deviation:.3f}",
            f"{undefended:.3f}",
            f"{100 * (undefended - mean):.2f}",
        )
        lines.append(_line((notes.defense(found["defense"]), *cells, str(ASKED[epsilon]))))
    return "\n".join([*lines, "", *notes.lines()]).rstrip()


def _rows(board: dict[str, Any]) -> dict[tuple[str, str, str], Row]:
    rows: dict[tuple[str, str, str], Row] = {}

    def row(some: dict[str, Any]) -> Row:
        return rows.setdefault((some["dataset"], some["defense"], some["encoder"]), {"noise on": _noise(some)})

    for found in (u for u in board["utility"] if TRAININGS & {*u["suites"]}):
        # Of what updates cost, only what has an ε, and what stands beside it.
        if "updates-utility" in found["suites"] and not found["epsilon"] and found["defense"] != "none":
            continue
        said = []
        for metric, (mean, deviation, undefended, _) in found["metrics"].items():
            spread = "" if deviation is None else f" ± {deviation:.3f}"
            beside = "" if undefended is None else f" ({undefended:.3f})"
            said.append(f"{metric} {mean:.3f}{spread}{beside}")
        row(found)["utility (undefended)"] = ", ".join([*said, *([] if len(found["seeds"]) > 1 else ["one seed"])])
        row(found).update(_budget(found["epsilon"]))
    for found in (d for d in board["defenses"] if d["suite"] in SUITES and d["worst"]):
        worst = found["worst"]
        random = ", no better than random" if worst["at_random"] else ""
        said_of = f"{worst['attack']}: {worst['value']:.3f} [{worst['low']:.3f}, {worst['high']:.3f}]{random}"
        row(found)["strongest attack"] = f"{said_of}, of {found['attacks']}"
        row(found).update(_budget(found["epsilon"]))
    for found in (a for a in board["audits"] if SUITES & {*a["suites"]}):
        # What is audited is the defense, whatever is trained with it.
        known = [some for key, some in rows.items() if key[:2] == (found["dataset"], found["defense"])]
        for here in known or [row(found)]:
            _audit(here, found)
    for here in rows.values():
        shown = [(here.pop(name), name) for name in ("encodings", "updates") if name in here]
        here.pop("shown", None)
        if shown:
            here["ε audited"] = "; ".join(f"{said} of {surface}" for said, surface in shown)
    return rows


def _audit(row: Row, found: dict[str, Any]) -> None:
    """The strongest game on each surface."""
    surface = "updates" if found["protocol"].startswith("updates") else "encodings"
    verdict = ", ".join(f"{word} {count}/{len(found['seeds'])}" for word, count in found["verdicts"].items())
    said = f"≥ {found['audited']:.2f}, {verdict}"
    if surface not in row or float(row[surface].split()[1].rstrip(",")) < found["audited"]:
        row[surface] = said
    if found["claimed"] is not None:
        row.setdefault("ε claimed", f"{found['claimed']:.3g}")
        row.setdefault("ε actual", f"{found['actual']:.4g}")


def _noise(some: dict[str, Any]) -> str:
    """Whom one has to trust: with noise on each example nobody, with noise on a sum whoever, or whatever, sums."""
    try:
        plugin = Registry().make("defense", some["defense"])
    except BenchError:
        return "–"
    if not (some.get("epsilon") or some.get("claimed")):
        return "–"
    if hasattr(plugin, "altered"):
        return "the sum of a batch"
    return "the sum of a crowd" if getattr(plugin, "crowd", 1) > 1 else "each example"


def _budget(found: dict[str, float] | None) -> Row:
    return {"ε claimed": f"{found['nominal']:.3g}", "ε actual": f"{found['accounted']:.4g}"} if found else {}


def ends(board: dict[str, Any]) -> str:
    """What attacks on updates find under DP-SGD, the least noise first."""
    found: dict[tuple[float, str], dict[str, Any]] = {}
    for cell in board["cells"]:
        if "updates" in cell["suites"] and cell["epsilon"] and cell["defense"].startswith("dp-sgd:"):
            found.setdefault((-cell["epsilon"]["accounted"], cell["defense"]), {})[cell["attack"]] = cell["metrics"]

    def share(metrics: dict[str, Any] | None, name: str) -> str:
        return f"{metrics[name][0]:.3f}" if metrics else "–"

    head = ("noise", "ε", "words found by `token-rows`", "sentences named by `span`", "of those it names, wrong")
    lines = [_line(head), _line(("---",) * len(head))]
    for (epsilon, defense), by in sorted(found.items()):
        noise = Registry().make("defense", defense).noise
        span = by.get("span")
        said = (share(by.get("token-rows"), "tokens"), share(span, "exact"), share(span, "false"))
        lines.append(_line((f"{noise:g}", f"{-epsilon:.2g}", *said)))
    return "\n".join(lines)


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--board", type=Path, default=BOARD, help="default: the published one")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    board = json.loads(args.board.read_text(encoding="utf-8"))
    changed = False
    for name, make in (("choosing.md", tables), ("release-once.md", asked), ("updates.md", ends)):
        page = DOCS / name
        text = page.read_text(encoding="utf-8")
        before, _, rest = text.partition(START)
        _, _, after = rest.partition(END)
        made = f"{before}{START}\n{make(board)}\n{END}{after}"
        changed |= made != text
        if not args.check:
            page.write_text(made, encoding="utf-8")
    return int(args.check and changed)


if __name__ == "__main__":
    raise SystemExit(main())
