"""The front page of the boards, and what a row says of its worst case: failures must not look like safety."""

from __future__ import annotations

from typing import Any

from bench.board.build import Board
from bench.board.formats import claim, held
from bench.board.render.markup import Block, Heading, Table, Text

Cell = dict[str, Any]


def index(board: Board) -> list[Block]:
    """The front page: what boards there are, and the main one in short."""
    rows = [
        [
            f"[{name}](boards/{name}.md)",
            suite["title"],
            str(suite["version"] or ""),
            *(str(suite[what]) for what in ("records", "failed", "superseded")),
            "?" if suite["problem"] else str(suite["holes"]),
        ]
        for name, suite in board["suites"].items()
    ]
    head = ["board", "what", "version", "records", "failed", "superseded", "missing"]
    how = "[How to read it](../docs/leaderboard.md). Boards are .md, .csv (a line for each record) and .tex; "
    return [
        Heading("Leaderboard", 1),
        Text(f"Made by `bench leaderboard` from {board['records']} records; do not edit."),
        Text(f"{how}board.json holds all of it."),
        *summary(board),
        Heading("Boards"),
        Table(head, rows),
    ]


def summary(board: Board, name: str = "main") -> list[Block]:
    """One table: what the strongest attack finds of what each defense hides."""
    # One that nothing could be measured on stays: a defense that makes attacks fail has not won by it.
    mine = (row for row in board["defenses"] if row["suite"] == name)
    rows = [row for row in mine if row["worst"] or row["attacks_failed"]]
    if not rows:
        return [Text(f"No records of the suite `{name}` yet.")]
    places = sorted({(row["dataset"], row["encoder"]) for row in rows})
    most = max(row["attacks"] for row in rows)
    found = {(row["defense"], row["dataset"], row["encoder"]): row for row in rows}
    # As in the first place, and what is missing there after it.
    order = dict.fromkeys(
        row["defense"] for row in sorted(rows, key=lambda r: places.index((r["dataset"], r["encoder"])))
    )
    lines = []
    for defense in order:
        some = [found.get((defense, *place)) for place in places]
        budget = next((f"{row['epsilon']['nominal']:g}" for row in some if row and row["epsilon"]), "")
        lines.append([defense, budget, *("–" if row is None else _short(row, most) for row in some)])
    said = "The share of private sentences that the strongest attack finds, its 95 % interval, and the tier (1: best)."
    suite = board["suites"][name]
    if suite["holes"]:
        named = sum(place[3] for place in suite["places"])
        said += f" {suite['holes']} of the {named} cells that the suite names are missing."
    if any(row["epsilon"] for row in rows):
        said += " The ε that holds is the one for what that attack sees; beside ≈, the largest of any attack's."
    if any("≈" in cell for line in lines for cell in line):
        said += " ≈: no better than random guessing."
    if any("✗" in cell for line in lines for cell in line):
        said += " ✗: runs that failed; a value is that of the others."
    return [Text(said), Table(["defense", "ε claimed", *(", ".join(p) for p in places)], lines)]


def worst(row: Cell) -> str:
    found = row["worst"]
    if found is None:
        return _unmeasured(row)
    tried = "the only attack" if row["attacks"] == 1 else _tried(row)
    return f"{interval(found)}{_marks(found)}\n{found['attack']}, {found['protocol']}, {tried}"


def _short(row: Cell, most: int) -> str:
    found = row["worst"]
    if found is None:
        return _unmeasured(row)
    # Attacked less often than others, it is not safer, but less tested.
    lost = [_tried(row)] if row["attacks_failed"] or row["attacks"] < most else []
    budget = [f"ε {held(row['epsilon']['accounted'])} holds"] if row["epsilon"] else []
    below = ", ".join([found["attack"], f"tier {row['tier']}", *budget, *lost])
    return f"{interval(found)}{_marks(found)}\n{below}"


def _unmeasured(row: Cell) -> str:
    if not row["attacks_failed"]:
        return "no attack that is ranked"
    return "✗ every attack failed" if row["attacks_failed"] == row["attacks"] else f"✗ {_tried(row)}"


def _tried(row: Cell) -> str:
    lost = f", {row['attacks_failed']} failed" if row["attacks_failed"] else ""
    return f"of {row['attacks']} attacks{lost}"


def _marks(worst: Cell) -> str:
    """A value that is that of a random guess says so, and one that rests on the seeds that came through."""
    lost = f" ✗ {worst['failed']}/{worst['runs']}" if worst["failed"] else ""
    return f"{' ≈' if worst['at_random'] else ''}{lost}"


def interval(cell: Cell) -> str:
    return f"{cell['value']:.3f} [{cell['low']:.3f}, {cell['high']:.3f}]"


def epsilon(row: Cell) -> str:
    budget = row["epsilon"]
    return claim(budget["nominal"], budget["accounted"]) if budget else ""
