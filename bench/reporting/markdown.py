"""The page as Markdown: for a wiki, a pull request, a terminal."""

from __future__ import annotations

from bench.reporting.content import Block, Code, Heading, Items, Paragraph, Picture, Report, Table, blocks
from bench.reporting.figures import Sentence, plain


def render(report: Report) -> str:
    """Without the picture, which Markdown has no place for: HTML has it."""
    parts = [f"# {report.title}", *filter(None, map(_block, blocks(report)))]
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"## {block.text}"
    if isinstance(block, Paragraph):
        return _text(block.sentence)
    if isinstance(block, Items):
        around = "**" if block.strong else ""
        return "\n".join(f"- {around}{_text(sentence)}{around}" for sentence in block.sentences)
    if isinstance(block, Code):
        return f"```\n{block.text}\n```"
    if isinstance(block, Table):
        rows = [[_text(cell) for cell in row] for row in block.rows]
        return "\n".join(_row(row) for row in [list(block.head), ["---"] * len(block.head), *rows])
    return "The picture is in the HTML page." if isinstance(block, Picture) else ""


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(sentence: Sentence) -> str:
    # A label is anybody's file name: nothing in it may end a cell or begin markup.
    return plain(sentence).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
