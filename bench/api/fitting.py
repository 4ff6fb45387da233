"""A table for the width that there is: no number and no name in it is ever cut."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import JustifyMethod
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from bench.board.columns import Column

Renderable = Table | Text
# Columns that hold names of plugins with their options; a long one goes on below, at one of its options.
NAMES = ("dataset", "encoder", "defense", "attack")
# Columns of words, which may go on in the next line.
WORDS = ("sees",)
# Of the table's box: spaces behind each column, and at both ends.
_BETWEEN, _MARGIN = 2, 2


def fitted(
    columns: Sequence[Column[Any]], rows: Sequence[Sequence[str]], width: int, title: str, caption: str | None = None
) -> Renderable:
    """A table; where its columns do not fit beside each other, a paragraph for each row."""
    cells = [[_folded(c, text, width // 6) for c, text in zip(columns, row, strict=True)] for row in rows]
    least = [_least(column, texts) for column, texts in zip(columns, zip(*cells, strict=True), strict=True)]
    if sum(least) + _BETWEEN * len(columns) + _MARGIN > width:
        return _paragraphs(columns, rows, width, title, caption)
    table = Table(title=escape(title), caption=caption, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column, narrowest in zip(columns, least, strict=True):
        justify: JustifyMethod = "right" if column.numeric else "left"
        table.add_column(column.title, justify=justify, no_wrap=column.key not in WORDS, min_width=narrowest)
    for row in cells:
        table.add_row(*map(escape, row))
    return table


def _least(column: Column[Any], texts: Iterable[str]) -> int:
    """Columns of the terminal that it needs if no line, or of words no word, is cut."""
    every = (column.title, *texts)
    parts = [word for text in every for word in (text.split() if column.key in WORDS else text.splitlines())]
    return max((cell_len(part) for part in parts), default=0)


def _folded(column: Column[Any], text: str, room: int) -> str:
    if column.key not in NAMES or len(text) <= room:
        return text
    lines = [""]
    for piece in re.findall(r"[^:,]+[:,]?|[:,]", text):
        if lines[-1] and len(lines[-1]) + len(piece) > room:
            lines.append(" ")
        lines[-1] += piece
    return "\n".join(lines)


def _paragraphs(
    columns: Sequence[Column[Any]], rows: Sequence[Sequence[str]], width: int, title: str, caption: str | None
) -> Text:
    lines = [title]
    for row in rows:
        cells = dict(zip((column.key for column in columns), row, strict=True))
        lines.append(" × ".join(cells[name] for name in NAMES if cells.get(name)))
        said = [f"{c.title} {' '.join(cells[c.key].split())}" for c in columns if c.key not in NAMES and cells[c.key]]
        # A name and its value stay together: spaces inside them are no place to break a line.
        text = "; ".join(each.replace(" ", "\xa0") for each in said)
        lines += textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="    ", break_long_words=False)
    return Text("\n".join([*lines, *([caption] if caption else [])]).replace("\xa0", " "))
