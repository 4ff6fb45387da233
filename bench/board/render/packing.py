"""A board in few bytes, for the page: columns in place of rows, and what repeats is written once.

`data.js` (in templates) undoes it. Plain JSON, not compressed: the same bytes everywhere, and `git diff` can
read them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

PLAIN = (
    *("suites", "dataset", "encoder", "defense", "attack", "sees", "protocol", "metric"),
    *("value", "low", "high", "random", "random_low", "random_high"),
    *("seeds", "ids", "failed", "epsilon", "published", "marks", "stronger"),
)
# A suite may keep more, and several suites may; a reader wants a few.
SAMPLES = 5
# How close an answer comes to its sentence, as records say it.
NEAR = ("jaccard", "tfidf", "sbert")
RANKED = ("suite", "dataset", "encoder", "defense", "worst", "tier", "epsilon", "utility")


def packed(board: dict[str, Any]) -> dict[str, Any]:
    """The board as the page takes it."""
    cells = board["cells"]
    metrics = sorted({name for cell in cells for name in cell["metrics"]})
    texts: dict[str, int] = {}
    words: dict[str, int] = {}
    return {
        **{name: board[name] for name in ("schema", "records", "suites")},
        "count": len(cells),
        "columns": {
            **{name: column([cell.get(name) for cell in cells]) for name in PLAIN},
            **{
                name: column([(cell.get("cost") or {}).get(name) for cell in cells])
                for name in ("attack_s", "peak_mib")
            },
        },
        # The leak is one of the metrics and stands in the columns above.
        "metrics": {
            name: [column([_part(cell, name, i) for cell in cells]) for i in range(4)]
            for name in metrics
            if any(name in cell["metrics"] and name != cell["metric"] for cell in cells)
        },
        "samples": [[_sample(sample, texts) for sample in cell.get("samples", ())[:SAMPLES]] for cell in cells],
        "commands": [[_number(words, word) for word in cell["command"].split(" ")] for cell in cells],
        "near": NEAR,
        "texts": list(texts),
        "words": list(words),
        "ranked": len(board["defenses"]),
        "defenses": {name: column([entry.get(name) for entry in board["defenses"]]) for name in RANKED},
    }


def column(values: Sequence[Any]) -> Any:
    """The values as they are, or the different ones and where they stand, or the only one: whichever is shortest."""
    values = [short(value) for value in values]
    written = [json.dumps(value) for value in values]
    places = {text: i for i, text in enumerate(dict.fromkeys(written))}
    distinct = [json.loads(text) for text in places]
    if len(distinct) == 1:
        return {"all": distinct[0]}
    interned = {"of": distinct, "at": [places[text] for text in written]}
    return min((values, interned), key=lambda made: len(json.dumps(made)))


def short(value: Any) -> Any:
    """Numbers as the tables print them, so that page and tables agree; what JSON cannot say becomes text."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None if math.isnan(value) else str(value)
        # Below a thousandth, where tables print 0.000, the page still tells random levels from nothing.
        near = float(f"{value:.3f}" if 0.001 <= abs(value) < 1.0005 else f"{value:.4g}")
        return int(near) if near == int(near) else near
    if isinstance(value, dict):
        return {str(name): short(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [short(part) for part in value]
    return value


def embedded(value: Any) -> str:
    """JSON that may stand inside a script element, whatever text is in it.

    Without `<` there is neither `</script>` nor `<!--`. Half a surrogate pair, which JSON can hold and UTF-8 cannot,
    stays an escape.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return re.sub("[\ud800-\udfff\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _part(cell: dict[str, Any], name: str, place: int) -> Any:
    return None if name == cell["metric"] else (cell["metrics"].get(name) or [None] * 4)[place]


def _number(table: dict[str, int], text: str) -> int:
    return table.setdefault(text, len(table))


def _sample(sample: dict[str, Any], texts: dict[str, int]) -> list[Any]:
    answer = sample.get("answer")
    place = None if answer is None else _number(texts, answer)
    near = [short(sample.get(name)) for name in NEAR]
    return [_number(texts, sample["example"]), place, int(sample["right"]), *near]
