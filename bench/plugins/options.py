"""`name:option=value,option=value`, checked against the typed fields of a plugin's dataclass."""

from __future__ import annotations

import dataclasses
import math
import re
import types
import typing
from typing import Any, Literal, Union

from bench.errors import UsageError, unknown

# An option, also as the command line writes its own: skip-missing.
_OPTION = r"\s*[A-Za-z_][\w-]*\s*"
_COMMA = re.compile(rf",(?={_OPTION}=)")
_TRUE, _FALSE = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}


def split(spec: str) -> tuple[str, list[tuple[str, str]]]:
    """`file:my.csv,label=stars` → `("file", [("", "my.csv"), ("label", "stars")])`.

    A value without a name is allowed first, for plugins that cannot do without one, such as a path.
    """
    name, colon, rest = spec.partition(":")
    if not name.strip():
        raise UsageError(f"{spec!r} names nothing: write name or name:option=value,option=value")
    parts = []
    for i, part in enumerate(_COMMA.split(rest) if colon and rest else []):
        option, equals, value = part.partition("=")
        if equals and re.fullmatch(_OPTION, option):
            parts.append((option.strip().replace("-", "_"), value.strip()))
        elif i == 0:
            parts.append(("", part.strip()))
        else:
            raise UsageError(f"{part!r} in {spec!r} is not of the form option=value")
    return name.strip(), parts


def build(cls: type, pairs: list[tuple[str, str]], what: str) -> Any:
    """An instance of the plugin with these options; wrong names and values are explained."""
    hints = typing.get_type_hints(cls)
    fields = {f.name: f for f in dataclasses.fields(cls) if f.init}
    required = [
        n for n, f in fields.items() if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    values: dict[str, Any] = {}
    for option, text in pairs:
        if option == "":
            if not required:
                raise UsageError(f"{what}: {text!r} is not of the form option=value")
            option = required[0]
        if option not in fields:
            raise unknown(f"option of {what}", option, fields)
        if option in values:
            raise UsageError(f"{what}: option {option!r} is given twice")
        values[option] = coerce(text, hints[option], f"{what}: {option}={text}")
    missing = [name for name in required if name not in values]
    if missing:
        raise UsageError(f"{what} needs {', '.join(missing)}: write {what.split()[-1]}:{missing[0]}=...")
    try:
        return cls(**values)
    except ValueError as error:  # a plugin's own __post_init__ says what a value must be
        raise UsageError(f"{what}: {error}") from error


def coerce(text: str, hint: Any, where: str) -> Any:
    """`text` as a value of type `hint`."""
    for choice in _choices(hint):
        try:
            return _convert(text, choice)
        except ValueError:
            continue
    raise UsageError(f"{where}: expected {describe(hint)}")


def describe(hint: Any) -> str:
    """A type as a person would say it: `a whole number or inf`."""
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "none"}
    said = []
    for choice in _choices(hint):
        if typing.get_origin(choice) is Literal:
            said.append(" or ".join(map(str, typing.get_args(choice))))
        else:
            said.append(words.get(choice, str(choice)))
    return " or ".join(said)


def _choices(hint: Any) -> tuple[Any, ...]:
    union = typing.get_origin(hint) in (Union, types.UnionType)
    return typing.get_args(hint) if union else (hint,)


def _convert(text: str, kind: Any) -> Any:
    if typing.get_origin(kind) is Literal:
        for value in typing.get_args(kind):
            if str(value) == text:
                return value
        raise ValueError
    if kind is bool:
        if text.lower() in _TRUE | _FALSE:
            return text.lower() in _TRUE
        raise ValueError
    if kind is type(None):
        if text.lower() in {"none", ""}:
            return None
        raise ValueError
    if kind is int:
        return int(text)
    if kind is float:
        number = float(text)
        if math.isnan(number):
            raise ValueError
        return number
    if kind is str:
        return text
    raise ValueError


def restore(cls: type, values: dict[str, Any]) -> Any:
    """An instance from the plain values that `dataclasses.asdict` gave, as they come back from JSON."""
    names = {f.name for f in dataclasses.fields(cls) if f.init}
    return cls(**{name: value for name, value in values.items() if name in names})
