"""A board in few bytes, for the page: columns in place of rows, and what repeats is written once.

`data.js` (in templates) undoes it. Plain JSON, not compressed: the same bytes everywhere, and `git diff` can
read them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel

from bench import __version__
from bench.board import formats
from bench.board.columns import CELLS, DEFENSES, Column, metric_explanation, shown
from bench.board.headline import headline
from bench.board.marks import MARKS
from bench.board.model import LEARNT, Board, BoardCell
from bench.board.pooling import LEAKS
from bench.records.model import Sample

# Besides what the columns of the page's table show.
CELL_FIELDS = (
    *("suites", "metric", "low", "high", "random_low", "random_high", "seeds", "ids", "failed", "published", "marks"),
    *("stronger", "stale"),
)
# Columns whose values are among the fields.
TWICE = frozenset({"interval", "worst"})
DEFENSE_FIELDS = ("suite", "dataset", "encoder", "worst")
UTILITY_FIELDS = ("suites", "dataset", "encoder", "defense", "epochs", "metrics", "seeds", "epsilon")
# As CITATION.cff has it; a test compares the two.
CITATION = (
    "@software{hideseek, author = {{The hideseek maintainers}}, title = {hideseek: a benchmark of schemes that hide "
    f"text in federated learning, and of the attacks on them}}, version = {{{__version__}}}}}"
)
# A suite may keep more samples, and several suites may; a reader wants a few.
SAMPLES = 5
# How close an answer comes to its sentence, as records say it.
SIMILARITIES = ("jaccard", "tfidf", "sbert")
# Formats that the page has, too (FORMATS in dom.js); what has any other is formatted here.
FORMATS: dict[Callable[[Any], str], str] = {
    formats.number: "number",
    formats.seconds: "seconds",
    formats.count: "count",
    formats.epsilon: "epsilon",
    str: "text",
}


def packed(board: Board) -> dict[str, Any]:
    """The board as the page takes it."""
    cells = board.cells
    metrics = sorted({name for cell in cells for name in cell.metrics})
    flat = shown(CELLS, cells, "flat")
    texts: dict[str, int] = {}
    words: dict[str, int] = {}
    return {
        "schema": board.schema_version,
        "records": board.records,
        "stale": board.stale,
        "headline": headline(board),
        "suites": {name: suite.to_dict() for name, suite in board.suites.items()},
        "count": len(cells),
        "titles": {"flat": [_described(c) for c in flat], "defenses": [_described(c) for c in DEFENSES]},
        "marks": {mark.key: [mark.sign, mark.title, mark.explanation] for mark in MARKS},
        "explanations": {name: said for name in metrics if (said := metric_explanation(name))},
        "columns": {
            **{name: column([getattr(cell, name) for cell in cells]) for name in CELL_FIELDS},
            **{c.key: column([_shown_value(c, cell) for cell in cells]) for c in flat if c.key not in TWICE},
        },
        # The leak is one of the metrics and stands in the columns above.
        "metrics": {
            name: [column([_part(cell, name, i) for cell in cells]) for i in range(4)]
            for name in metrics
            if any(name in cell.metrics and name != cell.metric for cell in cells)
        },
        "samples": [[_sample(sample, texts) for sample in cell.samples[:SAMPLES]] for cell in cells],
        "commands": [[_number(words, word) for word in cell.command.split(" ")] for cell in cells],
        "near": SIMILARITIES,
        "learnt": LEARNT,
        "leaks": LEAKS,
        "texts": list(texts),
        "words": list(words),
        "citation": CITATION,
        "utility": {
            "count": len(board.utility),
            "columns": {name: column([getattr(row, name) for row in board.utility]) for name in UTILITY_FIELDS},
        },
        "ranked": len(board.defenses),
        "defenses": {
            **{name: column([getattr(row, name) for row in board.defenses]) for name in DEFENSE_FIELDS},
            **{c.key: column([_shown_value(c, r) for r in board.defenses]) for c in DEFENSES if c.key not in TWICE},
        },
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
    if isinstance(value, BaseModel):
        return short(value.model_dump())
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


def _described(shown_column: Column[Any]) -> dict[str, Any]:
    """What the page needs to show a column that it does not know."""
    return {
        "key": shown_column.key,
        "title": shown_column.title,
        "explanation": shown_column.explanation,
        "format": FORMATS.get(shown_column.format, "text"),
        "numeric": shown_column.numeric,
    }


# Values that the page formats itself, because it sorts and compares by them.
_RAW = frozenset({"sees", "utility"})


def _shown_value(shown_column: Column[Any], row: Any) -> Any:
    value = shown_column.value(row)
    if value is None or shown_column.format in FORMATS or shown_column.key in _RAW:
        return value
    return shown_column.format(value)


def _part(cell: BoardCell, name: str, place: int) -> Any:
    found = cell.metrics.get(name)
    return None if name == cell.metric or found is None else found[place]


def _number(table: dict[str, int], text: str) -> int:
    return table.setdefault(text, len(table))


def _sample(sample: Sample, texts: dict[str, int]) -> list[Any]:
    place = None if sample.answer is None else _number(texts, sample.answer)
    near = [short(getattr(sample, name)) for name in SIMILARITIES]
    return [_number(texts, sample.example), place, int(sample.right), *near]
