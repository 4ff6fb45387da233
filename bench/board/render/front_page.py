"""The front page of the boards, and the summary that stands in the README."""

from __future__ import annotations

from bench.board.columns import SUITES, NamedSuite, kept, legend, shown
from bench.board.formats import format_epsilon, number
from bench.board.headline import headline
from bench.board.marks import Mark, marks_of_worst_cases
from bench.board.model import Board, DefenseRow
from bench.board.record_columns import METRIC_PARTS, RECORD_ENDS, RECORDS
from bench.board.render.markup import Block, Heading, Items, Table, Text
from bench.board.utility import UNDEFENDED
from bench.board.worst_case import attacks_tried, unmeasured, worst_value


def front_page(board: Board) -> list[Block]:
    """What boards there are, and the main one in short."""
    suites = [NamedSuite(name, suite) for name, suite in board.suites.items()]
    columns = shown(SUITES, suites)
    stale = f", {board.stale} of them stale" if board.stale else ""
    return [
        Heading("Leaderboard", 1),
        Text(f"Made by `bench leaderboard` from {board.records} records{stale}; do not edit."),
        Text(
            "[How to read it](../docs/leaderboard.md). Boards are .md, .csv (a line for each record) and .tex; "
            "board.json holds all of it."
        ),
        *summary(board),
        Heading("Boards"),
        Table([column.title for column in columns], [[column.text(suite) for column in columns] for suite in suites]),
        Items(legend(columns)),
        Heading("Columns of the .csv files"),
        Items(_csv_columns()),
    ]


def summary(board: Board, name: str = "main") -> list[Block]:
    """One table: what the strongest attack finds of what each defense hides."""
    # A defense on which every attack failed stays in the table: making attacks crash does not count as a defense.
    rows = [row for row in board.defenses if row.suite == name and (row.worst or row.attacks_failed)]
    if not rows:
        return [Text(f"No records of the suite `{name}` yet.")]
    places = sorted({row.place for row in rows})
    most = max(row.attacks for row in rows)
    found = {(row.defense, row.place): row for row in rows}
    # The order of the first place, then defenses that it does not have.
    order = dict.fromkeys(row.defense for row in sorted(rows, key=lambda r: places.index(r.place)))
    lines = []
    for defense in order:
        some = [found.get((defense, place)) for place in places]
        claimed = next((f"{row.epsilon.nominal:g}" for row in some if row and row.epsilon), "")
        undefended = [found.get((UNDEFENDED, place)) for place in places]
        alike = [
            bool(row and none and row is not none and row.tier == none.tier)
            for row, none in zip(some, undefended, strict=True)
        ]
        shorts = ("–" if row is None else _short(row, most, as_none=a) for row, a in zip(some, alike, strict=True))
        lines.append([defense, claimed, *shorts])
    table = Table(["defense", "ε claimed", *(", ".join(p) for p in places)], lines)
    setting = [Text(board.suites[name].differs)] if board.suites[name].differs else []
    short = [Text(f"**{answer.title}.** {answer.text}") for answer in headline(board, name)]
    return [*short, Text(_explanation(board, name, rows)), *setting, table]


def _explanation(board: Board, name: str, rows: list[DefenseRow]) -> str:
    said = [
        "Each cell: the share of private sentences that the strongest attack finds (recall or success) with its 95 % "
        "interval, that attack, and the tier (1 hides best; defenses that a bootstrap cannot tell apart share a tier; "
        "as none: it cannot be told apart from no defense).",
    ]
    if any(row.utility for row in rows):
        said.append("Then the task's metric with the defense (in brackets: without one).")
    suite = board.suites[name]
    if suite.missing:
        said.append(f"{suite.missing:,} of {suite.named:,} planned runs are not finished.")
    if suite.stale:
        said.append(f"{suite.stale} of its {suite.records} records are stale.")
    if any(row.epsilon for row in rows):
        said.append(
            "The actual ε covers everything that attack observed; "
            "where no attack beats guessing (≈) we show the largest."
        )
    said += [_sentence(mark) for mark in marks_of_worst_cases(rows)]
    return " ".join(said)


def _sentence(mark: Mark) -> str:
    return f"{mark.sign}: {mark.explanation}."


def _short(row: DefenseRow, most: int, *, as_none: bool) -> str:
    """`as_none`: its tier is that of the undefended, and a low number no praise."""
    if row.worst is None:
        return unmeasured(row)
    # Attacked less often than others, it is not safer, but less tested.
    tried = [attacks_tried(row)] if row.attacks_failed or row.attacks < most else []
    budget = [f"actual ε {format_epsilon(row.epsilon.accounted)}"] if row.epsilon else []
    tier = f"tier {row.tier}{' as none' if as_none else ''}"
    left = [f"{name} {kept(u, number(u.mean))}" for name, u in list((row.utility or {}).items())[:1]]
    return f"{worst_value(row)}\n{', '.join([row.worst.attack, tier, *budget, *tried, *left])}"


def _csv_columns() -> list[str]:
    columns = {column.key: column.explanation for column in (*RECORDS, *RECORD_ENDS) if column.tables != {"terminal"}}
    parts = {f"METRIC_{part}": said for part, said in METRIC_PARTS.items()}
    trained = {"METRIC": "the task's own metric, on dev data", "METRIC_majority": "what a constant answer reaches"}
    return [f"{key}: {said}" for key, said in {**columns, **parts, **trained}.items()]
