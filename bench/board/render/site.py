"""The leaderboard as one page that needs nothing else, and the pictures beside it, from the board.

The page is a file: no network, no framework, nothing to build. Its style, its code and the board's numbers lie inside
it. Records come from strangers, so their text is data to the page: it stands in JSON without a `<`, reaches the
document as text nodes only, and a content policy lets nothing run but the page's own code.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

from bench.board.render import figures
from bench.board.render.packing import embedded, packed
from bench.errors import BenchError

TEMPLATES = Path(__file__).resolve().parent / "templates"
# In this order: each uses what those before it define.
SCRIPTS = ("data", "dom", "state", "table", "matrix", "detail", "main")
SCHEMA = 1


def files(board: dict[str, Any]) -> dict[str, str | bytes]:
    """Path below leaderboards/ → content; the same board gives the same bytes."""
    if board.get("schema") != SCHEMA:
        raise BenchError(
            f"the board has schema {board.get('schema')}, this version reads {SCHEMA}: make it anew (bench leaderboard)"
        )
    pictures = figures.draw(board)
    return {"site/index.html": page(board, sorted(pictures)), **pictures}


def page(board: dict[str, Any], pictures: list[str] | tuple[str, ...] = ()) -> str:
    """The page; `pictures` are linked, below leaderboards/ as the page itself."""
    style = _template("page.css")
    script = "\n".join(_template(f"{name}.js") for name in SCRIPTS)
    shown = {**packed(board), "pictures": [name for name in pictures if name.endswith(".svg")]}
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
