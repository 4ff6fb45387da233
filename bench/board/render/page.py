"""The leaderboard as one page that needs nothing else, and the figures beside it.

The page is a file: no network, no framework, nothing to build. Its style, its code and the board's numbers lie inside
it. Records may be anybody's, so their text is data to the page: it stands in JSON without a `<`, reaches the
document as text nodes only, and a content policy lets nothing run but the page's own code.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from bench.board.model import Board
from bench.board.render import figures
from bench.board.render.page_data import embedded, packed

TEMPLATES = Path(__file__).resolve().parent / "templates"
# In this order: each uses what those before it define.
SCRIPTS = ("data", "dom", "state", "table", "matrix", "chart", "training", "detail", "main")


def files(board: Board) -> dict[str, str | bytes]:
    """Path below leaderboards/ → content; the same board gives the same bytes."""
    drawn = figures.draw(board)
    return {"site/index.html": page(board, sorted(drawn)), **drawn}


def page(board: Board, figure_files: Sequence[str] = ()) -> str:
    """The page, with links to the figures, which lie below leaderboards/ as the page itself does."""
    style = _template("page.css")
    script = "\n".join(_template(f"{name}.js") for name in SCRIPTS)
    shown = {**packed(board), "pictures": [name for name in figure_files if name.endswith(".svg")]}
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {"policy": policy, "style": style, "script": script, "board": embedded(shown)}
    # In one pass: what is put in may itself look like a place to fill.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _template("page.html"))


def _template(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
