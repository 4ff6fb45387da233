"""Labels such as `texthide:m=64` taken apart: a defense's name and all its options, defaults included."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from bench.errors import UsageError
from bench.plugins.options import split
from bench.plugins.registry import Registry

_WHOLE = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?|-?inf")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?|\binf\b)")


def parse_label(label: str) -> tuple[str, dict[str, str]]:
    """Name and options of a defense's label."""
    try:
        name, pairs = split(label)
    except UsageError:  # a label made by code that is not ours
        return label, {}
    return name, {**_defaults().get(name, {}), **{option: value for option, value in pairs if option}}


def natural_sort_key(labels: Iterable[str]) -> tuple[Any, ...]:
    """A sort key by which ε = 2 comes before ε = 10, and m = 64 before the default of 256, which labels leave out."""
    found = (parse_label(label) for label in labels)
    return tuple((_alternating(name), tuple(map(_alternating, options.values()))) for name, options in found)


def _alternating(text: str) -> tuple[str | float, ...]:
    """Words and numbers in alternation, so that like is compared with like."""
    if _WHOLE.fullmatch(text):
        return "", float(text), ""
    return tuple(float(part) if i % 2 else part for i, part in enumerate(_NUMBER.split(text)))


@lru_cache(maxsize=1)
def _defaults() -> dict[str, dict[str, str]]:
    # Not of what else is installed: a board is to be the same on every machine.
    found = {name: entry.options for name, entry in Registry().of("defense").items() if entry.built_in}
    return {name: {option: value.strip("'") for option, value in options.items()} for name, options in found.items()}
