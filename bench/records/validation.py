"""Whether a record that could be read holds what tables and `bench show` take from it.

A file may be valid JSON and a record by its first lines, and yet be cut, edited or made by something else. It is
looked at once, here, so that nothing behind has to doubt it, and what is wrong is said in a few words.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

from bench.records.store import Record

# What may be the name of a suite: it becomes that of a file.
_NAME = re.compile(r"\w[\w .+-]*")
# Metrics that are shares: whatever lies beyond 0 and 1 was not measured.
SHARES = ("identity", "jaccard", "label", "hit", "recall", "success")
# Beyond it there is nothing that was measured: not infinity, nor an integer that no float can hold.
MOST = 1e300
_MEASURES = ("value", "low", "high", "random", "random_low", "random_high")

Check = Callable[[Any], bool]


def fault(record: Record, *, attacked: bool) -> str:
    """The first thing that is missing or of another kind than it should be, by name; nothing if it is whole."""
    for name, check in (_ATTACKED if attacked else _PRICED).items():
        if name not in record and name not in (_OPTIONAL if attacked else _SPARE):
            return f"{name} is missing"
        if name in record and not check(record[name]):
            return f"{name} is not as a record has it"
    if not attacked and not record["metrics"].keys() <= record["majority"].keys():
        return "majority is not as a record has it"
    return ""


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    """NaN is none: a run writes null in its place, and a mean over seeds would lose one without a word."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _maybe(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _measured(value: Any) -> bool:
    """JSON has no infinity: such a number is kept as text."""
    return value is None or _number(value) or value in ("inf", "-inf")


def _table(**checks: Check) -> Check:
    """A table that has these keys, and maybe others."""

    def fits(value: Any) -> bool:
        return isinstance(value, dict) and all(name in value and check(value[name]) for name, check in checks.items())

    return fits


def _each(check: Check) -> Check:
    """A table whose values are all of a kind."""
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _all(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _metric(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and all(_measured(value.get(part)) for part in _MEASURES))


def _metrics(value: Any) -> bool:
    if not _each(_metric)(value):
        return False
    shares = [value[name].get("value") for name in SHARES if value.get(name)]
    return all(not _number(share) or -0.001 <= share <= 1.001 for share in shares)


def _cost(value: Any) -> bool:
    numbers = ("attack_s", "peak_mib", "train_s")
    return isinstance(value, dict) and _text(value.get("ended", "")) and all(_measured(value.get(n)) for n in numbers)


def _suites(value: Any) -> bool:
    return isinstance(value, dict) and all(_NAME.fullmatch(name) and _whole(n) for name, n in value.items())


def _outcomes(value: Any) -> bool:
    if value is None:
        return True
    try:
        # Half precision: two bytes for each example.
        return _text(value["metric"]) and len(base64.b64decode(value["values"])) % 2 == 0
    except (KeyError, TypeError, ValueError):
        return False


def _notes(value: Any) -> bool:
    """A budget is claimed and accounted for, or there is none."""
    budget = _table(epsilon=_number)
    return isinstance(value, dict) and ("accounted" not in value or _table(nominal=budget, accounted=budget)(value))


_PLUGIN = _table(name=_text, label=_text)
_SAMPLE = _table(example=_text, answer=_maybe(_text), right=lambda value: isinstance(value, bool))
# Records of earlier versions have less, and tables can do without.
_SPARE = frozenset(["suites", "error", "versions"])
_OPTIONAL = frozenset(["suites", "versions", "outcomes", "notes", "samples"])
_EITHER: dict[str, Check] = {
    "id": _text,
    "status": lambda value: value in ("ok", "failed", "timeout"),
    **dict.fromkeys(("dataset", "encoder", "defense"), _PLUGIN),
    "seed": _whole,
    "cost": _cost,
    "suites": _suites,
    "notes": _maybe(_notes),
    "error": _maybe(_text),
    "versions": _maybe(lambda value: isinstance(value, dict)),
}
_ATTACKED: dict[str, Check] = {
    **_EITHER,
    "attack": _table(name=_text, label=_text, sees=_all(_text)),
    "protocol": _table(examples=_whole, epochs=_whole, candidates=_maybe(_whole), coverage=_number, split=_text),
    "public": _maybe(_table(name=_text)),
    "metrics": _metrics,
    "outcomes": _outcomes,
    "samples": _all(_SAMPLE),
}
_PRICED: dict[str, Check] = {
    **_EITHER,
    "training": _table(epochs=_whole, shared=lambda value: isinstance(value, bool)),
    "metrics": _each(_measured),
    "majority": _each(_number),
}
