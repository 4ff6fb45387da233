"""Headings, paragraphs and tables, as Markdown and as LaTeX. What is in them is decided elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .answer import plain


@dataclass(frozen=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Items:
    """A list of points."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A new line inside a cell is one in print, too."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


Block = Heading | Text | Items | Table


def markdown(blocks: Sequence[Block]) -> str:
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def latex(blocks: Sequence[Block]) -> str:
    """To be read by \\input; needs booktabs."""
    return "% Made by bench leaderboard; needs \\usepackage{booktabs}.\n" + "\n\n".join(map(_latex, blocks)) + "\n"


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {_one_line(block.text)}"
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Items):
        return "\n".join(f"- {_one_line(line)}" for line in block.lines)
    return "\n".join([_row(block.head), _row(["---"] * len(block.head)), *map(_row, block.rows)])


def _row(cells: Sequence[str]) -> str:
    lines = (map(_one_line, cell.split("\n")) for cell in cells)
    return "| " + " | ".join("<br>".join(parts).replace("|", "\\|") for parts in lines) + " |"


# What the board itself writes into a line, and what a stranger may write as well: an id, a link to a neighbouring
# board, an interval that is no link's text.
_OURS = r"`\w+`|\[[\w .+-]+\]\(boards/[\w.+-][\w .+-]*\.md\)|\[-?[\d.]+, -?[\d.]+\](?![(\[:])"
# Everything else that Markdown, as GitHub reads it, makes something of. An underscore inside a word is nothing to it,
# nor is an ampersand that begins no entity; a bare address would become a link.
_THEIRS = r"[\\`*~$\[\]]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.|^[#>+]"
_MARKUP = re.compile(rf"(?P<ours>{_OURS})|(?P<entity>&(?=#?\w+;))|(?P<tag><)|(?P<theirs>{_THEIRS})", re.IGNORECASE)


def _one_line(text: str) -> str:
    """Errors, sentences and labels are anybody's: no markup of theirs may come through."""
    return _MARKUP.sub(_harmless, _folded(text))


def _harmless(found: re.Match[str]) -> str:
    if found["theirs"]:
        return f"\\{found[0]}"
    return {"entity": "&amp;", "tag": "&lt;", "ours": found[0]}[found.lastgroup or "ours"]


def _folded(text: str) -> str:
    return " ".join(plain(text).split())


LEVELS = {1: "section", 2: "subsection", 3: "subsubsection"}
# Letters that LaTeX takes for commands, and those that its fonts lack.
SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "\\": "\\textbackslash{}",
    "<": "$<$",
    ">": "$>$",
    "≤": "$\\le$",
    "≈": "$\\approx$",
    "×": "$\\times$",
    "±": "$\\pm$",
    "→": "$\\to$",
    "↑": "$\\uparrow$",
    "✗": "$\\dagger$",
    "ε": "$\\varepsilon$",
    "–": "--",
    "`": "",
}
_SIGN = re.compile("|".join(map(re.escape, SIGNS)))
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def escaped(text: str) -> str:
    return _SIGN.sub(lambda found: SIGNS[found[0]], _LINK.sub(r"\1", text))


def _latex(block: Block) -> str:
    if isinstance(block, Heading):
        return f"\\{LEVELS[block.level]}*{{{escaped(block.text)}}}"
    if isinstance(block, Text):
        return escaped(block.text)
    if isinstance(block, Items):
        points = "\n".join(f"  \\item {escaped(_folded(line))}" for line in block.lines)
        return f"\\begin{{itemize}}\n{points}\n\\end{{itemize}}"
    lines = [
        f"\\begin{{tabular}}{{{'l' * len(block.head)}}}",
        "\\toprule",
        _line(block.head),
        "\\midrule",
        *map(_line, block.rows),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return " & ".join(map(_stacked, cells)) + " \\\\"


def _stacked(cell: str) -> str:
    lines = [escaped(_folded(line)) for line in cell.split("\n")]
    # A bracket at the start of a line would be read as the space above it.
    return lines[0] if len(lines) == 1 else "\\shortstack[l]{" + "\\\\{}".join(lines) + "}"
