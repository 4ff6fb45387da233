"""What pydantic found wrong with a file, in one line that a person can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

SHOWN = 80


def explain(error: ValidationError) -> str:
    """`protocol.examples = "100": a whole number was expected`, and how many more there are."""
    problems = error.errors(include_url=False)
    first = problems[0]
    where = ".".join(str(part) for part in first["loc"] if not _is_type(part))
    given = "" if first["type"] == "missing" else f" = {_short(first.get('input'))}"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    said = _EXPECTED.get(first["type"], first["msg"].removeprefix("Value error, "))
    if first["type"] == "literal_error":
        said = f"{first['ctx']['expected']} was expected"
    return f"{where}{given}: {said}{more}" if where else f"{said}{more}"


_EXPECTED = {
    "missing": "is missing",
    "extra_forbidden": "unknown key",
    "int_type": "a whole number was expected",
    "int_from_float": "a whole number was expected",
    "float_type": "a number was expected",
    "string_type": "text was expected",
    "bool_type": "true or false was expected",
    "dict_type": "a table was expected",
    "model_type": "a table was expected",
    "list_type": "a list was expected",
}


def _is_type(part: int | str) -> bool:
    """A union's members stand in a location by their types' names, which mean nothing to a reader."""
    return isinstance(part, str) and (part in {"float", "int", "str", "bool"} or "[" in part or "-" in part)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
