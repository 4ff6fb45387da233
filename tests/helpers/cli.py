"""Where tests find the project and the plugins made for them, a run that takes a second, and the records it leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
PLUGINS = ROOT / "tests" / "plugins"

# A run that takes a second: no transformer (the toy encoder), no SBERT beyond a few sentences.
TINY = ("--examples", "40", "--candidates", "120", "--encoder", "toy", "--plugin", str(PLUGINS / "toy.py"))
# The same for sealed runs, on sentences that are not drawn anew: others would take the scorer's transformer.
TINY_SEALED = (*TINY, "--dataset", "kept-demo")


def load_records(folder: Path) -> dict[str, dict[str, Any]]:
    """Records by id, without what may differ between two equal runs."""
    found = {}
    for path in folder.glob("*.json"):
        record = json.loads(path.read_text())
        record.pop("cost")
        found[record["id"]] = record
    return found
