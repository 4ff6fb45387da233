"""Headings, paragraphs and tables, as Markdown and as LaTeX. What is in them is decided elsewhere."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from bench.system.text import printable


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


@dataclass(frozen=True)
class Aside:
    """What a sheet of paper has no room for: left out of LaTeX."""

    parts: Sequence[Heading | Text | Items | Table]


Block = Heading | Text | Items | Table | Aside


def markdown(blocks: Sequence[Block]) -> str:
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def latex(blocks: Sequence[Block]) -> str:
    """To be read by \\input."""
    printed = (_latex(block) for block in blocks if not isinstance(block, Aside))
    return f"{NEEDS}\n" + "\n\n".join(printed) + "\n"


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {_one_line(block.text)}"
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Items):
        return "\n".join(f"- {_one_line(line)}" for line in block.lines)
    if isinstance(block, Aside):
        return "\n\n".join(map(_markdown, block.parts))
    return "\n".join([_row(block.head), _row(["---"] * len(block.head)), *map(_row, block.rows)])


def _row(cells: Sequence[str]) -> str:
    lines = (map(_one_line, cell.split("\n")) for cell in cells)
    return "| " + " | ".join("<br>".join(parts).replace("|", "\\|") for parts in lines) + " |"


# What the board itself writes into a line, and what a plugin author may write as well: an id, a link to a neighbouring
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
    return " ".join(printable(text).split())


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
    "↻": "$\\hookleftarrow$",
    "✗": "$\\otimes$",
    "ε": "$\\varepsilon$",
    "≥": "$\\ge$",
    "λ": "$\\lambda$",
    "δ": "$\\delta$",
    "⁄": "/",
    "‖": "$\\|$",
    "·": "$\\cdot$",
    "x\u0302": "$\\hat{x}$",
    "−": "-",
    "–": "--",
    "—": "---",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "`": "",
}
_SIGN = re.compile("|".join(map(re.escape, SIGNS)))
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def escaped(text: str) -> str:
    whole = unicodedata.normalize("NFKC", _LINK.sub(r"\1", text))
    printed = _SIGN.sub(lambda found: SIGNS[found[0]], whole)
    return printed if printed.isascii() else "".join(map(_ascii, printed))


def _ascii(letter: str) -> str:
    """A letter that the fonts lack would stop LaTeX, and sentences hold any: accents go, the rest is named."""
    if letter.isascii():
        return letter
    if unicodedata.combining(letter):
        return ""
    bare = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return _SIGN.sub(lambda found: SIGNS[found[0]], bare) or f"[U+{ord(letter):04X}]"


# Shrinks what is wider than the line, and leaves the rest as it is.
FIT = "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%"
NEEDS = """% Made by bench leaderboard; needs \\usepackage{booktabs,graphicx}.
% A wide table shrinks to the line: give it a page in landscape (\\usepackage[landscape,margin=1cm]{geometry}). A long
% one goes on below its head on the next page. What has no room in print, all metrics and the ids of the records, is in
% the .csv of the same name.
\\providecommand{\\benchcell}[1]{\\begin{tabular}[t]{@{}l@{}}#1\\end{tabular}}"""


def _latex(block: Heading | Text | Items | Table) -> str:
    if isinstance(block, Heading):
        return f"\\{LEVELS[block.level]}*{{{escaped(block.text)}}}"
    if isinstance(block, Text):
        return escaped(block.text)
    if isinstance(block, Items):
        points = "\n".join(f"  \\item{{}} {escaped(_folded(line))}" for line in block.lines)
        return f"\\begin{{itemize}}\n{points}\n\\end{{itemize}}"
    # Broken finer where there are many columns: letters that are read beat lines that are few.
    width = 18 if len(block.head) > 7 else 28
    head, *rows = ([_stacked(cell, width) for cell in row] for row in (block.head, *block.rows))
    return "\n\n".join(_sheet(head, some) for some in _sheets(_high(head), rows))


# Printed lines on a sheet: less than a page in landscape holds, since a table cannot be broken by itself.
SHEET = 32


def _sheets(head: int, rows: Sequence[Sequence[Sequence[str]]]) -> list[list[Sequence[Sequence[str]]]]:
    """As many rows at a time as a page holds below the head; one that is higher than a page has it to itself."""
    sheets: list[list[Sequence[Sequence[str]]]] = [[]]
    room = SHEET - head
    for row in rows:
        if sheets[-1] and _high(row) > room:
            sheets.append([])
            room = SHEET - head
        sheets[-1].append(row)
        room -= _high(row)
    return sheets


def _high(row: Sequence[Sequence[str]]) -> int:
    return max((len(lines) for lines in row), default=1)


def _sheet(head: Sequence[Sequence[str]], rows: Sequence[Sequence[Sequence[str]]]) -> str:
    lines = [
        "\\noindent",
        FIT,
        f"\\begin{{tabular}}{{{'l' * len(head)}}}",
        "\\toprule",
        _line(head),
        "\\midrule",
        *map(_line, rows),
        "\\bottomrule",
        "\\end{tabular}}\\par",
    ]
    return "\n".join(lines)


def _line(cells: Sequence[Sequence[str]]) -> str:
    # A bracket at the start of a line would be read as the space above it.
    printed = (lines[0] if len(lines) == 1 else "\\benchcell{" + "\\\\{}".join(lines) + "}" for lines in cells)
    return " & ".join(printed) + " \\\\"


_TOGETHER = re.compile(r"(?<=,) (?=-?[\d.]+\])|(?<=\d) (?=s\b)")  # an interval, a time


def _stacked(cell: str, width: int) -> list[str]:
    """The lines of a cell."""
    whole = (_TOGETHER.sub("\N{NO-BREAK SPACE}", _folded(line)) for line in cell.split("\n"))
    broken = (wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""] for line in whole)
    return [escaped(part.replace("\N{NO-BREAK SPACE}", " ")) for parts in broken for part in parts]
