"""The page as one HTML file that loads nothing; each number names its record, and where in it the number stands."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files

from bench import __version__
from bench.reporting.content import Block, Code, Heading, Items, Paragraph, Picture, Report, Table, blocks
from bench.reporting.figures import Figure, Sentence

# Between a name and its options, and between the folders of a path.
_JOINT = re.compile(r"([:,/])(?=[A-Za-z])")


def render(report: Report) -> str:
    style = files("bench.reporting").joinpath("page.css").read_text(encoding="utf-8")
    body = "\n".join(map(_block, blocks(report)))
    title = escape(report.title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{body}\n"
        f'<footer>Made by <code>bench report</code> of hideseek <span class="version">{__version__}</span>.</footer>\n'
        "</main>\n</body>\n</html>\n"
    )


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h2>{escape(block.text)}</h2>"
    if isinstance(block, Paragraph):
        return f"<p>{_text(block.sentence)}</p>"
    if isinstance(block, Items):
        kind = ' class="strong"' if block.strong else ""
        return f"<ul{kind}>\n" + "\n".join(f"<li>{_text(each)}</li>" for each in block.sentences) + "\n</ul>"
    if isinstance(block, Code):
        return f"<pre><code>{escape(block.text)}</code></pre>"
    if isinstance(block, Picture):
        # It scrolls on a phone: also by the keyboard.
        return f'<figure tabindex="0">\n{block.svg}\n<figcaption>{escape(block.about)}</figcaption>\n</figure>'
    return _table(block)


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in table.head)
    rows = []
    for first, *rest in table.rows:
        cells = "".join(f"<td>{_text(cell)}</td>" for cell in rest)
        rows.append(f'<tr><th scope="row">{_text(first)}</th>{cells}</tr>')
    lines = "\n".join(rows)
    # It scrolls where it is wide: also by the keyboard, and announced by its columns.
    label = escape(", ".join(table.head))
    inside = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}\n</tbody>\n</table>"
    return f'<div class="wide" tabindex="0" role="region" aria-label="{label}">{inside}</div>'


def _text(sentence: Sentence) -> str:
    return "".join(_figure(part) if isinstance(part, Figure) else _words(part) for part in sentence)


def _words(text: str) -> str:
    """A long name may go on in the next line, but at one of its options, and never inside a number."""
    return _JOINT.sub(r"\1<wbr>", escape(text))


def _figure(one: Figure) -> str:
    where = f'data-record="{escape(one.record)}" data-at="{escape(one.at)}"'
    return f'<data value="{one.value!r}" {where} title="record {escape(one.record)}">{escape(one.text)}</data>'
